package html

// Charts with a row a cell: throughput as bars, latency as ranges.

import (
	"fmt"
	"html/template"
	"math"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/stats"
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
	Badges []badge
	Plot   template.HTML
	Value  string
	Beside string // in smaller letters
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
func (v *view) throughput() rowChart {
	chart := rowChart{Title: "Granted locks a second"}
	var groups []rowGroup
	for _, g := range v.groups {
		most := 0.0
		for _, c := range g.cells {
			most = math.Max(most, math.Max(c.Rate.Max, c.Rate.Median))
		}
		s := linear(most, 5, rateLabel)
		group := rowGroup{Title: g.title, Axis: axis(s)}
		order := v.order(g, func(c *results.Cell) float64 { return c.Rate.Median })
		for _, i := range order {
			group.Rows = append(group.Rows, rateRow(g, i, s))
		}
		groups = append(groups, group)
	}
	chart.fold(groups)
	return chart
}

// order is by a figure where cells are rivals, and as they were run where they are not.
func (v *view) order(g group, figure func(*results.Cell) float64) []int {
	if v.rivals || len(v.cells) == 1 {
		return g.sorted(figure)
	}
	return g.sorted(func(*results.Cell) float64 { return 0 })
}

func rateRow(g group, i int, s scale) chartRow {
	c := g.cells[i]
	d := drawing{height: rowHeight}
	for _, t := range s.ticks {
		d.line("grid", t.at, 0, t.at, rowHeight)
	}
	e := rates(c)
	d.rect("bar "+state(c), 0, 10, s.at(c.Rate.Median), rowHeight-10)
	spread := ""
	low, high := e.Low, e.High
	if e.Known() {
		spread = fmt.Sprintf("%s – %s, 95 %% interval", format.Three(low), format.Three(high))
	} else if low, high = e.Min, e.Max; e.N > 1 {
		spread = fmt.Sprintf("%s – %s, range of %d trials", format.Three(low), format.Three(high), e.N)
	}
	if e.N > 1 {
		d.line("interval", s.at(low), rowHeight/2, s.at(high), rowHeight/2)
		d.line("interval", s.at(low), 13, s.at(low), rowHeight-13)
		d.line("interval", s.at(high), 13, s.at(high), rowHeight-13)
		for n, r := range c.Trials {
			if n < shownTrials {
				d.dot("trial", s.at(r.Throughput()), rowHeight/2, 2)
			}
		}
	}
	value := format.Three(c.Rate.Median)
	plot := d.svg("rowplot", sentence(g.names[i], value+" locks/s", spread), "", 0)
	return chartRow{g.names[i], badges(c), plot, value, spread, g.index[i]}
}

// sentence is what is read out for a row.
func sentence(name, value, more string) string {
	if more != "" {
		value += " (" + more + ")"
	}
	return name + ": " + value
}

func axis(s scale) template.HTML {
	d := drawing{height: 0}
	d.axisX(s)
	return d.svg("axis", "Scale", "", 20)
}

// latency draws how long clients waited: the median, p99 and p99.9 on one logarithmic scale for all cells.
func (v *view) latency() rowChart {
	least, most := math.Inf(1), 0.0
	for _, c := range v.cells {
		l := c.Latency[waiting(c)]
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
	s := logTime(least, most)
	var groups []rowGroup
	for _, g := range v.groups {
		group := rowGroup{Title: g.title, Axis: axis(s)}
		for _, i := range v.order(g, func(c *results.Cell) float64 { return -p99(c) }) {
			group.Rows = append(group.Rows, rangeRow(g, i, s))
		}
		groups = append(groups, group)
	}
	chart.fold(groups)
	return chart
}

func rangeRow(g group, i int, s scale) chartRow {
	c := g.cells[i]
	l := c.Latency[waiting(c)]
	d := drawing{height: rowHeight}
	for _, t := range s.ticks {
		d.line("grid", t.at, 0, t.at, rowHeight)
	}
	p50, p99, p999 := l.Quantile(0.5), l.Quantile(0.99), l.Quantile(0.999)
	const mid = rowHeight / 2
	if !math.IsNaN(p999) {
		d.line("thin "+state(c), s.at(p99), mid, s.at(p999), mid)
		d.line("thin "+state(c), s.at(p999), mid-5, s.at(p999), mid+5)
	}
	if !math.IsNaN(p99) {
		d.rect("range "+state(c), s.at(p50), mid-4, s.at(p99), mid+4)
	}
	if !math.IsNaN(p50) {
		d.dot("median "+state(c), s.at(p50), mid, 4.5)
	}
	value := "p99 " + took(p99)
	beside := "p50 " + took(p50) + " · p99.9 " + took(p999)
	if waiting(c) == results.Response {
		beside += " · response"
	}
	plot := d.svg("rowplot", sentence(g.names[i], value, beside), "", 0)
	return chartRow{g.names[i], badges(c), plot, value, beside, g.index[i]}
}

// took writes a duration, or a dash for none.
func took(ns float64) string {
	if math.IsNaN(ns) {
		return "–"
	}
	return format.Duration(time.Duration(ns))
}

// fewTrials tells whether some cells have fewer trials than an interval takes.
func (v *view) fewTrials() (n int) {
	for _, c := range v.cells {
		if len(c.Trials) < stats.MinTrials {
			n++
		}
	}
	return n
}
