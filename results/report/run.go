package report

// The document of a run, or of the records of several: the answer, a table with a row a cell, and what can go wrong.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// named is how many names a line has; more are counted.
const named = 4

// Run returns what cells say, as results.Group makes them, and what became of thresholds; nil: there are none.
func Run(cells []*results.Cell, check *compare.Check) *Document {
	d := &Document{Command: "lockbench report"}
	if len(cells) == 0 {
		return d
	}
	v, several := view.NewRun(cells), len(cells) > 1
	d.Title, d.Tone = answer(v)
	d.When = inCommon(v)
	d.judge(check)
	missed := check != nil && check.Verdict == compare.Missed
	if !several {
		d.add(Block{Table: cellFacts(cells[0], missed)})
	}
	d.add(mainChart(v))
	if several || cells[0].Classes != nil {
		d.add(Block{Table: cellTable(v)})
	}
	if several {
		tasks := shared(v, Plain, "", task)
		d.add(Block{Heading: "Tasks", Detail: len(tasks.Rows) > named, Table: tasks}, Block{Table: runFacts(v, missed)})
	}
	d.add(charts(v)...)
	d.add(details(v)...)
	return d
}

// judge adds what became of thresholds, the worst first, and says it in the title.
func (d *Document) judge(check *compare.Check) {
	if check == nil {
		return
	}
	t, rest := &Table{}, &Table{}
	if len(check.Thresholds) > 0 {
		judged(t, check, "")
		if d.Tone = max(d.Tone, verdictTone(check.Verdict)); check.Verdict != compare.Violated {
			d.Title = "thresholds " + string(check.Verdict) + " · " + d.Title
		}
	}
	if check.Objective != nil {
		judged(t, check.Objective, "slo: ")
	}
	const most = 20
	if len(t.Rows) > most {
		t.Rows, rest.Rows = t.Rows[:most], t.Rows[most:]
	}
	d.add(Block{Table: t}, Block{Heading: "More thresholds", Detail: true, Table: rest})
}

// judged adds what became of each threshold.
func judged(t *Table, check *compare.Check, lead string) {
	for _, label := range check.Missing {
		t.fact(Warn, string(compare.Inconclusive), label+": "+compare.NotRun.About())
	}
	for _, l := range check.Limits() {
		text := strings.TrimPrefix(check.Cells[l.Cell].Label+": "+lead+l.Sentence(), ": ")
		t.fact(verdictTone(l.Verdict), string(l.Verdict), text)
	}
}

// verdictTone is how a verdict of a check is drawn.
func verdictTone(v compare.Verdict) Tone {
	switch v {
	case compare.Passed:
		return Good
	case compare.Inconclusive:
		return Warn
	}
	return Bad
}

// answer returns which lock has failed or, if none has, which came first; of one cell what it reached.
func answer(v *view.Run) (string, Tone) {
	if len(v.Cells) == 1 {
		return cellAnswer(v.Cells[0])
	}
	var failed, doubts []string
	doubtful := 0
	for i, c := range v.Cells {
		if c.Violated() {
			broken, grants := format.Count(c.Broken()), format.Count(c.Safety.Grants)
			failed = append(failed, fmt.Sprintf("%s (%s of %s grants)", v.Names[i], broken, grants))
		}
		if codes := doubtsOf(c); codes != nil {
			doubtful, doubts = doubtful+1, append(doubts, codes...)
		}
	}
	if failed != nil {
		return "mutual exclusion violated: " + format.Few(failed, named), Bad
	}
	if doubtful == 0 {
		return order(v), Plain
	}
	slices.Sort(doubts)
	why := strings.Join(slices.Compact(doubts), ", ")
	return fmt.Sprintf("%s · %d of %d rows doubtful: %s", order(v), doubtful, len(v.Cells), why), Warn
}

// order says which row came first under each load; of many loads how often which did.
func order(v *view.Run) string {
	if !v.Rivals {
		rates := v.Sorted(func(c *results.Cell) float64 { return c.Rate.Median })
		top, low := v.Cells[rates[0]].Rate.Median, v.Cells[rates[len(rates)-1]].Rate.Median
		return fmt.Sprintf("%s to %s locks/s under %d loads", format.Three(low), format.Three(top), len(rates))
	}
	var texts, alike, wins []string
	level := 0
	for _, g := range v.Groups {
		winner, text := first(g)
		switch {
		case winner != "":
			wins = append(wins, winner)
		case text != "":
			level++
		}
		if text != "" {
			texts, alike = append(texts, strings.TrimPrefix(g.Title+": "+text, ": ")), append(alike, text)
		}
	}
	switch {
	case texts == nil:
		return "no two rows can be ranked"
	case len(slices.Compact(alike)) == 1 && level == len(v.Groups):
		return alike[0]
	case len(v.Groups) <= 2:
		return strings.Join(texts, " · ")
	}
	slices.Sort(wins)
	var counts []string
	for len(wins) > 0 {
		next := slices.IndexFunc(append(wins, ""), func(name string) bool { return name != wins[0] })
		counts, wins = append(counts, fmt.Sprintf("%s first in %d", wins[0], next)), wins[next:]
	}
	scattered := format.Labelled("within the scatter", int64(level))
	return format.Join(fmt.Sprintf("%d loads", len(v.Groups)), format.Few(counts, named), scattered)
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
		return c.Breaches() > 0 || doubtsOf(c) != nil || c.Counts.Acquired == 0 || math.IsNaN(figure(c))
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
	name, other := g.Short[fit[0]], g.Short[fit[1]]
	switch a, b := figure(best), figure(next); {
	case ahead(next) && open:
		return name, fmt.Sprintf("%s first: p99 %s, %s of %s", name, duration(-a), duration(-b), other)
	case ahead(next):
		return name, fmt.Sprintf("%s first: %s locks/s, %s %s", name, format.Three(a), times(a/b), other)
	}
	var level []string
	for _, i := range fit {
		if i == fit[0] || !ahead(g.Cells[i]) {
			level = append(level, g.Short[i])
		}
	}
	if text = format.Few(level, named) + " lead: "; len(best.Trials) < 2 {
		return "", text + "single trials"
	}
	return "", text + "within the scatter"
}

