// Take one step of a sync after the other and show how far it is. Without this script each step
// has a page of its own, with a button for the next one.
(function () {
  "use strict";
  const form = document.getElementById("pp-sync");
  if (!form) { return; }
  const button = form.querySelector("input[type=submit]");
  const bar = form.querySelector("progress");
  const text = document.getElementById("pp-sync-text");
  const trouble = document.getElementById("pp-sync-error");
  const token = form.querySelector("input[name=token]");

  function stop(message) {
    trouble.textContent = message;
    button.disabled = false;
    form.removeAttribute("aria-busy");
  }

  function show(state) {
    text.textContent = state.text;
    token.value = state.next;
    if (state.total) {
      bar.max = state.total;
      bar.value = Math.min(state.seen, state.total);
    }
  }

  function step() {
    button.disabled = true;
    trouble.textContent = "";
    form.setAttribute("aria-busy", "true");
    fetch(form.action, {
      method: "POST",
      body: new FormData(form),
      headers: { Accept: "application/json" },
      credentials: "same-origin",
    }).then(function (response) {
      if (!response.ok || response.redirected) { throw new Error("no answer"); }
      return response.json();
    }).then(function (state) {
      if (state.done) { window.location.assign(state.url); return; }
      show(state);
      if (state.error) { stop(state.error); return; }
      step();
    }).catch(function () { stop(form.dataset.lost); });
  }

  form.addEventListener("submit", function (event) {
    event.preventDefault();
    step();
  });
  // After a step that failed a person decides when to go on.
  if (!trouble.textContent) { step(); }
}());
