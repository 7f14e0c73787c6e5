// Comfort only: the page says all without it. Commands copy, and what is folded is printed.
"use strict";
(() => {
  const dress = (root) => {
    for (const pre of navigator.clipboard ? root.querySelectorAll("pre") : []) {
      const text = pre.textContent;
      const button = document.createElement("button");
      button.type = "button";
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
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
