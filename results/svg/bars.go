package svg

// Throughput and latency, and both side by side.

import (
	"fmt"
	"math"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/view"
)

func rateOf(c *results.Cell) float64 { return c.Rate.Median }

func hasWait(c *results.Cell) bool { return view.P99(c) > 0 || waitOf(c, 0.5) > 0 }

// waitOf returns a quantile of what the clients of a cell feel.
func waitOf(c *results.Cell, q float64) float64 { return c.Latency[view.Waiting(c)].Quantile(q) }

// throughput draws a bar a cell: the median of the trials, with their interval or range.
func throughput(v *view.Run) (Chart, bool) {
	groups, left := chosen(v, func(c *results.Cell) bool { return c.Rate.Median > 0 }, best(v))
	if len(v.Cells) < 2 || len(groups) == 0 {
		return Chart{}, false
	}
	const title = "Locks per second"
	notes := newNotes()
	all := beside(groups, func(g block) panel { return ratePanel(g, notes) })
	c := newCanvas(title, about(v, groups), bars(v, all))
	drawAll(c, all)
	notes.draw(c, groups, left)
	c.paragraph("soft", guarantees(cellsOfGroups(groups)))
	return c.chart("throughput", title, altOf(v, groups, "Locks per second", rateOf, format.Three)), true
}

// Bar is a bar of a chart of something else than cells.
type Bar struct {
	Name  string
	Value float64
}

// Bars draws one bar below the other, of rates. The text about is to be known before they are read.
func Bars(name, title, about string, all []Bar) Chart {
	p, s := panel{}, section{}
	var said []string
	most := 0.0
	for _, b := range all {
		s.name(b.Name, false)
		p.marks = append(p.marks, mark{from: math.NaN(), to: b.Value, low: math.NaN(), label: format.Three(b.Value)})
		said = append(said, b.Name+" "+format.Three(b.Value))
		most = math.Max(most, b.Value)
	}
	p.scale = plot.Linear(most, 5, plot.RateLabel)
	s.panels = []panel{p}
	c := newCanvas(title, about)
	drawAll(c, []section{s})
	return c.chart(name, title, title+": "+strings.Join(said, "; ")+".")
}

// farBound is how many times as far as the longest bar a bound may lie for bounds to be drawn: they would make the bars short.
const farBound = 1.5

// ratePanel draws the locks a second of a group.
func ratePanel(g block, notes *notes) panel {
	most, bounds := 0.0, 0.0
	p := panel{}
	for _, c := range g.Cells {
		e := view.Rate(c)
		m := mark{from: math.NaN(), to: c.Rate.Median, low: e.Low, high: e.High, bound: boundOf(c), bad: c.Violated(),
			label: format.Three(c.Rate.Median) + notes.of(c)}
		if !e.Known() {
			m.low, m.high = e.Min, e.Max
		}
		most = math.Max(most, math.Max(m.to, m.high))
		p.marks = append(p.marks, m)
	}
	for _, m := range p.marks {
		bounds = math.Max(bounds, m.bound)
	}
	if p.bounds = bounds > 0 && bounds <= farBound*most; p.bounds {
		most = math.Max(most, bounds)
	}
	p.scale = plot.Linear(most, 5, plot.RateLabel)
	return p
}

// boundOf returns what the keys of a cell let through at the most, 0 if something else bounds it or a key had several holders
// at once.
func boundOf(c *results.Cell) float64 {
	if c.Bound.By != "keys" || c.Breaches() > 0 {
		return 0
	}
	return c.Bound.LocksPerS
}

// latency draws a span a cell, from the median of the wait to its p99, on one logarithmic scale.
func latency(v *view.Run) (Chart, bool) {
	groups, left := chosen(v, hasWait, least(v, tailOf))
	if len(v.Cells) < 2 || len(groups) == 0 {
		return Chart{}, false
	}
	title := "How long a client waits for its lock"
	notes := newNotes()
	scale := waitScale(groups)
	all := stacked(groups, func(g block) panel { return waitPanel(g, scale, notes, true) })
	all[0].panels[0].ends = [2]string{"median", "p99"}
	c := newCanvas(title, about(v, groups), waits(v))
	drawAll(c, all)
	notes.draw(c, groups, left)
	return c.chart("latency", title, altOf(v, groups, "Wait, p99", tailOf, metric.Duration.Format)), true
}

// tailOf is what cells are ordered by: p99, or the median where there are too few values.
func tailOf(c *results.Cell) float64 {
	if t := view.P99(c); known(t) {
		return t
	}
	return waitOf(c, 0.5)
}

func waitScale(groups []block) plot.Scale {
	least, most := math.Inf(1), 0.0
	for _, g := range groups {
		for _, c := range g.Cells {
			for _, q := range []float64{0.5, 0.99} {
				if t := waitOf(c, q); t > 0 {
					least, most = math.Min(least, t), math.Max(most, t)
				}
			}
		}
	}
	return plot.LogTime(least, most)
}

func waitPanel(g block, scale plot.Scale, notes *notes, medians bool) panel {
	p := panel{scale: scale}
	for _, c := range g.Cells {
		p50, p99 := waitOf(c, 0.5), waitOf(c, 0.99)
		m := mark{from: p50, to: p99, low: math.NaN(), bad: c.Violated(), label: metric.Duration.Format(p99) + notes.ofWait(c)}
		if !known(p99) {
			m.to, m.label = p50, metric.Duration.Format(p50)+notes.ofWait(c)
		}
		if medians {
			m.before = metric.Duration.Format(p50)
		}
		p.marks = append(p.marks, m)
	}
	return p
}

// overview draws throughput and wait beside each other, of the load with most contention.
func overview(v *view.Run) (Chart, bool) {
	groups, _ := chosen(v, func(c *results.Cell) bool { return c.Rate.Median > 0 && hasWait(c) }, best(v))
	if !v.Rivals || len(groups) == 0 || len(groups[0].Cells) < 2 {
		return Chart{}, false
	}
	groups = groups[:1]
	g := groups[0]
	notes := newNotes()
	rate, wait := ratePanel(g, notes), waitPanel(g, waitScale(groups), notes, false)
	rate.head, wait.head = "Locks per second", "Wait, median to p99"
	s := section{panels: []panel{rate, wait}}
	var said []string
	for i, c := range g.Cells {
		s.name(g.Short[i], c.Violated())
		said = append(said, fmt.Sprintf("%s %s locks/s and p99 %s%s", g.Short[i], format.Three(rateOf(c)), metric.Duration.Format(view.P99(c)), saidOf(c)))
	}
	title := "Throughput and wait of each lock"
	c := newCanvas(title, about(v, groups), bars(v, []section{s}))
	drawAll(c, []section{s})
	notes.draw(c, groups, 0)
	c.paragraph("soft", guarantees(g.Cells))
	alt := "Locks per second and the p99 of the wait, most locks first: " + strings.Join(said, "; ") + "."
	return c.chart("overview", title, alt), true
}
