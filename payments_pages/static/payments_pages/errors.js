// Take a field's error away as soon as something else is typed into the field, and put the focus on
// the first field in error. Without this script the errors stay until the form is saved again.
(function () {
  "use strict";
  const form = document.getElementById("paymentpage_form");
  if (!form) { return; }
  const lists = Array.from(form.querySelectorAll(".errorlist:not(.nonfield)"));

  function takeAway(list) {
    const place = list.parentElement;
    list.remove();
    [place, ...place.querySelectorAll(".errors")].forEach(function (box) { box.classList.remove("errors"); });
    place.querySelectorAll("[aria-invalid]").forEach(function (input) { input.removeAttribute("aria-invalid"); });
    if (!form.querySelector(".errorlist")) {
      form.querySelectorAll(".errornote").forEach(function (note) { note.remove(); });
    }
  }

  lists.forEach(function (list) {
    list.parentElement.addEventListener("input", function () { takeAway(list); }, { once: true });
  });

  // Django's own script, which is asynchronous, puts the focus on the first field of a new form.
  window.addEventListener("load", function () {
    if (!lists.length) { return; }
    const inputs = lists[0].parentElement.querySelectorAll("input, select, textarea");
    const first = Array.from(inputs).find(function (input) { return input.offsetParent; });
    if (first) { first.focus(); }
  });
}());
