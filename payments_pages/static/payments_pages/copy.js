// Add a button beside each public address that copies it. Without this script there is no button,
// and the address is a link that can be selected.
(function () {
  "use strict";
  const texts = document.getElementById("pp-texts");
  if (!texts) { return; }
  const status = document.createElement("div");
  status.className = "pp-unseen";
  status.setAttribute("role", "status");
  document.body.append(status);

  function say(text) {
    status.textContent = "";
    // A screen reader tells what changes: the same text twice would be silent.
    window.setTimeout(function () { status.textContent = text; }, 50);
  }

  function showForCopying(place, url) {
    let input = place.querySelector("input");
    if (!input) {
      input = document.createElement("input");
      input.type = "text";
      input.readOnly = true;
      input.value = url;
      input.dir = "ltr";
      input.setAttribute("aria-label", texts.dataset.byHand);
      place.append(input);
    }
    input.focus();
    input.select();
    say(texts.dataset.byHand);
  }

  function addButton(place) {
    const button = document.createElement("button");
    const name = document.createElement("span");
    let timer = 0;
    button.type = "button";
    button.className = "pp-copy-button";
    button.title = texts.dataset.copy;
    name.className = "pp-unseen";
    name.dir = "auto";
    name.textContent = " " + place.dataset.name;
    const label = document.createTextNode(texts.dataset.copy);
    button.append(label, name);
    place.append(button);
    button.addEventListener("click", function () {
      const url = place.dataset.copy;
      // Browsers have no clipboard for pages that came without TLS.
      const copied = navigator.clipboard ? navigator.clipboard.writeText(url) : Promise.reject(new Error());
      copied.then(function () {
        label.data = texts.dataset.copied;
        button.classList.add("pp-copied");
        say(texts.dataset.copied);
        window.clearTimeout(timer);
        timer = window.setTimeout(function () {
          label.data = texts.dataset.copy;
          button.classList.remove("pp-copied");
        }, 2000);
      }, function () { showForCopying(place, url); });
    });
  }

  document.querySelectorAll("[data-copy][data-name]").forEach(addButton);
}());
