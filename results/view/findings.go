package view

// The summary: what can be claimed, in sentences, and what cannot.

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
)

// Finding is a sentence or two about what was measured.
type Finding struct {
	Kind Kind
	Lead string // what it is about, or the beginning of the sentence
	Text string
}

// Kind is how a finding is drawn.
type Kind string

const (
	Good Kind = "good"
	Bad  Kind = "bad"
	Warn Kind = "warn"
	Note Kind = "note"
)

const (
	NamedCells = 4 // in a sentence
	namedLoads = 6 // in the summary; more are counted
)

func (v *Run) Findings() (all []Finding) {
	all = append(all, v.Broken()...)
	all = append(all, v.fastest()...)
	all = append(all, v.exclusion()...)
	return append(all, v.Reservations()...)
}

// Broken returns where two clients held the same lock at once, which is what matters most.
func (v *Run) Broken() (all []Finding) {
	var names, free []string
	for i, c := range v.Cells {
		switch {
		case c.Violated():
			names = append(names, fmt.Sprintf("%s (%s in %s%s)", v.Names[i],
				format.Plural(c.Broken(), "violation"), format.Plural(c.Safety.Grants, "grant"), endedEarly(c)))
		case c.Breaches() > 0:
			free = append(free, v.Names[i])
		}
	}
	if names != nil {
		all = append(all, Finding{Bad, "Mutual exclusion was violated",
			"by " + format.Few(names, NamedCells) + ", though the design claims to exclude. Two clients held the same lock at once."})
	}
	if free != nil {
		all = append(all, Finding{Warn, "Two clients held the same lock at once",
			"in " + format.Few(free, NamedCells) + ", which does not claim mutual exclusion."})
	}
	return all
}

// endedEarly says what let holds end before their release: their sessions had ended, or the plan let them last longer than the lease, for
// which the lock is not to blame.
func endedEarly(c *results.Cell) string {
	if text := Ended(c.Safety); text != "" {
		return "; " + text
	}
	p := &c.First().Plan
	if !c.First().Traits.Expires || p.Renew {
		return ""
	}
	for _, g := range p.Groups() {
		if g.TTL > 0 && g.Hold >= g.TTL {
			return fmt.Sprintf("; its holds of %v were meant to outlast its lease of %v", g.Hold, g.TTL)
		}
	}
	return ""
}

// exclusion returns how much the absence of violations proves.
func (v *Run) exclusion() []Finding {
	var grants, watched int64
	clean, blind, unchecked := 0, 0, 0
	for _, c := range v.Cells {
		_, bounded := c.Figures().MaxRate()
		switch {
		case !c.Safety.Checked:
			unchecked++
		case bounded:
			clean++
			grants += c.Safety.Grants
			watched += c.Safety.Power.Watched
		case c.Safety.Violations == 0 && c.Breaches() == 0:
			blind++
		}
	}
	var all []Finding
	if blind > 0 {
		all = append(all, Finding{Note, "No violation could have been seen",
			"in " + fmt.Sprintf("%d of %s", blind, format.Plural(len(v.Cells), "row")) + ": rivals were not, or hardly ever, refused " +
				"while a key was held, or the records do not tell. Contention for fewer keys, or holds that take time, would show something."})
	}
	if clean > 0 {
		where := "in any row"
		if clean < len(v.Cells) {
			where = fmt.Sprintf("in %d of %d rows", clean, len(v.Cells))
		}
		if len(v.Cells) == 1 {
			where = "in this run"
		}
		all = append(all, Finding{Good, "No violation was seen " + where,
			fmt.Sprintf("over %s, %s of which were watched. That is a bound and not a proof: row by row it is in the section on safety.",
				format.Plural(grants, "grant"), format.Count(watched))})
	}
	if unchecked > 0 {
		all = append(all, Finding{Warn, "Mutual exclusion was not checked",
			fmt.Sprintf("in %s: the oracle was off.", rows(unchecked, len(v.Cells)))})
	}
	return all
}

func rows(n, of int) string {
	switch {
	case of == 1:
		return "this run"
	case n == of && of == 2:
		return "both rows"
	case n == of:
		return fmt.Sprintf("all %d rows", of)
	}
	return fmt.Sprintf("%d of %d rows", n, of)
}

// fastest returns which cell of each load was fastest, as far as that can be told.
func (v *Run) fastest() (all []Finding) {
	if len(v.Cells) == 1 {
		return nil // see Verdict
	}
	if !v.Rivals {
		return []Finding{v.across()}
	}
	all, _, sum := v.ranks()
	if len(v.Groups) <= namedLoads {
		return all
	}
	if named := len(all); named > 1 && named < len(v.Groups) {
		sum.Text += fmt.Sprintf(" Here are %d of them:", named)
	}
	return append([]Finding{sum}, all...)
}

