package draw

// Documents as pages of HTML, at the end of a command and while it goes on.

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

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
	//go:embed live.js
	liveScript string
)

// Page writes a document as a page: one file, which needs no other, no network and no script to be read. It fails with
// the error of w, to which nothing is written until the page is whole.
func Page(w io.Writer, d *report.Document) error {
	body, err := Live(d)
	if err == nil {
		err = shell(w, d.Title, template.HTML(body), "")
	}
	return err
}

// LivePage returns a page that is read while its command goes on. What it shows comes as server-sent events from where
// it comes from: live, what Live has drawn; status, a text that is read out; report, a Page that takes the place of
// all; end, nothing more comes.
func LivePage(command string) []byte {
	var out bytes.Buffer
	if err := shell(&out, command, `<p id="status" role="status">Connecting to lockbench …</p>
<noscript><p>This page needs a browser that runs its script.</p></noscript>
<div id="live"></div>`, liveScript); err != nil {
		panic(err) // there is nothing in it that could fail
	}
	return out.Bytes()
}

// LivePolicy is the Content-Security-Policy of LivePage: what it shows runs no script and has no style but its own.
func LivePolicy() string {
	return fmt.Sprintf("default-src 'none'; script-src '%s' '%s'; style-src '%s'; connect-src 'self'; img-src data:; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		hash(pageScript), hash(liveScript), hash(chartStyle+pageStyle))
}

// Live draws a document for the event live of a LivePage.
func Live(d *report.Document) ([]byte, error) {
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, "document", d); err != nil {
		return nil, fmt.Errorf("draw: %w", err)
	}
	return out.Bytes(), nil
}

// shell writes a page around its body.
func shell(w io.Writer, title string, body template.HTML, live string) error {
	var out bytes.Buffer
	err := pages.ExecuteTemplate(&out, "page", map[string]any{
		"Title": title, "Body": body, "Style": template.CSS(chartStyle + pageStyle),
		"Script": template.JS(pageScript), "Hash": hash(pageScript), "Live": template.JS(live),
	})
	if err == nil {
		_, err = w.Write(out.Bytes())
	}
	if err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

// hash returns what a policy calls a script or a style.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"line": format.Line, "sections": sections, "notes": marks, "sign": sign, "head": oneLine,
	"tone":  func(t report.Tone) string { return tones[t] },
	"code":  func(s string) string { return strings.Join(codeLines(s), "\n") },
	"wide":  func(c *report.Chart) template.HTML { return picture(c, "wide", wideChart) },
	"dense": func(t *report.Table) bool { n := len(t.Columns); return n > 12 && len(t.Columns[n-1].Title) <= 2 },
	"small": func(c *report.Chart) template.HTML { return picture(c, "small", narrowChart) },
}).Parse(pageTemplate))

// sign returns what stands before a title, so that its colour is not all that tells how it is to be taken.
func sign(d *report.Document) string {
	if strings.IndexAny(d.Title, "✓✗?▲") == 0 {
		return "" // it brings its own
	}
	return [...]string{"", "✓ ", "? ", "✗ "}[d.Tone]
}

// picture draws a chart for a page.
func picture(ch *report.Chart, class string, width float64) template.HTML {
	c := canvas{width: width}
	c.chart(ch)
	const svg = `<svg class="%s" viewBox="0 0 %s %s" font-size="10" role="img" aria-label="%s">%s</svg>`
	return template.HTML(fmt.Sprintf(svg, class, units(width), units(c.y), escape(titleOf(ch)), c.String()))
}

// section is blocks below a heading.
type section struct {
	Heading string
	Detail  bool
	Blocks  []block
}

// block is one with what a page needs besides.
type block struct {
	report.Block
	Name  string // of its table, where it is read out
	Key   bool   // it has the key figures
	Title bool   // its chart has to be named
}

// sections returns the parts of a document. A block without a heading belongs to the section before it, if both are
// details or neither.
func sections(d *report.Document) (all []section) {
	isKey := true
	for _, b := range d.Blocks {
		if n := len(all); n == 0 || b.Heading != "" || b.Detail != all[n-1].Detail {
			heading := b.Heading
			if heading == "" && b.Chart != nil {
				heading = b.Chart.Title
			}
			if heading == "" && b.Detail {
				heading = "Details"
			}
			all = append(all, section{Heading: heading, Detail: b.Detail})
		}
		s := &all[len(all)-1]
		facts := b.Table != nil && b.Table.Columns == nil
		named := b.Chart != nil && b.Chart.Title != s.Heading
		s.Blocks = append(s.Blocks, block{b, cmp.Or(s.Heading, d.Title), isKey && facts, named})
		isKey = isKey && !facts
	}
	return all
}
