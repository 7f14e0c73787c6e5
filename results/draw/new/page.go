package draw

import (
	"io"

	report "github.com/lockbench/lockbench/results/report/new"
)

// Page writes a document as a page that needs no other file.
func Page(w io.Writer, d *report.Document) error { return Terminal(w, d, Options{}) }
