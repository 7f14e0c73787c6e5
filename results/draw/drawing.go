package draw

// The elements of which charts are made.

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results/format"
)

// drawing is one plot. Horizontal places are shares of its width, from 0 to 1; vertical ones are pixels from its top. On a page a
// drawing is as wide as its place; in a file it has a place and a width.
type drawing struct {
	strings.Builder
	height    float64
	left, top float64
	width     float64         // 0: on a page
	inner     strings.Builder // what is stretched on a page: paths in a box 1,000 wide
}

func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 2, 64) + "%" }
func px(y float64) string      { return strconv.FormatFloat(y, 'f', 1, 64) }

// file reports whether the drawing belongs to a file.
func (d *drawing) file() bool { return d.width > 0 }

func (d *drawing) x(share float64) string {
	if d.file() {
		return px(d.left + d.width*share)
	}
	return percent(share)
}

func (d *drawing) y(y float64) string { return px(d.top + y) }

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, d.x(x1), d.y(y1), d.x(x2), d.y(y2))
}

func (d *drawing) rect(class string, x1, y1, x2, y2 float64) {
	wide := percent(max(0, x2-x1))
	if d.file() {
		wide = px(d.width * max(0, x2-x1))
	}
	fmt.Fprintf(d, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, d.x(x1), d.y(y1), wide, px(y2-y1))
}

func (d *drawing) dot(class string, x, y, r float64) {
	fmt.Fprintf(d, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`, class, d.x(x), d.y(y), px(r))
}

// sign is a little path whose pixels begin at x and y, so that it keeps its form on every width.
func (d *drawing) sign(class string, x, y float64, path string) {
	fmt.Fprintf(d, `<svg x="%s" y="%s" overflow="visible"><path class="%s" d="%s"/></svg>`, d.x(x), d.y(y), class, path)
}

// The ends of a text that stand at its x.
const (
	start  = "start"
	middle = "middle"
	end    = "end"
)

// text is written at x and dx pixels beside it.
func (d *drawing) text(class string, x, dx, y float64, anchor, s string) {
	if s == "" {
		return
	}
	at := fmt.Sprintf(`x="%s" dx="%s"`, d.x(x), px(dx))
	if d.file() {
		at = `x="` + px(d.left+d.width*x+dx) + `"`
	}
	fmt.Fprintf(d, `<text class="%s" %s y="%s" text-anchor="%s">%s</text>`, class, at, d.y(y), anchor, html.EscapeString(format.Line(s)))
}

// point is a place in a path.
type point struct{ x, y float64 }

// path goes through points; an area is closed along the bottom.
func (d *drawing) path(class string, points []point, area bool) {
	if len(points) == 0 {
		return
	}
	if area {
		points = append(points[:len(points):len(points)], point{points[len(points)-1].x, d.height}, point{points[0].x, d.height})
	}
	var b strings.Builder
	for i, p := range points {
		b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0])
		if d.file() {
			b.WriteString(d.x(p.x) + " " + d.y(p.y))
		} else {
			b.WriteString(px(1000*p.x) + " " + px(p.y))
		}
	}
	if area {
		b.WriteString("Z")
	}
	out := &d.inner
	if d.file() {
		out = &d.Builder
	}
	fmt.Fprintf(out, `<path class="%s" d="%s"/>`, class, b.String())
}

// svg returns the whole drawing of a page. Below its height there is room for so many pixels of tick labels. Title and desc are read
// out in its place.
func (d *drawing) svg(class, title, desc string, below float64) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="%s" role="img" width="100%%" height="%s"><title>%s</title>`,
		class, px(d.height+below), html.EscapeString(format.Line(title)))
	if desc != "" {
		fmt.Fprintf(&b, `<desc>%s</desc>`, html.EscapeString(format.Line(desc)))
	}
	b.WriteString(d.String())
	if d.inner.Len() > 0 {
		fmt.Fprintf(&b, `<svg class="stretch" width="100%%" height="%s" viewBox="0 0 1000 %s" preserveAspectRatio="none">%s</svg>`,
			px(d.height), px(d.height), d.inner.String())
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// axisX writes ticks along the bottom, and their lines up to the top. A page that is narrow leaves out every other label of more than
// four.
func (d *drawing) axisX(s scale) {
	for i, t := range s.ticks {
		d.line("grid", t.at, 0, t.at, d.height)
		anchor, class := middle, "tick"
		switch {
		case d.file():
		case i == 0 && t.at < 0.01:
			anchor = start
		case t.at > 0.97:
			anchor = end
		}
		if !d.file() && (t.minor || len(s.ticks) > 4 && i%2 == 1) {
			class += " minor"
		}
		d.text(class, t.at, 0, d.height+d.lineHeight(), anchor, t.label)
	}
}

// axisY writes ticks left of the drawing, into the room that is left there.
func (d *drawing) axisY(s scale) {
	for _, t := range s.ticks {
		y := d.height * (1 - t.at)
		d.line("grid", 0, y, 1, y)
		d.text("tick", 0, -8, y+4, end, t.label)
	}
}

// lineHeight is how far below the bottom a label stands: letters of a file are larger.
func (d *drawing) lineHeight() float64 {
	if d.file() {
		return 18
	}
	return 15
}

// known reports whether v can be drawn.
func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
