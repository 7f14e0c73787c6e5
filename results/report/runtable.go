package report

// The table of cells: the metrics that have a column, and what goes with them.

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

// cellColumn is one number of a cell. If its classes have it too, text takes their figures, with the same cell.
type cellColumn struct {
	metric.Column
	about string
	text  func(c *results.Cell, f results.Figures) string // – is not known
}

// cellTable returns a row for each cell, those of a load together and the best of them first, with classes below it.
func cellTable(v *view.Run) *Table {
	t := columns("")
	shown := slices.DeleteFunc(cellColumns(), func(col cellColumn) bool {
		known := func(c *results.Cell) bool { return col.text(c, c.Figures()) != format.None }
		return col.Only != nil && !slices.ContainsFunc(v.Cells, col.Only) ||
			col.Drop > 0 && !slices.ContainsFunc(v.Cells, known)
	})
	for _, col := range shown {
		title := strings.TrimPrefix(col.Group+"\n"+col.Title, "\n")
		t.Columns = append(t.Columns, Column{Title: title, About: col.about, Drop: col.Drop})
	}
	row := func(name string, c *results.Cell, f results.Figures, class bool) *Row {
		r := t.row(name)
		for _, col := range shown {
			text := ""
			if !class || col.Classes {
				text = col.text(c, f)
			}
			r.Cells = append(r.Cells, Cell{Text: text})
		}
		r.Part = class
		return r
	}
	for _, g := range v.Groups {
		for i, at := range sequence(v, g) {
			c := g.Cells[at]
			r := row(g.Short[at], c, c.Figures(), false)
			r.Tone = toneOf(c)
			if len(v.Cells) > 1 { // facts have those of one
				r.Marks = marks(c)
			}
			if i == 0 && len(v.Cells) > 1 {
				r.Group = g.Load
			}
			for k := range c.Classes {
				row(c.Classes[k].Name, c, c.Classes[k].Figures(), true)
			}
		}
	}
	return t
}

// sequence returns the order of the rows of a group: the best first, or as they came if they do not compare.
func sequence(v *view.Run, g view.Group) []int {
	if v.Rivals {
		return g.Best()
	}
	return g.Index
}

// cellColumns returns all columns in their order.
func cellColumns() (all []cellColumn) {
	several := func(c *results.Cell) bool { return len(c.Trials) > 1 }
	wait := func(title string, q float64) cellColumn {
		return cellColumn{metric.Column{Group: "wait", Title: title, Classes: true},
			"for a lock; in an open loop the response", func(_ *results.Cell, f results.Figures) string {
				l := f.Latency[results.Response]
				if l.Count == 0 {
					l = f.Latency[results.Acquire]
				}
				return duration(l.Quantile(q))
			}}
	}
	of := func(text func(*results.Cell) string) func(*results.Cell, results.Figures) string {
		return func(c *results.Cell, _ results.Figures) string { return text(c) }
	}
	rates := []cellColumn{
		{metric.Column{Title: "±", Only: several}, "95 % interval of the median, or the range of fewer trials",
			of(func(c *results.Cell) string { return scatter(view.Rate(c)) })},
		wait("p50", 0.5), wait("p99", 0.99),
	}
	for _, m := range metric.All() {
		column, has := metric.Columns[m.Name]
		if !has {
			continue
		}
		unit := cmp.Or(column.Unit, m.Unit)
		all = append(all, cellColumn{column, m.About, func(c *results.Cell, f results.Figures) string {
			if m.Name == "efficiency" && c.Beaten() {
				return format.None // the bound is an estimate, and was too low
			}
			return unit.Format(m.Of(f))
		}})
		if m.Name == "locks/s" {
			all = append(all, rates...)
		}
	}
	return append(all,
		cellColumn{metric.Column{Group: "neighbour", Title: "p50 ×", Drop: 4}, "a request beside the load",
			of(func(c *results.Cell) string { return metric.Ratio.Format(c.Disturbance()) })},
		cellColumn{metric.Column{Group: "limited", Title: "by", Drop: 2}, "see lockbench help marks",
			of(func(c *results.Cell) string { return cmp.Or(string(c.Limit().By), format.None) })},
		cellColumn{metric.Column{Title: "viol."}, "grants of a held key; –: none could have been seen", of(violations)})
}

// violations returns how many there were, if one could have been seen.
func violations(c *results.Cell) string {
	if s := c.Safety; !s.Checked || s.Violations == 0 && s.Power != nil && s.Power.Watched == 0 {
		return format.None
	}
	return format.Count(c.Safety.Violations)
}
