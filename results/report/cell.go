package report

// What a reader needs to believe the figures of cells, and to go on from them.

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

// cellAnswer returns how fast a cell was, whether its lock excluded, and what is doubtful.
func cellAnswer(c *results.Cell) (string, Tone) {
	n, l := c.Counts, c.Latency[view.Waiting(c)]
	if n.Acquired == 0 {
		return strings.TrimPrefix(c.Partial()+": no lock was granted", ": "), Warn
	}
	rate := strings.TrimSuffix(format.Three(c.Rate.Median)+" locks/s ± "+scatter(view.Rate(c)), " ± "+format.None)
	parts := []string{rate, "max " + format.Duration(l.Max)}
	if t := l.Quantile(0.99); !math.IsNaN(t) {
		parts[1] = "p99 " + duration(t)
	}
	if _, bounded := c.Figures().MaxRate(); c.Breaches() > 0 {
		parts = append(parts, "two holders at once, as the design allows")
	} else if bounded {
		parts = append(parts, "no violation seen")
	}
	if granted := float64(n.Acquired) / float64(n.Acquired+n.Contended+n.TimedOut+n.Failed()); granted < 0.99 {
		parts = append(parts, "granted "+format.Percent(granted))
	}
	return strings.Join(append(parts, view.Doubts(c)...), " · "), toneOf(c)
}

// runFacts returns what limits a cell and how it went, what can go wrong with the lock, and what to do next: of several
// cells with the first that did not exclude, else with the best. A threshold may have been missed.
func runFacts(v *view.Run, missed bool) *Table {
	t, c := &Table{}, v.Groups[0].Cells[0]
	if bad := slices.IndexFunc(v.Cells, (*results.Cell).Violated); bad >= 0 {
		c = v.Cells[bad]
	}
	if len(v.Cells) == 1 {
		lists := measured(c)
		t.fact(Plain, "limited by", limited(c))
		t.fact(Plain, "waits", format.Join(lists.Of[string(view.Waiting(c))]...))
		t.fact(toneOf(c)*Tone(min(1, c.Breaches())), "safety", view.Exclusion(c))
		t.fact(max(toneOf(c), Warn), "witnesses", view.Witnesses(c))
		t.fact(Plain, "outcomes", format.Join(lists.Of["outcomes"]...))
		t.fact(Warn, "errors", errorsOf(c.Counts))
		for _, m := range marks(c) {
			t.fact(m.Tone, strings.TrimSpace(m.Code+" "+m.Args), m.Line)
		}
	}
	risk := titled(design(c)+":", view.Risk(c))
	if !slices.ContainsFunc(v.Cells, func(o *results.Cell) bool { return view.Risk(o) != view.Risk(c) }) {
		risk = view.Risk(c)
	}
	t.fact(Plain, "risk", risk)
	switch {
	case len(v.Cells) == 1 && len(c.Warnings) > 0:
		t.fact(Warn, "note", c.Warnings[0])
		fallthrough
	case len(v.Cells) == 1:
		t.fact(Plain, "next", next(c, missed))
	case c.Violated():
		t.fact(Plain, "next", titled(design(c)+":", next(c, missed)))
	case v.Rivals:
		t.fact(Plain, "next", prove(c))
	}
	return t
}

// notes returns what cells have warned of, without what facts have told.
func notes(v *view.Run, told *Table) Block {
	t := &Table{}
	for i, c := range v.Cells {
		for _, note := range c.Warnings {
			t.fact(Warn, "note", map[bool]string{true: spaced(v.Names[i]) + ": "}[len(v.Cells) > 1]+note)
		}
	}
	t.without(told)
	return Block{Heading: format.Plural(len(t.Rows), "note"), Detail: true, Table: t}
}

// errorsOf returns how many requests failed of each class, warm-up included, with the first error.
func errorsOf(n results.Counts) string {
	all := maps.Clone(n.Errors)
	results.Add(&all, n.EarlyErrors)
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(all)) {
		text := class + " " + format.Count(all[class]) + format.Labelled(", in the warm-up", n.EarlyErrors[class])
		parts = append(parts, strings.TrimSuffix(text+": "+n.ErrorSample[class], ": "))
	}
	return strings.Join(parts, " · ")
}

// measured returns the metrics of a cell that are above 0, by their latency or group, and of how many values they are.
func measured(c *results.Cell) (lists view.Grouped[string, string]) {
	groups := map[metric.Group]string{metric.Speed: "speed", metric.Fairness: "fairness", metric.Safety: "safety",
		metric.Outcomes: "outcomes", metric.Cost: "cost", metric.Machine: "generator"}
	for _, m := range metric.All() {
		list, name, is := strings.Cut(m.Name, ".")
		if !is {
			list, name = groups[m.Group], strings.TrimSuffix(m.Name, "/lock")
		}
		if v := m.Of(c.Figures()); v > 0 {
			lists.Add(list, strings.Replace(name, "p999", "p99.9", 1)+" "+m.Unit.Format(v))
		}
	}
	for _, d := range metric.Distributions {
		lists.Add("values", format.Labelled(string(d.Metric), c.Latency[d.Metric].Count))
	}
	return lists
}

// figures returns all metrics of each cell and what they rest on, without what facts have told.
func figures(v *view.Run, told *Table) (blocks []Block) {
	heading := "Figures"
	for i, c := range v.Cells {
		t, lists := &Table{}, measured(c)
		if len(v.Cells) > 1 {
			t.fact(Plain, "row", v.Names[i])
		}
		for _, list := range lists.Keys {
			t.fact(Plain, list, format.Join(lists.Of[list]...))
		}
		bound := strings.TrimPrefix(format.Three(c.Bound.LocksPerS)+" locks/s by "+c.Bound.By, "0 locks/s by ")
		t.fact(Plain, "bound", format.Join(bound, lasting("round trip", c.Bound.RoundTrip())))
		t.fact(Plain, "limited by", limited(c))
		for _, e := range c.Safety.Events[:min(1, len(c.Safety.Events))] {
			const text = "at %s: client %d was granted key %d, which %d held"
			t.fact(Bad, "overlap", fmt.Sprintf(text, format.Duration(e.At), e.Intruder, e.Key, e.Holder))
		}
		blocks, heading = append(blocks, Block{Heading: heading, Detail: true, Table: t.without(told)}), ""
	}
	return blocks
}

// without removes the facts that others have told.
func (t *Table) without(told *Table) *Table {
	t.Rows = slices.DeleteFunc(t.Rows, func(r Row) bool {
		return slices.ContainsFunc(told.Rows, func(t Row) bool { return t.Cells[1].Text == r.Cells[1].Text })
	})
	return t
}

// environment returns where cells ran, what is known of their designs, and what was asked for.
func environment(v *view.Run) *Table {
	t := &Table{}
	for _, a := range view.Axes {
		if slices.Contains([]string{"at", "machine", "lockbench", "libraries"}, a.Title) {
			t.tell(v, a.Title, func(c *results.Cell) string { return strings.TrimPrefix(a.Value(c), a.Title+" ") })
		}
	}
	t.tell(v, "claims", func(c *results.Cell) string { return view.Claims(c.First().Traits) })
	t.tell(v, "variables", func(c *results.Cell) string { return view.Variables(c.First().Env) })
	t.tell(v, "all risks", func(c *results.Cell) string { return c.First().Wrong })
	t.tell(v, "command", func(c *results.Cell) string { return c.Plan().Command })
	t.fact(Plain, "started", v.Cells[0].First().Started.UTC().Format(time.DateTime)+" UTC")
	return t
}
