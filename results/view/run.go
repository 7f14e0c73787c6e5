// Package view says what records mean, before any format draws it: what cells are called and in what they differ, which of
// them belong together, which flags their figures have, and what can be claimed of them all.
package view

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
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
	Load  string // what all of them were asked for, in plain words
	Cells []*results.Cell
	Names []string // by what tells each from the others of the group
	Short []string // the same without a way of waiting that follows from the design; a cell has the same one under each load, if that suffices
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
	loads := slices.DeleteFunc(differing(cells), func(a Axis) bool { return !slices.Contains(loadAxes, a.Title) })
	if !r.Rivals { // loads of a cell each are best read side by side
		r.Load, r.Short = titleOf(cells, nil), loadNames(cells)
		if r.Short == nil {
			r.Short = r.Names
		}
		r.Groups = []Group{r.Group}
		return r
	}
	short := shortNames(cells, members)
	for i, title := range titles {
		g := Group{Title: title, Index: members[i]}
		for _, at := range members[i] {
			g.Cells = append(g.Cells, cells[at])
			if short != nil {
				g.Short = append(g.Short, short[at])
			}
		}
		g.Names, _ = Names(g.Cells)
		if short == nil {
			g.Short = g.Names
		}
		g.Load = titleOf(g.Cells, loads)
		r.Groups = append(r.Groups, g)
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

// shortNames returns names by what tells cells from the others of their load; nil if it takes more for some of them.
func shortNames(cells []*results.Cell, members [][]int) []string {
	axes := slices.DeleteFunc(differing(cells), func(a Axis) bool { return slices.Contains(loadAxes, a.Title) })
	stay := slices.DeleteFunc(slices.Clone(namingAxes), func(title string) bool { return title == "wait" })
	names := shortened(cells, axes, stay, func(names []string) bool {
		return !slices.ContainsFunc(members, func(group []int) bool {
			var those []string
			for _, at := range group {
				those = append(those, names[at])
			}
			return distinct(those) < len(those)
		})
	})
	if names == nil {
		return nil
	}
	return whole(names, cells)
}

// longestLoad is how many runes the name of a load may have at the most.
const longestLoad = 60

// loadNames returns names of cells of a load each, with all that is particular to that; nil if that does not tell them apart, or
// is too long for a row.
func loadNames(cells []*results.Cell) []string {
	stay := slices.DeleteFunc(slices.Concat(namingAxes, loadAxes), func(title string) bool { return title == "kind" || title == "machine" })
	names := shortened(cells, differing(cells), stay, allDistinct)
	if names == nil || slices.ContainsFunc(names, func(name string) bool { return utf8.RuneCountInString(name) > longestLoad }) {
		return nil
	}
	return whole(names, cells)
}

// Best returns the places in g from the best cell to the worst: by throughput in a closed loop; in an open one, where the
// arrivals set that, first the cells that kept up with them, by the p99 of the response. Cells that granted nothing come behind
// those, and cells whose lock did not exclude last, whatever their speed. Two sides stay in their order.
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
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(figure(g.Cells[b]), figure(g.Cells[a])) }) // NaN is least
	return order
}

// Waiting returns the latency that the clients of a cell feel: the response in an open loop, which begins when an arrival was
// due, else the acquisition.
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

// HalfWidth returns how far the interval reaches from the median at the most.
func HalfWidth(e stats.Estimate) string {
	if !(e.Low <= e.High) || e.Median <= 0 {
		return format.None
	}
	return strings.TrimPrefix(format.Change(max(e.High/e.Median-1, 1-e.Low/e.Median)), "+")
}
