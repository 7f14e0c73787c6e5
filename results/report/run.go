package report

// The document of a run, or of the records of several: the answer, the rows that it rests on, and what can go wrong.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// Run returns what cells say, as results.Group makes them, and what became of thresholds; nil: there are none.
func Run(cells []*results.Cell, check *compare.Check) *Document {
	d := &Document{Command: "lockbench report"}
	if len(cells) == 0 {
		return d
	}
	v := view.NewRun(cells)
	order := foremost(v)
	d.Title, d.Tone = answer(v, order[0])
	d.When = inCommon(v)
	d.judge(check)
	all, facts := cellTable(v, nil), runFacts(v, order[0])
	blocks := []Block{{Table: all}, {Table: facts}}
	if len(all.Rows) == 1 {
		blocks = blocks[1:]
	} else if len(cells) > 1 {
		rows := min(len(order), d.makeRoom(facts, cellTable(v, order)))
		blocks[0].Table = cellTable(v, order[:rows])
		full := fmt.Sprintf("All %d rows in full (%d more)", len(all.Rows), len(order)-rows)
		blocks = append(blocks, Block{Heading: strings.TrimSuffix(full, " (0 more)"), Detail: true, Table: all})
	}
	for i, c := range pictures(v) { // the answer rests on the first
		blocks = slices.Insert(blocks, min(1, i)*len(blocks), Block{Heading: c.Title, Chart: &c})
	}
	where := Block{Heading: "Environment", Detail: true, Table: environment(v)}
	d.add(append(append(blocks, where), figures(v)...)...)
	return d
}

// foremost returns the cells that a reader wants first: those whose lock has failed, then the best of each load, and so
// on; of loads that do not compare those with the longest waits.
func foremost(v *view.Run) (all []*results.Cell) {
	for i := range v.Cells {
		for _, g := range v.Groups {
			if i < len(g.Cells) {
				all = append(all, g.Cells[i])
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *results.Cell) int {
		failed, waited := cmp.Compare(b.Broken(), a.Broken()), cmp.Compare(view.P99(b), view.P99(a)) // NaN is least
		return cmp.Or(failed, map[bool]int{false: waited}[v.Rivals])
	})
	return all
}

// judge adds what became of thresholds, and of the objective of a workload, the worst first, and says it in the title.
// Whether locks exclude is said elsewhere.
func (d *Document) judge(check *compare.Check) {
	t := &Table{}
	check = cmp.Or(check, &compare.Check{})
	for i, c := range []*compare.Check{check.Objective, check} {
		if c == nil || len(c.Thresholds) == 0 {
			continue
		}
		for _, label := range c.Missing {
			t.fact(Warn, string(compare.Inconclusive), label+": "+compare.NotRun.About())
		}
		for _, l := range c.Limits() {
			if l.Threshold != nil {
				text := strings.TrimPrefix(c.Cells[l.Place].Label+": "+l.Sentence(), ": ")
				t.fact(verdictTones[l.Verdict], []string{"slo ", ""}[i]+string(l.Verdict), text)
			}
		}
		if c.Verdict != compare.Violated {
			d.Title = []string{"slo ", "thresholds "}[i] + string(c.Verdict) + " · " + d.Title
		}
	}
	d.Tone = max(d.Tone, verdictTones[check.Verdict])
	d.add(Block{Table: t}, t.rest(someRows, "threshold"))
}

// answer returns which locks have failed or, if none has, which came first; of one cell how fast it was; of loads that
// do not compare where clients waited longest, which is the first cell. It says what is doubtful of that.
func answer(v *view.Run, first *results.Cell) (string, Tone) {
	var failed, doubts []string
	doubtful := 0
	for i, c := range v.Cells {
		if c.Violated() {
			broken := format.Count(cmp.Or(c.Safety.Violations, c.Broken()))
			failed = append(failed, spaced(v.Names[i])+" ("+broken+" of "+format.Plural(c.Safety.Grants, "grant")+")")
		}
		if codes := view.Doubts(c); codes != nil {
			doubtful, doubts = doubtful+1, append(doubts, codes...)
		}
	}
	n, noun := v.Loads, "load"
	if n == 1 {
		n, noun = len(v.Groups), "server"
	}
	if !v.Rivals {
		n = len(v.Cells)
	}
	text, wait := format.Plural(n, noun), titled("p99", duration(view.P99(first)))
	switch {
	case failed != nil:
		return format.Join("mutual exclusion violated: "+format.Few(failed, named), view.Cause(first).Code), Bad
	case len(v.Cells) == 1:
		return headline(first), toneOf(first)
	case v.Rivals:
		text = titled(strings.ReplaceAll(v.Groups[0].Title, " · ", ", ")+":", ahead(v.Groups[0]))
		others := strings.TrimPrefix(format.Plural(n-1, "other "+noun), "0 other "+noun+"s")
		text = format.Join(strings.TrimPrefix(text, ": "), others)
	case wait != "":
		text = format.Join(text, "longest "+wait+": "+spaced(v.Names[slices.Index(v.Cells, first)]))
	}
	if doubtful == 0 {
		return text, Plain
	}
	slices.Sort(doubts)
	why := strings.Join(slices.Compact(doubts), ", ")
	return fmt.Sprintf("%s · %d of %d rows doubtful: %s", text, doubtful, len(v.Cells), why), Warn
}

// ahead returns the row of a load that is ahead of the next by more than their trials scatter, or why none is.
func ahead(g view.Group) string {
	fit, names := []*results.Cell(nil), []string(nil)
	for i, c := range g.Cells {
		if c.Breaches() == 0 && c.Rate.Median > 0 && view.Doubts(c) == nil {
			fit, names = append(fit, c), append(names, spaced(g.Short[i]))
		}
	}
	switch {
	case len(fit) < 2:
		return "no ranking"
	case len(fit[0].Trials) < 2:
		return "no ranking of single trials"
	}
	best, next, level := fit[0], fit[1], 1
	for low, _ := spread(view.Score(best)); level < len(fit); level++ {
		if _, high := spread(view.Score(fit[level])); low > high {
			break
		}
	}
	among := map[bool]string{true: " among valid rows"}[best != g.Cells[0]] // others stand above it
	times := best.Rate.Median / next.Rate.Median
	by := fmt.Sprintf("%s locks/s, %.2f times %s", format.Three(best.Rate.Median), times, names[1])
	switch {
	case level > 1:
		return format.Few(names[:level], named) + " lead" + among + ", too close to rank"
	case best.Open():
		by = fmt.Sprintf("p99 %s, %s %s", duration(view.P99(best)), names[1], duration(view.P99(next)))
	}
	return names[0] + " first" + among + ", " + by
}
