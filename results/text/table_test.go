package text

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
	if got := rule("四个客户端", 40); len(got) != 1 || format.Width(got[0]) != 40 {
		t.Errorf("a rule with a wide title takes %d columns of 40: %q", format.Width(got[0]), got)
	}
}

// TestNoTitle: loads that have nothing in common have no title, and no line around it.
func TestNoTitle(t *testing.T) {
	if got := rule("", 4); !slices.Equal(got, []string{"────"}) {
		t.Errorf("%q", got)
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
	hidden := []string{"Designs: ", "Guarantees differ: ", "limited by: ", "Left out at this width: "}
	lines := printed(t, draw.Options{}, servicesOf()...)
	want := "-v: the servers, what each design guarantees, what columns mean and the columns left out"
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

// TestRisksAreAList: texts stand in one column, below labels that are too long for one beside them.
func TestRisksAreAList(t *testing.T) {
	p := &page{width: 60}
	p.explain([]note{
		{text: "What is wrong with each design:"},
		{mark: "etcd:", text: "a holder goes on unaware", item: true},
		{mark: "rueidis set-nx, redsync library:", text: "a holder that outlives its lease overlaps the next one", item: true},
		{mark: "zookeeper herd:", text: "all waiters wake", item: true},
	})
	want := `What is wrong with each design:
  etcd:           a holder goes on unaware
  rueidis set-nx, redsync library:
                  a holder that outlives its lease overlaps
                  the next one
  zookeeper herd: all waiters wake`
	if got := strings.Join(p.lines, "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestMerged: warnings of a cell that differ in their numbers are one, with the least and the most of each.
func TestMerged(t *testing.T) {
	got := merged([]string{
		"node 2 of 5 did not answer 1,204 requests: 127.0.0.1:99: i/o timeout", "the load had not settled",
		"node 1 of 5 did not answer 31 requests: 127.0.0.1:80: i/o timeout", "node 4 of 5 did not answer 2 requests: 127.0.0.1:80: i/o timeout",
	})
	want := []string{"node 1 to 4 of 5 did not answer 2 to 1,204 requests: 127.0.0.1:80 to 99: i/o timeout", "the load had not settled"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRanges(t *testing.T) {
	for want, numbers := range map[string][]int{"": nil, "3": {3}, "1,2": {2, 1}, "1–3": {3, 1, 2}, "1,4–6,8,9": {6, 4, 5, 9, 8, 1}} {
		if got := ranges(numbers); got != want {
			t.Errorf("%v: %q, want %q", numbers, got, want)
		}
	}
}

// TestShareOfABeatenBound: a bound that was too low is nothing to have a share of.
func TestShareOfABeatenBound(t *testing.T) {
	i := slices.IndexFunc(columns, func(col column) bool { return col.Group == "of" && col.Title == "bound" })
	r := record(0)
	for efficiency, want := range map[float64]string{0.92: "92 %", 1.004: "100 %", 4156.47: "–"} {
		r.Bound.Efficiency = efficiency
		if got := columns[i].text(group(t, r)[0]); got != want {
			t.Errorf("%v of the bound: %q, want %q", efficiency, got, want)
		}
	}
}
