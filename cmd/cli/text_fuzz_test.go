package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/view"
)

// mutation changes fields of a record at random: each text may become the given one, and each number an extreme.
type mutation struct {
	random *rand.Rand
	text   string
	number int64
	texts  float64 // the share of the texts that are changed
	others float64 // the share of all other fields
}

// fixed are fields that take a few values only, or have to agree with others.
var fixed = []string{"Schema", "ID", "Side", "Pair", "Durability", "Checked"}

func (m mutation) value(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[results.Latency]():
		return // a distribution has to agree with its histogram
	}
	if !v.CanSet() {
		return
	}
	share := m.others
	if v.Kind() == reflect.String {
		share = m.texts
	}
	change := m.random.Float64() < share
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if !slices.Contains(fixed, v.Type().Field(i).Name) {
				m.value(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			m.value(v.Index(i))
		}
	case reflect.Map:
		all := reflect.MakeMap(v.Type())
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			key, of := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.Set(k)
			of.Set(v.MapIndex(k))
			m.value(of)
			if v.Type().Elem().Kind() != reflect.Struct { // the keys of distributions are metrics
				m.value(key)
			}
			all.SetMapIndex(key, of)
		}
		if v.Len() > 0 {
			v.Set(all)
		}
	case reflect.String:
		if change {
			v.SetString(m.text)
		}
	case reflect.Int, reflect.Int64:
		if change {
			v.SetInt(m.extreme())
		}
	case reflect.Uint64:
		if change {
			v.SetUint(uint64(m.extreme()))
		}
	case reflect.Float64:
		if change {
			v.SetFloat([]float64{0, 1e-300, 1e300, math.Float64frombits(uint64(m.number))}[m.random.IntN(4)])
		}
	case reflect.Bool:
		v.SetBool(v.Bool() != change)
	}
}

func (m mutation) extreme() int64 {
	return []int64{0, 1, math.MaxInt64, m.number}[m.random.IntN(4)]
}

// mutants are n records, changed as seed has it, that a file may hold: what Validate refuses loses its changes one
// class after the other.
func mutants(t testing.TB, text string, number int64, seed uint64, n int) (recs []*results.Record) {
	t.Helper()
	line, err := os.ReadFile("../../results/testdata/schema1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range n {
		for _, share := range []struct{ texts, others float64 }{{0.5, 0.05}, {0.5, 0.02}, {0.3, 0.005}, {0.3, 0}, {0.05, 0}, {0, 0}} {
			r := new(results.Record)
			if err := json.Unmarshal(line, r); err != nil {
				t.Fatal(err)
			}
			r.Partial, r.Side, r.Pair = "", "", 0
			mutation{random, strings.ToValidUTF8(text, "?"), number, share.texts, share.others}.value(reflect.ValueOf(r).Elem())
			r.ID = fmt.Sprintf("r%d-%d", seed%1000, i)
			if random.IntN(4) == 0 {
				_ = r.Label()
			}
			encoded, err := json.Marshal(r)
			if err != nil || r.Validate() != nil {
				continue
			}
			back := new(results.Record)
			if json.Unmarshal(encoded, back) == nil && back.Validate() == nil {
				recs = append(recs, back)
				break
			}
		}
	}
	return recs
}

// FuzzRenderers writes mutated records in every format: no format panics, lets a control character through, or breaks.
func FuzzRenderers(f *testing.F) {
	for i, text := range []string{
		"", "plain", "\x1b[31mred\x07", "<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "=cmd|' /C calc'!A0", "a,b\r\nc\td",
		"]]>&amp;<!--", "::error::x%0A", "| a | b |\n|---|\n[x](javascript:alert(1))", "\u202eevil\u2066", "`${x}`", "ä·µ→✓\u0000\u2028", strings.Repeat("long ", 99),
	} {
		f.Add(text, int64(i)-3, uint64(i))
	}
	f.Fuzz(func(t *testing.T, text string, number int64, seed uint64) {
		if len(text) > 1000 {
			return
		}
		recs := mutants(t, text, number, seed, 4)
		if len(recs) == 0 {
			return
		}
		cells, err := results.Group(recs)
		if err != nil {
			t.Fatal(err)
		}
		checkCells(t, cells)
		checkCells(t, cells[:1])
		checkHistory(t, recs)
		checkComparison(t, recs, text, number, seed)
	})
}

// rendered returns what a format makes.
func rendered(t *testing.T, what string, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if i := strings.IndexFunc(b.String(), func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
	}); i >= 0 && what != "json" {
		t.Errorf("%s: a control character in %q", what, b.String()[max(0, i-40):min(b.Len(), i+40)])
	}
	return b.String()
}

func checkCells(t *testing.T, cells []*results.Cell) {
	t.Helper()
	rendered(t, "table", func(w io.Writer) error { return draw.Terminal(w, report.Run(cells, nil), draw.Options{Width: 100}) })
	checkMarkdown(t, rendered(t, "markdown", func(w io.Writer) error { return draw.Markdown(w, report.Run(cells, nil), 0) }))
	checkHTML(t, rendered(t, "html", func(w io.Writer) error { return draw.Page(w, report.RunPage(cells, nil)) }))
	checkCSV(t, rendered(t, "csv", func(w io.Writer) error { return export.CSV(w, cells) }))
	checkBenchfmt(t, rendered(t, "benchfmt", func(w io.Writer) error { return export.Benchfmt(w, cells) }))
	err := export.Hgrm(cells, view.Labels(cells), func(_ string, write func(io.Writer) error) error { return write(io.Discard) })
	if err != nil {
		t.Error(err)
	}
}

