// What is wrong with a page as it is laid out now: a list of sentences. All that is folded is opened first.
(width) => {
  const faults = [];
  const fault = (text) => { if (faults.length < 40) faults.push(text); };
  for (const d of document.querySelectorAll("details")) d.open = true;

  if (document.scrollingElement.scrollWidth > width) {
    fault(`the page is ${document.scrollingElement.scrollWidth} px wide on a screen of ${width}`);
    const out = [...document.querySelectorAll("body *")].find((e) => e.getBoundingClientRect().right > width + 1 && !e.closest(".scroll"));
    if (out) fault(`too far right: ${out.tagName}.${out.getAttribute("class")}`);
  }
  // Colours as [r, g, b, alpha].
  const rgb = (s) => { const n = (s.match(/[\d.]+/g) || []).map(Number); return n.length < 3 ? [0, 0, 0, 0] : [n[0], n[1], n[2], n[3] ?? 1]; };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const behind = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c[3] > 0) layers.push(c);
      if (c[3] === 1) break;
    }
    return layers.reduceRight((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  // Relative luminance and contrast as WCAG 2.2 defines them.
  const luminance = (c) => {
    const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };

  const seen = new Set();
  const sampled = 1500; // pieces of text; of long pages as many, evenly spread
  const every = Math.ceil(document.querySelectorAll("body *").length / sampled);
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (text && texts % every !== 0) { texts++; continue; }
    if (!text || ["SCRIPT", "STYLE", "title", "desc"].includes(e.tagName)) continue;
    const box = e.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    texts++;
    const style = getComputedStyle(e);
    const matrix = e.getScreenCTM ? e.getScreenCTM() : null;
    const size = parseFloat(style.fontSize) * (matrix ? Math.min(matrix.a, matrix.d) : 1);
    if (size < 11) fault(`text of ${size.toFixed(1)} px: ${text.slice(0, 40)}`);
    const ink = rgb(e.namespaceURI.endsWith("svg") ? style.fill : style.color), paper = behind(e.closest("svg")?.parentElement ?? e);
    const key = ink + "|" + paper;
    if (seen.has(key)) continue;
    seen.add(key);
    const ratio = contrast(over(ink, paper), paper);
    if (ratio < 4.5) fault(`contrast ${ratio.toFixed(2)} of ${ink} on ${paper}: ${text.slice(0, 40)}`);
  }

  for (const svg of document.querySelectorAll("svg[role=img]")) {
    if (!(svg.ariaLabel || svg.querySelector(":scope > title")?.textContent)) fault("a chart has no title");
    if (getComputedStyle(svg).display === "none") continue; // it is for another width
    const labels = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]).filter(([, b]) => b.width > 0);
    for (const [i, [text, a]] of labels.entries()) {
      if (a.left < -1 || a.right > width + 1) fault(`label off the screen: ${text}`);
      for (const [other, b] of labels.slice(i + 1)) {
        const x = Math.min(a.right, b.right) - Math.max(a.left, b.left), y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (x > 1 && y > 3) fault(`labels overlap: "${text}" and "${other}" in ${(svg.ariaLabel ?? svg.querySelector("title").textContent).slice(0, 60)}`);
      }
    }
    if (svg.getBoundingClientRect().width < 80) fault(`a chart is ${svg.getBoundingClientRect().width} px wide`);
  }
  for (const e of document.querySelectorAll("a[href], button, summary, progress, [tabindex], [role=img]")) { // what a screen reader says of it
    const name = document.getElementById(e.getAttribute("aria-labelledby"))?.textContent ?? e.ariaLabel ?? e.querySelector(":scope > title")?.textContent ?? e.textContent;
    if (!name.trim()) fault(`a ${e.tagName.toLowerCase()} has no name`);
  }
  for (const table of document.querySelectorAll(".dense")) {
    const room = table.parentElement.clientWidth;
    if (width >= 1280 && table.scrollWidth > room) fault(`a table of signs is ${table.scrollWidth} px wide and has ${room}`);
  }
  for (const sign of document.querySelectorAll("path.sign")) {
    const style = getComputedStyle(sign), box = sign.getBoundingClientRect();
    if (style.stroke === "none" && style.fill === "none") { fault("a mark has no colour"); break; }
    if (box.width > 0 && (box.left < -1 || box.right > width + 1)) fault("a mark is off the screen");
  }
  for (const curve of document.querySelectorAll("path.curve")) {
    if (curve.getBoundingClientRect().width < 5) continue; // of a single point
    if (getComputedStyle(curve).stroke === "none") { fault("a line has no colour"); break; }
  }
  return faults;
}
