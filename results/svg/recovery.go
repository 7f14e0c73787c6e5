package svg

import (
	"fmt"
	"math"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/view"
)

// recovery draws how long a key stays locked after its holder has died: the median, and p99 or, where there are too few deaths
// for that, the longest. The TTL is a line across.
func recovery(v *view.Run) (Chart, bool) {
	median := func(c *results.Cell) float64 { return c.Latency[results.Recovery].Quantile(0.5) }
	groups, left := chosen(v, func(c *results.Cell) bool { return known(median(c)) }, least(v, median))
	if len(groups) == 0 {
		return Chart{}, false
	}
	far, farName := func(c *results.Cell) float64 { return c.Latency[results.Recovery].Quantile(0.99) }, "p99"
	shortest, most := math.Inf(1), 0.0
	for _, g := range groups {
		for _, c := range g.Cells {
			if !known(far(c)) {
				far, farName = func(c *results.Cell) float64 { return float64(c.Latency[results.Recovery].Max) }, "longest"
			}
		}
	}
	ttl := time.Duration(0)
	for i, c := range cellsOfGroups(groups) {
		shortest, most = math.Min(shortest, median(c)), math.Max(most, math.Max(far(c), median(c)))
		switch its := c.Plan().TTL; {
		case i == 0:
			ttl = its
		case its != ttl:
			ttl = 0
		}
	}
	if ttl > 0 {
		shortest, most = math.Min(shortest, float64(ttl)), math.Max(most, float64(ttl))
	}
	const title = "From the death of a holder to the next grant"
	notes := newNotes()
	scale := plot.LogTime(shortest, most)
	all := stacked(groups, func(g block) panel {
		p := panel{scale: scale}
		if ttl > 0 {
			p.upright, p.uprightIs = float64(ttl), "TTL "+format.Exact(ttl)
		}
		for _, c := range g.Cells {
			p.marks = append(p.marks, mark{from: median(c), to: far(c), low: math.NaN(), bad: c.Violated(), before: metric.Duration.Format(median(c)),
				label: metric.Duration.Format(far(c)) + notes.of(c)})
		}
		return p
	})
	all[0].panels[0].ends = [2]string{"median", farName}
	c := newCanvas(title, about(v, groups), "Logarithmic scale. The holders released nothing.")
	drawAll(c, all)
	notes.draw(c, groups, left)
	alt := altOf(v, groups, title+", median", median, metric.Duration.Format)
	if ttl > 0 {
		alt += fmt.Sprintf(" The TTL is %s.", format.Exact(ttl))
	}
	return c.chart("recovery", title, alt), true
}

func cellsOfGroups(groups []block) (cells []*results.Cell) {
	for _, g := range groups {
		cells = append(cells, g.Cells...)
	}
	return cells
}
