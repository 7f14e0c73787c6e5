// Package text turns records into what people read: one cell in detail, or many cells as a table. It prints only
// what the records hold, so a run and a later report of the same file agree to the letter.
package text

import (
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
)

const defaultWidth = 100

var errNone = errors.New("text: no records")

// Table writes cells for a terminal: in detail if there is one, else as a block for each load, with a row a cell, the best one
// first (see view.Group.Best), and a row for each of its classes below it. When the rows are too wide, the least important
// columns are left out, what a lock costs first, and then long names are cut. Throughput, the median and the p99 of the wait,
// violations and notes always stay, so a very narrow terminal may still be too narrow. Below the blocks stand what the marks in the
// rows mean, what is wrong with each design and what changes how the rows are read.
func Table(w io.Writer, cells []*results.Cell, o draw.Options) (err error) {
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
		for i := range g.Head {
			g.Head[i] = plain(draw.OneLine(g.Head[i]))
		}
		lines, err := inertRows(g).Markdown()
		if err != nil {
			return err
		}
		p.blank()
		if b.title != "" {
			p.add("", "**"+plain(b.title)+"**", "")
		}
		p.add("", lines...)
	}
	for _, part := range t.below(true) {
		for _, n := range part {
			if n.item {
				p.add("", "- "+plain(n.line()))
				continue
			}
			p.add("", "", plain(n.line()))
		}
	}
	return p.writeTo(w)
}

// tags are where HTML begins in Markdown.
var tags = regexp.MustCompile(`<([A-Za-z/!?])`)

// inert returns text of a table in Markdown that has markup of its own: what a record holds must not become HTML, a picture or a link.
func inert(text string) string {
	return strings.ReplaceAll(tags.ReplaceAllString(text, "&lt;$1"), "](", `]\(`)
}

// inertRows makes all cells of g inert.
func inertRows(g grid) grid {
	for _, row := range g.Rows {
		for i := range row {
			row[i] = inert(strings.ReplaceAll(format.Clean(row[i]), format.Unbroken, " "))
		}
	}
	return g
}
