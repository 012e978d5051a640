// While a slug is typed, show the address it makes and ask whether it is free. The form checks it
// again when it is saved, with or without this script.
(function () {
  "use strict";
  const PAUSE = 400;

  function watch(box) {
    const input = box.querySelector("input");
    const shown = box.querySelector(".pp-slug-shown");
    const status = box.querySelector(".pp-slug-status");
    let timer = 0;
    let asked = null;

    function say(state, text) {
      status.dataset.state = state;
      status.textContent = text;
    }

    function ask(slug) {
      asked = new AbortController();
      const mine = asked;
      const url = box.dataset.check + "?" + new URLSearchParams({ slug: slug });
      say("checking", box.dataset.checking);
      fetch(url, { signal: mine.signal, headers: { Accept: "application/json" }, credentials: "same-origin" })
        .then(function (response) {
          if (!response.ok || response.redirected) { throw new Error("no answer"); }
          return response.json();
        })
        .then(function (answer) {
          if (!mine.signal.aborted) { say(answer.state, answer.text); }
        })
        .catch(function () {
          if (!mine.signal.aborted) { say("unknown", box.dataset.unknown); }
        });
    }

    input.addEventListener("input", function () {
      const slug = input.value.trim();
      shown.textContent = slug || shown.dataset.blank;
      window.clearTimeout(timer);
      if (asked) { asked.abort(); }
      say("", "");
      if (slug && box.dataset.check) {
        timer = window.setTimeout(function () { ask(slug); }, PAUSE);
      }
    });
  }

  document.querySelectorAll(".pp-slug").forEach(watch);
}());
