// Open the service's popup for a form or button, then ask the site's own server what is true.
//
// <script src="…/payments_pages/popup.js" defer data-confirm-url="…/payments/confirm/"
//         data-sdk="NameOfTheServicesObject" data-sdk-method="itsMethod"></script>
// <form data-popup …> or <button data-popup data-reference="…" data-amount="5000" …>
//
// docs/popup.md lists all attributes and events. What the popup says of a payment proves nothing:
// only the reference goes to the server, and only the server's answer is believed.
(function () {
  "use strict";
  const MARK = Symbol.for("payments_pages.popup");
  if (document[MARK]) return; // included twice: one is enough
  document[MARK] = true;

  const script = document.currentScript || document.querySelector("script[data-confirm-url]");
  const TURNS = 5; // questions in all
  const SOON = 3; // seconds; the site asks the service about a reference every two at most
  const LONGEST = 30; // seconds between two questions, whatever a proxy's Retry-After says
  const PATIENCE = 20; // seconds for one answer
  const STUCK = 5; // seconds; a service's script that says nothing must not lock the page
  const FIELDS = ["key", "reference", "amount", "currency", "email", "title", "closeLabel"];
  const OPTIONS = {
    title: "", closeLabel: "", // passed on only where the script tag names them
    success: "onSuccess", cancel: "onCancel", error: "onError", close: "onClose",
  };
  const TEXTS = {
    opening: "",
    checking: "Checking your payment…",
    paid: "Paid.",
    processing: "Your payment is being processed.",
    cancelled: "You have not paid yet. You can still do so.",
    unpaid: "The payment did not go through. You can try again.",
    unconfirmed: "We cannot confirm your payment right now. If you have paid, do not pay again.",
    elsewhere: "This payment was begun in another window.",
    failed: "The payment window did not open. Please try again.",
  };
  const runs = new WeakMap(); // element: its last run
  const lines = new WeakMap(); // element: where it is told how it stands
  let shown = null; // the run whose popup is open, as far as we know
  let left = false; // the page is being left for the result page

  // What decides which functions run and who is asked stands on the script tag alone, so that a
  // fragment of other people's HTML on the page cannot choose it.
  function own(name) {
    return script ? script.dataset[name] : undefined;
  }

  function given(element, name) {
    return element.dataset[name] ?? own(name);
  }

  // Tell screen readers, the merchant's styles and the merchant's script.

  // What stands nearest, but not what belongs to another button.
  function nearest(element, selector) {
    for (let node = element.parentElement; node; node = node.parentElement) {
      if (node.querySelectorAll("[data-popup]").length > 1) return null;
      const found = node.querySelector(selector);
      if (found) return found;
    }
    return null;
  }

  // Made before there is anything to say: a region that comes with its text is not read aloud.
  function lineOf(element) {
    let line = lines.get(element) ?? nearest(element, "[data-popup-status]");
    if (!line) {
      line = document.createElement("p");
      element.after(line);
    }
    lines.set(element, line);
    if (!line.hasAttribute("role")) line.setAttribute("role", "status");
    line.setAttribute("aria-live", "polite");
    return line;
  }

  function say(element, state) {
    const line = lineOf(element);
    const text = given(element, state) ?? TEXTS[state];
    line.textContent = "";
    // The same text twice would be silent.
    if (text) window.setTimeout(() => { line.textContent = text; }, 50);
  }

  function buttonsOf(element) {
    return element instanceof HTMLFormElement
      ? [...element.elements].filter((item) => item.type === "submit")
      : [element];
  }

  // Not `disabled`: the focus would be lost, which the popup gives back when it closes.
  function lock(element, isLocked) {
    for (const button of buttonsOf(element)) {
      if (isLocked) button.setAttribute("aria-disabled", "true");
      else button.removeAttribute("aria-disabled");
    }
  }

  // Return whether the merchant's script leaves the rest to us.
  function send(run, state, found = {}) {
    return run.element.dispatchEvent(new CustomEvent(`payment:${state}`, {
      bubbles: true,
      cancelable: true,
      detail: {
        reference: run.reference,
        status: found.status ?? null,
        outcome: found.outcome ?? null,
        resultUrl: found.url ?? null,
      },
    }));
  }

  function enter(run, state, found) {
    run.element.dataset.popupState = state;
    lock(run.element, state === "opening" || state === "checking");
    say(run.element, state);
    return send(run, state, found);
  }

  // Ask the server.

  function pause(seconds) {
    return new Promise((resolve) => window.setTimeout(resolve, seconds * 1000));
  }

  function secondsOf(header) {
    const seconds = Number(header ?? NaN);
    const until = Number.isNaN(seconds) ? (Date.parse(header) - Date.now()) / 1000 : seconds;
    return until > 0 ? Math.min(until, LONGEST) : 0;
  }

  // "paid" is what the popup says. The server believes the service alone; staff are told of a
  // payment that the popup calls paid and the service does not know.
  async function ask(reference, paid) {
    const stop = new AbortController();
    const timer = window.setTimeout(() => stop.abort(), PATIENCE * 1000);
    try {
      const answer = await fetch(own("confirmUrl"), {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(paid ? { reference, paid: true } : { reference }),
        cache: "no-store",
        credentials: "omit",
        signal: stop.signal,
      });
      const later = secondsOf(answer.headers.get("Retry-After"));
      const again = later || (answer.status >= 500 ? SOON : 0);
      const body = await answer.json().catch(() => null);
      if (typeof body?.outcome !== "string") return { status: 0, again: again || SOON }; // a proxy's page
      return { status: answer.status, again, outcome: body.outcome, url: body.result_url };
    } catch {
      return { status: 0, again: SOON }; // offline for a moment
    } finally {
      window.clearTimeout(timer);
    }
  }

  // 202 without Retry-After: paid, and a person looks at it. The result page says so.
  function isSettled(found) {
    return found.status === 200 || (found.status === 202 && !found.again);
  }

  function isNotPaid(found) {
    return found.status === 402 || found.status === 404;
  }

  // `run.paid` is what the popup says, perhaps only after it has closed. It decides how long we
  // ask, and whether staff are told, and nothing else.
  async function settle(run) {
    run.asks = true;
    enter(run, "checking");
    let found = {};
    for (let turn = 1; turn <= TURNS; turn += 1) {
      found = await ask(run.reference, run.paid === true);
      if (isSettled(found)) break;
      if (isNotPaid(found) && !run.paid) break;
      if (!isNotPaid(found) && !found.again) break; // the question itself was wrong
      if (turn < TURNS) await pause(found.again || SOON);
    }
    run.asks = false;
    if (found.status === 200) return leave(run, "paid", found);
    if (found.status === 202) return leave(run, "processing", found);
    return stay(run, found);
  }

  function stay(run, found) {
    const after = { true: "unpaid", false: run.error || "cancelled" }[run.paid];
    const isClear = found.status === 402 || (found.status === 404 && !run.paid);
    enter(run, isClear ? after : "unconfirmed", found);
    const anew = run.error === "elsewhere" && nearest(run.element, "[data-popup-anew]");
    if (anew) anew.hidden = false;
  }

  function leave(run, state, found) {
    run.isOver = true;
    const goes = enter(run, state, found);
    const address = found.url && new URL(found.url, window.location.href);
    if (!goes || !address || !/^https?:$/.test(address.protocol)) return;
    left = true;
    window.location.assign(address.href);
  }

  // Open the popup.

  function fieldsOf(element) {
    const fields = {};
    if (element instanceof HTMLFormElement) {
      for (const [name, value] of new FormData(element)) {
        if (name !== "csrfmiddlewaretoken" && typeof value === "string") fields[name] = value;
      }
    }
    for (const name of FIELDS) {
      const value = given(element, name);
      if (value !== undefined) fields[name] = value;
    }
    if (/^\d+$/.test(fields.amount)) fields.amount = Number(fields.amount);
    return fields;
  }

  function optionsOf(fields, callbacks) {
    const options = {};
    for (const [name, value] of Object.entries({ ...fields, ...callbacks })) {
      const key = `option${name[0].toUpperCase()}${name.slice(1)}`;
      const known = own(key) ?? OPTIONS[name] ?? name;
      if (known) options[known] = value;
    }
    return options;
  }

  function findSdk() {
    return (own("sdk") || "").split(".").reduce((found, name) => found?.[name], window);
  }

  function show(sdk, options) {
    const target = own("sdkNew") === undefined ? sdk : new sdk();
    const window_ = target[own("sdkMethod")](options);
    return own("sdkThen") ? window_[own("sdkThen")]() : window_;
  }

  function open(element, sdk, fields) {
    const run = { element, reference: fields.reference, paid: false, since: Date.now() };
    // Nobody pays what could not be confirmed afterwards.
    if (!fields.reference || !own("confirmUrl")) return enter(run, "failed");
    if (!enter(run, "opening")) return lock(element, false); // the merchant's script forbids it
    runs.set(element, run);
    shown = run;
    window.setTimeout(() => { if (shown === run) lock(element, false); }, STUCK * 1000);
    const options = optionsOf(fields, {
      success: () => end(run, true),
      cancel: () => end(run, false),
      close: () => end(run, false),
      error: (error) => fail(run, error),
    });
    try {
      Promise.resolve(show(sdk, options)).catch((error) => fail(run, error));
    } catch (error) {
      fail(run, error);
    }
  }

  // A service may call several of these, in any order: a close after a success says nothing new,
  // a success after a close does.
  function end(run, paid) {
    if (shown === run) shown = null;
    run.paid ||= paid;
    if (run.asks || run.isOver || (run.isClosed && !paid)) return;
    run.isClosed = true;
    if (!paid) send(run, "closed");
    settle(run);
  }

  // Also then: it may have been paid, here before the error, or in another window.
  function fail(run, error) {
    const duplicate = own("sdkDuplicate") ?? "duplicate_reference";
    run.error = error?.code === duplicate || error?.message === duplicate ? "elsewhere" : "failed";
    end(run, false);
  }

  function press(element, event) {
    const run = runs.get(element);
    const isOpening = shown && Date.now() - shown.since < STUCK * 1000;
    if (left || run?.asks || isOpening) return event.preventDefault(); // a second click
    const fields = fieldsOf(element);
    if (run?.paid && !run.isOver && run.reference === fields.reference) {
      event.preventDefault(); // the popup said "paid", and nobody has confirmed it yet
      return settle(run);
    }
    const sdk = findSdk();
    if (!sdk && element.matches("form, a[href]")) return; // it leads to the service by itself
    event.preventDefault();
    if (!sdk) return enter({ element, reference: fields.reference }, "failed");
    open(element, sdk, fields);
  }

  document.addEventListener("click", function (event) {
    const element = event.target.closest?.("[data-popup]");
    if (element && !(element instanceof HTMLFormElement)) press(element, event);
  });
  document.addEventListener("submit", function (event) {
    if (event.target.matches("form[data-popup]")) press(event.target, event);
  });

  // Back from the result page, by the browser's memory: show what is true now.
  window.addEventListener("pageshow", function (event) {
    if (event.persisted && left) window.location.reload();
  });

  document.querySelectorAll("[data-popup]").forEach(lineOf);
})();
