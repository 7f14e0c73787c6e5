package svg

// The elements of which charts are made, and how wide text is.

import (
	_ "embed"
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/plot"
)

const (
	width  = 600.0
	margin = 16.0

	shown = 1.15 // times its width is how large a chart is shown where there is room
)

// The sizes of text.
const (
	titleSize = 20.0
	textSize  = 15.0
)

//go:embed style.css
var style string

// canvas is a chart that grows downwards.
type canvas struct {
	strings.Builder
	y float64 // where the next part begins
}

func px(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(c, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n", class, px(x1), px(y1), px(x2), px(y2))
}

func (c *canvas) rect(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(c, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`+"\n", class, px(x1), px(y1), px(max(0, x2-x1)), px(y2-y1))
}

func (c *canvas) dot(class string, x, y, r float64) {
	fmt.Fprintf(c, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`+"\n", class, px(x), px(y), px(r))
}

// The ends of a text that stand at its x.
const (
	start  = "start"
	middle = "middle"
	end    = "end"
)

func (c *canvas) text(class string, x, y float64, anchor, s string) {
	if s == "" {
		return
	}
	fmt.Fprintf(c, `<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`+"\n", class, px(x), px(y), anchor, html.EscapeString(format.Line(s)))
}

type point struct{ x, y float64 }

func (c *canvas) path(class string, points []point) {
	var d strings.Builder
	for i, p := range points {
		d.WriteString(map[bool]string{true: "M", false: "L"}[i == 0])
		d.WriteString(px(p.x) + " " + px(p.y))
	}
	fmt.Fprintf(c, `<path class="%s" d="%s"/>`+"\n", class, d.String())
}

// paragraph writes text below the last part, as many lines as it takes.
func (c *canvas) paragraph(class, text string) {
	if text == "" {
		return
	}
	for _, line := range wrap(text, width-2*margin) {
		c.y += 20
		c.text(class, margin, c.y-5, start, line)
	}
}

// newCanvas begins a chart with its title and what is to be known before it is read.
func newCanvas(title string, about ...string) *canvas {
	c := &canvas{y: 12}
	for _, line := range wrapAt(title, " ", width-2*margin, titleSize*bold) {
		c.y += 26
		c.text("title", margin, c.y-5, start, line)
	}
	for _, text := range about {
		c.paragraph("soft", text)
	}
	return c
}

// chart ends the canvas and makes a file of it.
func (c *canvas) chart(name, title, alt string) Chart {
	height := c.y + 14
	title, alt = format.Line(title), format.Line(alt)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" aria-labelledby="t d">`+"\n",
		px(shown*width), px(shown*height), px(width), px(height))
	fmt.Fprintf(&b, "<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n", html.EscapeString(title), html.EscapeString(alt))
	fmt.Fprintf(&b, "<style>\n%s%s</style>\n", plot.Colours, style)
	b.WriteString(`<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
		`<rect class="hatch-back" width="6" height="6"/><line class="hatch-line" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>` + "\n")
	fmt.Fprintf(&b, `<rect class="page" width="%s" height="%s" rx="6"/>`+"\n", px(width), px(height))
	b.WriteString(c.String())
	b.WriteString("</svg>\n")
	return Chart{Name: name, Title: title, Alt: alt, SVG: []byte(b.String())}
}

// widths are those of the printable ASCII characters in DejaVu Sans, in thousandths of the size. It is the widest of the fonts
// that a chart may come to be shown in, so that what fits here fits in all.
var widths = [...]int{
	318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636, 636, 636, 636,
	337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,
	611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974,
	634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
}

const bold = 1.13 // times as wide is bold text

// measure returns how wide text is.
func measure(s string, size float64) float64 {
	sum := 0
	for _, r := range s {
		switch {
		case r >= ' ' && int(r-' ') < len(widths):
			sum += widths[r-' ']
		case r == '·', r == '\u00a0':
			sum += 318
		case format.Width(string(r)) > 1: // 版
			sum += 1000
		default:
			sum += 838
		}
	}
	return float64(sum) * size / 1000
}

// wrap breaks text into lines that are no wider than room.
func wrap(text string, room float64) []string { return wrapAt(text, " ", room, textSize) }

// nameLines breaks a name before a part of it, so that it takes two lines at most where parts are short.
func nameLines(name string, room float64) []string { return wrapAt(name, " · ", room, textSize) }

// wrapAt breaks text at sep alone, and clips the parts that are too wide by themselves.
func wrapAt(text, sep string, room, size float64) (lines []string) {
	line := ""
	for part := range strings.SplitSeq(text, sep) {
		if line != "" && measure(line+sep+part, size) > room {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+sep+part, sep)
	}
	lines = append(lines, line)
	for i, line := range lines {
		lines[i] = clip(line, room, size)
	}
	return lines
}

// clip cuts out of the middle what does not fit into the room: names often differ at their ends.
func clip(s string, room, size float64) string {
	if measure(s, size) <= room {
		return s
	}
	r := []rune(s)
	for n := len(r) - 1; n > 0; n-- {
		if short := string(r[:(n+1)/2]) + "…" + string(r[len(r)-n/2:]); measure(short, size) <= room {
			return short
		}
	}
	return "…"
}
