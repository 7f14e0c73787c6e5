package report

// Tables of a page: hand-off and fairness, what a lock cost, classes, and safety with its evidence.

import (
	"fmt"
	"math"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

// values returns texts as they stand in a row.
func values(texts ...string) (all []Value) {
	for _, text := range texts {
		all = append(all, Value{Text: text})
	}
	return all
}

// rows adds the rows of all cells to a table, load by load. A cell of which there is nothing to say has none.
func (v runPage) rows(t *Table, of func(c *results.Cell) []Value) {
	for _, g := range v.Groups {
		titled := g.Title == ""
		for i, c := range g.Cells {
			cells := of(c)
			if cells == nil {
				continue
			}
			row := Row{Badges: badges(c), Cells: append(values(g.Short[i]), cells...)}
			if !titled {
				row.Group, titled = g.Load, true
			}
			t.Rows = append(t.Rows, row)
		}
	}
}

// fairness is who got the locks, and how fast a key went from one to the next.
func (v runPage) fairness() Section {
	t := figures("Hand-off and fairness, by cell", "cell", "hand-off p50", "hand-off p99", "Jain's index", "fewest – most grants", "starved",
		"longest wait", "moved on", "longest run")
	v.rows(&t, func(c *results.Cell) []Value {
		if c.Counts.Acquired == 0 {
			return nil
		}
		f, h := c.Fairness, c.Latency[results.Handoff]
		moved, run := format.None, format.None
		if c.Safety.Checked && !c.Plan().Shared {
			moved = format.Percent(math.Min(1, float64(f.OwnerChanges)/float64(c.Counts.Acquired)))
			run = format.Count(f.LongestRun)
		}
		all := values(metric.Duration.Format(h.Quantile(0.5)), metric.Duration.Format(h.Quantile(0.99)), "", format.Count(f.MinClient)+" – "+format.Count(f.MaxClient),
			format.Count(f.Starved), format.Duration(f.LongestWait), moved, run)
		all[2] = Value{Text: format.None}
		if jain := c.Figures().Jain(); !math.IsNaN(jain) {
			all[2] = Value{Text: fmt.Sprintf("%.2f", jain), Bar: jain}
		}
		if f.Starved > 0 {
			all[4].Tone = Warn
		}
		return all
	})
	return section("fairness", "Hand-off and fairness", t, note("Hand-off: from one holder's release to "+
		"the next grant of that key, if its client was already waiting. Jain's index is 1 if all clients got as many locks, and 1/n if one of n got them all. "+
		"Moved on: share of the grants that went to another client than the key's last. Longest run: most grants of a key to one client in a row."))
}

// costs returns what one granted lock cost. What no cell knows has no column.
func (v runPage) costs() Section {
	t := figures("Cost of one granted lock, by cell", "cell")
	var shown []*metric.Metric
	most := 0.0 // CPU time, for one scale of all bars
	for _, m := range metric.Of(metric.Cost) {
		known := false
		for _, c := range v.Cells {
			value := m.Of(c.Figures())
			known = known || !math.IsNaN(value)
			if m.Unit == metric.Micros && value > most {
				most = value
			}
		}
		if !known {
			continue
		}
		head := m.Title()
		if m.Unit == metric.Micros {
			head += ", µs"
		}
		shown, t.Columns = append(shown, m), append(t.Columns, Column{Title: head})
	}
	v.rows(&t, func(c *results.Cell) []Value {
		cells := []Value{}
		for _, m := range shown {
			d := Value{Text: format.None}
			if value := m.Of(c.Figures()); !math.IsNaN(value) && c.Counts.Acquired > 0 {
				d.Text = format.Three(value)
				if m.Unit == metric.Micros && most > 0 {
					d.Bar = value / most
				}
			}
			cells = append(cells, d)
		}
		return cells
	})
	return section("cost", "Cost of a lock", t, note("Per granted lock, tries that failed included. A dash means that it is not known."))
}

// count is what else the oracle counts.
type count struct {
	title string
	of    func(*results.Cell) float64
}

// otherCounts returns all but the violations and what could have shown them.
func otherCounts() []count {
	all := []count{
		{"holds made longer", func(c *results.Cell) float64 {
			if c.Safety.Power == nil {
				return 0
			}
			return float64(c.Safety.Power.Sampled)
		}},
	}
	for _, m := range metric.Of(metric.Safety) {
		if m.Name != "violations" && m.Name != "watched" {
			all = append(all, count{m.Title(), func(c *results.Cell) float64 { return m.Of(c.Figures()) }})
		}
	}
	return all
}

// safety returns the oracle's report on all cells, and its evidence where there is any.
func (v runPage) safety() Section {
	var blocks []Block
	for i, c := range v.Cells {
		blocks = append(blocks, evidenceOf(v.Names[i], c)...)
	}
	t := figures("Mutual exclusion, by cell", "cell", "claims it", "grants", "watched", "violations", "rate, or bound at 95 %", "longest overlap")
	var seen []count // columns of what nobody saw would only take room
	for _, w := range otherCounts() {
		if slices.ContainsFunc(v.Cells, func(c *results.Cell) bool { return w.of(c) > 0 }) {
			seen, t.Columns = append(seen, w), append(t.Columns, Column{Title: w.title})
		}
	}
	v.rows(&t, func(c *results.Cell) []Value {
		s := c.Safety
		claims := "no"
		if c.First().Traits.Exclusive {
			claims = "yes"
		}
		if !s.Checked {
			return append(values(claims, "not checked"), values(slices.Repeat([]string{format.None}, 4+len(seen))...)...)
		}
		watched := "unknown"
		if s.Power != nil {
			watched = format.Count(s.Power.Watched)
		}
		longest := math.NaN()
		if s.Longest > 0 {
			longest = float64(s.Longest)
		}
		cells := values(claims, format.Count(s.Grants), watched, format.Count(s.Violations), rarity(c), metric.Duration.Format(longest))
		switch {
		case c.Violated():
			cells[3].Tone = Bad
		case c.Breaches() > 0:
			cells[3].Tone = Warn
		}
		for _, w := range seen {
			cells = append(cells, Value{Text: metric.Count.Format(w.of(c))})
		}
		return cells
	})
	return section("safety", "Safety", append(blocks, t, note("The oracle watches every grant, those of the warm-up included. Where it saw no violation, the "+
		"rate is below the bound with 95 % confidence (the rule of three), if grants are independent of one another."))...)
}

// rarity returns how many violations there were for each watched grant; of none the highest rate that they leave possible.
func rarity(c *results.Cell) string {
	s := c.Safety
	if s.Violations > 0 && s.Power != nil && s.Power.Watched > 0 {
		return fmt.Sprintf("%.2g", float64(s.Violations)/float64(s.Power.Watched))
	}
	if rate, ok := c.Figures().MaxRate(); ok {
		return fmt.Sprintf("< %.2g", rate)
	}
	return format.None
}

// evidenceOf returns what speaks against a cell's lock.
func evidenceOf(name string, c *results.Cell) []Block {
	s := c.Safety
	others := view.OtherWitnesses(c)
	if s.Violations == 0 && others == "" {
		return nil
	}
	f := Finding{Tone: Warn, Lead: name + ":", Text: format.Upper(view.SafetyLine(c))}
	switch {
	case c.Violated():
		f.Tone = Bad
		f.Text += ". The design claims mutual exclusion."
	case c.Breaches() > 0:
		f.Text += ". The design does not claim mutual exclusion."
	}
	if others != "" {
		f.Text += " Besides: " + others + "."
	}
	blocks := []Block{Findings{f}}
	var events List
	for i, event := range s.Events[:min(len(s.Events), shownEvents)] {
		lasted := "overlapped for " + format.Duration(event.Overlap)
		if event.Overlap == 0 {
			lasted = "still overlapped when the run ended"
		}
		events = append(events, Item{Mark: fmt.Sprintf("%d.", i+1), Text: fmt.Sprintf("At %s client %d was granted key %d, which client %d held; they %s.",
			format.Duration(event.At), event.Intruder, event.Key, event.Holder, lasted)})
	}
	if events == nil {
		return blocks
	}
	evidence := Section{Folded: true, Open: f.Tone == Bad, Within: name, Title: "Evidence", Blocks: []Block{events}}
	if left := s.Violations - int64(len(events)); left > 0 {
		evidence.Blocks = append(evidence.Blocks, note(fmt.Sprintf("The first of them; %d more are counted, not listed.", left)))
	}
	return append(blocks, evidence)
}
