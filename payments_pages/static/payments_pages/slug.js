// While a slug is typed, show the address it makes and ask whether it is free. The form checks it
// again when it is saved, with or without this script. Until staff type a slug themselves, one is
// made of a Latin name; for another name, or if that slug is taken, the suggested one stays.
(function () {
  "use strict";
  const PAUSE = 400;

  function watch(box) {
    const input = box.querySelector("input");
    const shown = box.querySelector(".pp-slug-shown");
    const status = box.querySelector(".pp-slug-status");
    const name = document.getElementById(box.dataset.name);
    const suggested = document.querySelector("input[name='" + box.dataset.suggested + "']");
    let ours = suggested ? suggested.value : null;
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
          if (mine.signal.aborted) { return; }
          if (answer.state === "taken" && input.value === ours && ours !== suggested.value) {
            ours = suggested.value;
            fill(ours);
            return;
          }
          say(answer.state, answer.text);
        })
        .catch(function () {
          if (!mine.signal.aborted) { say("unknown", box.dataset.unknown); }
        });
    }

    function fill(slug) {
      input.value = slug;
      // As if it was typed: what was said of the old slug goes away, too.
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }

    // A name in another script has no Latin slug that everybody would read alike.
    function made(text) {
      const plain = text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
      if (/[^\u0000-\u024f\u2000-\u206f]/.test(plain)) { return ""; }
      const slug = plain.replace(/['\u2019]/g, "").replace(/[^a-z0-9]+/g, "-").slice(0, 60);
      const trimmed = slug.replace(/^-+|-+$/g, "");
      return /[a-z]/.test(trimmed) ? trimmed : "";
    }

    if (name && suggested) {
      name.addEventListener("input", function () {
        if (input.value !== ours) { return; }
        ours = made(name.value) || suggested.value;
        fill(ours);
      });
    }

    function show() {
      const slug = input.value.trim();
      shown.textContent = slug || shown.dataset.blank;
      window.clearTimeout(timer);
      if (asked) { asked.abort(); }
      say("", "");
      if (slug && box.dataset.check) {
        timer = window.setTimeout(function () { ask(slug); }, PAUSE);
      }
    }

    input.addEventListener("input", show);
  }

  document.querySelectorAll(".pp-slug").forEach(watch);
}());
