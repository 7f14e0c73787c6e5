package draw

// What charts are drawn with: shapes and texts as SVG.

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results/format"
)

// point is a place on a chart.
type point struct{ x, y float64 }

// units writes a length: ten units are the size of a letter.
func units(v float64) string { return strconv.FormatFloat(math.Round(100*v)/10, 'f', -1, 64) }

func escape(s string) string { return html.EscapeString(format.Line(s)) }

func (p *plot) path(class, closed string, points ...point) {
	var steps []string
	for _, at := range points {
		steps = append(steps, units(at.x)+" "+units(at.y))
	}
	fmt.Fprintf(p, "\n"+`<path class="%s" d="M%s%s"/>`, class, strings.Join(steps, "L"), closed)
}

func (p *plot) line(class string, x1, y1, x2, y2 float64) {
	p.path(class, "", point{x1, y1}, point{x2, y2})
}

func (p *plot) rect(class string, x1, y1, x2, y2 float64) {
	p.path(class, "Z", point{x1, y1}, point{x2, y1}, point{x2, y2}, point{x1, y2})
}

// Signs.
const (
	small    = "M-2.4 0a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0 -4.8 0Z"
	dot      = "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z"
	cross    = "M-3.5 -3.5L3.5 3.5M-3.5 3.5L3.5 -3.5"
	triangle = "M0 -4.5L4 3.5L-4 3.5Z"
	diamond  = "M0 -4.5L4.5 0L0 4.5L-4.5 0Z"
	stop     = "M0 -3.5V3.5"
	more     = "M-5 -4L0 0L-5 4Z"
	less     = "M5 -4L0 0L5 4Z"
)

func (p *plot) sign(class string, x, y float64, shape string) {
	fmt.Fprintf(p, "\n"+`<path class="sign %s" transform="translate(%s %s)" d="%s"/>`, class, units(x), units(y), shape)
}

// text writes a line of text, and cuts what is wider than room.
func (p *plot) text(class string, x, y float64, anchor, text string, room float64) {
	text = format.Line(text)
	for r := []rune(text); len(r) > 0 && measure(text) > room; text = string(r) + "…" {
		r = r[:len(r)-1]
	}
	if text != "" {
		fmt.Fprintf(p, "\n"+`<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`,
			class, units(x), units(y), anchor, escape(text))
	}
}

// letter is how wide letters are on average in DejaVu Sans, the widest of the fonts that a chart may be shown in.
const letter = 0.6

// measure returns how wide text is, in units of its size.
func measure(s string) float64 { return letter * float64(format.Width(s)) }

// wrap breaks text into three lines at the most: between its parts, if these are short enough.
func wrap(text string, room float64) []string {
	columns := int(room / letter)
	parts := strings.Split(format.Line(text), " · ")
	for i, part := range parts {
		if format.Width(part) <= columns {
			parts[i] = format.Glue(part)
		}
	}
	lines := format.Wrap("", strings.Join(parts, " · "), columns)
	for i, line := range lines {
		lines[i] = strings.Trim(line, "· ")
	}
	if len(lines) > 3 {
		lines = append(lines[:2], lines[2]+" …")
	}
	return lines
}
