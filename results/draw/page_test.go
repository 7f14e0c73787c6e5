package draw

import (
	"bytes"
	"encoding/xml"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/report"
)

func page(t *testing.T, d *report.Document) string {
	t.Helper()
	var out bytes.Buffer
	if err := Page(&out, d); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// TestPage: the page of all kinds of blocks asks for nothing, and all that a reader may have read out has a name.
func TestPage(t *testing.T) {
	text := page(t, sample())
	pagetest.Golden(t, "sample.html", text)
	count := map[string]int{}
	for _, e := range pagetest.Elements(t, text) {
		count[e.Name.Local]++
		for _, name := range []string{"src", "href", "srcset", "action"} {
			if to := attribute(e, name); to != "" && !strings.HasPrefix(to, "data:") {
				t.Errorf("<%s %s=%q>", e.Name.Local, name, to)
			}
		}
		if role := attribute(e, "role"); role != "" && attribute(e, "aria-label") == "" {
			t.Errorf("<%s role=%q> has no name", e.Name.Local, role)
		}
	}
	for element, want := range map[string]int{"h1": 1, "svg": 14, "figure": 7, "details": 2, "table": 1, "dl": 1, "pre": 1} {
		if count[element] != want {
			t.Errorf("%d × <%s>, want %d", count[element], element, want)
		}
	}
	for _, policy := range []string{hash(pageScript), "default-src 'none'"} {
		if !strings.Contains(html.UnescapeString(text), policy) {
			t.Errorf("the policy lacks %q", policy)
		}
	}
}

// TestHostile: text of a record is text on a page and in a chart, whatever it holds, wherever it stands.
func TestHostile(t *testing.T) {
	const evil = "</title></style></script></svg><script>alert(1)</script>" +
		"<img src=x onerror=\"alert(1)\">\x1b[31m\u202e\x00\xff'\"&amp;"
	cells := []report.Cell{{Text: evil}, {Text: evil}}
	marks := []report.Mark{{Code: evil, Args: evil, Line: evil}}
	d := &report.Document{Command: evil, Title: evil, When: evil, Blocks: []report.Block{
		{Heading: evil, Text: []report.Text{{Text: evil}, {Text: evil, Code: true}}},
		{Table: &report.Table{Rows: []report.Row{{Cells: cells, Group: evil, Marks: marks}}}},
		{Detail: true, Table: &report.Table{Columns: []report.Column{{Title: evil, About: evil}, {Title: evil}},
			Rows: []report.Row{{Cells: cells, Group: evil, Marks: marks}}}},
	}}
	for kind := report.Lines; kind <= report.Lanes; kind++ {
		axis := report.Axis{Name: evil, Label: func(float64) string { return evil }}
		d.Blocks = append(d.Blocks, report.Block{Chart: &report.Chart{Kind: kind, Title: evil, X: axis, Y: axis,
			Series:   []report.Series{{Name: evil, Text: evil, Points: []report.Point{{X: 1, Y: 1, Low: 1, High: 2}}}},
			Uprights: []report.Line{{At: 1, Name: evil}}}})
	}
	var all []string
	all = append(all, page(t, d))
	for _, b := range d.Blocks[3:] {
		all = append(all, svg(t, b.Chart))
	}
	for _, text := range all {
		for _, e := range pagetest.Elements(t, text) {
			handler := func(a xml.Attr) bool { return strings.HasPrefix(a.Name.Local, "on") }
			if e.Name.Local == "img" || slices.ContainsFunc(e.Attr, handler) {
				t.Errorf("%v", e)
			}
		}
		if at := strings.IndexAny(text, "\x1b\x00\u202e\uFFFD"); at >= 0 {
			t.Errorf("it has %q", text[max(0, at-40):at+5])
		}
		if n := strings.Count(text, "<script>"); n > 1 {
			t.Errorf("%d scripts", n)
		}
	}
}

// TestLive: a page in progress runs its own scripts alone, and its parts are those of a page.
func TestLive(t *testing.T) {
	shell := string(LivePage("lockbench run <b>"))
	policy := LivePolicy()
	for _, part := range regexp.MustCompile(`(?s)<(script|style)>(.*?)</`).FindAllStringSubmatch(shell, -1) {
		if !strings.Contains(policy, "'"+hash(part[2])+"'") {
			t.Errorf("the policy forbids %s", part[0])
		}
	}
	if !strings.Contains(shell, "<title>lockbench run &lt;b&gt;") || strings.Contains(shell, "http-equiv") {
		t.Error(shell)
	}
	part, err := Live(sample())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page(t, sample()), string(part)) {
		t.Error("a part of a live page is not that of a page")
	}
}

// TestSections: a block without a heading belongs to the one before it, unless only one of them is detail.
func TestSections(t *testing.T) {
	d := &report.Document{Blocks: []report.Block{{}, {Heading: "a"}, {}, {Detail: true}, {Heading: "b", Detail: true},
		{Detail: true}, {Chart: &report.Chart{Title: "c"}}}}
	var got []string
	for _, s := range sections(d, true) {
		got = append(got, s.Heading+strings.Repeat("+", len(s.Blocks)))
	}
	if want := "+ a++ + b++ c+"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
