// Niceties only: the page is complete without this script.
(function () {
  "use strict";

  function value(row, i) {
    var cell = row.cells[i];
    if (!cell) return "";
    return cell.dataset.v !== undefined ? parseFloat(cell.dataset.v) : cell.textContent.trim();
  }

  function compare(a, b) {
    var na = typeof a === "number", nb = typeof b === "number";
    if (na && nb) return a - b;
    if (na !== nb) return na ? -1 : 1; // numbers before what has none
    return a.localeCompare(b, undefined, { numeric: true });
  }

  function sort(table, i, th) {
    var descending = th.getAttribute("aria-sort") === "ascending";
    table.querySelectorAll("th").forEach(function (h) { h.removeAttribute("aria-sort"); });
    th.setAttribute("aria-sort", descending ? "descending" : "ascending");
    var body = table.tBodies[0];
    Array.from(body.rows)
      .sort(function (a, b) { return compare(value(a, i), value(b, i)) * (descending ? -1 : 1); })
      .forEach(function (row) { body.appendChild(row); });
  }

  function quote(s) {
    s = s.replace(/\s+/g, " ").trim();
    return /[",\n]/.test(s) ? '"' + s.replace(/"/g, '""') + '"' : s;
  }

  function csv(table) {
    var head = Array.from(table.tHead.rows[0].cells).map(function (th) {
      return quote(th.dataset.name + (th.dataset.unit ? " (" + th.dataset.unit + ")" : ""));
    });
    var rows = Array.from(table.tBodies[0].rows).map(function (row) {
      return Array.from(row.cells).map(function (td) {
        return quote(td.dataset.v !== undefined ? td.dataset.v : td.textContent);
      }).join(",");
    });
    return [head.join(",")].concat(rows).join("\n") + "\n";
  }

  function copied(button, ok) {
    button.textContent = ok ? "Copied" : "Copying failed";
    setTimeout(function () { button.textContent = "Copy CSV"; }, 1500);
  }

  function copy(text, button) {
    if (navigator.clipboard) {
      navigator.clipboard.writeText(text).then(
        function () { copied(button, true); },
        function () { copied(button, byHand(text)); });
      return;
    }
    copied(button, byHand(text));
  }

  function byHand(text) {
    var area = document.createElement("textarea");
    area.value = text;
    document.body.appendChild(area);
    area.select();
    var ok = document.execCommand("copy");
    area.remove();
    return ok;
  }

  document.querySelectorAll("table").forEach(function (table) {
    Array.from(table.tHead.rows[0].cells).forEach(function (th, i) {
      var unit = th.querySelector(".unit");
      th.dataset.name = th.firstChild ? th.firstChild.textContent : "";
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = th.dataset.name;
      button.title = "Sort by this column";
      button.addEventListener("click", function () { sort(table, i, th); });
      th.replaceChildren(button);
      if (unit) th.appendChild(unit);
    });
    var button = table.closest(".table").querySelector(".copy");
    button.hidden = false;
    button.addEventListener("click", function () { copy(csv(table), button); });
  });
})();
