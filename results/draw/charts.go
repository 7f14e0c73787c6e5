package draw

// Charts of a page.

import (
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/report"
)

const (
	chartHeight = 220 // pixels
	rowHeight   = 30
)

// labels write the ticks of an axis, by its unit.
var labels = map[report.Unit]func(float64) string{
	report.PerSecond:   plot.RateLabel,
	report.Share:       func(v float64) string { return plot.Trim(100*v) + " %" },
	report.Nanoseconds: plot.TimeLabel,
}

func scaleOf(x report.Axis) plot.Scale {
	if x.Log {
		return plot.Log(x.Least, x.Most, labels[x.Unit])
	}
	return plot.Linear(x.Most, 5, labels[x.Unit])
}

// signs are how points are drawn, by their kind.
var signs = [...]struct {
	class string
	path  template.HTMLAttr
}{
	{"sign first", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z"},
	{"sign second", "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z"},
	{"sign third", "M0 -6L6 0L0 6L-6 0Z"},
	{"sign cross", "M-4 -4L4 4M-4 4L4 -4"},
}

// chart is a Chart as the page has it.
type chart struct {
	Title, Finding string
	SVG            template.HTML
	Legend         []legend
}

type legend struct {
	Class string
	Path  template.HTMLAttr
	Name  string
}

func newChart(c report.Chart) chart {
	x, y := scaleOf(c.X), scaleOf(c.Y)
	d := Drawing{Height: chartHeight}
	up := func(v float64) float64 { return chartHeight * (1 - y.At(v)) }
	if c.To > 0 {
		d.Rect("band", x.At(c.From), 0, x.At(c.To), chartHeight)
	}
	d.AxisY(y)
	d.AxisX(x)
	for _, l := range c.Uprights {
		at := x.At(l.At)
		if l.At > x.To {
			continue
		}
		d.Line("asked", at, 0, at, chartHeight)
		if at > 0.5 {
			d.Text("tick", at, -5, 12, "end", l.Name)
		} else {
			d.Text("tick", at, 5, 12, "start", l.Name)
		}
	}
	var line, upper, lower []Point
	for _, p := range c.Curve {
		line, upper, lower = append(line, Point{x.At(p.X), up(p.Y)}), append(upper, Point{x.At(p.X), up(p.High)}), append(lower, Point{x.At(p.X), up(p.Low)})
	}
	if len(line) > 1 {
		slices.Reverse(lower)
		d.Path("area s1", append(upper, lower...), false)
		d.Path("curve s1", line, false)
	}
	for _, l := range c.Levels {
		d.Line("limit", 0, up(l.At), 1, up(l.At))
		d.Text("tick", 0, 6, up(l.At)-5, "start", l.Name)
	}
	out := chart{Title: c.Title, Finding: c.Finding}
	for _, s := range c.Signs {
		drawn := signs[s.Kind%len(signs)]
		out.Legend = append(out.Legend, legend{drawn.class, drawn.path, s.Name})
		for _, p := range s.Points {
			if p.High > 0 {
				d.Line("whisker", x.At(p.X), up(p.Low), x.At(p.X), up(p.High))
			}
			d.Sign(drawn.class, x.At(p.X), up(p.Y), string(drawn.path))
		}
	}
	out.SVG = d.SVG("plot", c.Title+" of "+format.Line(c.Of), c.Finding, 22)
	return out
}

// intervals are Intervals as the page has them.
type intervals struct {
	Rows []interval
	Axis template.HTML
}

type interval struct {
	report.Interval
	Plot template.HTML
}

func newIntervals(c report.Intervals) (out intervals) {
	var s plot.Scale
	if c.Axis.Unit == report.Change {
		s = changeScale(c.Rows)
	} else {
		s = scaleOf(c.Axis)
	}
	axis := Drawing{}
	axis.AxisX(s)
	out.Axis = axis.SVG("axis", "Scale", "", 20)
	for _, row := range c.Rows {
		d := Drawing{Height: rowHeight}
		const mid = rowHeight / 2
		if row.Limit > 0 {
			from, to := 0.0, s.At(row.Limit)
			if row.Above {
				from, to = to, 1
			}
			d.Rect("beyond", from, 0, to, rowHeight)
		}
		for _, tick := range s.Ticks {
			d.Line("grid", tick.At, 0, tick.At, rowHeight)
		}
		if row.Limit > 0 {
			d.Line("limit", s.At(row.Limit), 0, s.At(row.Limit), rowHeight)
		}
		if c.Axis.Unit == report.Change {
			d.Line("zero", s.At(1), 0, s.At(1), rowHeight)
		}
		look := classes[row.Tone]
		arrow := func(v float64) { // to what lies beyond the scale
			path := "M7 -5L0 0L7 5Z"
			if v > s.To {
				path = "M-7 -5L0 0L-7 5Z"
			}
			d.Sign("sign arrow "+look, s.At(v), mid, path)
		}
		switch {
		case row.AtLeast:
			d.Line("reach "+look, s.At(row.Low), mid-4, s.At(row.Low), mid+4)
			d.Line("reach "+look, s.At(row.Low), mid, 1, mid)
			arrow(math.Inf(1))
		case row.Mid > 0:
			for _, end := range []float64{row.Low, row.High} {
				if math.IsNaN(end) {
					continue
				}
				d.Line("reach "+look, s.At(row.Mid), mid, s.At(end), mid)
				if end < s.From || end > s.To {
					arrow(end)
				} else {
					d.Line("reach "+look, s.At(end), mid-4, s.At(end), mid+4)
				}
			}
			if row.Mid < s.From || row.Mid > s.To {
				arrow(row.Mid)
			} else {
				d.Sign("sign "+look, s.At(row.Mid), mid, shapeOf(row.Mark))
			}
		}
		title := format.Line(row.Name) + ": " + strings.TrimSpace(row.Value+" "+row.Beside)
		out.Rows = append(out.Rows, interval{row, d.SVG("rowplot", title+" ("+row.Status+")", "", 0)})
	}
	return out
}

// shapeOf returns what a mark looks like in a chart, ten pixels wide: a dot, a cross, a triangle, a stroke, or a ring.
func shapeOf(mark string) string {
	switch mark {
	case "✓":
		return "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z"
	case "✗":
		return "M-5 -5L5 5M-5 5L5 -5"
	case "▲":
		return "M0 -6L5.5 4.5L-5.5 4.5Z"
	case "":
		return "M0 -5L0 5"
	}
	return "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z"
}
