// Package view says what records mean, before any format draws it: what cells are called and in what they differ, which
// of them belong together, and which marks their figures have.
package view

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/stats"
)

// Run is cells that are read together.
type Run struct {
	Cells  []*results.Cell
	Names  []string // by what tells each from all others
	Groups []Group  // the load with most contention first
	Rivals bool     // the cells of a group had the same load, and can be ranked; else there is one group
}

// Group is cells that belong into one chart.
type Group struct {
	Title string // what is particular to their load; empty if there is one group only
	Load  string // what all of them were asked for
	Cells []*results.Cell
	Short []string // by what tells each from the others of the group, under each load alike
	Index []int    // places in the run
}

// NewRun groups and names cells. Loads of a cell each are best read side by side.
func NewRun(cells []*results.Cell) *Run {
	differs, others, titles := Differing(cells), Axes, make([]string, len(cells))
	loads := values(cells, without(Axes, func(a Axis) bool { return !a.Load }))
	distinct := len(slices.Compact(slices.Sorted(slices.Values(loads))))
	r := &Run{Cells: cells, Names: Names(cells), Rivals: distinct < len(cells)}
	if r.Rivals {
		titles, others = loads, without(Axes, func(a Axis) bool { return a.Load })
	}
	for i, name := range distinguish(cells, titles, others) {
		at := slices.IndexFunc(r.Groups, func(g Group) bool { return g.Title == titles[i] })
		if at < 0 {
			at, r.Groups = len(r.Groups), append(r.Groups, Group{Title: titles[i]})
		}
		g := &r.Groups[at]
		g.Cells, g.Short, g.Index = append(g.Cells, cells[i]), append(g.Short, name), append(g.Index, i)
	}
	for i, g := range r.Groups {
		r.Groups[i].Load = join(shared(g.Cells, func(a Axis, usual bool) bool {
			return a.Load && (r.Rivals && differs(a.Title) || !usual && !a.Late)
		})...)
	}
	slices.SortStableFunc(r.Groups, func(a, b Group) int { return -Contention(a.Cells[0], b.Cells[0]) })
	return r
}

// Contention compares loads by how many clients want the same key, and then by how long they hold it.
func Contention(a, b *results.Cell) int {
	rivals := func(c *results.Cell) float64 { return float64(c.Plan().Clients) / float64(max(1, c.Plan().Keys)) }
	hold := func(c *results.Cell) time.Duration { return c.Plan().Groups()[0].Hold }
	return cmp.Or(cmp.Compare(rivals(a), rivals(b)), cmp.Compare(hold(a), hold(b)))
}

// Best returns the places in g from the best cell to the worst: by throughput in a closed loop; in an open one, where
// the arrivals set that, first the cells that kept up with them, by the p99 of the response. Cells that granted
// nothing come behind those, and cells whose lock did not exclude last, whatever their speed. Two sides stay in their
// order.
func (g Group) Best() []int {
	order := g.Sorted(func(c *results.Cell) float64 {
		if c.Open() {
			return -P99(c)
		}
		return c.Rate.Median
	})
	if slices.ContainsFunc(g.Cells, func(c *results.Cell) bool { return c.First().Side != "" }) {
		slices.Sort(order)
	}
	worse := func(at int) int {
		switch c := g.Cells[at]; {
		case c.Breaches() > 0:
			return 3
		case c.Rate.Median == 0:
			return 2
		case c.Open() && !c.KeptUp():
			return 1
		}
		return 0
	}
	slices.SortStableFunc(order, func(a, b int) int { return worse(a) - worse(b) })
	return order
}

// Sorted returns the places in g by a figure, the greatest first; cells that do not know it come last.
func (g Group) Sorted(figure func(*results.Cell) float64) []int {
	order := make([]int, len(g.Cells))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { // NaN is least
		return cmp.Compare(figure(g.Cells[b]), figure(g.Cells[a]))
	})
	return order
}

// Waiting returns the latency that the clients of a cell feel: the response in an open loop, which begins when an
// arrival was due, else the acquisition.
func Waiting(c *results.Cell) results.Metric {
	if c.Open() && c.Latency[results.Response].Count > 0 {
		return results.Response
	}
	return results.Acquire
}

// P99 returns the p99 of what a cell's clients feel.
func P99(c *results.Cell) float64 { return c.Latency[Waiting(c)].Quantile(0.99) }

// Rate returns the throughput over the trials.
func Rate(c *results.Cell) stats.Estimate {
	return stats.Trials(c.Trials, (*results.Record).Throughput)
}

// Tail returns the p99 over the trials, each one's own.
func Tail(c *results.Cell) stats.Estimate {
	return stats.Trials(c.Trials, func(r *results.Record) float64 { return r.Latency[Waiting(c)].Quantile(0.99) })
}
