// Package text turns records into what people read: one cell in detail, or many cells as a table. It prints only
// what the records hold, so a run and a later report of the same file agree to the letter.
package text

import (
	"errors"
	"io"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// Options say what the output goes to. The zero value is a plain file 100 columns wide.
type Options struct {
	Width int  // columns; 0 means 100
	Color bool // whether ANSI escape sequences are welcome

	Figures bool // of a comparison of several cells: show the figures that no threshold judges, too
	All     bool // of a comparison of many figures: show every row, not the worst of them alone
	Verbose bool // of a single cell: all that the record says of it
	Plan    bool // of a comparison: say what was measured, where no table above it has
}

const defaultWidth = 100

var errNone = errors.New("text: no records")

// Table writes cells for a terminal: in detail if there is one, else as a block for each load, with a row a cell, the best one
// first (see view.Group.Best), and a row for each of its classes below it. When the rows are too wide, the least important
// columns are left out, and a line below says which; what a lock costs goes first. Throughput, the median and the p99 of the wait,
// violations and notes always stay, so long names on a narrow terminal may still overflow it.
func Table(w io.Writer, cells []*results.Cell, o Options) (err error) {
	if len(cells) == 0 {
		return errNone
	}
	p := &page{width: o.Width, color: o.Color, verbose: o.Verbose}
	if p.width <= 0 {
		p.width = defaultWidth
	}
	if len(cells) == 1 {
		err = p.detail(cells[0])
	} else {
		err = p.table(cells)
	}
	if err != nil {
		return err
	}
	return p.writeTo(w)
}

// Markdown writes cells as a Markdown table for each load, with every column.
func Markdown(w io.Writer, cells []*results.Cell) error {
	if len(cells) == 0 {
		return errNone
	}
	t := newTable(cells)
	p := &page{}
	plain := func(s string) string { return inert(strings.ReplaceAll(format.Clean(s), format.Unbroken, " ")) }
	for _, f := range t.Broken() {
		p.add("", "**"+plain(f.Lead)+"** "+plain(f.Text), "")
	}
	p.add("", plain(t.shared()))
	for _, b := range t.blocks {
		g := t.grid(b.rows)
		for i := range g.head {
			g.head[i] = plain(oneLine(g.head[i]))
		}
		lines, err := inertRows(g).markdown()
		if err != nil {
			return err
		}
		p.add("", "", "**"+plain(b.title)+"**", "")
		p.add("", lines...)
	}
	for _, part := range t.below() {
		for _, note := range part {
			if item, ok := strings.CutPrefix(note.mark, listItem); ok {
				p.add("", "- "+plain(strings.TrimSpace(item)+" "+note.text))
				continue
			}
			p.add("", "", plain(note.mark+note.text))
		}
	}
	return p.writeTo(w)
}
