package draw

// The elements of which charts are made.

import (
	"fmt"
	"html"
	"html/template"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results/plot"
)

// Drawing is an SVG that is as wide as its place and so many pixels high. Horizontal places are shares of the width, from
// 0 to 1; vertical ones are pixels.
type Drawing struct {
	strings.Builder
	Height float64
	inner  strings.Builder // what is stretched: paths in a box 1,000 wide
}

func Percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 2, 64) + "%" }
func px(y float64) string      { return strconv.FormatFloat(y, 'f', 1, 64) }

func (d *Drawing) Line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, Percent(x1), px(y1), Percent(x2), px(y2))
}

func (d *Drawing) Rect(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`,
		class, Percent(x1), px(y1), Percent(max(0, x2-x1)), px(y2-y1))
}

func (d *Drawing) Dot(class string, x, y, r float64) {
	fmt.Fprintf(d, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`, class, Percent(x), px(y), px(r))
}

// Sign is a little path whose pixels begin at x and y, so that it keeps its form on every width.
func (d *Drawing) Sign(class string, x, y float64, path string) {
	fmt.Fprintf(d, `<svg x="%s" y="%s" overflow="visible"><path class="%s" d="%s"/></svg>`, Percent(x), px(y), class, path)
}

// Text is written at x and dx pixels beside it; anchor is start, middle or end.
func (d *Drawing) Text(class string, x, dx, y float64, anchor, s string) {
	fmt.Fprintf(d, `<text class="%s" x="%s" dx="%s" y="%s" text-anchor="%s">%s</text>`,
		class, Percent(x), px(dx), px(y), anchor, html.EscapeString(s))
}

// Point is a place in a path.
type Point struct{ X, Y float64 }

// Path goes through points; an area is closed along the bottom.
func (d *Drawing) Path(class string, points []Point, area bool) {
	if len(points) == 0 {
		return
	}
	var b strings.Builder
	for i, p := range points {
		b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0])
		b.WriteString(px(1000*p.X) + " " + px(p.Y))
	}
	if area {
		last := points[len(points)-1]
		fmt.Fprintf(&b, "L%s %sL%s %sZ", px(1000*last.X), px(d.Height), px(1000*points[0].X), px(d.Height))
	}
	fmt.Fprintf(&d.inner, `<path class="%s" d="%s"/>`, class, b.String())
}

// SVG returns the whole drawing. Below its height there is room for so many pixels of tick labels. Title and desc are read out
// in its place.
func (d *Drawing) SVG(class, title, desc string, below float64) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="%s" role="img" width="100%%" height="%s"><title>%s</title>`,
		class, px(d.Height+below), html.EscapeString(title))
	if desc != "" {
		fmt.Fprintf(&b, `<desc>%s</desc>`, html.EscapeString(desc))
	}
	b.WriteString(d.String())
	if d.inner.Len() > 0 {
		fmt.Fprintf(&b, `<svg class="stretch" width="100%%" height="%s" viewBox="0 0 1000 %s" preserveAspectRatio="none">%s</svg>`,
			px(d.Height), px(d.Height), d.inner.String())
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// AxisX writes ticks along the bottom, and their lines up to the top. Of more than four, every other label is left out on a
// narrow page.
func (d *Drawing) AxisX(s plot.Scale) {
	for i, t := range s.Ticks {
		d.Line("grid", t.At, 0, t.At, d.Height)
		anchor := "middle"
		switch {
		case i == 0 && t.At < 0.01:
			anchor = "start"
		case t.At > 0.97:
			anchor = "end"
		}
		class := "tick"
		if t.Minor || len(s.Ticks) > 4 && i%2 == 1 {
			class += " minor"
		}
		d.Text(class, t.At, 0, d.Height+15, anchor, t.Label)
	}
}

// AxisY writes ticks left of the drawing, into the room that its box leaves there.
func (d *Drawing) AxisY(s plot.Scale) {
	for _, t := range s.Ticks {
		y := d.Height * (1 - t.At)
		d.Line("grid", 0, y, 1, y)
		d.Text("tick", 0, -8, y+4, "end", t.Label)
	}
}
