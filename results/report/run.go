package report

// The document of a run, or of the records of several: the answer, the rows that it rests on, and what can go wrong.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// Run returns what cells say, as results.Group makes them, and what became of thresholds; nil: there are none.
func Run(cells []*results.Cell, check *compare.Check) *Document {
	d := &Document{Command: "lockbench report"}
	if len(cells) == 0 {
		return d
	}
	v := view.NewRun(cells)
	d.Title, d.Tone = answer(v, check)
	d.When = inCommon(v)
	d.judge(check)
	facts := runFacts(v, check != nil && check.Verdict == compare.Missed)
	blocks := []Block{{Table: facts}}
	if rows := cellRows(v); len(rows) > 1 {
		blocks = []Block{{Table: leading(v, d.room(facts))}, {Table: facts},
			{Heading: fmt.Sprintf("All %d rows", len(rows)), Detail: true, Table: cellTable(rows)}}
	}
	for i, c := range Pictures(cells) {
		if i == 0 { // the answer rests on it
			blocks = slices.Insert(blocks, 0, Block{Chart: &c})
		} else {
			blocks = append(blocks, Block{Heading: c.Title, Chart: &c})
		}
	}
	d.add(append(blocks, Block{Heading: "Environment", Detail: true, Table: environment(v).without(facts)})...)
	d.add(figures(v, facts)...)
	return d
}

// judge adds what became of thresholds, the worst first, and says it in the title.
func (d *Document) judge(check *compare.Check) {
	if check == nil {
		return
	}
	t := &Table{}
	for i, c := range []*compare.Check{check, check.Objective} {
		if c == nil || len(c.Thresholds) == 0 {
			continue
		}
		for _, label := range c.Missing {
			t.fact(Warn, string(compare.Inconclusive), label+": "+compare.NotRun.About())
		}
		for _, l := range c.Limits() {
			text := c.Cells[l.Cell].Label + ": " + []string{"", "slo: "}[i] + l.Sentence()
			t.fact(verdictTones[l.Verdict], string(l.Verdict), strings.TrimPrefix(text, ": "))
		}
	}
	if len(check.Thresholds) > 0 {
		if d.Tone = max(d.Tone, verdictTones[check.Verdict]); check.Verdict != compare.Violated {
			d.Title = "thresholds " + string(check.Verdict) + " · " + d.Title
		}
	}
	more := t.rest(someRows, "threshold")
	d.add(Block{Table: t}, more)
}

// room returns how many rows of a table a screen of 14 lines of the usual width has room for, with facts below it.
func (d *Document) room(facts *Table) int {
	const around = 6 // lines: the head of the table, what is more with -v, and between the parts
	room := 14 - around - len(format.Wrap("  ", d.Title, 100)) - len(format.Wrap("", d.When, 100))
	for _, b := range append(d.Blocks, Block{Table: facts}) {
		for _, r := range b.Table.Rows {
			if !b.Detail {
				room -= len(format.Wrap("  limited by  ", r.Cells[1].Text, 100))
			}
		}
	}
	return max(2, room)
}

