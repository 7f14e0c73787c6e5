// Package html writes a report of runs, a comparison, a plan or a proof as one HTML file: no other file, no network and no script are needed to read it.
//
// The charts are inline SVG of our own. gonum/plot and other libraries write SVG with fixed colours, fonts and sizes,
// which cannot follow a dark theme, turns illegible on a telephone, and names nothing for those who do not see it. Here
// horizontal places are shares of the width and vertical ones pixels, so that a chart is as wide as its page while its
// text stays as large as all text; colours are the page's custom properties.
package html

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"
	"unicode"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/plot"
)

// Options are what the records do not say. The zero value will do.
type Options struct {
	Title   string // of the page; empty: what was measured, or what came out of the comparison
	Command string // that made the page of a comparison; empty: it is not known
	Figures bool   // of a comparison: show those that no threshold judges at once

	Check *compare.Check // of the cells of a report, whose thresholds stand at the top of the page; nil: there are none
}

//go:embed parts.html page.html comparison.html plan.html proof.html style.css script.js
var files embed.FS

// templates are what can be written; parts.html is what they have in common.
var templates = template.Must(template.New("").
	Funcs(template.FuncMap{"inc": func(i int) int { return i + 1 }}).
	ParseFS(files, "parts.html", "page.html", "comparison.html", "plan.html", "proof.html"))

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

// frame is a page with what it brings along.
type frame struct {
	Page   any
	Title  string
	Style  template.CSS
	Script template.JS
	Hash   string // of the script: the page forbids itself to run any other
}

// writePage writes nothing until the page is whole.
func writePage(w io.Writer, name string, content interface{ title() string }) error {
	script := mustRead("script.js")
	hash := sha256.Sum256([]byte(script))
	var out bytes.Buffer
	err := templates.ExecuteTemplate(&out, name, frame{content, content.title(), template.CSS(plot.Colours + mustRead("style.css")), template.JS(script),
		base64.StdEncoding.EncodeToString(hash[:])})
	if err != nil {
		return fmt.Errorf("html: %w", err)
	}
	if _, err := w.Write(bytes.Map(harmless, out.Bytes())); err != nil {
		return fmt.Errorf("html: %w", err)
	}
	return nil
}

// harmless takes out what HTML does not allow in any text, and what turns the direction of the text around it: a record may hold
// what a server has answered. The page itself has none of them.
func harmless(r rune) rune {
	switch {
	case r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Noncharacter_Code_Point), r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return ' '
	}
	return r
}

const unbroken = "\u00a0"

// glued returns text that stays on one line.
func glued(s string) string { return strings.ReplaceAll(s, " ", unbroken) }

func mustRead(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}
