package report

// All that is known of cells, below the fold: a block a question.

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// figure is something that is known, or is not: an empty text.
type figure struct{ title, text string }

// details returns all figures of cells, and where they ran.
func details(v *view.Run) []Block {
	one := func(of func(c *results.Cell) []figure) func(c *results.Cell) [][]figure {
		return func(c *results.Cell) [][]figure { return [][]figure{of(c)} }
	}
	return []Block{
		detail(v, "Latencies", latencies), detail(v, "Over the trials", intervals),
		detail(v, "Outcomes", one(func(c *results.Cell) []figure { return figures(c.Counts) })),
		detail(v, "Fairness", one(func(c *results.Cell) []figure {
			f := c.Fairness
			f.Jain = c.Figures().Jain()
			return figures(f)
		})),
		detail(v, "Cost of a lock", one(costs)),
		detail(v, "Safety", one(func(c *results.Cell) []figure {
			power := results.Power{}
			if c.Safety.Power != nil {
				power = *c.Safety.Power
			}
			return append(figures(c.Safety), figures(power)...)
		})),
		detail(v, "Overlaps", func(c *results.Cell) [][]figure { return each(c.Safety.Events) }),
		detail(v, "Bound", one(func(c *results.Cell) []figure { return figures(c.Bound) })),
		detail(v, "Steadiness", one(func(c *results.Cell) []figure { return figures(c.Steady) })),
		detail(v, "Generator", one(func(c *results.Cell) []figure { return figures(c.Generator) })),
		detail(v, "Processes of the first trial", func(c *results.Cell) [][]figure { return each(c.First().Ranks) }),
		{Heading: "Environment", Detail: true, Table: environment(v)},
	}
}

// detail returns a block with rows of each cell, all of the same figures, without what no row knows. One row is a list.
func detail(v *view.Run, heading string, of func(c *results.Cell) [][]figure) Block {
	b := Block{Heading: heading, Detail: true, Table: &Table{}}
	var rows [][]figure
	several, known := false, map[string]bool{}
	for _, c := range v.Cells {
		its := of(c)
		rows, several = append(rows, its...), several || len(its) > 1
		for _, row := range its {
			for _, f := range row {
				known[f.title] = known[f.title] || f.text != ""
			}
		}
	}
	if !slices.Contains(slices.Collect(maps.Values(known)), true) {
		return b
	}
	if !several {
		b.Table.Columns = []Column{{Left: true}}
	}
	for i, f := range rows[0] {
		if len(rows) == 1 {
			b.Table.fact(Plain, f.title, f.text)
		} else if known[f.title] {
			b.Table.Columns = append(b.Table.Columns, Column{Title: f.title, Left: several && i == 0, Drop: i})
		}
	}
	if len(rows) == 1 {
		b.Table.Columns = nil
		return b
	}
	for i, c := range v.Cells {
		for j, row := range of(c) {
			r := b.Table.row()
			if !several {
				r.Cells = []Cell{{Text: v.Names[i]}}
			} else if j == 0 && len(v.Cells) > 1 {
				r.Group = v.Names[i]
			}
			for _, f := range row {
				if known[f.title] {
					r.Cells = append(r.Cells, Cell{Text: f.text})
				}
			}
		}
	}
	return b
}

// each returns the figures of each of several.
func each[T any](all []T) (rows [][]figure) {
	for _, one := range all {
		rows = append(rows, figures(one))
	}
	return rows
}

// titles makes one of a name in JSON.
var titles = strings.NewReplacer("sampled_ns", "sampled time", "_ns", "", "_bytes", "", "_", " ")

// figures returns those of a part of a record, under their names in JSON. What is 0 or negative, which is not known, is
// empty.
func figures(part any) (all []figure) {
	for field, value := range reflect.ValueOf(part).Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		title, text := titles.Replace(name), ""
		switch {
		case name == "memory_bytes" && value.Int() > 0:
			text = metric.Bytes.Format(float64(value.Int()))
		case value.Kind() == reflect.String:
			text = value.String()
		case value.CanFloat() && value.Float() > 0:
			text = format.Three(value.Float())
		case field.Type == reflect.TypeFor[time.Duration]() && value.Int() > 0:
			text = format.Duration(time.Duration(value.Int()))
		case value.CanInt() && value.Int() > 0:
			text = format.Count(value.Int())
		case field.Type == reflect.TypeFor[[]int64]():
			text = strings.Trim(fmt.Sprint(value), "[]")
		}
		if field.IsExported() {
			all = append(all, figure{title, text})
		}
	}
	return all
}

func latencies(c *results.Cell) (rows [][]figure) {
	for _, d := range metric.Distributions {
		if l := c.Latency[d.Metric]; l.Count > 0 {
			row := []figure{{"latency", d.Title}, {"count", format.Count(l.Count)}, {"mean", format.Duration(l.Mean)}}
			for _, q := range metric.Quantiles {
				row = append(row, figure{strings.Replace(q.Name, "p999", "p99.9", 1), duration(l.Quantile(q.Q))})
			}
			rows = append(rows, append(row, figure{"max", format.Duration(l.Max)}))
		}
	}
	return rows
}

// intervals returns the metrics that have one over the trials.
func intervals(c *results.Cell) (rows [][]figure) {
	for _, m := range metric.All() {
		if e := stats.Of(m.Values(c.Trials)); e.Known() && m.Column != nil {
			row := []figure{{"of 95 %", m.Name}}
			for i, v := range []float64{e.Median, e.Low, e.High, e.Min, e.Max} {
				row = append(row, figure{[]string{"median", "low", "high", "min", "max"}[i], m.Unit.Format(v)})
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func costs(c *results.Cell) (all []figure) {
	for _, m := range metric.Of(metric.Cost) {
		all = append(all, figure{strings.TrimSuffix(m.Name, "/lock"), strings.TrimPrefix(m.Unit.Format(m.Of(c.Figures())), format.None)})
	}
	return all
}

// environment returns where cells ran, and what was asked for: once what is true of all, else with the names of cells.
func environment(v *view.Run) *Table {
	t := &Table{}
	add := func(label string, of func(c *results.Cell) string) {
		t.Rows = append(t.Rows, shared(v, Plain, label, of).Rows...)
	}
	add("server", view.Server)
	add("machine", func(c *results.Cell) string { return view.Machine(c.First().Env) })
	add("lockbench", func(c *results.Cell) string { return c.First().Env.Lockbench })
	add("libraries", func(c *results.Cell) string { return view.Libraries(c.First().Env) })
	add("variables", func(c *results.Cell) string { return view.Variables(c.First().Env) })
	add("revision", func(c *results.Cell) string { return c.First().Env.Revision })
	add("claims", func(c *results.Cell) string { return view.Claims(c.First().Traits) })
	add("risk", func(c *results.Cell) string { return c.First().Wrong })
	add("measured", ran)
	add("warm-up", func(c *results.Cell) string { return format.Exact(c.Plan().Warmup) })
	add("started", func(c *results.Cell) string { return c.First().Started.UTC().Format(time.DateTime) })
	add("classes", func(c *results.Cell) string { return view.Classes(c.Plan()) })
	add("warnings", func(c *results.Cell) string { return strings.Join(c.Warnings, " · ") })
	add("command", func(c *results.Cell) string { return c.Plan().Command })
	return t
}
