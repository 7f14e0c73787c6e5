package report

// All that is known of cells, below the fold.

import (
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

// questions are what metrics answer besides how fast a lock is.
var questions = []struct {
	label string
	of    metric.Group
}{
	{"outcomes", metric.Outcomes}, {"fairness", metric.Fairness}, {"safety", metric.Safety}, {"cost", metric.Cost},
	{"generator", metric.Machine},
}

// figures returns all latencies of each cell, what its metrics answer, and its notes, without what facts have told.
func figures(v *view.Run, told *Table) (blocks []Block) {
	heading := "Figures"
	for i, c := range v.Cells {
		t := &Table{}
		if len(v.Cells) > 1 {
			t.fact(Plain, "row", v.Names[i])
		}
		for _, d := range metric.Distributions {
			t.fact(Plain, d.Title, waits(c.Latency[d.Metric]))
		}
		for _, q := range questions {
			t.fact(Plain, q.label, answers(c, q.of))
		}
		for _, note := range c.Warnings {
			t.fact(Warn, "note", note)
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

// answers returns the metrics of a group that are above 0.
func answers(c *results.Cell, of metric.Group) string {
	var texts []string
	for _, m := range metric.Of(of) {
		if value := m.Of(c.Figures()); value > 0 {
			texts = append(texts, strings.TrimSuffix(m.Name, "/lock")+" "+m.Unit.Format(value))
		}
	}
	return format.Join(texts...)
}

// waits returns the quantiles of a latency, its mean, and the longest.
func waits(l results.Latency) string {
	var texts []string
	for _, q := range metric.Quantiles {
		texts = append(texts, titled(q.Name, duration(l.Quantile(q.Q))))
	}
	return format.Join(append(texts, lasting("mean", l.Mean), lasting("max", l.Max))...)
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
