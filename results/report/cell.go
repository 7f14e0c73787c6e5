package report

// What a reader needs to believe the figures of cells, and to go on from them.

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

// cellAnswer returns how many locks a second, how long the slowest wait, whether the lock excluded, and what is
// doubtful.
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
		parts = append(parts, "two holders at once, which the design allows")
	} else if bounded {
		parts = append(parts, "no violation seen")
	}
	for _, lost := range []struct {
		n    int64
		what string
	}{{n.Contended, "refused"}, {n.TimedOut, "gave up"}, {n.Failed(), "failed"}} {
		if part := float64(lost.n) / float64(lost.n+n.Acquired); part >= 0.01 {
			parts = append(parts, format.Percent(part)+" "+lost.what)
		}
	}
	return strings.Join(append(parts, view.Doubts(c)...), " · "), max(toneOf(c), limitTone(c))
}

// broken returns by what the exclusion of a cell was broken.
func broken(c *results.Cell) string {
	if s := c.Safety; s.Violations > 0 {
		return format.Count(s.Violations) + " of " + format.Plural(s.Grants, "grant")
	}
	return view.Witnesses(c)
}

// limitTone warns where it was not the lock that limited the throughput.
func limitTone(c *results.Cell) Tone {
	if by := c.Limit().By; by.Busy() || by == results.ByErrors {
		return Warn
	}
	return Plain
}

// runFacts returns what limits a cell and how it went, what can go wrong with the designs, and what to do next. A
// threshold may have been missed.
func runFacts(v *view.Run, missed bool) *Table {
	t, risks, c, notes, one := &Table{}, &Table{}, v.Cells[0], 0, len(v.Cells) == 1
	for _, c := range v.Cells {
		notes += len(c.Warnings)
	}
	if one {
		t.fact(limitTone(c), "limited by", limited(c))
		t.fact(Plain, "waits", waits(c.Latency[view.Waiting(c)]))
		t.fact(toneOf(c)*Tone(min(1, c.Breaches())), "safety", view.Exclusion(c))
		t.fact(max(toneOf(c), Warn), "witnesses", view.Witnesses(c))
		t.fact(Plain, "outcomes", answers(c, metric.Outcomes))
		t.fact(Warn, "errors", errorsOf(c.Counts))
		for _, m := range marks(c) {
			t.fact(m.Tone, strings.TrimSpace(m.Code+" "+m.Args), m.Line)
		}
	}
	if risks.tell(v, "risk", view.Risk); len(risks.Rows) > 1 {
		risks.Rows[0].Cells[1].Text += fmt.Sprintf(" · %d more", len(risks.Rows)-1)
	}
	t.Rows = append(t.Rows, risks.Rows[:min(1, len(risks.Rows))]...)
	if one && notes > 0 {
		t.fact(Warn, "note", c.Warnings[0])
		notes--
	}
	t.fact(Warn, "notes", strings.TrimPrefix(format.Count(notes)+" (-v)", "0 (-v)"))
	bad := slices.IndexFunc(v.Cells, (*results.Cell).Violated)
	switch {
	case one:
		t.fact(Plain, "next", next(c, missed))
	case bad >= 0:
		t.fact(Plain, "next", spaced(v.Names[bad])+": "+next(v.Cells[bad], missed))
	case v.Rivals:
		t.fact(Plain, "next", prove(v.Groups[0].Cells[v.Groups[0].Best()[0]]))
	}
	return t
}

// errorsOf returns how many requests failed of each class, warm-up included, with the first error.
func errorsOf(n results.Counts) string {
	all := maps.Clone(n.Errors)
	results.Add(&all, n.EarlyErrors)
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(all)) {
		text := class + " " + format.Count(all[class])
		if early := n.EarlyErrors[class]; early > 0 {
			text += ", in the warm-up " + format.Count(early)
		}
		parts = append(parts, strings.TrimSuffix(text+": "+n.ErrorSample[class], ": "))
	}
	return strings.Join(parts, " · ")
}
