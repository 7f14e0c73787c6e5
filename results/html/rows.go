package html

// Charts with a row a cell: throughput as bars, latency as ranges.

import (
	"fmt"
	"html/template"
	"math"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/view"
)

const (
	rowHeight   = 34
	shownRows   = 24 // of a chart; more are folded away
	shownTrials = 60 // dots in a row
)

// rowChart is a figure of rows, in groups.
type rowChart struct {
	Title, Finding string
	Groups         []rowGroup // as many as are shown at once
	Folded         []rowGroup
	FoldedRows     int
}

type rowGroup struct {
	Title      string
	Rows, More []chartRow
	Axis       template.HTML
}

type chartRow struct {
	Name   string
	Claims string // guarantees that not all cells have
	Badges []badge
	Plot   template.HTML
	Value  string
	Limit  string // what limits the throughput
	Beside string // in smaller letters, below the value
	Cell   int
}

// fold shows the first rows of a chart and keeps the rest for those who want it.
func (c *rowChart) fold(groups []rowGroup) {
	room := shownRows
	for i, g := range groups {
		if i > 0 && len(g.Rows) > room {
			c.Folded = groups[i:]
			for _, f := range c.Folded {
				c.FoldedRows += len(f.Rows)
			}
			return
		}
		if len(g.Rows) > shownRows+4 {
			g.Rows, g.More = g.Rows[:shownRows], g.Rows[shownRows:]
		}
		room -= len(g.Rows)
		c.Groups = append(c.Groups, g)
	}
}

// throughput draws a bar a cell, from nothing to the median over its trials, with the interval or range of these and a dot
// for each. Bars of a group share a scale.
func (v content) throughput() rowChart {
	chart := rowChart{Title: "Granted locks a second"}
	var groups []rowGroup
	for _, g := range v.Groups {
		most := 0.0
		for _, c := range g.Cells {
			most = math.Max(most, math.Max(c.Rate.Max, c.Rate.Median))
		}
		s := plot.Linear(most, 5, plot.RateLabel)
		group := rowGroup{Title: loadOf(g), Axis: axis(s)}
		for _, i := range v.order(g, g.Best) {
			row := rateRow(g, i, s)
			row.Claims = v.ownClaims(g.Cells[i])
			group.Rows = append(group.Rows, row)
		}
		groups = append(groups, group)
	}
	chart.fold(groups)
	return chart
}

// loadOf returns the heading of a group, which it needs only if there are others.
func loadOf(g view.Group) string {
	if g.Title == "" {
		return ""
	}
	return g.Load
}

// order is that of rivals, or as cells were run where they are none.
func (v content) order(g view.Group, rivals func() []int) []int {
	if v.Rivals || len(v.Cells) == 1 {
		return rivals()
	}
	return g.Sorted(func(*results.Cell) float64 { return 0 })
}

func rateRow(g view.Group, i int, s plot.Scale) chartRow {
	c := g.Cells[i]
	d := draw.Drawing{Height: rowHeight}
	for _, t := range s.Ticks {
		d.Line("grid", t.At, 0, t.At, rowHeight)
	}
	e := view.Rate(c)
	d.Rect("bar "+state(c), 0, 10, s.At(c.Rate.Median), rowHeight-10)
	spread := ""
	low, high := e.Low, e.High
	if e.Known() {
		spread = fmt.Sprintf("%s – %s, 95 %% interval", format.Three(low), format.Three(high))
	} else if low, high = e.Min, e.Max; e.N > 1 {
		spread = fmt.Sprintf("%s – %s, range of %d trials", format.Three(low), format.Three(high), e.N)
	}
	if e.N > 1 {
		d.Line("interval", s.At(low), rowHeight/2, s.At(high), rowHeight/2)
		d.Line("interval", s.At(low), 13, s.At(low), rowHeight-13)
		d.Line("interval", s.At(high), 13, s.At(high), rowHeight-13)
		for n, r := range c.Trials {
			if n < shownTrials {
				d.Dot("trial", s.At(r.Throughput()), rowHeight/2, 2)
			}
		}
	}
	value := format.Three(c.Rate.Median)
	row := chartRow{Name: g.Short[i], Badges: badges(c), Value: value, Beside: spread, Cell: g.Index[i]}
	if by := c.Limit().By; by != "" {
		row.Limit = "limited by " + string(by)
	}
	row.Plot = d.SVG("rowplot", sentence(row.Name, value+" locks/s", spread), row.Limit, 0)
	return row
}

// sentence returns what is read out for a row.
func sentence(name, value, more string) string {
	if more != "" {
		value += " (" + more + ")"
	}
	return name + ": " + value
}

func axis(s plot.Scale) template.HTML {
	d := draw.Drawing{Height: 0}
	d.AxisX(s)
	return d.SVG("axis", "Scale", "", 20)
}

// latency draws how long clients waited: the median, p99 and p99.9 on one logarithmic scale for all cells.
func (v content) latency() rowChart {
	least, most := math.Inf(1), 0.0
	for _, c := range v.Cells {
		l := c.Latency[view.Waiting(c)]
		for _, q := range []float64{0.5, 0.99, 0.999} {
			if t := l.Quantile(q); t > 0 {
				least, most = math.Min(least, t), math.Max(most, t)
			}
		}
	}
	chart := rowChart{Title: "How long a client waited for its lock"}
	if most == 0 {
		return chart
	}
	s := plot.LogTime(least, most)
	var groups []rowGroup
	for _, g := range v.Groups {
		group := rowGroup{Title: loadOf(g), Axis: axis(s)}
		shortest := func() []int {
			return g.Sorted(func(c *results.Cell) float64 {
				if c.Breaches() > 0 {
					return math.NaN() // comes last
				}
				return -view.P99(c)
			})
		}
		for _, i := range v.order(g, shortest) {
			group.Rows = append(group.Rows, rangeRow(g, i, s))
		}
		groups = append(groups, group)
	}
	chart.fold(groups)
	return chart
}

func rangeRow(g view.Group, i int, s plot.Scale) chartRow {
	c := g.Cells[i]
	l := c.Latency[view.Waiting(c)]
	d := draw.Drawing{Height: rowHeight}
	for _, t := range s.Ticks {
		d.Line("grid", t.At, 0, t.At, rowHeight)
	}
	p50, p99, p999 := l.Quantile(0.5), l.Quantile(0.99), l.Quantile(0.999)
	const mid = rowHeight / 2
	if !math.IsNaN(p999) {
		d.Line("thin "+state(c), s.At(p99), mid, s.At(p999), mid)
		d.Line("thin "+state(c), s.At(p999), mid-5, s.At(p999), mid+5)
	}
	if !math.IsNaN(p99) {
		d.Rect("range "+state(c), s.At(p50), mid-4, s.At(p99), mid+4)
	}
	if !math.IsNaN(p50) {
		d.Dot("median "+state(c), s.At(p50), mid, 4.5)
	}
	value := "p99 " + metric.Duration.Format(p99)
	beside := "p50 " + metric.Duration.Format(p50) + " · p99.9 " + metric.Duration.Format(p999)
	if view.Waiting(c) == results.Response {
		beside += " · response"
	}
	plot := d.SVG("rowplot", sentence(g.Short[i], value, beside), "", 0)
	return chartRow{Name: g.Short[i], Badges: badges(c), Plot: plot, Value: value, Beside: beside, Cell: g.Index[i]}
}
