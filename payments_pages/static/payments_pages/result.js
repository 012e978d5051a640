// Keep the page true: ask now and then whether the payment's state has changed, and show the new
// state in place. Add the buttons that need a script: print, copy. Without it "Check again" does.
(function () {
  "use strict";
  const main = document.querySelector("main");
  const line = document.querySelector(".pp-status");
  const pauses = [3, 5, 10, 20, 20, 30, 30]; // seconds; about two minutes in all

  // What is told stands in the region that was there from the start: a new one is not read out.
  function say(text, linkText) {
    line.textContent = text;
    if (!linkText) return;
    const link = document.createElement("a");
    link.href = window.location.href;
    link.textContent = linkText;
    line.append(" ", link);
  }

  function ask(turn) {
    if (turn >= pauses.length) return say(line.dataset.still);
    window.setTimeout(async function () {
      if (document.hidden) return wait(turn);
      try {
        const answer = await fetch(main.dataset.watch, { cache: "no-store", credentials: "omit" });
        const state = answer.ok ? await answer.json() : null;
        if (state && state.page !== main.dataset.page) return await showNewState();
      } catch (error) {
        // Offline for a moment: the next turn asks again.
      }
      ask(turn + 1);
    }, pauses[turn] * 1000);
  }

  // A hidden page asks nothing; it goes on when somebody looks at it again.
  function wait(turn) {
    document.addEventListener("visibilitychange", function () { ask(turn); }, { once: true });
  }

  async function showNewState() {
    let fresh = null;
    try {
      const answer = await fetch(window.location.href, { cache: "no-store" });
      const text = answer.ok ? await answer.text() : "";
      fresh = new DOMParser().parseFromString(text, "text/html");
    } catch (error) {
      // A link does it as well.
    }
    const found = fresh && fresh.querySelector("main");
    if (!found || !found.querySelector("h1")) return say(line.dataset.changed, line.dataset.show);
    const hadFocus = main.contains(document.activeElement);
    const region = found.querySelector(".pp-status");
    if (region) region.remove();
    for (const child of Array.from(main.children)) if (child !== line) child.remove();
    line.before(...found.children);
    main.className = found.className;
    main.dataset.page = found.dataset.page;
    const heading = main.querySelector("h1");
    document.title = fresh.title;
    addButtons();
    line.classList.add("pp-unseen");
    say(heading.textContent);
    if (hadFocus) {
      heading.tabIndex = -1;
      heading.focus();
    }
    if (region) ask(0);
  }

  function addButton(place, label, act) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "pp-plain";
    button.textContent = label;
    button.addEventListener("click", function () { act(button); });
    place.append(button);
    return button;
  }

  function addButtons() {
    const next = document.querySelector("[data-print]");
    if (next && window.print) addButton(next, next.dataset.print, function () { window.print(); });
    const reference = document.querySelector("[data-copy]");
    // Browsers have no clipboard for pages that came without TLS.
    if (!reference || !navigator.clipboard) return;
    addButton(reference, reference.dataset.label, async function (button) {
      try {
        await navigator.clipboard.writeText(reference.dataset.copy);
      } catch (error) {
        return; // refused by the reader; the reference can be selected
      }
      button.textContent = reference.dataset.copied;
      window.setTimeout(function () { button.textContent = reference.dataset.label; }, 2000);
    }).setAttribute("aria-live", "polite");
  }

  if (main && line && window.fetch) ask(0);
  addButtons();
})();
