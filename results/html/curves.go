package html

// Percentile curves: the whole distribution of the wait, its tail stretched so that each further nine has the same room.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/view"
)

const (
	curvesAChart = 6
	shownCharts  = 6
)

// charts are several of a kind; those beyond the first few are folded away.
type charts struct {
	Shown, Folded []lineChart
	Small         bool // they stand side by side
	Acquire       bool // some have lines for the acquisition alone
}

func chartsOf(all []lineChart) charts {
	n := min(shownCharts, len(all))
	return charts{Shown: all[:n], Folded: all[n:], Small: len(all) > 1}
}

func (v content) curves() charts {
	var all []lineChart
	for _, g := range v.Groups {
		for from := 0; from < len(g.Cells); from += curvesAChart {
			to := min(from+curvesAChart, len(g.Cells))
			part := view.Group{Title: loadOf(g), Cells: g.Cells[from:to], Short: g.Short[from:to], Index: g.Index[from:to]}
			if len(g.Cells) > curvesAChart {
				part.Title = join(part.Title, fmt.Sprintf("rows %d to %d of %d", from+1, to, len(g.Cells)))
			}
			if chart, any := curvesOf(part); any {
				all = append(all, chart)
			}
		}
	}
	c := chartsOf(all)
	c.Acquire = slices.ContainsFunc(all, func(c lineChart) bool {
		return slices.ContainsFunc(c.Legend, func(l legend) bool { return strings.HasSuffix(l.Class, dashed) })
	})
	return c
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + " · " + b
}

// curvesOf draws one line a cell, and in an open loop a broken one beside it for the acquisition without the queue before it.
func curvesOf(g view.Group) (chart lineChart, any bool) {
	type curve struct {
		name, class string
		at          []plot.Point
	}
	var curves []curve
	nines, least, most := 1.0, math.Inf(1), 0.0
	add := func(name, class string, l results.Latency) {
		at := plot.Curve(l)
		if len(at) == 0 {
			return
		}
		nines = max(nines, at[len(at)-1].Nines)
		for _, p := range at {
			least, most = math.Min(least, math.Max(1, p.Nanoseconds)), math.Max(most, p.Nanoseconds)
		}
		curves = append(curves, curve{name, class, at})
	}
	worst, worstAt := "", 0.0
	for i, c := range g.Cells {
		m := view.Waiting(c)
		name := g.Short[i]
		if m == results.Response && len(g.Cells) <= 3 {
			add(name+" · acquire", colour(i)+dashed, c.Latency[results.Acquire])
			name += " · response"
		}
		add(name, colour(i), c.Latency[m])
		if t := view.P99(c); t > worstAt {
			worst, worstAt = g.Short[i], t
		}
	}
	if len(curves) == 0 {
		return chart, false
	}
	x, y := plot.Tail(nines), plot.LogTime(least, most)
	var all []series
	for _, c := range curves {
		s := series{name: c.name, class: c.class}
		for _, p := range c.at {
			s.points = append(s.points, draw.Point{X: x.At(p.Nines), Y: y.At(p.Nanoseconds)})
		}
		all = append(all, s)
	}
	chart.Title = g.Title
	if worst != "" {
		chart.Finding = fmt.Sprintf("Wait by percentile. The highest p99 is that of %s, %s.", worst, metric.Duration.Format(worstAt))
	}
	return lines(chart, x, y, all, chartHeight), true
}