// above reports whether a is above b by more than trials scatter: their 95 % intervals do not overlap or, of trials
// that are too few for one, their ranges. One trial shows nothing of that.
func above(a, b stats.Estimate) bool {
	if a.Known() && b.Known() {
		return a.Low > b.High
	}
	return min(a.N, b.N) >= 2 && a.Min > b.Max
}

// times writes a ratio above 1.
func times(ratio float64) string {
	if ratio < 1.1 {
		return format.Percent(ratio-1) + " above"
	}
	return fmt.Sprintf("%.1f times", ratio)
}

// duration writes nanoseconds.
func duration(ns float64) string { return metric.Duration.Format(ns) }

// inCommon returns what all cells share: the design, the load, settings that are not as usual, how long they ran, on
// what.
func inCommon(v *view.Run) string {
	alike := func(of func(*results.Cell) string) string {
		text := of(v.Cells[0])
		if slices.ContainsFunc(v.Cells, func(c *results.Cell) bool { return of(c) != text }) {
			return ""
		}
		return text
	}
	design := designs(v.Cells, false)[0]
	design = strings.Trim(design+", "+alike(func(c *results.Cell) string { return view.Waits(c.Plan()) }), ", ")
	told := []string{"driver", "lock", "wait", "topology", "duration", "warmup", "partial"}
	settings := view.Common(v.Cells, func(a view.Axis) bool {
		return a.Load || a.Server || a.Wide || slices.Contains(told, a.Title)
	})
	if len(v.Cells) == 1 {
		return format.Join(design, v.Load, settings, ran(v.Cells[0]))
	}
	cpu := func(c *results.Cell) string { return view.CPU(c.First().Env) }
	return format.Join(design, settings, alike(ran), alike(view.Server), alike(cpu))
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

// runFacts returns what is wrong with the designs, in what rows are unlike, and what to do next.
func runFacts(v *view.Run, missed bool) *Table {
	t := shared(v, Plain, "risk", view.Risk)
	var guarantees []string
	names := designs(v.Cells, true)
	for _, trait := range view.Guarantees {
		var have []string
		for i, c := range v.Cells {
			if trait.Has(c) {
				have = append(have, names[i])
			}
		}
		slices.Sort(have)
		if n := len(have); n > 0 && n < len(v.Cells) {
			guarantees = append(guarantees, trait.Name+": "+format.Few(slices.Compact(have), named))
		}
	}
	t.fact(Plain, "guarantees", strings.Join(guarantees, " · "))
	differ := view.Differing(v.Cells)
	if differ("kind") {
		t.fact(Warn, "servers", "their kinds differ, and such rows do not compare")
	}
	if differ("persistence") || differ("durability") {
		t.fact(Plain, "on disk", "rows differ: locks that survive a crash of the server cost more")
	}
	t.fact(Warn, "holds", unlikeHolds(v.Cells))
	t.notes(v.Cells...)
	if i := slices.IndexFunc(v.Cells, (*results.Cell).Violated); i >= 0 {
		t.fact(Plain, "next", v.Names[i]+": "+next(v.Cells[i], missed))
	} else if c := v.Groups[0].Cells[v.Groups[0].Best()[0]]; v.Rivals {
		t.fact(Plain, "next", prove(c))
	}
	return t
}

// shared returns a fact for each text that is true of cells, with the names of their designs if it is not true of all.
// Without a label those are the labels.
func shared(v *view.Run, tone Tone, label string, of func(*results.Cell) string) *Table {
	var names view.Grouped[string, string]
	short := designs(v.Cells, true)
	if label == "" {
		short = v.Names
	}
	known := 0
	for i, c := range v.Cells {
		if text := of(c); text != "" {
			names.Once(text, short[i])
			known++
		}
	}
	t := &Table{}
	for _, text := range names.Keys {
		switch whose := format.Few(names.Of[text], named); {
		case label == "":
			t.fact(tone, whose, text)
		case len(names.Keys) == 1 && known == len(v.Cells):
			t.fact(tone, label, text)
		default:
			t.fact(tone, label, whose+": "+text)
		}
	}
	return t
}

// designs returns the driver, lock and topology of each cell, as far as cells differ in them, or do not; all if no two
// differ.
func designs(cells []*results.Cell, differ bool) (names []string) {
	differs := view.Differing(cells)
	all := differ && !differs("driver") && !differs("lock") && !differs("topology")
	for _, c := range cells {
		name, p := "", c.Plan()
		for _, part := range [][2]string{{"driver", p.Driver}, {"lock", p.Lock}, {"topology", p.Topology}} {
			if all || differs(part[0]) == differ {
				name += " " + part[1]
			}
		}
		names = append(names, strings.TrimSpace(name))
	}
	return names
}
