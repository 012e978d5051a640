// Show the logo whose address is typed, as soon as the input is left. Without this script the logo is
// seen on the page's form after it is saved.
(function () {
  "use strict";

  function watch(box) {
    const input = box.querySelector("input");
    const image = document.createElement("img");
    const status = document.createElement("p");
    image.className = "pp-logo";
    image.alt = box.dataset.alt;
    image.referrerPolicy = "no-referrer";
    image.hidden = true;
    status.className = "pp-logo-status";
    status.setAttribute("role", "status");
    box.append(image, status);

    image.addEventListener("load", function () { image.hidden = false; });
    image.addEventListener("error", function () { status.textContent = box.dataset.broken; });

    function show() {
      const url = input.value.trim();
      image.hidden = true;
      status.textContent = "";
      image.removeAttribute("src");
      if (/^https:\/\/./i.test(url)) { image.src = url; }
    }

    input.addEventListener("change", show);
    show();
  }

  document.querySelectorAll(".pp-logo-box").forEach(watch);
}());
