package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
)

// TestWeirdCSV reads back what CSV makes of texts that could break it.
func TestWeirdCSV(t *testing.T) {
	for i, s := range weird {
		r := record(i)
		r.Run, r.Partial, r.Env.Revision, r.Plan.Lock, r.Plan.Params, r.Server.Version = s, s, s, "l"+s, s, s
		var b bytes.Buffer
		if err := CSV(&b, cells(t, r, record(100))); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&b).ReadAll() // which also wants as many fields in each row
		if err != nil || len(rows) != 3 {
			t.Fatalf("%q: %d rows, %v", s, len(rows), err)
		}
		for _, row := range rows[1:] {
			for j, field := range row {
				if f := strings.TrimLeft(field, "-0123456789."); f == "" {
					continue // a number, or nothing
				}
				if strings.ContainsAny(field[:1], "=+-@\t\r") || strings.ContainsAny(field, "\r\n\x00\x1b") {
					t.Errorf("%q: %s is %q", s, rows[0][j], field)
				}
			}
		}
		if want := strings.TrimPrefix(field(s), "'"); !strings.Contains(rows[1][0]+rows[2][0], want) {
			t.Errorf("%q became %q and %q", s, rows[1][0], rows[2][0])
		}
	}
}

// TestNumbersAreNoText: a figure below 0 must stay a number for whoever reads it.
func TestNumbersAreNoText(t *testing.T) {
	var b bytes.Buffer
	if err := ComparisonCSV(&b, comparison(t, "-x", "@y")); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := func(column string) string { return rows[1][slices.Index(rows[0], column)] }
	if at("cell") != "'-x" || at("why") != "'@y" || !strings.HasPrefix(at("change"), "-0.08") {
		t.Errorf("%q", rows[1])
	}
}

// TestNoFormulaInComparison: whatever text a comparison holds, no field begins a formula.
func TestNoFormulaInComparison(t *testing.T) {
	const evil = "=HYPERLINK(1)"
	c := comparison(t, evil, evil)
	c.Cells[0].Figures[0].Verdict, c.Cells[0].Figures[0].Reason = evil, evil
	var b bytes.Buffer
	if err := ComparisonCSV(&b, c); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Count(text, evil) < 4 || strings.Count(text, evil) != strings.Count(text, "'"+evil) {
		t.Error(text)
	}
}

// TestWeirdComparison reads back what the other formats make of texts that could break them.
func TestWeirdComparison(t *testing.T) {
	for _, s := range weird {
		c := comparison(t, s, s)
		c.Base.Name, c.Notes, c.Base.Revisions = s, []string{s}, []string{s}
		c.Cells[0].Notes = []string{s}
		c.Cells[0].Figures[1].Why = s
		checkXML(t, s, c)

		var b bytes.Buffer
		if err := ComparisonJSON(&b, c); err != nil {
			t.Fatal(err)
		}
		var back comparisonJSON
		d := json.NewDecoder(&b)
		d.DisallowUnknownFields()
		if err := d.Decode(&back); err != nil || back.Cells[0].Label != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Errorf("%q became %q, %v", s, back.Cells[0].Label, err)
		}
	}
}

// checkXML reads JUnit as a CI server does.
func checkXML(t *testing.T, s string, c *compare.Comparison) {
	t.Helper()
	var b bytes.Buffer
	if err := JUnitComparison(&b, c); err != nil {
		t.Fatal(err)
	}
	var back junitSuites
	if err := xml.Unmarshal(b.Bytes(), &back); err != nil || strings.ContainsAny(b.String(), "\x00\x1b") {
		t.Fatalf("%q: %v\n%q", s, err, &b)
	}
	if u := back.Suite; u.Tests != 5 || len(u.Cases) != 5 || u.Failures != 1 || u.Skipped != 2 {
		t.Errorf("%q: %+v", s, u)
	}
	if !strings.Contains(b.String(), `type="regressed"`) {
		t.Errorf("%q: no type in %s", s, &b)
	}
}

// TestWeirdBenchfmt reads back what Benchfmt makes of such texts, with benchstat's own reader.
func TestWeirdBenchfmt(t *testing.T) {
	for i, s := range weird {
		r := record(i)
		r.Plan.Lock, r.Plan.Params, r.Server.Version, r.Env.CPU = "l"+s, s, s, s
		r.Env.Lockbench, r.Env.Revision, r.Partial = s, s, ""
		early := record(100 + i)
		early.Partial = "x" + s
		var b bytes.Buffer
		if err := Benchfmt(&b, cells(t, r, early)); err != nil {
			t.Fatal(err)
		}
		in := benchfmt.NewReader(bytes.NewReader(b.Bytes()), "file")
		found := 0
		for in.Scan() {
			switch rec := in.Result().(type) {
			case *benchfmt.Result:
				found++
				if name := benchmark(r).Name; name.String() != rec.Name.String() || len(rec.Values) < 20 {
					t.Errorf("%q: %s with %d values", s, rec.Name, len(rec.Values))
				}
			case *benchfmt.SyntaxError:
				t.Errorf("%q: %v", s, rec)
			}
		}
		if found != 1 || in.Err() != nil {
			t.Errorf("%q: %d benchmarks, %v\n%s", s, found, in.Err(), &b)
		}
	}
}

// TestHgrmNames: file names are ASCII, unique, and lead nowhere else.
func TestHgrmNames(t *testing.T) {
	var recs []*results.Record
	for i := range weird {
		r := record(i)
		r.Cell, r.Plan.Keys = i, 10+i
		recs = append(recs, r)
	}
	partial := record(500)
	partial.Cell, partial.Partial = 500, "stopped"
	recs = append(recs, partial)
	all := cells(t, recs...)
	labels := append(slices.Clone(weird), "partial-writes")
	seen := map[string]bool{}
	err := Hgrm(all, labels, func(name string, write func(io.Writer) error) error {
		if seen[strings.ToLower(name)] || len(name) > 200 || !strings.HasSuffix(name, ".hgrm") || name[0] == '.' || strings.Contains(name, "..") ||
			strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-._") != "" {
			t.Errorf("%q", name)
		}
		seen[name] = true
		return write(io.Discard)
	})
	if err != nil || len(seen) != 2*len(all) {
		t.Errorf("%d files of %d cells, %v", len(seen), len(all), err)
	}
	if last := fmt.Sprintf("%d-partial-writes.acquire.hgrm", len(all)); !seen[last] {
		t.Errorf("%v", seen)
	}
}
