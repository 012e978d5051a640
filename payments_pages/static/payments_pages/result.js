// Ask now and then whether the page is still true. Without this script "Check again" does it.
(function () {
  "use strict";
  const main = document.querySelector("[data-watch]");
  const line = document.querySelector(".pp-status");
  const pauses = [3, 5, 10, 20, 20, 30, 30]; // seconds; about two minutes in all

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
        if (state && state.page !== main.dataset.page) {
          return say(line.dataset.changed, line.dataset.show);
        }
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

  function offerPrinting() {
    const place = document.querySelector("[data-print]");
    if (!place || !window.print) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "pp-button";
    button.textContent = place.dataset.print;
    button.addEventListener("click", function () { window.print(); });
    place.append(button);
  }

  if (main && line && window.fetch) ask(0);
  offerPrinting();
})();
