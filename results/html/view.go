package html

// What the page is made of: the cells, their names, and those of the same load side by side.

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/render"
	"github.com/lockbench/lockbench/results/stats"
)

// view is what all parts of the page are drawn from.
type view struct {
	cells  []*results.Cell
	names  []string // of cells, by what tells each from all others
	common string   // what all have in common
	groups []group
	rivals bool // a group's cells had the same load, and can be ranked
}

// group is some cells that belong into one chart.
type group struct {
	title string // what is particular to their load; empty if there is one group only
	cells []*results.Cell
	names []string // by what tells each from the others of the group
	index []int    // places in view.cells
}

func newView(cells []*results.Cell) *view {
	v := &view{cells: cells}
	v.names, v.common = render.Names(cells)
	titles, members := render.Loads(cells)
	v.rivals = len(cells) > 1 && len(titles) < len(cells)
	if !v.rivals { // loads of a cell each are best read side by side
		all := make([]int, len(cells))
		for i := range all {
			all[i] = i
		}
		v.groups = []group{{cells: cells, names: v.names, index: all}}
		return v
	}
	for i, title := range titles {
		g := group{title: title, index: members[i]}
		for _, at := range members[i] {
			g.cells = append(g.cells, cells[at])
		}
		g.names, _ = render.Names(g.cells)
		v.groups = append(v.groups, g)
	}
	return v
}

// sorted are the places in g by a figure, the greatest first; cells that do not know it come last.
func (g group) sorted(figure func(*results.Cell) float64) []int {
	order := make([]int, len(g.cells))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := figure(g.cells[a]), figure(g.cells[b])
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

// waiting is the latency that the clients of a cell feel: the response in an open loop, which begins when an arrival was
// due, else the acquisition.
func waiting(c *results.Cell) results.Metric {
	if c.Open() && c.Latency[results.Response].Count > 0 {
		return results.Response
	}
	return results.Acquire
}

// p99 is that of what a cell's clients feel.
func p99(c *results.Cell) float64 { return c.Latency[waiting(c)].Quantile(0.99) }

// rates is the throughput over the trials.
func rates(c *results.Cell) stats.Estimate {
	return stats.Trials(c.Trials, (*results.Record).Throughput)
}

// tails is the p99 over the trials, each one's own.
func tails(c *results.Cell) stats.Estimate {
	return stats.Trials(c.Trials, func(r *results.Record) float64 { return r.Latency[waiting(c)].Quantile(0.99) })
}

// doubts are why a cell's figures are not to be believed as they stand, in a word each.
func doubts(c *results.Cell) []string {
	var words []string
	if c.Partial() != "" {
		words = append(words, "partial")
	}
	if c.Generator.Saturated {
		words = append(words, "saturated")
	}
	if len(c.Generator.Pauses) > 0 {
		words = append(words, "paused")
	}
	if c.Drifting > 0 {
		words = append(words, "drifts")
	}
	if !c.KeptUp() {
		words = append(words, "behind")
	}
	if c.First().Server.Kind == "embedded" {
		words = append(words, "embedded")
	}
	return words
}

// badges are the words beside a cell's name.
func badges(c *results.Cell) []badge {
	var all []badge
	if c.Violated() {
		all = append(all, badge{"violated", "bad"})
	}
	for _, word := range doubts(c) {
		all = append(all, badge{word, "warn"})
	}
	if c.Bound.Beaten() { // which is the estimate's fault
		all = append(all, badge{"beaten", "warn"})
	}
	return all
}

type badge struct{ Text, Class string }

// state is how a cell is drawn: as broken, in doubt, or plainly.
func state(c *results.Cell) string {
	switch {
	case c.Violated():
		return "bad"
	case len(doubts(c)) > 0:
		return "warn"
	}
	return "good"
}
