// Package view says what records mean, before any format draws it: what cells are called and in what they differ, which of
// them belong together, which flags their figures have, and what can be claimed of them all.
package view

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/stats"
)

// Run is cells that are read together.
type Run struct {
	Group          // all of them; the names tell each from all others
	Common string  // what all have in common
	Groups []Group // cells of the same load, the load with most contention first
	Rivals bool    // the cells of a group had the same load, and can be ranked
}

// Group is cells that belong into one chart.
type Group struct {
	Title string // what is particular to their load; empty if there is one group only
	Cells []*results.Cell
	Names []string // by what tells each from the others of the group
	Index []int    // places in the run
}

// NewRun groups and names cells.
func NewRun(cells []*results.Cell) *Run {
	r := &Run{Group: Group{Cells: cells}}
	for i := range cells {
		r.Index = append(r.Index, i)
	}
	r.Names, r.Common = Names(cells)
	titles, members := Loads(cells)
	r.Rivals = len(cells) > 1 && len(titles) < len(cells)
	if !r.Rivals { // loads of a cell each are best read side by side
		r.Groups = []Group{r.Group}
		return r
	}
	for i, title := range titles {
		g := Group{Title: title, Index: members[i]}
		for _, at := range members[i] {
			g.Cells = append(g.Cells, cells[at])
		}
		g.Names, _ = Names(g.Cells)
		r.Groups = append(r.Groups, g)
	}
	slices.SortStableFunc(r.Groups, func(a, b Group) int { return -contention(a.Cells[0], b.Cells[0]) })
	return r
}

// contention compares loads by how many clients want the same key, and then by how long they hold it.
func contention(a, b *results.Cell) int {
	rivals := func(c *results.Cell) float64 { return float64(c.Plan().Clients) / float64(max(1, c.Plan().Keys)) }
	hold := func(c *results.Cell) time.Duration { return c.Plan().Groups()[0].HoldTimes().Mean() }
	return cmp.Or(cmp.Compare(rivals(a), rivals(b)), cmp.Compare(hold(a), hold(b)))
}

// Sorted returns the places in g by a figure, the greatest first; cells that do not know it come last.
func (g Group) Sorted(figure func(*results.Cell) float64) []int {
	order := make([]int, len(g.Cells))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := figure(g.Cells[a]), figure(g.Cells[b])
		if math.IsNaN(x) || math.IsNaN(y) {
			return cmp.Compare(b2i(math.IsNaN(x)), b2i(math.IsNaN(y)))
		}
		return cmp.Compare(y, x)
	})
	return order
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Waiting returns the latency that the clients of a cell feel: the response in an open loop, which begins when an arrival was
// due, else the acquisition.
func Waiting(c *results.Cell) results.Metric {
	if c.Open() && c.Latency[results.Response].Count > 0 {
		return results.Response
	}
	return results.Acquire
}

// P99 returns that of what a cell's clients feel.
func P99(c *results.Cell) float64 { return c.Latency[Waiting(c)].Quantile(0.99) }

// Rate returns the throughput over the trials.
func Rate(c *results.Cell) stats.Estimate {
	return stats.Trials(c.Trials, (*results.Record).Throughput)
}

// Tail returns the p99 over the trials, each one's own.
func Tail(c *results.Cell) stats.Estimate {
	return stats.Trials(c.Trials, func(r *results.Record) float64 { return r.Latency[Waiting(c)].Quantile(0.99) })
}
