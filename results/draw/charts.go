package draw

// Charts: lines and signs over an axis.

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

const (
	chartHeight  = 240 // pixels, of a panel
	panelHeight  = 110 // of one of several
	colours      = 8   // of lines
	markedPoints = 12  // of a line; of one that has more they are not marked
)

// signs are how points are drawn, by their kind.
var signs = [...]struct {
	class string
	path  template.HTMLAttr
}{
	{"sign first", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z"},
	{"sign second", "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z"},
	{"sign third", "M0 -6L6 0L0 6L-6 0Z"},
	{"sign cross", "M-4 -4L4 4M-4 4L4 -4"},
	{"sign violation", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z"},
}

// plot draws a panel. It returns the series that have points, and how far from the top each ends.
func (d *drawing) plot(c report.Chart, p report.Panel, x, y scale) (drawn []report.Series, ends []float64) {
	up := func(v float64) float64 { return d.height * (1 - y.at(v)) }
	if c.To > 0 {
		d.rect("band", x.at(c.From), 0, x.at(c.To), d.height)
	}
	d.axisY(y)
	d.axisX(x)
	for _, l := range c.Uprights {
		at, beside, anchor := x.at(l.At), 5.0, start
		if l.At > x.to {
			continue
		}
		if at > 0.5 {
			beside, anchor = -5, end
		}
		d.line("asked", at, 0, at, d.height)
		d.text("tick", at, beside, 12, anchor, l.Name)
	}
	for _, s := range p.Series {
		if last, any := d.series(s, x, up); any {
			drawn, ends = append(drawn, s), append(ends, last)
		}
	}
	for _, l := range p.Levels {
		d.line("limit", 0, up(l.At), 1, up(l.At))
		d.text("tick", 0, 6, up(l.At)-5, start, l.Name)
	}
	for _, s := range p.Signs {
		look := signs[s.Kind%len(signs)]
		for _, p := range s.Points {
			if p.High > 0 {
				d.line("whisker", x.at(p.X), up(p.Low), x.at(p.X), up(p.High))
			}
			d.sign(look.class, x.at(p.X), up(p.Y), string(look.path))
		}
	}
	return drawn, ends
}

// series draws a line through the points that are known, and returns how far from the top it ends.
func (d *drawing) series(s report.Series, x scale, up func(float64) float64) (last float64, any bool) {
	class := classOf(s)
	var run, upper, lower []point
	end := func() {
		if s.Area {
			d.path("area "+class, run, true)
		}
		if len(run) > 1 {
			d.path("curve "+class, run, false)
		}
		for _, p := range run {
			if len(run) == 1 || !s.Band && !s.Area && len(s.Points) <= markedPoints {
				d.dot("mark "+class, p.x, p.y, 3)
			}
		}
		run = nil
	}
	for _, p := range s.Points {
		if !known(p.Y) {
			end()
			continue
		}
		at := point{x.at(p.X), up(p.Y)}
		run, last, any = append(run, at), at.y, true
		switch {
		case s.Band:
			upper, lower = append(upper, point{at.x, up(p.High)}), append(lower, point{at.x, up(p.Low)})
		case p.Low < p.High:
			d.line("whisker "+class, at.x, up(p.Low), at.x, up(p.High))
		}
	}
	if len(upper) > 1 {
		slices.Reverse(lower)
		d.path("area "+class, append(upper, lower...), false)
	}
	if !s.Band || len(run) > 1 {
		end()
	}
	return last, any
}

// classOf returns how a line is drawn.
func classOf(s report.Series) string {
	class := fmt.Sprintf("s%d", s.Colour%colours+1)
	if s.Tone == report.Bad {
		class = classes[s.Tone]
	}
	if s.Dashed {
		class += " dashed"
	}
	return class
}

// chart is a Chart as the page has it.
type chart struct {
	report.Chart
	Panels []panel
	Legend []legend
	Gutter int // pixels on the right for names, where there is room
}

type panel struct {
	Head string
	SVG  template.HTML
}

type legend struct {
	Class string
	Path  template.HTMLAttr // of a sign; empty of a line
	Name  string
}

const (
	nameStep    = 15  // pixels between two names on a page
	longestName = 30  // characters of one beside a chart
	telephone   = 300 // pixels that a chart has on a telephone
)

func newChart(c report.Chart) chart {
	out := chart{Chart: c}
	x := scaleOf(c.X, 5)
	if c.X.Ticks != nil {
		x.ticks = ticksApart(x, telephone, 8)
	}
	for i, p := range c.Panels {
		d, y := drawing{height: chartHeight}, scaleOf(p.Y, 5)
		if len(c.Panels) > 1 {
			d.height, y = panelHeight, scaleOf(p.Y, 4).thin(4)
		}
		drawn, ends := d.plot(c, p, x, y)
		if len(drawn) > 1 {
			out.name(&d, drawn, ends, i == 0)
		}
		for _, s := range p.Signs {
			if look := signs[s.Kind%len(signs)]; s.Name != "" {
				out.Legend = append(out.Legend, legend{look.class, look.path, s.Name})
			}
		}
		out.Panels = append(out.Panels, panel{p.Head, d.svg("plot", titleOf(c, p), c.Finding, 22)})
	}
	return out
}

// titleOf is what a panel is called where it is read out.
func titleOf(c report.Chart, p report.Panel) string {
	title := cmp.Or(c.Title, c.Across)
	if c.Of != "" {
		title += " of " + c.Of
	}
	if p.Head != "" && title != "" {
		title = ": " + title
	}
	return cmp.Or(p.Head+title, c.Finding, "Chart")
}

// name writes the names of lines at their ends, and into the legend once.
func (c *chart) name(d *drawing, drawn []report.Series, ends []float64, first bool) {
	for i, y := range spread(ends, slices.Repeat([]float64{nameStep}, len(ends)), 0, d.height+nameStep) {
		name := format.Cut(drawn[i].Name, longestName)
		c.Gutter = max(c.Gutter, 14+format.Width(name)*7)
		d.text("direct "+classOf(drawn[i]), 1, 8, y+4, start, name)
		if first {
			c.Legend = append(c.Legend, legend{Class: "curve " + classOf(drawn[i]), Name: drawn[i].Name})
		}
	}
}