func checkHistory(t *testing.T, recs []*results.Record) {
	t.Helper()
	cells, err := results.Group(recs)
	if err != nil {
		t.Fatal(err)
	}
	d := report.History(cells)
	rendered(t, "history", func(w io.Writer) error { return draw.Terminal(w, d, draw.Options{}) })
	checkMarkdown(t, rendered(t, "history markdown", func(w io.Writer) error { return draw.Markdown(w, d, 0) }))
	rendered(t, "history page", func(w io.Writer) error { return draw.Page(w, d) })
}

// checkComparison compares records with copies of themselves that are half as fast, and some more.
func checkComparison(t *testing.T, recs []*results.Record, planted string, number int64, seed uint64) {
	t.Helper()
	var again []*results.Record
	for _, r := range recs {
		twin := *r
		twin.ID += "-head"
		twin.Counts.Acquired /= 2
		again = append(again, &twin)
	}
	cells, err := results.Group(recs)
	if err != nil {
		t.Fatal(err)
	}
	head, err := results.Group(append(again, mutants(t, planted, number, seed+1000, 2)...))
	if err != nil {
		t.Fatal(err)
	}
	c, err := compare.Compare(compare.Input{Name: planted, Cells: cells}, compare.Input{Name: planted, Cells: head}, compare.Options{})
	if err != nil {
		return // nothing to compare
	}
	doc := report.Comparison(c, "")
	rendered(t, "comparison", func(w io.Writer) error { return draw.Terminal(w, doc, draw.Options{Width: 100}) })
	checkMarkdown(t, rendered(t, "comparison markdown", func(w io.Writer) error { return draw.Markdown(w, doc, draw.CommentRoom) }))
	checkHTML(t, rendered(t, "comparison html", func(w io.Writer) error { return draw.Page(w, doc) }))
	checkCSV(t, rendered(t, "comparison csv", func(w io.Writer) error { return export.ComparisonCSV(w, c) }))
	checkJSON(t, rendered(t, "json", func(w io.Writer) error { return export.ComparisonJSON(w, c) }))
	checkXML(t, rendered(t, "junit", func(w io.Writer) error {
		return export.JUnit(w, report.Comparison(c, "").Judged)
	}), nil)
}

// htmlElements are those that a page may have.
var htmlElements = strings.Fields("html head meta link title article style script body header main footer nav section h1 h2 h3 h4 p ul ol li dl dt dd div span " +
	"a b i em strong code small br hr details summary table caption colgroup col thead tbody tfoot tr th td button label input " +
	"svg g rect line circle path polyline polygon text tspan desc defs use kbd figure figcaption pre time")

var ownScript = regexp.MustCompile(`(?s)<(script|style)>.*?</(script|style)>`)

func checkHTML(t *testing.T, page string) {
	t.Helper()
	if n := strings.Count(page, "<script"); n > 1 {
		t.Errorf("html: %d scripts", n)
	}
	checkXML(t, ownScript.ReplaceAllString(page, ""), htmlElements)
}

// checkXML wants a document that is well-formed, made of some elements only, and without handlers of events.
func checkXML(t *testing.T, text string, elements []string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		e, ok := token.(xml.StartElement)
		if !ok || elements == nil {
			continue
		}
		if !slices.Contains(elements, e.Name.Local) {
			t.Errorf("an element %s", e.Name.Local)
		}
		for _, a := range e.Attr {
			if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") || strings.Contains(strings.ToLower(a.Value), "javascript:") && a.Name.Local == "href" {
				t.Errorf("%s has %s=%q", e.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
}

// checkMarkdown looks for HTML and for links, which text from a record must not become.
func checkMarkdown(t *testing.T, text string) {
	t.Helper()
	if found := regexp.MustCompile(`(?i)(^|[^\\])<(script|img|!--)|[^\\]\]\(javascript:`).FindString(text); found != "" {
		t.Errorf("markdown: %q in\n%s", found, text)
	}
}

// aNumber is a field that a spreadsheet takes for one.
var aNumber = regexp.MustCompile(`^-?[0-9]`)

func checkCSV(t *testing.T, text string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatalf("csv: %v", err)
	}
	for _, row := range rows {
		for _, field := range row {
			if field != "" && strings.ContainsAny(field[:1], "=+-@\t\r") && !aNumber.MatchString(field) || strings.ContainsAny(field, "\r\n") {
				t.Errorf("csv: %q", field)
			}
		}
	}
}

func checkBenchfmt(t *testing.T, text string) {
	t.Helper()
	for in := benchfmt.NewReader(strings.NewReader(text), "fuzz"); in.Scan(); {
		if fault, ok := in.Result().(*benchfmt.SyntaxError); ok {
			t.Errorf("benchfmt: %v", fault)
		}
	}
}

func checkJSON(t *testing.T, text string) {
	t.Helper()
	if !json.Valid([]byte(text)) {
		t.Errorf("json: %s", text)
	}
}

// TestMutants makes sure that the fuzzing renders records that were changed, and in many fields.
func TestMutants(t *testing.T) {
	changed, seen := 0, map[string]bool{}
	for seed := range uint64(20) {
		for _, r := range mutants(t, "<\x1b", 7, seed, 4) {
			for name, text := range map[string]string{"driver": r.Plan.Driver, "version": r.Server.Version, "cpu": r.Env.CPU, "command": r.Plan.Command} {
				if text == "<\x1b" {
					seen[name] = true
					changed++
				}
			}
		}
	}
	if changed < 20 || len(seen) < 4 {
		t.Errorf("%d changes, of %v", changed, slices.Sorted(maps.Keys(seen)))
	}
}
