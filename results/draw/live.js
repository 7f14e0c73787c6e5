// Keeps the page up to date: each event replaces the part that it is named after, and the last one all.
"use strict";
(() => {
  const status = document.getElementById("status");
  const say = (text) => { if (status.textContent !== text) status.textContent = text; };
  const drawn = (part) => part.dispatchEvent(new Event("drawn", { bubbles: true }));
  const show = (part, html) => { // what was unfolded stays so, and the focus where it was
    const name = (e) => e.closest("[id]").id + " " + e.tagName + e.textContent;
    const open = new Set([...part.querySelectorAll("details[open] > summary")].map(name));
    const at = part.contains(document.activeElement) && name(document.activeElement);
    part.innerHTML = html;
    drawn(part);
    for (const e of part.querySelectorAll("a, button, summary, [tabindex]")) {
      if (open.has(name(e))) e.parentElement.open = true;
      if (at === name(e)) e.focus({ preventScroll: true });
    }
  };
  const connect = () => {
    const events = new EventSource(location.pathname);
    for (const part of document.querySelectorAll("[id^=live-]")) events.addEventListener(part.id, (e) => show(part, e.data));
    events.addEventListener("status", (e) => say(e.data));
    events.addEventListener("live-head", () => {
      const done = document.querySelector("progress")?.value;
      document.title = (done === undefined ? "" : done + " % ") + document.querySelector("h1").textContent;
    });
    events.addEventListener("report", (e) => {
      const page = new DOMParser().parseFromString(e.data, "text/html"); // runs nothing
      document.title = page.title;
      page.querySelectorAll("script").forEach((s) => s.remove());
      document.body.replaceChildren(status, ...page.body.childNodes);
      drawn(document.body);
    });
    events.addEventListener("end", () => events.close());
    events.onerror = () => {
      say("No answer from lockbench: it has ended or was stopped. These are the last figures; they go on if it answers again.");
      if (events.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
    };
  };
  connect();
})();
