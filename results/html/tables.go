package html

// Tables: hand-off and fairness, what a lock cost, classes, and safety with its evidence.

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

// table has a row a cell, or part of one, and numbers in all columns but the first.
type table struct {
	Caption string
	Head    []string
	Rows    []tableRow
	More    []tableRow // folded away
}

type tableRow struct {
	Name   string
	Badges []badge
	Cells  []datum
	Part   bool // of the row above
	Group  bool // the title of the rows below
}

type datum struct {
	Text, Class string
	Bar         template.HTML
}

func heads(s ...string) []string { return s }

func texts(s ...string) (all []datum) {
	for _, text := range s {
		all = append(all, datum{Text: text})
	}
	return all
}

const shownTable = 30 // rows

// fold keeps rows beyond the first few for those who want them, and groups whole if it can.
func (t *table) fold() {
	if len(t.Rows) <= shownTable+4 {
		return
	}
	at := shownTable + 4
	for at > 0 && !t.Rows[at].Group {
		at--
	}
	if at == 0 {
		at = shownTable
	}
	t.Rows, t.More = t.Rows[:at:at], t.Rows[at:]
}

// rows adds those of all cells, load by load. A cell of which there is nothing to say has none.
func (t *table) rows(v content, of func(c *results.Cell) (cells []datum, any bool)) {
	for _, g := range v.Groups {
		titled := g.Title == ""
		for i, c := range g.Cells {
			cells, any := of(c)
			if !any {
				continue
			}
			if !titled {
				t.Rows, titled = append(t.Rows, tableRow{Name: g.Load, Group: true}), true
			}
			t.Rows = append(t.Rows, tableRow{Name: g.Short[i], Badges: badges(c), Cells: cells})
		}
	}
	t.fold()
}

// bar returns a little one beside a figure.
func bar(part float64) template.HTML {
	if math.IsNaN(part) || part < 0 {
		return ""
	}
	return template.HTML(fmt.Sprintf(`<svg class="mini" width="100%%" height="4" aria-hidden="true">`+
		`<rect class="bar good" width="%s" height="4"/></svg>`, draw.Percent(math.Min(1, part))))
}

// fairness is who got the locks, and how fast a key went from one to the next.
func (v content) fairness() table {
	t := table{Caption: "Hand-off and fairness, by cell", Head: heads("cell", "hand-off p50", "hand-off p99",
		"Jain's index", "fewest – most grants", "starved", "longest wait", "moved on", "longest run")}
	t.rows(v, func(c *results.Cell) ([]datum, bool) {
		if c.Counts.Acquired == 0 {
			return nil, false
		}
		f, h := c.Fairness, c.Latency[results.Handoff]
		moved, run := "–", "–"
		if c.Safety.Checked && c.Counts.Acquired > 0 {
			moved = format.Percent(math.Min(1, float64(f.OwnerChanges)/float64(c.Counts.Acquired)))
			run = format.Count(f.LongestRun)
		}
		starved := datum{Text: format.Count(f.Starved)}
		if f.Starved > 0 {
			starved.Class = "warn"
		}
		return append(texts(metric.Duration.Format(h.Quantile(0.5)), metric.Duration.Format(h.Quantile(0.99))),
			jain(c.Figures()),
			datum{Text: format.Count(f.MinClient) + " – " + format.Count(f.MaxClient)}, starved,
			datum{Text: format.Duration(f.LongestWait)}, datum{Text: moved}, datum{Text: run}), true
	})
	return t
}

// jain returns Jain's index, if there were grants enough.
func jain(f results.Figures) datum {
	j := f.Jain()
	if math.IsNaN(j) {
		return datum{Text: "–"}
	}
	return datum{Text: fmt.Sprintf("%.2f", j), Bar: bar(j)}
}

// costs returns what one granted lock cost. What no cell knows has no column.
func (v content) costs() table {
	t := table{Caption: "Cost of one granted lock, by cell", Head: heads("cell")}
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
		shown, t.Head = append(shown, m), append(t.Head, head)
	}
	t.rows(v, func(c *results.Cell) (cells []datum, any bool) {
		for _, m := range shown {
			value := m.Of(c.Figures())
			d := datum{Text: format.None}
			if !math.IsNaN(value) && c.Counts.Acquired > 0 {
				d.Text = format.Three(value)
				if m.Unit == metric.Micros && most > 0 {
					d.Bar = bar(value / most)
				}
			}
			cells = append(cells, d)
		}
		return cells, true
	})
	return t
}

