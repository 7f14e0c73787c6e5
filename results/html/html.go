// Package html writes a report of runs as one HTML file: no other file, no network and no script are needed to read it.
//
// The charts are inline SVG of our own. gonum/plot and other libraries write SVG with fixed colours, fonts and sizes,
// which cannot follow a dark theme, turns illegible on a telephone, and names nothing for those who do not see it. Here
// horizontal places are shares of the width and vertical ones pixels, so that a chart is as wide as its page while its
// text stays as large as all text; colours are the page's custom properties.
package html

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/draw"
)

// Options are what the records do not say. The zero value will do.
type Options struct {
	Title string         // of the page; empty: what was measured
	Check *compare.Check // of the cells of a report, whose thresholds stand at the top of the page; nil: there are none
}

//go:embed parts.html page.html
var files embed.FS

// templates are what can be written; parts.html is what they have in common.
var templates = template.Must(template.New("").
	Funcs(template.FuncMap{"inc": func(i int) int { return i + 1 }}).
	ParseFS(files, "parts.html", "page.html"))

// Write writes the report of cells, as results.Group makes them, in their order. The same cells make the same bytes.
// Trials may have lost their histograms and series: distributions are those of the cells, figures those of the trials, and
// the course in time is that of the first trial that has one.
//
// It fails if there are no cells, or with the error of w, to which nothing is written until the page is whole.
func Write(w io.Writer, cells []*results.Cell, o Options) error {
	if len(cells) == 0 {
		return errors.New("html: no records")
	}
	return writePage(w, "page.html", newContent(cells).report(o))
}

// writePage writes nothing until the page is whole.
func writePage(w io.Writer, name string, content interface{ title() string }) error {
	var body bytes.Buffer
	if err := templates.ExecuteTemplate(&body, name, content); err != nil {
		return fmt.Errorf("html: %w", err)
	}
	return draw.Shell(w, content.title(), template.HTML(body.String()))
}
