package draw

// Intervals: a row each, with the same scale.

import (
	"html/template"
	"math"
	"strings"

	"github.com/lockbench/lockbench/results/report"
)

const (
	rowHeight   = 30.0 // pixels
	barHeight   = 13.0
	shownTrials = 60 // dots in a row
)

// intervals are Intervals as the page has them.
type intervals struct {
	Title, Legend string
	Most          int
	Rows          []interval
	Axis          template.HTML
}

type interval struct {
	report.Interval
	Plot template.HTML
}

func newIntervals(c report.Intervals) intervals {
	s := rowScale(c)
	axis := drawing{}
	axis.axisX(s)
	out := intervals{Title: c.Title, Most: c.Most, Axis: axis.svg("axis", "Scale", "", 20)}
	if c.Ends[0] != "" {
		out.Legend = "Ring: " + c.Ends[0] + "; dot: " + c.Ends[1] + "."
	}
	if c.Upright.Name != "" {
		out.Legend += " Dotted: " + c.Upright.Name + "."
	}
	for _, row := range c.Rows {
		d := drawing{height: rowHeight}
		for _, t := range s.ticks {
			d.line("grid", t.at, 0, t.at, rowHeight)
		}
		d.row(c, row, s)
		said := ""
		switch {
		case row.Status != "":
			said = " (" + row.Status + ")"
		case row.Beside != "":
			said = " (" + row.Beside + ")"
		}
		value := row.Value
		if row.Status != "" {
			value += " " + row.Beside
		}
		out.Rows = append(out.Rows, interval{row, d.svg("rowplot", row.Name+": "+strings.TrimSpace(value)+said, "", 0)})
	}
	return out
}

func rowScale(c report.Intervals) scale {
	if c.Axis.Unit == report.Change {
		return changeScale(c.Rows)
	}
	return scaleOf(c.Axis, 5)
}

// row draws an interval in the middle of the drawing.
func (d *drawing) row(c report.Intervals, row report.Interval, s scale) {
	look, mid := classes[row.Tone], d.height/2
	d.limit(row, s)
	if c.Axis.Unit == report.Change {
		d.line("zero", s.at(1), 0, s.at(1), d.height)
	}
	if c.Upright.Name != "" {
		d.line("bound", s.at(c.Upright.At), 0, s.at(c.Upright.At), d.height)
	}
	switch {
	case c.Look == report.Bars:
		d.rect("bar "+look, 0, mid-barHeight/2, s.at(row.Mid), mid+barHeight/2)
		if row.Low < row.High {
			d.line("interval", s.at(row.Low), mid, s.at(row.High), mid)
			d.line("interval", s.at(row.Low), mid-4, s.at(row.Low), mid+4)
			d.line("interval", s.at(row.High), mid-4, s.at(row.High), mid+4)
		}
		if !d.file() { // which has its labels there
			for _, v := range row.Trials[:min(len(row.Trials), shownTrials)] {
				d.dot("trial", s.at(v), mid, 2)
			}
		}
	case c.Look == report.Spans:
		if known(row.High) {
			d.line("thin "+look, s.at(row.Mid), mid, s.at(row.High), mid)
			d.line("thin "+look, s.at(row.High), mid-5, s.at(row.High), mid+5)
		}
		if known(row.Mid) {
			d.line("span "+look, s.at(row.Low), mid, s.at(row.Mid), mid)
			d.dot("to "+look, s.at(row.Mid), mid, 5)
		}
		if known(row.Low) {
			d.dot("from "+look, s.at(row.Low), mid, 4.5)
		}
	default:
		d.estimate(row, s, look)
	}
	if row.Bound > 0 {
		d.line("bound", s.at(row.Bound), mid-barHeight/2-3, s.at(row.Bound), mid+barHeight/2+3)
	}
}

// limit shades what lies beyond the limit of a row.
func (d *drawing) limit(row report.Interval, s scale) {
	if row.Limit <= 0 {
		return
	}
	from, to := 0.0, s.at(row.Limit)
	if row.Above {
		from, to = to, 1
	}
	d.rect("beyond", from, 0, to, d.height)
	d.line("limit", s.at(row.Limit), 0, s.at(row.Limit), d.height)
}

// estimate draws a value as the sign of its mark, and the interval around it; arrows lead to what lies beyond the scale.
func (d *drawing) estimate(row report.Interval, s scale, look string) {
	mid := d.height / 2
	arrow := func(v float64) {
		path := "M7 -5L0 0L7 5Z"
		if v > s.to {
			path = "M-7 -5L0 0L-7 5Z"
		}
		d.sign("sign arrow "+look, s.at(v), mid, path)
	}
	switch {
	case row.AtLeast:
		d.line("reach "+look, s.at(row.Low), mid-4, s.at(row.Low), mid+4)
		d.line("reach "+look, s.at(row.Low), mid, 1, mid)
		arrow(math.Inf(1))
	case row.Mid > 0:
		for _, end := range []float64{row.Low, row.High} {
			if math.IsNaN(end) {
				continue
			}
			d.line("reach "+look, s.at(row.Mid), mid, s.at(end), mid)
			if end < s.from || end > s.to {
				arrow(end)
			} else {
				d.line("reach "+look, s.at(end), mid-4, s.at(end), mid+4)
			}
		}
		if row.Mid < s.from || row.Mid > s.to {
			arrow(row.Mid)
		} else {
			d.sign("sign "+look, s.at(row.Mid), mid, shapeOf(row.Mark))
		}
	}
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
