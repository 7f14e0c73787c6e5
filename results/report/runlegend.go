package report

// The legend of a table: what its columns and marks are, as far as they are there.

import (
	"fmt"
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

// caveats returns what changes how the rows are read, a line each.
func (t *cellTable) caveats() (all []Block) {
	say := func(format string, args ...any) { all = append(all, Paragraph{Text: fmt.Sprintf(format, args...)}) }
	if t.differ("kind") {
		say("Servers differ in kind: rows of different kinds do not compare.")
	}
	if t.differ("persistence") {
		say("Persistence differs: %s. Locks that survive a crash of the server cost more.", t.persistence())
	}
	if t.differ("durability") {
		say("Durability differs: strict answers once a change is on disk, except where persistence is none.")
	}
	for _, text := range unlikeHolds(t.Cells) {
		say("%s", text)
	}
	if t.any((*results.Cell).Open) {
		say("wait: in an open loop the response, from when an arrival was due to its grant.")
	}
	if t.has("", "±") {
		of := "how far the trials are from their median at the most"
		switch {
		case !t.any(func(c *results.Cell) bool { return !manyTrials(c) }):
			of = "95 % confidence interval of the median over the trials"
		case t.any(manyTrials):
			of += ", or its 95 % interval if they are " + strconv.Itoa(stats.MinTrials) + " or more"
		}
		say("±: %s; latencies are of all trials together.", of)
	}
	if t.any(func(c *results.Cell) bool { return c.Safety.Violations > 0 }) {
		say("viol.: each is %s.", Meaning("violation"))
	}
	if t.any(func(c *results.Cell) bool { return c.Safety.Overstayed > 0 }) {
		say("planted: of holds that the plan made outlast their lease, which says nothing against the lock.")
	}
	if t.any(blind) {
		say("viol. –: none could have been seen, since no rival was refused while a key was held.")
	}
	return all
}

// meanings explains the columns that not everybody knows.
func (t *cellTable) meanings() (all []Block) {
	say := func(format string, args ...any) { all = append(all, Paragraph{Text: fmt.Sprintf(format, args...)}) }
	if t.has("limited", "by") {
		say("limited by: %s.", view.LimitLegend(t.Cells))
	}
	if t.has("of", "bound") {
		say("of bound: share that was reached of an estimate of what any lock could reach under that load.")
	}
	if t.has("", "dropped") {
		say("dropped: share of the arrivals that found the queue full; they are in no latency.")
	}
	if t.has("acquire", "p50") || t.has("acquire", "p99") {
		say("acquire: from when a client took an arrival up to its grant.")
	}
	if t.has("recovery", "p50") {
		say("recovery: from the death of a holder, who released nothing, to the next grant of its key.")
	}
	if t.has("neighbour", "p50 ×") {
		say("neighbour: how many times as long as before the load a request took that has nothing to do with locks, on a " +
			"connection of its own.")
	}
	if t.any(sparse) {
		say("–: not known, or too few values for that quantile.")
	}
	return all
}