// ranks returns which cell of each load was fastest, of as many loads as a summary names, in full and in brief, and how often which
// was.
func (v *Run) ranks() (all []Finding, brief []string, sum Finding) {
	wins := map[string]int{}
	level := 0
	for _, g := range v.Groups {
		r := g.rank()
		switch {
		case r.winner >= 0:
			wins[g.Names[r.winner]]++
		case r.text.Text != "":
			level++
		}
		if r.text.Text != "" && len(all) < namedLoads {
			if g.Title != "" {
				r.text.Lead = g.Title + ": " + lower(r.text.Lead)
			}
			r.text.Text += "."
			all, brief = append(all, r.text), append(brief, r.text.Lead+" "+r.brief)
		}
	}
	return all, brief, countWins(wins, level, len(v.Groups))
}

// countWins says in how many loads which name was first, in how many the first could not be told from the next, and in how many
// fewer than two rows are valid.
func countWins(wins map[string]int, level, loads int) Finding {
	rest := loads - level
	var counts, parts []string
	for _, name := range slices.SortedFunc(maps.Keys(wins), func(a, b string) int {
		return cmp.Or(cmp.Compare(wins[b], wins[a]), cmp.Compare(a, b))
	}) {
		counts = append(counts, fmt.Sprintf("%s in %d", name, wins[name]))
		rest -= wins[name]
	}
	if counts != nil {
		parts = append(parts, "first by more than the trials scatter came "+format.Few(counts, NamedCells))
	}
	if level > 0 {
		parts = append(parts, fmt.Sprintf("in %d the first row cannot be told from the next", level))
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("in %d there are no two rows that may be believed as they stand", rest))
	}
	return Finding{Note, fmt.Sprintf("Of %d loads:", loads), strings.Join(parts, "; ") + "."}
}

// across returns the span of the rows, whose loads differ, so that they are not compared.
func (v *Run) across() Finding {
	order := Group{Cells: v.Cells}.Sorted(func(c *results.Cell) float64 { return c.Rate.Median })
	top, low := order[0], order[len(order)-1]
	return Finding{Note, "The rows had different loads, so they are no ranking:",
		fmt.Sprintf("from %s locks/s (%s) to %s locks/s (%s).",
			format.Three(v.Cells[low].Rate.Median), v.Names[low], format.Three(v.Cells[top].Rate.Median), v.Names[top])}
}

// ranking is the order of the rows of one load.
type ranking struct {
	winner int // -1 if none can be told from the next
	text   Finding
	brief  string // the text without how it is known
}

// rank compares the valid rows: by throughput in a closed loop, where the lock sets the rate, and by waits where arrivals set it.
func (g Group) rank() ranking {
	figure, estimate := func(c *results.Cell) float64 { return c.Rate.Median }, Rate
	byWait := slices.ContainsFunc(g.Cells, (*results.Cell).Open)
	if byWait {
		figure, estimate = func(c *results.Cell) float64 { return -P99(c) }, negative(Tail)
	}
	fit := slices.DeleteFunc(g.Sorted(figure), func(i int) bool {
		c := g.Cells[i]
		return c.Breaches() > 0 || len(Doubts(c)) > 0 || math.IsNaN(figure(c)) || c.Counts.Acquired == 0
	})
	if len(fit) < 2 {
		return ranking{winner: -1}
	}
	first, next := estimate(g.Cells[fit[0]]), estimate(g.Cells[fit[1]])
	how, sure := apart(first, next)
	if !sure {
		level := slices.DeleteFunc(slices.Clone(fit[1:]), func(i int) bool {
			_, sure := apart(first, estimate(g.Cells[i]))
			return sure
		})
		text, brief := g.level(fit[0], level, byWait, how)
		return ranking{-1, text, brief}
	}
	text, brief := g.won(fit, byWait, first.Known() && next.Known(), how)
	text.Text += g.leftOut(fit[0], figure)
	return ranking{fit[0], text, brief}
}

// level returns that the first row and the others named do not differ by more than their scatter, and how that is known.
func (g Group) level(first int, same []int, byWait bool, how string) (text Finding, brief string) {
	what := fmt.Sprintf("%s had the most, %s locks/s", g.Names[first], format.Three(g.Cells[first].Rate.Median))
	if byWait {
		what = fmt.Sprintf("%s had the lowest P99, %s", g.Names[first], metric.Duration.Format(P99(g.Cells[first])))
	}
	var names []string
	for _, i := range same {
		names = append(names, g.Names[i])
	}
	brief = fmt.Sprintf("%s, but %s cannot be told apart from it", what, format.Few(names, NamedCells))
	return Finding{Note, "No fastest row.", brief + "; " + how}, brief
}

