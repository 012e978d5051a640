// Keep one blank row for a question, and add another when asked. Without this script all rows are
// there from the start.
(function () {
  "use strict";

  function isBlank(row) {
    return Array.from(row.querySelectorAll("input")).every(function (input) { return !input.value; });
  }

  function watch(table) {
    const rows = Array.from(table.tBodies[0].rows);
    const most = Number(table.dataset.most);
    const name = table.dataset.name;
    const button = document.createElement("button");

    rows.slice(1).reverse().every(function (row) {
      if (!isBlank(row)) { return false; }
      row.hidden = true;
      return true;
    });

    function next() {
      const hidden = rows.find(function (row) { return row.hidden; });
      if (hidden) { hidden.hidden = false; return hidden; }
      const number = rows.length + 1;
      const row = rows[0].cloneNode(true);
      row.querySelectorAll("input").forEach(function (input) {
        const part = input.name.slice(input.name.lastIndexOf("-"));
        input.value = "";
        input.name = name + "-" + number + part;
        input.setAttribute("aria-label", input.getAttribute("aria-label").replace("1", String(number)));
      });
      rows[rows.length - 1].after(row);
      rows.push(row);
      return row;
    }

    button.type = "button";
    button.className = "pp-add-question";
    button.textContent = table.dataset.add;
    button.addEventListener("click", function () {
      next().querySelector("input").focus();
      const shown = rows.filter(function (row) { return !row.hidden; }).length;
      button.hidden = shown >= most;
    });
    table.after(button);
  }

  document.querySelectorAll(".pp-questions").forEach(watch);
}());
