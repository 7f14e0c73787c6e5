package report

// The legend of a table: what its columns and marks are, as far as they are there.

import (
	"slices"
	"strconv"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// has reports whether a column is shown.
func (t *cellTable) has(group, title string) bool {
	return slices.ContainsFunc(t.columns, func(col column) bool { return col.Group == group && col.Title == title })
}

func (t *cellTable) any(of func(*results.Cell) bool) bool { return slices.ContainsFunc(t.Cells, of) }

// legend is what a table needs to have said of it if something holds.
type legend struct {
	holds bool
	text  string
}

// caveats returns what changes how the rows are read, a line each.
func (t *cellTable) caveats() []Block {
	of := "how far the trials are from their median at the most"
	switch {
	case !t.any(func(c *results.Cell) bool { return !manyTrials(c) }):
		of = "95 % confidence interval of the median over the trials"
	case t.any(manyTrials):
		of += ", or its 95 % interval if they are " + strconv.Itoa(stats.MinTrials) + " or more"
	}
	all := []legend{
		{t.differ("kind"), "Servers differ in kind: rows of different kinds do not compare."},
		{t.differ("persistence"), "Persistence differs: " + t.persistence() + ". Locks that survive a crash of the server cost more."},
		{t.differ("durability"), "Durability differs: strict answers once a change is on disk, except where persistence is none."},
	}
	for _, text := range unlikeHolds(t.Cells) {
		all = append(all, legend{true, text})
	}
	return said(append(all,
		legend{t.any((*results.Cell).Open), "wait: in an open loop the response, from when an arrival was due to its grant."},
		legend{t.has("", "±"), "±: " + of + "; latencies are of all trials together."},
		legend{t.any(func(c *results.Cell) bool { return c.Safety.Violations > 0 }), "viol.: each is a grant of a key that another client still held."},
		legend{t.any(blind), "viol. –: none could have been seen, since no rival was refused while a key was held."},
	))
}

// meanings explains the columns that not everybody knows.
func (t *cellTable) meanings() []Block {
	return said([]legend{
		{t.has("limited", "by"), "limited by: " + view.LimitLegend(t.Cells) + "."},
		{t.has("of", "bound"), "of bound: share that was reached of an estimate of what any lock could reach under that load."},
		{t.has("", "dropped"), "dropped: share of the arrivals that found the queue full; they are in no latency."},
		{t.has("acquire", "p50") || t.has("acquire", "p99"), "acquire: from when a client took an arrival up to its grant."},
		{t.has("recovery", "p50"), "recovery: from the death of a holder, who released nothing, to the next grant of its key."},
		{t.has("neighbour", "p50 ×"), "neighbour: how many times as long as before the load a request took that has nothing to do with locks, " +
			"on a connection of its own."},
		{t.any(sparse), "–: not known, or too few values for that quantile."},
	})
}

func said(all []legend) (blocks []Block) {
	for _, l := range all {
		if l.holds {
			blocks = append(blocks, Paragraph{Text: l.text})
		}
	}
	return blocks
}
