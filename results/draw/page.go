package draw

// Documents as pages of HTML, at the end of a command and while it goes on.

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

var (
	//go:embed page.html
	pageTemplate string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// Page writes a document as a page: one file, which needs no other, no network and no script to be read. It fails with
// the error of w, to which nothing is written until the page is whole.
func Page(w io.Writer, d *report.Document) error {
	page, err := execute("page", map[string]any{"Title": d.Title, "Document": d})
	if err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	_, err = w.Write(page)
	return err
}

// LivePage returns a page that is read while its command goes on. What it shows comes as server-sent events from where
// it comes from: live, what Live has drawn; status, a text that is read out; report, a Page that takes the place of
// all; end, nothing more comes.
func LivePage(command string) []byte {
	page, _ := execute("page", map[string]any{"Title": command}) // there is nothing in it that could fail
	return page
}

// Live draws a document for the event live of a LivePage.
func Live(d *report.Document) ([]byte, error) { return execute("document", d) }

// LivePolicy is the Content-Security-Policy of LivePage: what it shows runs no script and has no style but its own.
func LivePolicy() string {
	return fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; connect-src 'self'; img-src data:; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", hash(pageScript), hash(chartStyle+pageStyle))
}

// hash returns what a policy calls a script or a style.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"style":  func() template.CSS { return template.CSS(chartStyle + pageStyle) },
	"script": func() template.JS { return template.JS(pageScript) },
	"hash":   func() string { return hash(pageScript) },
	"line":   format.Line, "notes": notes, "sign": sign, "head": oneLine, "dense": dense,
	"sections": func(d *report.Document) []section { return sections(d, true) },
	"tone":     func(t report.Tone) string { return tones[t] },
	"code":     func(s string) string { return codeLines("", s) },
	"picture": func(ch *report.Chart) template.HTML {
		return template.HTML(picture(ch, "wide", wideChart) + picture(ch, "small", narrowChart))
	},
}).Parse(pageTemplate))

func execute(name string, data any) ([]byte, error) {
	var out bytes.Buffer
	err := pages.ExecuteTemplate(&out, name, data)
	return out.Bytes(), err
}
