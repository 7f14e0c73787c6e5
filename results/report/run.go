package report

// The document of a run, or of the records of several: the answer, the rows that it rests on, and what can go wrong.

import (
	"cmp"
	"fmt"
	"math"
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
	d.Title, d.Tone = answer(v)
	d.When = inCommon(v)
	d.judge(check)
	facts := runFacts(v, check != nil && check.Verdict == compare.Missed)
	blocks := []Block{{Table: facts}}
	if rows := cellRows(v); len(rows) > 1 {
		blocks = []Block{{Table: leading(v, d.room(facts))}, {Table: facts},
			{Heading: fmt.Sprintf("All %d rows in full", len(rows)), Detail: true, Table: cellTable(rows, math.MaxInt)}}
	}
	for i, c := range pictures(v) { // the answer rests on the first
		blocks = slices.Insert(blocks, min(1, i)*len(blocks), Block{Heading: c.Title, Chart: &c})
	}
	where := Block{Heading: "Environment", Detail: true, Table: environment(v).without(facts)}
	d.add(append(append(blocks, notes(v, facts), where), figures(v, facts)...)...)
	return d
}

// judge adds what became of thresholds, and of the objective of a workload, the worst first, and says it in the title.
func (d *Document) judge(check *compare.Check) {
	t := &Table{}
	add := func(c *compare.Check, kind, lead string) {
		if c == nil || len(c.Thresholds) == 0 {
			return
		}
		for _, label := range c.Missing {
			t.fact(Warn, string(compare.Inconclusive), label+": "+compare.NotRun.About())
		}
		for _, l := range c.Limits() {
			if text := c.Cells[l.Cell].Label + ": " + lead + l.Sentence(); l.Threshold != nil || len(c.Cells) > 1 {
				t.fact(verdictTones[l.Verdict], string(l.Verdict), strings.TrimPrefix(text, ": "))
			} // else the facts have whether the lock excluded
		}
		if c.Verdict != compare.Violated {
			d.Title = kind + string(c.Verdict) + " · " + d.Title
		}
	}
	if check != nil {
		add(check.Objective, "slo ", "slo: ")
		if add(check, "thresholds ", ""); len(check.Thresholds) > 0 {
			d.Tone = max(d.Tone, verdictTones[check.Verdict])
		}
	}
	d.add(Block{Table: t}, t.rest(someRows, "threshold"))
}

// answer returns which lock has failed or, if none has, which came first; of one cell what it reached.
func answer(v *view.Run) (string, Tone) {
	var failed, doubts []string
	doubtful := 0
	for i, c := range v.Cells {
		if c.Violated() {
			by := view.Witnesses(c)
			if s := c.Safety; s.Violations > 0 {
				by = format.Count(s.Violations) + " of " + format.Plural(s.Grants, "grant")
			}
			failed = append(failed, spaced(v.Names[i])+" ("+by+")")
		}
		if codes := view.Doubts(c); codes != nil {
			doubtful, doubts = doubtful+1, append(doubts, codes...)
		}
	}
	switch {
	case failed != nil:
		return "mutual exclusion violated: " + format.Few(failed, named), Bad
	case len(v.Cells) == 1:
		return cellAnswer(v.Cells[0])
	}
	text, rows := order(v), fmt.Sprintf("%d of %d", doubtful, len(v.Cells))
	switch {
	case doubtful == 0:
		return text, Plain
	case doubtful == len(v.Cells) && v.Rivals:
		text, rows = "no ranking", "all"
	}
	slices.Sort(doubts)
	why := strings.Join(slices.Compact(doubts), ", ")
	return fmt.Sprintf("%s · %s rows doubtful: %s", text, rows, why), Warn
}

// order says which row came first under the load with most contention; of loads that do not compare, where clients
// waited longest.
func order(v *view.Run) string {
	g, loads := v.Groups[0], int64(len(v.Groups)-1)
	if v.Rivals {
		title := ahead(g)
		if g.Title != "" {
			title = strings.ReplaceAll(g.Title, " · ", ", ") + ": " + title
		}
		return format.Join(title, strings.TrimPrefix(format.Plural(loads, "other load"), "0 other loads"))
	}
	slow := slices.MaxFunc(v.Cells, func(a, b *results.Cell) int { return cmp.Compare(view.P99(a), view.P99(b)) })
	longest := titled("longest p99", duration(view.P99(slow)))
	if longest != "" {
		longest += ": " + spaced(v.Names[slices.Index(v.Cells, slow)])
	}
	return format.Join(format.Plural(len(v.Cells), "load"), longest)
}

// ahead returns the row that is ahead of the next by more than their trials scatter, or why none is. Where arrivals set
// the rate, what counts is the p99.
func ahead(g view.Group) string {
	fit, names := []*results.Cell(nil), []string(nil)
	for i, c := range g.Cells {
		if c.Breaches() == 0 && view.Doubts(c) == nil && c.Rate.Median > 0 && (!c.Open() || view.P99(c) > 0) {
			fit, names = append(fit, c), append(names, spaced(g.Short[i]))
		}
	}
	if len(fit) < 2 {
		return "no ranking"
	}
	best, next, level := fit[0], fit[1], 1
	for level < len(fit) && !beats(best, fit[level]) {
		level++
	}
	by := fmt.Sprintf("%.2f times %s", best.Rate.Median/next.Rate.Median, names[1])
	by = format.Three(best.Rate.Median) + " locks/s, " + by
	if best.Open() {
		by = fmt.Sprintf("p99 %s, %s %s", duration(view.P99(best)), names[1], duration(view.P99(next)))
	}
	among := map[bool]string{true: " among valid rows"}[view.Doubts(g.Cells[0]) != nil] // which stands above them
	switch {
	case len(best.Trials) < 2:
		return "no ranking of single trials"
	case level > 1:
		return format.Few(names[:level], named) + " lead" + among + ", too close to rank"
	}
	return names[0] + " first" + among + ", " + by
}

// beats reports whether a is better than b by more than their trials scatter.
func beats(a, b *results.Cell) bool {
	over, under := view.Rate(a), view.Rate(b)
	if a.Open() {
		over, under = view.Tail(b), view.Tail(a)
	}
	least, _ := spread(over)
	_, most := spread(under)
	return least > most
}

// inCommon returns what all cells share that is not as usual, and how long they ran on what. The load of several stands
// above their rows.
func inCommon(v *view.Run) string {
	shown := []string{"kind", "server"}
	shared := []string{view.Common(v.Cells, func(a view.Axis) bool {
		return a.Load && len(v.Cells) > 1 || a.Late && !slices.Contains(shown, a.Title) || a.Title == "partial"
	})}
	var ran, cpu view.Grouped[string, int]
	for i, c := range v.Cells {
		lasted := format.Plural(len(c.Trials), "trial") + " of " + format.Exact(c.Plan().Duration)
		ran.Add(strings.TrimSuffix(lasted, " of 0"), i) // those of a number of operations
		cpu.Add(view.CPU(c.First().Env), i)
	}
	for _, of := range [][]string{ran.Keys, cpu.Keys} {
		if len(of) == 1 {
			shared = append(shared, of[0])
		}
	}
	return format.Join(shared...)
}