// won returns by how much the first of the valid rows is ahead of the next, and how that is known. Without an interval of both it
// "came first", which claims less.
func (g Group) won(fit []int, byWait, known bool, how string) (text Finding, brief string) {
	first, next, name := g.Cells[fit[0]], g.Cells[fit[1]], g.Names[fit[1]]
	lead, wait := " was fastest:", ""
	switch {
	case byWait:
		lead = " answered soonest:"
		brief = fmt.Sprintf("a p99 of %s, against %s of the next, %s", metric.Duration.Format(P99(first)), metric.Duration.Format(P99(next)), name)
	default:
		if !known {
			lead = " came first:"
		}
		brief = fmt.Sprintf("%s locks/s, %s the next, %s", format.Three(first.Rate.Median), faster(first.Rate.Median, next.Rate.Median), name)
		wait = g.wait(fit)
	}
	text = Finding{Good, g.Names[fit[0]] + lead, brief + "; " + how + wait}
	claims := func(c *results.Cell) string { return cmp.Or(Claims(c.First().Traits), "nothing") }
	if a, b := claims(first), claims(next); a != b {
		differ := fmt.Sprintf("heir guarantees differ (%s, against %s), so they are no equals", a, b)
		text.Text, brief = text.Text+". T"+differ, brief+"; t"+differ
	}
	return text, brief
}

// leftOut names the rows that would have come first if they were valid.
func (g Group) leftOut(first int, figure func(*results.Cell) float64) string {
	var names []string
	for i, c := range g.Cells {
		if figure(c) <= figure(g.Cells[first]) || math.IsNaN(figure(c)) {
			continue
		}
		why := strings.Join(Doubts(c), ", ")
		if c.Breaches() > 0 {
			why = "violated"
		}
		names = append(names, g.Names[i]+" ("+why+")")
	}
	if names == nil {
		return ""
	}
	return ". Left out, though its figure was better: " + format.Few(names, NamedCells)
}

// wait compares the p99 of the fastest row with the lowest.
func (g Group) wait(fit []int) string {
	lowest := slices.MaxFunc(fit, func(a, b int) int { return cmp.Compare(-P99(g.Cells[a]), -P99(g.Cells[b])) }) // NaN is least
	mine, best := P99(g.Cells[fit[0]]), P99(g.Cells[lowest])
	switch {
	case math.IsNaN(mine) || math.IsNaN(best):
		return ""
	case lowest == fit[0]:
		return fmt.Sprintf(". It has the lowest p99 as well, %s", metric.Duration.Format(mine))
	}
	return fmt.Sprintf(". Its p99 is %s; the lowest is that of %s, %s", metric.Duration.Format(mine), g.Names[lowest], metric.Duration.Format(best))
}

func negative(of func(*results.Cell) stats.Estimate) func(*results.Cell) stats.Estimate {
	return func(c *results.Cell) stats.Estimate {
		e := of(c)
		e.Median, e.Low, e.High, e.Min, e.Max = -e.Median, -e.High, -e.Low, -e.Max, -e.Min
		return e
	}
}

// apart reports whether a is above b by more than their trials scatter. Intervals that do not overlap are a stricter test than
// one of the difference; of fewer trials than an interval takes there are the ranges.
func apart(a, b stats.Estimate) (how string, sure bool) {
	switch {
	case a.Known() && b.Known() && a.Low > b.High:
		return "their 95 % intervals do not overlap", true
	case a.Known() && b.Known():
		return "their 95 % intervals overlap", false
	case min(a.N, b.N) < 2:
		return "a single trial does not show what chance does", false
	case a.Min > b.Max:
		return fmt.Sprintf("it was so in all of its %s, which are too few for an interval", format.Plural(a.N, "trial")), true
	}
	return "their trials overlap", false
}

// faster returns by how much a is above b: in per cent, or as a factor from double on.
func faster(a, b float64) string {
	if b <= 0 {
		return "more than"
	}
	if r := a / b; r >= 2 {
		return fmt.Sprintf("%.1f times", r)
	}
	return fmt.Sprintf("%.1f %% above", 100*(a/b-1))
}

// Reservations returns which rows are not valid as they stand, and why.
func (v *Run) Reservations() (all []Finding) {
	var found Grouped[string, string]
	for i, c := range v.Cells {
		for _, f := range slices.Concat(origins, flags) {
			if f.word(c) != "" {
				found.Add(f.name, v.Names[i])
			}
		}
	}
	for _, name := range found.Keys {
		where := format.Few(found.Of[name], NamedCells)
		if len(found.Of[name]) == len(v.Cells) {
			where = rows(len(v.Cells), len(v.Cells))
		}
		all = append(all, Finding{Warn, format.Upper(name) + ":", where + " – " + Meaning(name) + "."})
	}
	few := slices.DeleteFunc(slices.Clone(v.Cells), func(c *results.Cell) bool { return len(c.Trials) >= stats.MinTrials })
	if n := len(few); n > 0 {
		all = append(all, Finding{Warn, "Few trials:", fmt.Sprintf("%s had fewer than the %d trials that a 95 %% interval takes.",
			format.Upper(rows(n, len(v.Cells))), stats.MinTrials)})
	}
	return all
}

// lower turns a heading into the middle of a sentence; names keep their capitals.
func lower(s string) string { return strings.Replace(s, "No fastest", "no fastest", 1) }
