package svg

import (
	"fmt"
	"math"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/view"
)

// mostCurves is how many cells have their percentile curves in one chart.
const mostCurves = 6

// percentiles draws the whole distribution of the wait, of a few cells under one load. Of a single cell in an open loop the
// acquisition is drawn beside the response.
func percentiles(v *view.Run) (Chart, bool) {
	groups, _ := chosen(v, hasWait, asRun)
	if len(groups) == 0 || len(groups[0].Cells) > mostCurves {
		return Chart{}, false
	}
	g := groups[0]
	var all []series
	var said []string
	nines := 1.0
	add := func(name string, i int, dashed bool, l results.Latency) {
		s := series{name: name, colour: i, dashed: dashed, bad: g.Cells[i].Violated()}
		for _, p := range plot.Curve(l) {
			s.points = append(s.points, sampleAt(p.Nines, math.Max(1, p.Nanoseconds)))
			nines = math.Max(nines, p.Nines)
		}
		all = append(all, s)
		said = append(said, fmt.Sprintf("%s p50 %s, p99 %s, p99.9 %s%s", name, metric.Duration.Format(l.Quantile(0.5)),
			metric.Duration.Format(l.Quantile(0.99)), metric.Duration.Format(l.Quantile(0.999)), saidOf(g.Cells[i])))
	}
	for i, c := range g.Cells {
		m := view.Waiting(c)
		name := g.Short[i]
		if m == results.Response && len(g.Cells) == 1 {
			add("response", i, false, c.Latency[m])
			add("acquire", i, true, c.Latency[results.Acquire])
			continue
		}
		add(name, i, false, c.Latency[m])
	}
	least, most := span(all)
	if most == 0 {
		return Chart{}, false
	}
	if len(all) == 1 {
		all[0].name = ""
	}
	const title = "How long a client waits for its lock"
	c := newCanvas(title, nameAndLoad(v, g), waits(v))
	draw(c, lines{head: "Wait", across: "share of the grants that took no longer", x: plot.Tail(nines), y: plot.LogTime(least, most), all: all})
	return c.chart("percentiles", title, "The wait by percentile. "+strings.Join(said, "; ")+"."), true
}

// nameAndLoad says what was measured, also of a single cell, whose line has no name.
func nameAndLoad(v *view.Run, g block) string {
	text := about(v, []block{g})
	if len(g.Cells) == 1 {
		return g.Short[0] + ": " + text
	}
	return text
}
