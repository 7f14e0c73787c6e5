// Prints what is folded, and keeps a live page up to date.
"use strict";
(() => {
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));

  const live = document.getElementById("live"), status = document.getElementById("status");
  const say = (text) => { if (status.textContent !== text) status.textContent = text; };
  const name = (e) => e.tagName + (e.ariaLabel ?? e.textContent);
  const show = (html) => { // what was unfolded stays so, and the focus where it was
    const open = new Set([...live.querySelectorAll("details[open] > summary")].map(name));
    const at = live.contains(document.activeElement) && name(document.activeElement);
    live.innerHTML = html;
    for (const e of live.querySelectorAll("summary, [tabindex]")) {
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
      const page = new DOMParser().parseFromString(e.data, "text/html"); // neither it nor innerHTML runs a script
      show(page.body.innerHTML);
      document.title = page.title;
    });
    events.addEventListener("end", () => events.close());
    events.onerror = () => {
      say("No answer from lockbench: it has ended or was stopped. These are the last figures.");
      if (events.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
    };
  };
  if (live) connect();
})();
