package report_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
)

// printed returns the lines of a table.
func printed(t *testing.T, o draw.Options, recs ...*results.Record) []string {
	t.Helper()
	var out bytes.Buffer
	if err := Table(&out, group(t, recs...), o); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// TestWideNames: characters that take two columns of the terminal push no figure out of its column, nor the rule beyond the table.
func TestWideNames(t *testing.T) {
	plain, chinese := record(0), record(1)
	plain.Env.Revision, chinese.Env.Revision = "v1", "版本一二三四五六"
	chinese.Warnings = []string{"the load had not settled"}
	lines := printed(t, draw.Options{}, plain, chinese)
	at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "viol.  notes") })
	if at < 0 {
		t.Fatalf("no columns viol. and notes:\n%s", strings.Join(lines, "\n"))
	}
	before, _, _ := strings.Cut(lines[at], "  notes")
	end := format.Width(before)
	for _, name := range []string{"v1", "版本一二三四五六"} {
		row := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "revision "+name+" ") })
		if row < 0 {
			t.Fatalf("no row %q:\n%s", name, strings.Join(lines, "\n"))
		}
		if line := strings.TrimSuffix(lines[row], "  [1]"); !strings.HasSuffix(line, " 0") || format.Width(line) != end {
			t.Errorf("%q does not end with its violations in column %d, but in %d: %q", name, end, format.Width(line), line)
		}
	}
	if line := lines[at+1]; format.Width(line) != end+len("  notes") {
		t.Errorf("the line above the rows takes %d columns, and the table %d: %q", format.Width(line), end+len("  notes"), line)
	}
}

// TestLongNames: names that leave no room for the columns that always stay are cut in the middle, and the table fits.
func TestLongNames(t *testing.T) {
	var recs []*results.Record
	for i := range 2 {
		r := record(i)
		r.Env.Revision = strings.Repeat("long-", 30) + []string{"base", "head"}[i]
		recs = append(recs, r)
	}
	lines := printed(t, draw.Options{Width: 80}, recs...)
	for _, line := range lines {
		if format.Width(line) > 80 {
			t.Errorf("%d columns: %s", format.Width(line), line)
		}
	}
	for _, end := range []string{"base", "head"} {
		if !slices.ContainsFunc(lines, func(line string) bool {
			name, _, _ := strings.Cut(line, "  ")
			return strings.HasPrefix(name, "revision long-") && strings.Contains(name, "…") && strings.HasSuffix(name, end)
		}) {
			t.Errorf("no row is named revision long-…%s:\n%s", end, strings.Join(lines, "\n"))
		}
	}
}

// TestBlocksFit: the tables of a single cell leave columns out on a narrow page.
func TestBlocksFit(t *testing.T) {
	for name, recs := range map[string][]*results.Record{"an open loop": {opened(0)}, "classes": {classedTrial(0)}} {
		for _, line := range printed(t, draw.Options{Width: 80}, recs...) {
			if format.Width(line) > 80 {
				t.Errorf("%s: %d columns: %s", name, format.Width(line), line)
			}
		}
	}
}

// TestVerboseTable: what does not change how rows are read is said on demand, and a line says what that is.
func TestVerboseTable(t *testing.T) {
	hidden := []string{"Designs: ", "Guarantees differ: ", "limited by: "}
	lines := printed(t, draw.Options{}, servicesOf()...)
	want := "-v: the servers, what each design guarantees and what columns mean"
	if got := lines[len(lines)-1]; got != want {
		t.Errorf("the last line is %q, want %q", got, want)
	}
	whole := printed(t, draw.Options{Verbose: true}, servicesOf()...)
	for _, lead := range hidden {
		begins := func(line string) bool { return strings.HasPrefix(line, lead) }
		if slices.ContainsFunc(lines, begins) {
			t.Errorf("%q stands in the short form", lead)
		}
		if !slices.ContainsFunc(whole, begins) {
			t.Errorf("%q does not stand in the verbose form", lead)
		}
	}
	if slices.ContainsFunc(whole, func(line string) bool { return strings.HasPrefix(line, "-v: ") }) {
		t.Error("the verbose form asks for itself")
	}
}
