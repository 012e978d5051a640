// Tell the site whose popup shows this page how the payment ended, and that Escape was pressed.
(function () {
  "use strict";
  const told = document.currentScript.dataset;

  // The browser hands this to no other origin than the one that started the checkout.
  function tell(message) {
    window.parent.postMessage({ type: "sandbox-checkout", ...message }, told.origin);
  }

  if (told.status) {
    tell({ reference: told.reference, status: told.status, ends: told.ends === "yes" });
  }
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") tell({ leaves: true });
  });
})();
