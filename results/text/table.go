package text

// Many cells: a row each, and its classes below it.

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// table is what a table of cells shows, before it takes a format.
type table struct {
	cells   []*results.Cell
	common  string      // what all cells share
	facts   facts       // about each driver's server, if those follow from the driver
	axes    []view.Axis // in which they differ
	columns []column
	left    []string // names of the columns that were left out
	notes   notes
	remarks []string // the column of notes, one a cell
}

func newTable(cells []*results.Cell) *table {
	t := &table{cells: cells}
	folded := fold(cells)
	for _, a := range view.Axes {
		if _, differs := a.Compare(cells); differs && !slices.Contains(folded.titles, a.Title) {
			t.axes = append(t.axes, a)
		}
	}
	t.common, t.facts = view.Common(cells, func(view.Axis) bool { return false }), folded
	for _, col := range columns {
		if col.Only == nil || slices.ContainsFunc(cells, col.Only) {
			t.columns = append(t.columns, col)
		}
	}
	nameBounds(t.columns, cells)
	for _, c := range cells {
		t.remarks = append(t.remarks, t.remark(c))
	}
	t.axes = slices.DeleteFunc(t.axes, func(a view.Axis) bool { return a.Wide })
	return t
}

// fit leaves columns out until the table is no wider than width, or none is left that may go.
func (t *table) fit(width int) {
	for t.grid().width() > width {
		worst := 0
		for i, col := range t.columns {
			if col.Drop > t.columns[worst].Drop {
				worst = i
			}
		}
		if t.columns[worst].Drop == 0 {
			return
		}
		name := oneLine(t.columns[worst].head())
		if t.columns[worst].interval {
			name = "the intervals of all but locks/s"
		}
		if !slices.Contains(t.left, name) {
			t.left = append(t.left, name)
		}
		t.columns = slices.Delete(t.columns, worst, worst+1)
	}
}

// row is a cell, or one of its classes.
type row struct {
	cell   int
	parent *results.Cell
	class  *results.ClassCell // nil for the cell itself
}

// rows returns the cells, each followed by its classes.
func (t *table) rows() (rows []row) {
	for i, c := range t.cells {
		rows = append(rows, row{cell: i, parent: c})
		for j := range c.Classes {
			rows = append(rows, row{cell: i, parent: c, class: &c.Classes[j]})
		}
	}
	return rows
}

// grid returns the table with all the cells' values filled in.
func (t *table) grid() grid {
	rows := t.rows()
	g := grid{rows: make([][]string, len(rows))}
	add := func(head string, right bool, value func(r row) string) {
		g.head, g.right = append(g.head, head), append(g.right, right)
		for i, r := range rows {
			g.rows[i] = append(g.rows[i], value(r))
		}
	}
	ofCell := func(value func(r row) string) func(r row) string {
		return func(r row) string {
			if r.class != nil {
				return ""
			}
			return value(r)
		}
	}
	for _, a := range t.axes {
		add("\n"+a.Title, a.Right, ofCell(func(r row) string {
			if v := format.Clean(a.Value(r.parent)); v != "" {
				return v
			}
			return cmp.Or(a.Absent, format.None)
		}))
	}
	if slices.ContainsFunc(t.cells, func(c *results.Cell) bool { return len(c.Classes) > 0 }) {
		add("\nclass", false, func(r row) string {
			if r.class == nil {
				return "all"
			}
			return "· " + format.Clean(r.class.Name)
		})
	}
	for _, col := range t.columns {
		add(col.head(), true, func(r row) string {
			if r.class != nil {
				return col.formatClass(r.class)
			}
			return col.text(r.parent)
		})
	}
	if slices.ContainsFunc(t.remarks, func(s string) bool { return s != "" }) {
		add("\nnotes", false, ofCell(func(r row) string { return t.remarks[r.cell] }))
	}
	return g
}

// table writes many cells.
func (p *page) table(cells []*results.Cell) error {
	t := newTable(cells)
	t.fit(p.width)
	lines, err := t.grid().text()
	if err != nil {
		return err
	}
	p.para("", "", t.common)
	const head = 3 // two lines of titles and a rule; the first may be empty
	if lines[0] != "" {
		p.blank()
	}
	p.add(bold, lines[:head]...)
	rows := t.rows()
	for i, line := range lines[head:] {
		p.add(alarm(rows[i].parent), line)
	}
	p.blank()
	for _, note := range t.below() {
		if note.mark != "" {
			note.mark += " "
		}
		p.para("", note.mark, note.text)
	}
	return nil
}

// alarm returns the colour of a row: red for a broken promise, yellow for a figure not to be believed.
func alarm(c *results.Cell) string {
	switch {
	case c.Violated():
		return red
	case c.Partial() != "" || c.Generator.Saturated || c.Safety.Violations > 0 || c.Safety.Breaches() > 0,
		c.Drifting > 0 || view.Unbalanced(c) || !c.KeptUp():
		return yellow
	}
	return ""
}
