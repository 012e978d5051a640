// Open the service's popup with the fields of a form, then ask the site's own server what is true.
//
// <form action="where the service starts a checkout" method="post" data-popup
//       data-confirm="…/payments/confirm/" data-checking="Checking…" …texts…>
// Without this script, or without the service's, the same form takes the payer to the service.
(function () {
  "use strict";
  const form = document.querySelector("form[data-popup]");
  const line = document.querySelector("[data-popup-status]");
  const anew = document.querySelector("[data-popup-anew]");
  const TURNS = 5; // questions in all, some five seconds apart
  const SOON = 3; // seconds; the site asks the service about a reference every two at most

  function say(name) {
    line.textContent = form.dataset[name];
  }

  function pause(seconds) {
    return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }

  // Only the reference goes out: what the popup says of the payment proves nothing.
  async function ask(reference) {
    try {
      const answer = await fetch(form.dataset.confirm, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ reference }),
        cache: "no-store",
        credentials: "omit",
      });
      const again = Number(answer.headers.get("Retry-After"));
      return { ...(await answer.json()), status: answer.status, again };
    } catch {
      return { status: 0, again: SOON }; // offline for a moment
    }
  }

  function isSettled(found) {
    // 202 without Retry-After: paid, and a person looks at it. The result page says so.
    return found.status === 200 || (found.status === 202 && !found.again);
  }

  // `paid` is what the popup says; it decides how long we ask, and nothing else.
  async function settle(reference, paid) {
    say("checking");
    let found = {};
    for (let turn = 1; turn <= TURNS; turn += 1) {
      found = await ask(reference);
      if (isSettled(found)) return go(found);
      if (found.status === 402 && !paid) return say("cancelled");
      if (found.status !== 402 && !found.again) break; // the question itself was wrong
      if (turn < TURNS) await pause(found.again || SOON);
    }
    if (found.status === 202) return go(found);
    return say(found.status === 402 ? "unpaid" : "unconfirmed");
  }

  function go(found) {
    window.location.assign(found.result_url);
    return new Promise(() => {}); // the page is being left: nothing comes after
  }

  async function refused(reference, error) {
    if (error.code !== "duplicate_reference") return say("failed");
    // Begun in another window, and perhaps paid there.
    await settle(reference, false);
    anew.hidden = false;
    return say("elsewhere");
  }

  form?.addEventListener("submit", function (event) {
    if (!window.SandboxPop) return; // the form goes to the service by itself
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(form));
    const button = form.querySelector("button");
    const after = (work) => work.finally(() => { button.disabled = false; });
    button.disabled = true;
    line.textContent = "";
    window.SandboxPop.open({
      ...fields,
      title: form.dataset.title,
      closeLabel: form.dataset.close,
      onSuccess: ({ reference }) => after(settle(reference, true)),
      onCancel: ({ reference }) => after(settle(reference, false)),
      onError: (error) => after(refused(fields.reference, error)),
    });
  });

  // Back from the result page, by the browser's memory: show what is true now.
  window.addEventListener("pageshow", function (event) {
    if (event.persisted) window.location.reload();
  });
})();
