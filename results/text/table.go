package text

// Many cells: a block a load, with a row a cell, the best one first, and its classes below it.

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// table is what a table of cells shows, before it takes a format.
type table struct {
	*view.Run
	blocks  []block
	differ  func(axis string) bool // of the cells
	columns []column
	left    []string                 // names of the columns that were left out
	names   map[*results.Cell]string // what the first row of each says
	labels  map[*results.Cell]string // see labels
	numbers bool                     // the column of notes has numbers only, which takes less room than words
	notes   notes
	remarks []string // the column of notes, one a cell
}

// block is the cells of a load.
type block struct {
	title string
	rows  []row
}

// row is a cell, or one of its classes.
type row struct {
	cell  int // in the run
	name  string
	class *results.ClassCell // nil for the cell itself
}

func newTable(cells []*results.Cell) *table {
	t := &table{Run: view.NewRun(cells), differ: view.Differing(cells), names: map[*results.Cell]string{}, labels: labels(cells)}
	for _, g := range t.Groups {
		b := block{title: g.Load}
		order := g.Index
		if t.Rivals {
			order = g.Best()
		}
		for _, at := range order {
			b.add(g.Index[at], g.Short[at], g.Cells[at])
			t.names[g.Cells[at]] = g.Short[at]
		}
		t.blocks = append(t.blocks, b)
	}
	for _, col := range columns {
		if col.Only != nil && !slices.ContainsFunc(cells, col.Only) || col.Drop > 0 && !slices.ContainsFunc(cells, col.known) {
			continue
		}
		t.columns = append(t.columns, col)
	}
	t.remark(false)
	return t
}

// add adds the row of a cell, and those of its classes.
func (b *block) add(at int, name string, c *results.Cell) {
	b.rows = append(b.rows, row{cell: at, name: name})
	for i := range c.Classes {
		b.rows = append(b.rows, row{at, "  " + format.Clean(c.Classes[i].Name), &c.Classes[i]})
	}
}

// remark fills the column of notes: with words and numbers of the notes below, or with numbers only.
func (t *table) remark(numbers bool) {
	t.numbers, t.notes, t.remarks = numbers, notes{}, make([]string, len(t.Cells))
	for _, r := range t.rows() {
		if r.class == nil {
			t.remarks[r.cell] = t.remarkOn(t.Cells[r.cell])
		}
	}
}

// numbersFirst is the Drop of the columns that go only after the words of the notes.
const numbersFirst = 2

// fit leaves columns out, and the words of the notes, until the table is no wider than width. If nothing is left that may go, names
// are cut.
func (t *table) fit(width int) {
	for {
		g := t.grid(t.rows())
		over := g.Width() - width
		if over <= 0 {
			return
		}
		worst := 0
		for i, col := range t.columns {
			if col.Drop > t.columns[worst].Drop {
				worst = i
			}
		}
		drop := t.columns[worst].Drop
		switch {
		case drop <= numbersFirst && !t.numbers:
			t.remark(true)
			continue
		case drop == 0:
			t.clip(max(shortestName, g.Widest(0)-over))
			return
		}
		t.left = append(t.left, draw.OneLine(t.columns[worst].head()))
		t.columns = slices.Delete(t.columns, worst, worst+1)
	}
}

// shortestName is how many columns of the terminal a name keeps, however narrow that is.
const shortestName = 20

// clip cuts what does not fit into the room out of the middle of names, which often differ at their ends.
func (t *table) clip(room int) {
	for _, b := range t.blocks {
		for i := range b.rows {
			b.rows[i].name = draw.MiddleCut(b.rows[i].name, room)
		}
	}
}

// rows returns those of all blocks.
func (t *table) rows() (all []row) {
	for _, b := range t.blocks {
		all = append(all, b.rows...)
	}
	return all
}

// grid returns rows with all their values filled in.
func (t *table) grid(rows []row) grid {
	g := grid{Rows: make([][]string, len(rows))}
	add := func(head string, right bool, value func(r row) string) {
		g.Head, g.Right = append(g.Head, head), append(g.Right, right)
		for i, r := range rows {
			g.Rows[i] = append(g.Rows[i], value(r))
		}
	}
	add("\n", false, func(r row) string { return r.name })
	for _, col := range t.columns {
		add(col.head(), true, func(r row) string {
			if r.class != nil {
				return col.formatClass(r.class)
			}
			return col.text(t.Cells[r.cell])
		})
	}
	if slices.ContainsFunc(t.remarks, func(s string) bool { return s != "" }) {
		add("\nnotes", false, func(r row) string {
			if r.class != nil {
				return ""
			}
			return t.remarks[r.cell]
		})
	}
	return g
}

// table writes many cells.
func (p *page) table(cells []*results.Cell) error {
	t := newTable(cells)
	t.fit(p.width)
	g := t.grid(t.rows())
	lines, err := g.Text()
	if err != nil {
		return err
	}
	for _, f := range t.Broken() {
		p.para(map[view.Kind]string{view.Bad: red, view.Warn: yellow}[f.Kind], "", f.Lead+" "+f.Text)
	}
	p.para("", "", t.shared())
	p.blank()
	const head = 3 // two lines of titles and a rule; the first may be empty
	for _, line := range lines[:head-1] {
		if line != "" {
			p.add(bold, line)
		}
	}
	lines = lines[head:]
	width := min(max(g.Width(), 40), p.width)
	for i, b := range t.blocks {
		if i > 0 {
			p.blank()
		}
		p.add(bold, rule(b.title, width)...)
		for _, r := range b.rows {
			p.add(alarm(cells[r.cell]), lines[0])
			lines = lines[1:]
		}
	}
	for _, part := range t.below(p.verbose) {
		p.blank()
		p.explain(part)
	}
	return nil
}

// rule returns a title with a line drawn through its rest, or its lines if it takes several; without a title the line alone.
func rule(title string, width int) []string {
	if title == "" {
		return []string{strings.Repeat(draw.Ruled, width)}
	}
	lines := format.Wrap(draw.Ruled+draw.Ruled+" ", title, width)
	last := &lines[len(lines)-1]
	if rest := width - format.Width(*last) - 1; rest > 0 {
		*last += " " + strings.Repeat(draw.Ruled, rest)
	}
	return lines
}

// alarm returns the colour of a row: red for a broken promise, yellow for a figure not to be believed.
func alarm(c *results.Cell) string {
	switch {
	case c.Violated():
		return red
	case c.Partial() != "" || c.Generator.Saturated || c.Safety.Violations > 0 || c.Breaches() > 0,
		c.Drifting > 0 || view.Unbalanced(c) || !c.KeptUp():
		return yellow
	}
	return ""
}