// classes returns the parts of loads that have several kinds of clients.
func (v content) classes() table {
	t := table{Caption: "Classes of clients",
		Head: heads("cell and class", "clients", "locks/s", "p50", "p99", "timed out", "starved", "Jain's index")}
	for i, c := range v.Cells {
		if len(c.Classes) == 0 {
			continue
		}
		t.Rows = append(t.Rows, tableRow{Name: v.Names[i], Badges: badges(c),
			Cells: texts("", format.Three(c.Rate.Median), "", "", "", "", "")})
		for n, k := range c.Classes {
			clients := ""
			m := results.Acquire
			if plan := c.First().Plan; n < len(plan.Classes) {
				clients = format.Count(int64(plan.Classes[n].Clients))
				if plan.Classes[n].Open() {
					m = results.Response
				}
			}
			l := k.Latency[m]
			t.Rows = append(t.Rows, tableRow{Name: k.Name, Part: true, Cells: texts(clients, format.Three(k.Rate.Median),
				metric.Duration.Format(l.Quantile(0.5)), metric.Duration.Format(l.Quantile(0.99)), format.Count(k.Counts.TimedOut),
				format.Count(k.Starved), metric.Ratio.Format(k.Figures().Jain()))})
		}
	}
	return t
}

// evidence is what speaks against a cell's lock.
type evidence struct {
	Name, Verdict string
	Class         string
	Events        []string
	Unshown       int64
}

const shownEvents = 10

// witness is what else the oracle counts.
type witness struct {
	head string
	of   func(*results.Cell) float64
}

// witnesses returns all but the violations and what could have shown them.
func witnesses() []witness {
	all := []witness{
		{"planted", func(c *results.Cell) float64 { return float64(c.Safety.Overstayed) }},
		{"holds made longer", func(c *results.Cell) float64 {
			if c.Safety.Power == nil {
				return 0
			}
			return float64(c.Safety.Power.Sampled)
		}},
	}
	for _, m := range metric.Of(metric.Safety) {
		if m.Name != "violations" && m.Name != "watched" {
			all = append(all, witness{m.Title(), func(c *results.Cell) float64 { return m.Of(c.Figures()) }})
		}
	}
	return all
}

// safety returns the oracle's report on all cells, and its evidence where there is any.
func (v content) safety() (t table, all []evidence) {
	t = table{Caption: "Mutual exclusion, by cell", Head: heads("cell", "claims it", "grants", "watched", "violations",
		"rate, or bound at 95 %", "longest overlap")}
	var seen []witness // columns of what nobody saw would only take room
	for _, w := range witnesses() {
		if slices.ContainsFunc(v.Cells, func(c *results.Cell) bool { return w.of(c) > 0 }) {
			seen, t.Head = append(seen, w), append(t.Head, w.head)
		}
	}
	t.rows(v, func(c *results.Cell) ([]datum, bool) {
		s := c.Safety
		claims := "no"
		if c.First().Traits.Exclusive {
			claims = "yes"
		}
		if !s.Checked {
			return append(texts(claims, "not checked"), slices.Repeat(texts("–"), 4+len(seen))...), true
		}
		violations := datum{Text: format.Count(s.Violations)}
		switch {
		case c.Violated():
			violations.Class = "bad"
		case c.Breaches() > 0:
			violations.Class = "warn"
		}
		watched := "unknown"
		if s.Power != nil {
			watched = format.Count(s.Power.Watched)
		}
		cells := append(texts(claims, format.Count(s.Grants), watched), violations)
		cells = append(cells, texts(rarity(c), metric.Duration.Format(orNaN(s.Longest)))...)
		for _, w := range seen {
			cells = append(cells, texts(metric.Count.Format(w.of(c)))...)
		}
		return cells, true
	})
	for i, c := range v.Cells {
		if e, any := evidenceOf(v.Names[i], c); any {
			all = append(all, e)
		}
	}
	return t, all
}

func orNaN[T ~int64](d T) float64 {
	if d == 0 {
		return math.NaN()
	}
	return float64(d)
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
	return "–"
}

func evidenceOf(name string, c *results.Cell) (e evidence, any bool) {
	s := c.Safety
	if s.Violations == 0 && view.OtherWitnesses(c) == "" {
		return e, false
	}
	e = evidence{Name: name, Verdict: format.Upper(view.SafetyLine(c)), Class: "warn"}
	switch {
	case c.Violated():
		e.Class = "bad"
		e.Verdict += ". The design claims mutual exclusion."
	case s.Violations > 0 && s.Violations == s.Overstayed:
		e.Class = "note"
		e.Verdict += ". All of them were planted: the holder had been made to outlast its lease, " +
			"which says nothing against the lock."
	case c.Breaches() > 0:
		e.Verdict += ". The design does not claim mutual exclusion."
	}
	if w := view.OtherWitnesses(c); w != "" {
		e.Verdict += " Besides: " + w + "."
	}
	for i, event := range s.Events {
		if i == shownEvents {
			break
		}
		lasted := "overlapped for " + format.Duration(event.Overlap)
		if event.Overlap == 0 {
			lasted = "still overlapped when the run ended"
		}
		e.Events = append(e.Events, fmt.Sprintf("At %s client %d was granted key %d, which client %d held; they %s.",
			format.Duration(event.At), event.Intruder, event.Key, event.Holder, lasted))
	}
	e.Unshown = max(0, s.Violations-int64(len(e.Events)))
	return e, true
}
