package report

// The document of a run, or of the records of several: one cell in detail, or a row a cell, grouped by their loads.

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// Run returns what cells say, as results.Group makes them, and what became of thresholds; nil: there are none. The verdict comes
// first. On a terminal a single cell is told in detail. Several have a row each, the best of a load first (see view.Group.Best), with a
// row for each of its classes below it. Below the table stand what the marks in the rows mean, what is wrong with each design and what
// changes how the rows are read.
func Run(cells []*results.Cell, check *compare.Check) *Document {
	d := &Document{Kind: "lockbench report"}
	if len(cells) == 0 {
		return d
	}
	t := newCellTable(view.NewRun(cells))
	d.verdict(verdict(t.Run), check)
	d.add(thresholds(check))
	broken := t.Broken()
	if len(broken) > 0 && broken[0].Kind == view.Bad {
		broken = broken[1:] // the verdict says it
	}
	findings := findingsOf(broken)
	blocks := func(all bool) []Block {
		return slices.Concat([]Block{findings, Paragraph{Text: t.shared()}, t.table()}, t.below(all))
	}
	if len(cells) == 1 {
		d.at(Short, cellBlocks(cells[0], false, missed(check)))
		d.at(Verbose, cellBlocks(cells[0], true, missed(check)))
		d.at(Comment, blocks(true))
		return d
	}
	d.at(Short, blocks(false))
	d.at(Verbose|Comment, blocks(true))
	return d
}

// verdict puts the sentence first, with the mark of the check, if there is one.
func (d *Document) verdict(f view.Finding, check *compare.Check) {
	d.Title, d.Tone = f.Text, kindTones[f.Kind]
	if f.Kind == view.Bad {
		d.Tone = Alarm
	}
	if check != nil && len(check.Thresholds) > 0 {
		d.Mark = cmp.Or(checkMarks[check.Verdict], "✗")
		d.Tone = max(d.Tone, cmp.Or(checkTones[check.Verdict], Bad))
	}
}

// missed reports whether a threshold was missed.
func missed(check *compare.Check) bool { return check != nil && check.Verdict == compare.Missed }

// at adds blocks for a depth.
func (d *Document) at(depth Depth, blocks []Block) {
	for _, b := range blocks {
		d.add(At{depth, b})
	}
}

// cellTable is what a table of cells shows.
type cellTable struct {
	*view.Run
	blocks  []block
	differ  func(axis string) bool // of the cells
	columns []column
	names   map[*results.Cell]string // what the first row of each says
	labels  map[*results.Cell]string // see labels
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

func newCellTable(v *view.Run) *cellTable {
	cells := v.Cells
	t := &cellTable{Run: v, differ: view.Differing(cells), names: map[*results.Cell]string{}, labels: labels(cells)}
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
	t.remarks = make([]string, len(cells))
	for _, r := range t.rows() {
		if r.class == nil {
			t.remarks[r.cell] = t.remarkOn(cells[r.cell])
		}
	}
	return t
}

// add adds the row of a cell, and those of its classes.
func (b *block) add(at int, name string, c *results.Cell) {
	b.rows = append(b.rows, row{cell: at, name: name})
	for i := range c.Classes {
		b.rows = append(b.rows, row{at, format.Clean(c.Classes[i].Name), &c.Classes[i]})
	}
}

// rows returns those of all blocks.
func (t *cellTable) rows() (all []row) {
	for _, b := range t.blocks {
		all = append(all, b.rows...)
	}
	return all
}

// table returns the rows with all their values.
func (t *cellTable) table() Table {
	out := Table{Caption: "Cells", Columns: []Column{{Title: "\n", Left: true}}}
	for _, col := range t.columns {
		out.Columns = append(out.Columns, Column{Title: col.head(), Drop: col.Drop})
	}
	noted := slices.ContainsFunc(t.remarks, func(s string) bool { return s != "" })
	if noted {
		out.Columns = append(out.Columns, Column{Title: "\nnotes", Left: true, Wrap: true})
	}
	for _, b := range t.blocks {
		for i, r := range b.rows {
			row := Row{Tone: alarm(t.Cells[r.cell]), Part: r.class != nil, Cells: values(r.name)}
			if i == 0 {
				row.Group = b.title
			}
			for _, col := range t.columns {
				text := ""
				if r.class == nil {
					text = col.text(t.Cells[r.cell])
				} else if col.class != nil {
					text = col.class(r.class)
				}
				row.Cells = append(row.Cells, Value{Text: text})
			}
			switch {
			case noted && r.class == nil:
				row.Cells = append(row.Cells, Value{Text: t.remarks[r.cell]})
			case noted:
				row.Cells = append(row.Cells, Value{})
			}
			out.Rows = append(out.Rows, row)
		}
	}
	return out
}

// alarm returns the tone of a row: bad for a broken promise, a warning for a figure not to be believed.
func alarm(c *results.Cell) Tone {
	switch {
	case c.Violated():
		return Bad
	case len(view.Doubts(c)) > 0, c.Safety.Violations > 0, c.Breaches() > 0:
		return Warn
	}
	return Plain
}