// answer returns which lock has failed or, if none has, which came first; of one cell what it reached.
func answer(v *view.Run, check *compare.Check) (string, Tone) {
	var failed, doubts []string
	doubtful := 0
	for i, c := range v.Cells {
		if c.Violated() {
			failed = append(failed, fmt.Sprintf("%s (%s)", spaced(v.Names[i]), broken(c)))
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
	text := order(v)
	if !v.Rivals {
		text = kept(v, check)
	}
	if doubtful == 0 {
		return text, Plain
	}
	slices.Sort(doubts)
	why := strings.Join(slices.Compact(doubts), ", ")
	return fmt.Sprintf("%s · %d of %d rows doubtful: %s", text, doubtful, len(v.Cells), why), Warn
}

// kept says of loads that do not compare how many kept their objectives; without any, where clients waited longest.
func kept(v *view.Run, check *compare.Check) string {
	if check == nil || check.Objective == nil {
		slow := v.Groups[0].Sorted(view.P99)[0]
		longest, name := titled("longest p99", duration(view.P99(v.Cells[slow]))), ": "+spaced(v.Names[slow])
		return format.Join(fmt.Sprintf("%d loads", len(v.Cells)), strings.TrimPrefix(longest+name, name))
	}
	var missed []string
	for _, c := range check.Objective.Cells {
		if c.Verdict != compare.Passed {
			missed = append(missed, c.Label)
		}
	}
	text := fmt.Sprintf("slo kept under %d of %d loads", len(v.Cells)-len(missed), len(v.Cells))
	return strings.TrimSuffix(text+", not "+format.Few(missed, named), ", not ")
}

// order says which row came first under each load; of several loads how often which did.
func order(v *view.Run) string {
	var wins view.Grouped[string, string] // loads by the row that is ahead under them
	ranked := "no two rows can be ranked"
	for _, g := range v.Groups {
		if winner, text := ahead(g); text != "" {
			wins.Add(winner, g.Title)
			ranked = text
		}
	}
	if len(v.Groups) == 1 || len(wins.Keys) == 0 {
		return ranked
	}
	var first []string
	for _, winner := range wins.Keys {
		if winner != "" {
			first = append(first, fmt.Sprintf("%s first in %d", winner, len(wins.Of[winner])))
		}
	}
	level := format.Labelled("no row ahead in", int64(len(wins.Of[""])))
	return format.Join(fmt.Sprintf("%d loads", len(v.Groups)), format.Few(first, named), level)
}

// ahead returns the row that is ahead of the next by more than their trials scatter, empty if none is, and says so; the
// text is empty if fewer than two rows can be believed. Where arrivals set the rate, what counts is the p99.
func ahead(g view.Group) (winner, text string) {
	open := slices.ContainsFunc(g.Cells, (*results.Cell).Open)
	figure := func(c *results.Cell) float64 {
		if open {
			return -view.P99(c)
		}
		return c.Rate.Median
	}
	fit := slices.DeleteFunc(g.Sorted(figure), func(i int) bool {
		c := g.Cells[i]
		return c.Breaches() > 0 || view.Doubts(c) != nil || c.Counts.Acquired == 0 || math.IsNaN(figure(c))
	})
	if len(fit) < 2 {
		return "", ""
	}
	best, next := g.Cells[fit[0]], g.Cells[fit[1]]
	winner, other := spaced(g.Short[fit[0]]), spaced(g.Short[fit[1]])
	clear := above(view.Rate(best), view.Rate(next))
	if open {
		clear = above(view.Tail(next), view.Tail(best))
	}
	switch a, b := figure(best), figure(next); {
	case len(best.Trials) < 2:
		return "", "single trials rank no row"
	case !clear:
		return "", winner + " and " + other + " lead: within the scatter"
	case open:
		return winner, fmt.Sprintf("%s first: p99 %s, %s of %s", winner, duration(-a), duration(-b), other)
	default:
		return winner, fmt.Sprintf("%s first: %s locks/s, %.2f times %s", winner, format.Three(a), a/b, other)
	}
}

// above reports whether a is above b by more than trials scatter: their 95 % intervals do not overlap or, of trials
// that are too few for one, their ranges. One trial shows nothing of that.
func above(a, b stats.Estimate) bool {
	if a.Known() && b.Known() {
		return a.Low > b.High
	}
	return min(a.N, b.N) >= 2 && a.Min > b.Max
}

// inCommon returns what all cells share that is not as usual, and how long they ran on what. The load of several stands
// above their rows.
func inCommon(v *view.Run) string {
	ran := func(c *results.Cell) string {
		text := format.Plural(len(c.Trials), "trial") + " of " + format.Exact(c.Plan().Duration)
		return strings.TrimSuffix(text, " of 0") // those of a number of operations
	}
	first := v.Cells[0]
	lasted, cpu, shown := ran(first), view.CPU(first.First().Env), []string{"kind", "server"}
	if slices.ContainsFunc(v.Cells, func(c *results.Cell) bool { return ran(c) != lasted }) {
		lasted = ""
	}
	if view.Differing(v.Cells)("machine") {
		cpu = ""
	}
	return format.Join(view.Common(v.Cells, func(a view.Axis) bool {
		return a.Load && len(v.Cells) > 1 || a.Late && !slices.Contains(shown, a.Title) || a.Title == "partial"
	}), lasted, cpu)
}
