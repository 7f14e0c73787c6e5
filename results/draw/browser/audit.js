// What is wrong with a page as it is laid out now: a list of sentences. All that is folded is opened first.
// Sections are the ids of those that it has to show.
(width, sections) => {
  const faults = [];
  const fault = (text) => { if (faults.length < 40) faults.push(text); };
  for (const d of document.querySelectorAll("details")) d.open = true;

  if (document.scrollingElement.scrollWidth > width) {
    fault(`the page is ${document.scrollingElement.scrollWidth} px wide on a screen of ${width}`);
    for (const e of document.querySelectorAll("body *")) {
      if (e.getBoundingClientRect().right > width + 1 && !e.closest(".scroll")) { fault(`too far right: ${e.tagName}.${e.getAttribute("class")}`); break; }
    }
  }
  for (const id of sections) {
    const e = document.getElementById(id);
    if (!e || e.getBoundingClientRect().height < 20) fault(`section ${id} is not to be seen`);
  }

  const parts = [...document.querySelectorAll("main > section")].map((e) => [e.id, e.getBoundingClientRect()]);
  for (const [i, [id, box]] of parts.entries()) {
    if (i > 0 && box.top < parts[i - 1][1].bottom - 1) fault(`section ${id} overlaps ${parts[i - 1][0]}`);
  }
  if (sections.includes("means") && parts.slice(0, 2).every(([id]) => id !== "means")) fault("what it means does not stand at the top");
  for (const line of document.querySelectorAll("#means :is(dt, dd, li)")) {
    if (line.scrollWidth > line.clientWidth + 1) fault(`what it means is cut: ${line.textContent.slice(0, 40)}`);
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
  if (texts < 80 && sections.length > 0) fault(`only ${texts} pieces of text`);

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
  for (const row of document.querySelectorAll(".row")) {
    const boxes = [...row.children].map((e) => [e, e.getBoundingClientRect()]).filter(([, b]) => b.width > 0 && b.height > 0);
    for (const [i, [e, a]] of boxes.entries()) {
      for (const [other, b] of boxes.slice(i + 1)) {
        const x = Math.min(a.right, b.right) - Math.max(a.left, b.left), y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (x > 1 && y > 1) fault(`${e.className} overlaps ${other.className} in the row ${row.textContent.slice(0, 40)}`);
      }
      if (e.scrollWidth > e.clientWidth + 1 && e.className !== "plotbox") fault(`${e.className} overlaps what is beside it: ${e.textContent.slice(0, 40)}`);
    }
  }
  for (const matrix of document.querySelectorAll("#matrix .scroll")) {
    if (width >= 1280 && matrix.scrollWidth > matrix.clientWidth) fault(`the matrix is ${matrix.scrollWidth} px wide and has ${matrix.clientWidth}`);
    const heads = [...matrix.querySelectorAll("thead th > *")].map((e) => [e.textContent, e.getBoundingClientRect(), e.parentElement.getBoundingClientRect()]);
    for (const [i, [text, a, cell]] of heads.entries()) {
      if (a.top < cell.top - 1 || a.bottom > cell.bottom + 1) fault(`the head ${text} is cut`);
      if (i > 0 && heads[i - 1][1].right > a.left + 1) fault(`the heads ${heads[i - 1][0]} and ${text} overlap`);
    }
    for (const cell of matrix.querySelectorAll("tbody :is(th, td)")) {
      if (cell.scrollWidth > cell.clientWidth + 1) { fault(`${cell.textContent} does not fit into its cell`); break; }
    }
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
