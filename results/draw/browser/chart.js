// What is wrong with the chart of a page: a list of sentences.
() => {
  const faults = [];
  const rgb = (s) => (s.match(/[\d.]+/g) || []).map(Number).slice(0, 3);
  const luminance = (c) => {
    const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const svg = document.querySelector("svg");
  const page = svg.getBoundingClientRect();
  const paper = rgb(getComputedStyle(svg.querySelector(".page")).fill);
  if (page.width > innerWidth) faults.push(`the chart is ${page.width} px wide`);
  const boxes = [...svg.querySelectorAll("text")].map((e) => {
    const box = e.getBoundingClientRect(), text = e.textContent, style = getComputedStyle(e);
    const size = parseFloat(style.fontSize) * e.getScreenCTM().a;
    if (size < 8.5) faults.push(`text of ${size.toFixed(1)} px: ${text}`);
    if (box.left < page.left || box.right > page.right || box.top < page.top || box.bottom > page.bottom) faults.push(`${text} leaves the chart`);
    const ratio = contrast(rgb(style.fill), paper);
    if (ratio < 4.5) faults.push(`contrast ${ratio.toFixed(2)}: ${text}`);
    const slack = 0.2 * box.height; // lines of text lie close together, their letters do not
    return { text, left: box.left, right: box.right, top: box.top + slack, bottom: box.bottom - slack };
  });
  boxes.forEach((a, i) => boxes.slice(0, i).forEach((b) => {
    if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) faults.push(`${a.text} and ${b.text} overlap`);
  }));
  return faults;
}
