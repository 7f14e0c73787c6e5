// Comfort only: the page says all without it. Tables sort by a click, commands copy, links open what is folded.
"use strict";
(() => {
  // "1.2 ms" and "81,196" as numbers; anything else as NaN.
  const units = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12 };
  const number = (text) => {
    const m = /^<?\s*(-?[\d,]*\.?\d+(?:e-?\d+)?)\s*(ns|µs|ms|s|min|h)?\b/.exec(text.trim());
    return m ? parseFloat(m[1].replaceAll(",", "")) * (units[m[2]] || 1) : NaN;
  };
  const compare = (a, b) => {
    const x = number(a), y = number(b);
    if (isNaN(x) && isNaN(y)) return a.localeCompare(b);
    return isNaN(x) ? 1 : isNaN(y) ? -1 : x - y;
  };
  const dress = (root) => {
    for (const table of root.querySelectorAll("table.sortable")) {
      if (table.querySelector("tr.part, tr.group")) continue; // rows that belong to others stay below them
      table.querySelectorAll("thead th").forEach((th, col) => {
        if (!th.textContent.trim()) return; // a column of marks
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = th.textContent;
        th.replaceChildren(button);
        button.addEventListener("click", () => {
          const up = th.getAttribute("aria-sort") !== "ascending";
          table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
          th.setAttribute("aria-sort", up ? "ascending" : "descending");
          const rows = [...table.tBodies[0].rows];
          rows.sort((a, b) => compare(a.cells[col].textContent, b.cells[col].textContent) * (up ? 1 : -1));
          table.tBodies[0].append(...rows);
        });
      });
    }
    for (const pre of root.querySelectorAll("pre.command")) {
      if (!navigator.clipboard) break;
      const text = pre.textContent;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
      pre.prepend(button);
    }
  };
  dress(document);
  addEventListener("drawn", (event) => dress(event.target)); // a part of a page that changes
  const unfold = () => {
    let at = document.getElementById(location.hash.slice(1));
    for (const target = at; at; at = at.parentElement) {
      if (at.tagName === "DETAILS") at.open = true;
      if (at === document.body) target.scrollIntoView();
    }
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();
  addEventListener("beforeprint", () => document.querySelectorAll("main details").forEach((d) => { d.open = true; }));
})();
