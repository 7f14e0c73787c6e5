package report

// The document of a run, or of the records of several: the answer, a table with a row a cell, and what can go wrong.

import (
	"cmp"
	"fmt"
	"maps"
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
	v, more := view.NewRun(cells), &Table{}
	d.Title, d.Tone = answer(v)
	d.When = inCommon(v)
	d.judge(check)
	facts := runFacts(v, check != nil && check.Verdict == compare.Missed, more)
	blocks := []Block{{Table: facts}}
	if len(cells) > 1 || cells[0].Classes != nil {
		blocks = slices.Insert(blocks, 0, Block{Table: cellTable(v)})
	}
	for i, c := range Pictures(cells) {
		if i == 0 { // the answer rests on it
			blocks = slices.Insert(blocks, 0, Block{Chart: &c})
		} else {
			blocks = append(blocks, Block{Heading: c.Title, Chart: &c})
		}
	}
	d.add(blocks...)
	d.add(Block{Heading: "Latencies", Detail: true, Table: listed(v, latencies)})
	d.add(details(v)...)
	more.Rows = append(more.Rows, environment(v).Rows...)
	d.add(Block{Heading: "Environment", Detail: true, Table: more})
	return d
}

// judge adds what became of thresholds, the worst first, and says it in the title.
func (d *Document) judge(check *compare.Check) {
	if check == nil {
		return
	}
	t, more := &Table{}, &Table{}
	add := func(check *compare.Check, lead string) {
		for _, label := range check.Missing {
			t.fact(Warn, string(compare.Inconclusive), label+": "+compare.NotRun.About())
		}
		for _, l := range check.Limits() {
			text := strings.TrimPrefix(check.Cells[l.Cell].Label+": "+lead+l.Sentence(), ": ")
			t.fact(verdictTones[l.Verdict], string(l.Verdict), text)
		}
	}
	if len(check.Thresholds) > 0 {
		add(check, "")
		if d.Tone = max(d.Tone, verdictTones[check.Verdict]); check.Verdict != compare.Violated {
			d.Title = "thresholds " + string(check.Verdict) + " · " + d.Title
		}
	}
	if check.Objective != nil {
		add(check.Objective, "slo: ")
	}
	shown := min(someRows, len(t.Rows))
	t.Rows, more.Rows = t.Rows[:shown], t.Rows[shown:]
	d.add(Block{Table: t}, Block{Heading: "More thresholds", Detail: true, Table: more})
}

// answer returns which lock has failed or, if none has, which came first; of one cell what it reached.
func answer(v *view.Run) (string, Tone) {
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
	case doubtful == 0:
		return order(v), Plain
	}
	slices.Sort(doubts)
	why := strings.Join(slices.Compact(doubts), ", ")
	return fmt.Sprintf("%s · %d of %d rows doubtful: %s", order(v), doubtful, len(v.Cells), why), Warn
}

// order says which row came first under each load; of several loads how often which did.
func order(v *view.Run) string {
	if !v.Rivals {
		rates := v.Groups[0].Sorted(func(c *results.Cell) float64 { return c.Rate.Median })
		top, low := v.Cells[rates[0]].Rate.Median, v.Cells[rates[len(rates)-1]].Rate.Median
		return fmt.Sprintf("%s to %s locks/s under %d loads", format.Three(low), format.Three(top), len(rates))
	}
	wins, ranked := map[string]int{}, "" // without a name: none was ahead
	for _, g := range v.Groups {
		if winner, text := first(g); text != "" {
			wins[winner]++
			ranked = text
		}
	}
	switch {
	case ranked == "":
		return "no two rows can be ranked"
	case len(v.Groups) == 1:
		return ranked
	}
	level := format.Labelled("no row ahead in", int64(wins[""]))
	delete(wins, "")
	names := slices.SortedFunc(maps.Keys(wins), func(a, b string) int {
		return cmp.Or(wins[b]-wins[a], strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s first in %d", name, wins[name])
	}
	return format.Join(fmt.Sprintf("%d loads", len(v.Groups)), format.Few(names, named), level)
}

// first returns the row that is ahead of the next by more than their trials scatter, empty if none is, and says so; the
// text is empty if fewer than two rows can be believed. Where arrivals set the rate, what counts is the p99.
func first(g view.Group) (winner, text string) {
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
	ahead := func(of *results.Cell) bool {
		if open {
			return above(view.Tail(of), view.Tail(best))
		}
		return above(view.Rate(best), view.Rate(of))
	}
	winner, other := spaced(g.Short[fit[0]]), spaced(g.Short[fit[1]])
	switch a, b := figure(best), figure(next); {
	case !ahead(next):
	case open:
		return winner, fmt.Sprintf("%s first: p99 %s, %s of %s", winner, duration(-a), duration(-b), other)
	default:
		return winner, fmt.Sprintf("%s first: %s locks/s, %.2f times %s", winner, format.Three(a), a/b, other)
	}
	if len(best.Trials) < 2 {
		return "", "single trials rank no row"
	}
	level := []string{winner}
	for _, i := range fit[1:] {
		if !ahead(g.Cells[i]) {
			level = append(level, spaced(g.Short[i]))
		}
	}
	return "", format.Few(level, 2) + " lead: within the scatter"
}

// above reports whether a is above b by more than trials scatter: their 95 % intervals do not overlap or, of trials
// that are too few for one, their ranges. One trial shows nothing of that.
func above(a, b stats.Estimate) bool {
	if a.Known() && b.Known() {
		return a.Low > b.High
	}
	return min(a.N, b.N) >= 2 && a.Min > b.Max
}

// inCommon returns what all cells share: the design, settings that are not as usual, how long they ran, on what.
func inCommon(v *view.Run) string {
	alike := func(of func(*results.Cell) string) string {
		text := of(v.Cells[0])
		if slices.ContainsFunc(v.Cells, func(c *results.Cell) bool { return of(c) != text }) {
			return ""
		}
		return text
	}
	differs, load := view.Differing(v.Cells), ""
	what := design(v.Cells[0], func(title string) bool { return !differs(title) })
	waits := alike(func(c *results.Cell) string { return view.Waits(c.Plan()) })
	if len(v.Cells) == 1 {
		load = v.Groups[0].Load // or it stands above the rows
	}
	told := []string{"driver", "lock", "wait", "topology", "partial"}
	settings := view.Common(v.Cells, func(a view.Axis) bool {
		return a.Load || a.Late || slices.Contains(told, a.Title)
	})
	cpu := func(c *results.Cell) string { return view.CPU(c.First().Env) }
	return format.Join(strings.Trim(what+", "+waits, ", "), load, settings, alike(ran),
		alike(view.Server), alike(cpu))
}

// ran returns how often a cell ran for how long.
func ran(c *results.Cell) string {
	p := c.Plan()
	text := strings.TrimSuffix(format.Plural(p.Ops, "operation")+" or "+format.Exact(p.Duration), " or 0")
	if p.Ops == 0 {
		text = format.Exact(p.Duration)
	}
	if len(c.Trials) > 1 {
		text = format.Plural(len(c.Trials), "trial") + " of " + text
	}
	return text
}
