// Keep the totals open or closed, as this browser was left; at first closed on a narrow screen.
// Loaded right behind them, so that nothing jumps. Without this script they are open.
(function () {
  "use strict";
  const NAME = "payments_pages.totals";
  const totals = document.getElementById("pp-totals");
  if (!totals) { return; }

  function remembered() {
    // A browser that keeps nothing throws.
    try { return window.localStorage.getItem(NAME); } catch (error) { return null; }
  }

  function remember(state) {
    try { window.localStorage.setItem(NAME, state); } catch (error) { /* for this page only */ }
  }

  const state = remembered();
  totals.open = state ? state === "open" : !window.matchMedia("(max-width: 767px)").matches;
  totals.querySelector("summary").addEventListener("click", function () {
    // The click itself opens or closes, after this.
    remember(totals.open ? "closed" : "open");
  });
}());
