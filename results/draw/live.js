// Keeps the page up to date.
"use strict";
(() => {
  const status = document.getElementById("status"), live = document.getElementById("live");
  const say = (text) => { if (status.textContent !== text) status.textContent = text; };
  const drawn = (part) => part.dispatchEvent(new Event("drawn", { bubbles: true }));
  const name = (e) => e.tagName + (e.ariaLabel ?? e.textContent);
  const show = (html) => { // what was unfolded stays so, and the focus where it was
    const open = new Set([...live.querySelectorAll("details[open] > summary")].map(name));
    const at = live.contains(document.activeElement) && name(document.activeElement);
    live.innerHTML = html;
    drawn(live);
    for (const e of live.querySelectorAll("button, summary, [tabindex]")) {
      if (open.has(name(e))) e.parentElement.open = true;
      if (at === name(e)) e.focus({ preventScroll: true });
    }
    document.title = live.querySelector("h1").textContent;
  };
  const connect = () => {
    const events = new EventSource(location.pathname);
    events.addEventListener("live", (e) => show(e.data));
    events.addEventListener("status", (e) => say(e.data));
    events.addEventListener("report", (e) => {
      const page = new DOMParser().parseFromString(e.data, "text/html"); // runs nothing
      document.title = page.title;
      page.querySelectorAll("script").forEach((s) => s.remove());
      document.body.replaceChildren(status, ...page.body.childNodes);
      drawn(document.body);
    });
    events.addEventListener("end", () => events.close());
    events.onerror = () => {
      say("No answer from lockbench: it has ended or was stopped. These are the last figures.");
      if (events.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
    };
  };
  connect();
})();
