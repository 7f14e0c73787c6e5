package text

// The parts of a page for formats that lay it out themselves, such as the HTML report: the same words and figures as on
// the terminal, without its lines.

import (
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// Sheet is a table before it takes a form.
type Sheet struct {
	Head  []string
	Right []bool // columns that are aligned right
	Rows  [][]string
	Cells []int    // the place of each row's cell; classes have rows of their own below it
	Notes []string // what stands below the table
}

// Full returns the table of all cells with every column but their names.
func Full(cells []*results.Cell) Sheet {
	t := newTable(cells)
	var all block
	for i, c := range cells {
		all.add(i, "", c)
	}
	g := t.grid(all.rows).Keeping(func(col int) bool { return col > 0 })
	s := Sheet{Head: g.Head, Right: g.Right, Rows: g.Rows}
	for i := range s.Head {
		s.Head[i] = draw.OneLine(s.Head[i])
	}
	for _, r := range s.Rows {
		for i := range r {
			r[i] = format.Line(r[i])
		}
	}
	for _, r := range all.rows {
		s.Cells = append(s.Cells, r.cell)
	}
	for _, part := range t.below(true) {
		for _, n := range part {
			s.Notes = append(s.Notes, format.Line(n.line()))
		}
	}
	return s
}

// Facts returns what the detailed view of a cell says, figures that have a table of their own apart.
func Facts(c *results.Cell) []view.Item {
	p := &page{width: defaultWidth, verbose: true, items: &[]view.Item{}}
	p.settings(c)
	p.throughput(c)
	p.safety(c)
	p.fairness(c)
	p.outcomes(c)
	p.costs(c)
	p.claims(c)
	p.generator(c)
	p.item("", "next", view.Next(c))
	return slices.DeleteFunc(*p.items, func(i view.Item) bool { return i.Label == "course" })
}

// collect takes an item instead of writing it; one without a label goes on with the last.
func (p *page) collect(color, label, text string) {
	text, wrong := format.Line(text), color == red || color == yellow
	if n := len(*p.items); label == "" && n > 0 {
		last := &(*p.items)[n-1]
		last.Lines, last.Alarm = append(last.Lines, text), last.Alarm || wrong
		return
	}
	*p.items = append(*p.items, view.Item{Label: label, Lines: []string{text}, Alarm: wrong})
}
