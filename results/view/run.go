// Package view says what records mean, before any format draws it: what cells are called and in what they differ, which
// of them belong together, and which marks their figures have.
package view

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
)

// Run is cells that are read together.
type Run struct {
	Cells  []*results.Cell
	Names  []string // by what tells each from all others
	Groups []Group  // the load with most contention first
	Rivals bool     // the cells of a group had the same load, the best first; else there is one group, as they came
	Loads  int      // what was asked of the locks, wherever they ran: other servers are no other load
}

// Group is cells that belong into one chart.
type Group struct {
	Title string // what is particular to their load; empty if there is one group only
	Load  string // what all of them were asked for
	Cells []*results.Cell
	Short []string // by what tells each from the others of the group, under each load alike
}

// NewRun groups and names cells. Loads of a cell each are best read side by side.
func NewRun(cells []*results.Cell) *Run {
	differs, others, titles := Differing(cells), Axes, make([]string, len(cells))
	loads := values(cells, without(Axes, func(a Axis) bool { return !a.Load }))
	asked := values(cells, without(Axes, func(a Axis) bool {
		return !a.Load || slices.Contains([]string{"kind", "durability", "machine"}, a.Title)
	}))
	distinct := func(of []string) int { return len(slices.Compact(slices.Sorted(slices.Values(of)))) }
	r := &Run{Cells: cells, Names: Names(cells), Rivals: distinct(loads) < len(cells), Loads: distinct(asked)}
	if r.Rivals {
		titles, others = loads, without(Axes, func(a Axis) bool { return a.Load })
	}
	short, order := distinguish(cells, titles, others), make([]int, len(cells))
	for i, title := range titles {
		if order[i] = i; !slices.ContainsFunc(r.Groups, func(g Group) bool { return g.Title == title }) {
			r.Groups = append(r.Groups, Group{Title: title})
		}
	}
	if r.Rivals {
		slices.SortStableFunc(order, func(a, b int) int { return better(cells[a], cells[b]) })
	}
	for i, g := range r.Groups {
		for _, at := range order {
			if titles[at] == g.Title {
				g.Cells, g.Short = append(g.Cells, cells[at]), append(g.Short, short[at])
			}
		}
		r.Groups[i] = g
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

// better compares cells that had one load, the better first: by throughput in a closed loop; in an open one, where the
// arrivals set that, first the cells that kept up with them, by the p99 of the response. Cells that granted nothing
// come behind those, and cells whose lock did not exclude last, whatever their speed.
func better(a, b *results.Cell) int {
	worse := func(c *results.Cell) int {
		switch {
		case c.Breaches() > 0:
			return 3
		case c.Rate.Median == 0:
			return 2
		case c.Open() && !c.KeptUp():
			return 1
		}
		return 0
	}
	figure := func(c *results.Cell) float64 { // NaN is least
		if c.Open() {
			return -P99(c)
		}
		return c.Rate.Median
	}
	return cmp.Or(worse(a)-worse(b), cmp.Compare(figure(b), figure(a)))
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

// Granted returns the share that was granted: of the arrivals of an open loop that were due in the window, else of the
// acquisitions that ended in it.
func Granted(c *results.Cell) float64 {
	n := c.Counts
	asked := n.Acquired + n.Contended + n.Impatient() + n.Unknown + n.Refused
	if !slices.ContainsFunc(c.Plan().Groups(), func(g spec.Class) bool { return !g.Open() }) {
		asked = max(n.Offered, n.Acquired)
	}
	return float64(n.Acquired) / float64(max(1, asked))
}

// Rate returns the throughput over the trials.
func Rate(c *results.Cell) stats.Estimate {
	return stats.Trials(c.Trials, (*results.Record).Throughput)
}

// Score returns what counts over the trials: the throughput or, where arrivals set that, each trial's p99 below zero.
func Score(c *results.Cell) stats.Estimate {
	if !c.Open() {
		return Rate(c)
	}
	return stats.Trials(c.Trials, func(r *results.Record) float64 { return -r.Latency[Waiting(c)].Quantile(0.99) })
}
