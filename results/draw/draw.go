// Package draw draws a report.Document: on a terminal, in Markdown, as a page of HTML. It knows nothing of locks.
package draw

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// section is blocks below a heading.
type section struct {
	Heading string
	Detail  bool
	Blocks  []report.Block
}

// sections returns the parts of a document. A block without a heading belongs to the section before it, if both are
// details or neither. Without charts, blocks that have nothing else are left out.
func sections(d *report.Document, charts bool) (all []section) {
	for _, b := range d.Blocks {
		if !charts && b.Text == nil && b.Table == nil {
			continue
		}
		if n := len(all); n == 0 || b.Heading != "" || b.Detail != all[n-1].Detail {
			if b.Heading == "" && b.Chart != nil {
				b.Heading = b.Chart.Title
			}
			all = append(all, section{Heading: b.Heading, Detail: b.Detail})
		}
		s := &all[len(all)-1]
		s.Blocks = append(s.Blocks, b)
	}
	return all
}

// Open reports whether a page does not fold a detail: one that is looked at, not read.
func (s section) Open() bool {
	return slices.ContainsFunc(s.Blocks, func(b report.Block) bool { return b.Table != nil && dense(b.Table) })
}

// sign returns what stands before a title, so that its colour is not all that tells good from bad.
func sign(d *report.Document) string {
	if strings.IndexAny(d.Title, "✓✗?▲") == 0 {
		return "" // it brings its own
	}
	return map[report.Tone]string{report.Good: "✓ ", report.Bad: "✗ "}[d.Tone]
}

// code returns a mark as it stands beside a row.
func code(m report.Mark) string { return format.Line(strings.TrimSpace(m.Code + " " + m.Args)) }

// notes returns the marks of a table with what they mean, each once. One that means something else in other rows names
// its own.
func notes(t *report.Table) (all []report.Mark) {
	rows, meanings := map[report.Mark][]string{}, map[string]int{}
	for _, r := range t.Rows {
		for _, m := range r.Marks {
			if m.Args = ""; m.Line == "" {
				continue
			}
			if rows[m] == nil {
				all = append(all, m)
				meanings[m.Code]++
			}
			rows[m] = append(rows[m], r.Cells[0].Text)
		}
	}
	for i, m := range all {
		if meanings[m.Code] > 1 {
			all[i].Args = "(" + format.Few(rows[m], 2) + ")"
		}
	}
	return all
}

// dense reports whether all columns but the first hold a sign each.
func dense(t *report.Table) bool {
	wide := func(c report.Column) bool { return format.Width(c.Title) > 2 }
	return len(t.Columns) > 4 && !slices.ContainsFunc(t.Columns[1:], wide)
}

// oneLine returns a title that was split over two lines.
func oneLine(title string) string {
	return strings.TrimSpace(strings.NewReplacer("\n/", "/", "-\n", "-", "\n", " ").Replace(title))
}

// codeLines returns lines as they are, without control characters, each after an indent.
func codeLines(indent, text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(indent+format.Line(line), " "))
	}
	return strings.Join(lines, "\n")
}
