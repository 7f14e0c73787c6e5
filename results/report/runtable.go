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

// cellRow is a cell, or one of its classes.
type cellRow struct {
	cell  *results.Cell
	of    results.Figures
	name  string
	load  string // a heading above it; empty: that of the row before
	short string // what tells the load from others
	rank  int    // the least stands for the answer
	class bool
}

// AllRows returns the table of all cells.
func AllRows(cells []*results.Cell) *Table { return cellTable(cellRows(view.NewRun(cells))) }

// cellRows returns all cells, those of a load together and the best of them first, with classes below it. Of each load
// the best stands for the answer; where loads do not compare the longest wait, and a lock that did not exclude always.
func cellRows(v *view.Run) (all []cellRow) {
	for _, g := range v.Groups {
		load, waits := g.Load, g.Sorted(view.P99)
		if len(v.Cells) == 1 { // the head has it
			load = ""
		}
		for rank, at := range sequence(v, g) {
			c := g.Cells[at]
			if !v.Rivals {
				rank = slices.Index(waits, at)
			}
			if c.Breaches() > 0 {
				rank = -1
			}
			all = append(all, cellRow{c, c.Figures(), g.Short[at], load, g.Title, rank, false})
			for i := range c.Classes {
				all = append(all, cellRow{cell: c, of: c.Classes[i].Figures(), name: c.Classes[i].Name, class: true})
			}
			load = ""
		}
	}
	return all
}

// sequence returns the order of the rows of a group: the best first, or as they came if they do not compare.
func sequence(v *view.Run, g view.Group) []int {
	if v.Rivals {
		return g.Best()
	}
	return g.Index
}

// leading returns the rows on which the answer rests, as many as there is room for. A single cell has its classes. What
// marks mean stands below the table of all rows.
func leading(v *view.Run, room int) *Table {
	rows := cellRows(v)
	if len(v.Cells) > 1 {
		rows = slices.DeleteFunc(rows, func(r cellRow) bool { return r.class })
		byRank := func(a, b cellRow) int { return a.rank - b.rank }
		kept := slices.SortedStableFunc(slices.Values(rows), byRank)[:min(room, len(rows))]
		rows = slices.DeleteFunc(rows, func(r cellRow) bool {
			return !slices.ContainsFunc(kept, func(k cellRow) bool { return k.cell == r.cell })
		})
		for i, r := range rows {
			rows[i].name, rows[i].load = strings.TrimSuffix(spaced(r.name)+" · "+r.short, " · "), ""
		}
		rows[0].load = view.Common(v.Cells, func(a view.Axis) bool { return !a.Load || a.Late })
	}
	t := cellTable(rows)
	for i := range t.Columns {
		t.Columns[i].Title = strings.ReplaceAll(t.Columns[i].Title, "\n", " ")
	}
	long := slices.ContainsFunc(rows, func(r cellRow) bool { return format.Width(r.name) > 42 })
	for i, r := range t.Rows {
		if t.Rows[i].Marks = nil; len(r.Marks) > 0 && !long { // else there is no room for them
			t.Rows[i].Marks = []Mark{{Code: r.Marks[0].Code, Tone: r.Marks[0].Tone}}
		}
	}
	return t
}

// cellTable returns a row for each cell, with the columns that any of them knows.
func cellTable(rows []cellRow) *Table {
	t, many := columns(""), len(rows) > 1+len(rows[0].cell.Classes)
	for _, r := range rows {
		row := t.row(r.name)
		if row.Group, row.Part = r.load, r.class; !r.class {
			row.Tone = toneOf(r.cell)
		}
		if !r.class && many { // facts have the marks of one
			row.Marks = marks(r.cell)
		}
	}
	for _, col := range cellColumns() {
		if col.Only != nil && !slices.ContainsFunc(rows, func(r cellRow) bool { return col.Only(r.cell) }) {
			continue
		}
		title := strings.TrimPrefix(col.Group+"\n"+col.Title, "\n")
		t.Columns = append(t.Columns, Column{Title: title, About: col.about, Drop: col.Drop})
		for i, r := range rows {
			text := ""
			if !r.class || col.Classes {
				text = col.text(r.cell, r.of)
			}
			t.Rows[i].Cells = append(t.Rows[i].Cells, Cell{Text: text})
		}
	}
	return dense(t)
}

// cellColumn is one number of a cell. If its classes have it too, text takes their figures, with the same cell.
type cellColumn struct {
	metric.Column
	about string
	text  func(c *results.Cell, f results.Figures) string // – is not known
}

// cellColumns returns all columns in their order.
func cellColumns() (all []cellColumn) {
	wait := func(q float64) func(*results.Cell, results.Figures) string {
		return func(_ *results.Cell, f results.Figures) string {
			if l := f.Latency[results.Response]; l.Count > 0 {
				return duration(l.Quantile(q))
			}
			return duration(f.Latency[results.Acquire].Quantile(q))
		}
	}
	several := func(c *results.Cell) bool { return len(c.Trials) > 1 }
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
	}
	const about = "for a lock; in an open loop the response"
	all = slices.Insert(all, 1, // behind the throughput
		cellColumn{metric.Column{Title: "±", Only: several}, "95 % interval of the median, or the range of fewer trials",
			func(c *results.Cell, _ results.Figures) string { return scatter(view.Rate(c)) }},
		cellColumn{metric.Column{Group: "wait", Title: "p50", Classes: true}, about, wait(0.5)},
		cellColumn{metric.Column{Group: "wait", Title: "p99", Classes: true}, about, wait(0.99)})
	return append(all,
		cellColumn{metric.Column{Group: "neighbour", Title: "p50 ×", Drop: 4}, "a request beside the load",
			func(c *results.Cell, _ results.Figures) string { return metric.Ratio.Format(c.Disturbance()) }},
		cellColumn{metric.Column{Group: "limited", Title: "by", Drop: 2}, "see lockbench help marks",
			func(c *results.Cell, _ results.Figures) string { return string(c.Limit().By) }},
		cellColumn{metric.Column{Title: "viol."}, "grants of a held key; –: none could have been seen",
			func(c *results.Cell, _ results.Figures) string {
				if s := c.Safety; s.Checked && (s.Violations > 0 || s.Power == nil || s.Power.Watched > 0) {
					return format.Count(s.Violations)
				}
				return format.None
			}})
}
