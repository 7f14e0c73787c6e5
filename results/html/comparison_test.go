package html

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/text"
)

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func writeComparison(t testing.TB, c *compare.Comparison) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteComparison(&out, c, Options{Command: "lockbench compare base.jsonl head.jsonl"}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// first returns what a page says first, as plain text.
func first(c *compare.Comparison) string {
	p := newTwoSides(c).page(Options{})
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n  window: %s\n", p.Mark, p.Title, p.Short)
	for _, s := range p.Sides {
		fmt.Fprintf(&b, "  %s %s: %s\n", s.Label, s.Name, s.Text)
	}
	for _, n := range p.Key {
		fmt.Fprintf(&b, "  %s %s %s\n", n.Mark, n.Count, n.Word)
	}
	for _, one := range p.Takeaways {
		fmt.Fprintf(&b, "  [%s] %s %s\n", one.Kind, one.Lead, one.Text)
	}
	for _, one := range p.Criteria {
		fmt.Fprintf(&b, "  %s: %s\n", one.Label, strings.Join(one.Lines, " "))
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "  - %s\n", note)
	}
	return b.String()
}

// TestComparisonsSay pins the sentences of all kinds of comparisons.
func TestComparisonsSay(t *testing.T) {
	all := comparisons(t)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "== %s\n%s\n", name, first(all[name]))
	}
	const path = "testdata/comparisons.txt"
	if *pagetest.Update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s differs (go test -update writes it anew); got:\n%s", path, &b)
	}
}

// TestHeadlineNamesEveryFigure: a figure whose name begins another one's is named beside it, and one with two limits once.
func TestHeadlineNamesEveryFigure(t *testing.T) {
	base, head := sides(1, func(_ int, head bool, r *results.Record) {
		l := r.Latency[results.Acquire]
		l.P99 *= time.Duration(1 + b2i(head))
		l.P999 *= time.Duration(1 + 2*b2i(head))
		r.Latency[results.Acquire] = l
		r.Counts.Lost, r.Safety.LostEarly = int64(2*b2i(head)), int64(b2i(head))
	})
	const on = "acquire.p999>+10%,acquire.p99>+10%,acquire.p99>15ms,lost-early>0,lost>1"
	var figures []string
	headline := newTwoSides(compareSides(t, base, head, on, compare.Options{})).Headline()
	_, list, _ := strings.Cut(headline, ": ")
	for part := range strings.SplitSeq(list, "; ") {
		name, _, _ := strings.Cut(part, " ")
		figures = append(figures, name)
	}
	slices.Sort(figures)
	if want := []string{"acquire.p99", "acquire.p999", "lost", "lost-early"}; !slices.Equal(figures, want) {
		t.Errorf("%q names %q, want %q", headline, figures, want)
	}
}

func TestComparisonNeedsNothingElse(t *testing.T) {
	for name, c := range comparisons(t) {
		t.Run(name, func(t *testing.T) {
			page := writeComparison(t, c)
			pagetest.Alone(t, page, "summary", "figures", "environment", "commands")
			if again := writeComparison(t, c); again != page {
				t.Error("two pages of one comparison differ")
			}
			if name != "absolute" {
				pagetest.Alone(t, page, "changes")
			}
		})
	}
}

// TestEveryVerdictHasItsRow finds each judged figure of each cell in a table, with its verdict and its reason, and as a
// link from the chart if it has a change.
func TestEveryVerdictHasItsRow(t *testing.T) {
	for name, c := range comparisons(t) {
		page := newTwoSides(c).page(Options{})
		rows := map[string]changeRow{}
		for _, table := range page.Tables {
			for _, r := range slices.Concat(table.Rows, table.More) {
				rows[r.ID] = r
			}
		}
		links := map[string]forestRow{}
		for _, f := range page.Charts {
			for _, r := range slices.Concat(f.Rows, f.More) {
				links[r.Link] = r
			}
		}
		for i, cell := range c.Cells {
			for j := range cell.Figures {
				r := judged{compare.Judged{Cell: i, Result: &cell.Figures[j]}}
				if r.Threshold == nil {
					continue
				}
				row, ok := rows[anchor(r)]
				if !ok || row.Verdict != text.Verdict(r.Result) || row.Mark != mark(r.Verdict) || r.Why != "" && !strings.HasPrefix(row.Why, format.Upper(r.Why)) {
					t.Errorf("%s: %s of %q is %+v, want %s: %s", name, r.Figure.Name, cell.Label, row, r.Verdict, r.Why)
				}
				if link, ok := links[anchor(r)]; ok != r.charted() || ok && link.Verdict != row.Verdict {
					t.Errorf("%s: %s of %q in the chart: %t, %+v", name, r.Figure.Name, cell.Label, ok, link)
				}
			}
		}
	}
}

// TestWorstFirst: rows go from regressed to no change, what is worse within the limit before that, and of each from
// what has gone farthest in the bad direction, which is down for one figure and up for the other.
func TestWorstFirst(t *testing.T) {
	page := newTwoSides(comparisons(t)["forty"]).page(Options{})
	order := []string{"regressed", "inconclusive", "improved", "within limit", "no change"}
	for i, sign := range []float64{1, -1} {
		f := page.Charts[i]
		last, lastChange := 0, math.Inf(-1)
		for _, r := range slices.Concat(f.Rows, f.More) {
			at := slices.Index(order, r.Verdict)
			change, err := strconv.ParseFloat(strings.NewReplacer("−", "-", " %", "", ",", "").Replace(r.Value), 64)
			if err != nil {
				t.Fatal(err)
			}
			if change *= sign; order[at] == "improved" {
				change = -change // the best is what matters
			}
			if at < last || at == last && change < lastChange && order[at] != "inconclusive" { // those go by their reasons
				t.Errorf("%s: %s %s comes too late", f.Title, r.Name, r.Value)
			}
			last, lastChange = at, change
		}
		if n := len(f.Rows) + len(f.More); n != 40 {
			t.Errorf("%s: %d rows", f.Title, n)
		}
	}
}

// TestForest reads a chart's row back: the limit's side, the mark's place and form, and the ends of its interval.
func TestForest(t *testing.T) {
	f := newTwoSides(comparisons(t)["eight"]).page(Options{}).Charts
	for i, want := range []struct{ title, beyond string }{{"locks/s", `class="beyond" x="0.00%"`}, {"acquire.p99", `class="beyond" x="`}} {
		if f[i].Title != want.title {
			t.Fatalf("chart %d is of %s", i, f[i].Title)
		}
		forms := map[string]string{"regressed": "M-5 -5L5", "inconclusive": "M-4.5 0a", "improved": "M0 -6L", "no change": "M-4 0a", "within limit": "M-4 0a"}
		for _, r := range f[i].Rows {
			plot := string(r.Plot)
			if !strings.Contains(plot, want.beyond) {
				t.Errorf("%s: no %s in %s", r.Name, want.beyond, plot)
			}
			form := forms[r.Verdict]
			if strings.Contains(r.Value, "−70") || strings.Contains(r.Value, "+40") { // beyond the scale
				if strings.Contains(plot, `d="`+form) {
					t.Errorf("%s: %s has its mark at the end of the scale, as if it lay there", r.Name, r.Value)
				}
				form = map[int]string{0: "M7 -5L0 0", 1: "M-7 -5L0 0"}[i]
			}
			if form == "" || strings.Count(plot, `d="`+form) == 0 {
				t.Errorf("%s, %s: no %q in %s", r.Name, r.Verdict, form, plot)
			}
			if ends := strings.Count(plot, `class="reach `); ends != 4 && ends != 0 && !strings.Contains(plot, "arrow") {
				t.Errorf("%s: an interval of %d lines", r.Name, ends)
			}
			for _, text := range []string{r.Value, r.Verdict, r.Beside} {
				if !strings.Contains(plot, text) {
					t.Errorf("%s: %q is not read out", r.Name, text)
				}
			}
		}
	}
}

func TestChangeScale(t *testing.T) {
	result := func(low, ratio, high, limit float64) judged {
		return judged{compare.Judged{Result: &compare.Result{Change: stats.Change{Low: low, Ratio: ratio, High: high},
			Threshold: &compare.Threshold{Value: limit, Less: limit < 0, Relative: true}}}}
	}
	nan := math.NaN()
	for name, list := range map[string][]judged{
		"none": nil, "the same": {result(1, 1, 1, -0.05)}, "tiny": {result(0.9999, 1, 1.0001, 0.0001)}, "fall": {result(0.85, 0.9, 0.95, -0.05)},
		"no interval": {result(nan, 0.9, nan, -0.05)}, "rise": {result(1.2, 1.3, 1.4, 0.1)}, "both": {result(0.6, 0.7, 0.8, -0.05), result(1.1, 1.5, 1.9, 0.05)},
		"far": {result(90, 100, 110, 0.1), result(0.001, 0.01, 0.1, -0.05)}, "nothing left": {result(0, 0.0001, 1, -0.9)}, "limit far out": {result(1, 1, 1, 9)},
		"infinite": {result(0, math.Inf(1), math.Inf(1), 0.1)},
	} {
		s := changeScale(list)
		if !(s.From < 1 && s.To > 1) || math.IsInf(s.To, 0) || !(s.From > 0) {
			t.Errorf("%s: from %v to %v", name, s.From, s.To)
		}
		zeros, last := 0, -1.0
		for _, tick := range s.Ticks {
			if tick.At < 0 || tick.At > 1 || tick.At-last < 0.1 {
				t.Errorf("%s: ticks at %v and %v of %q", name, last, tick.At, tick.Label)
			}
			zeros, last = zeros+b2i(tick.Label == "0"), tick.At
		}
		if zeros != 1 || len(s.Ticks) < 2 && name != "none" || len(s.Ticks) > 9 {
			t.Errorf("%s: %v", name, s.Ticks)
		}
		for _, r := range list {
			if v := 1 + r.Threshold.Value; v < s.From || v > s.To {
				t.Errorf("%s: the limit %v is beyond %v to %v", name, r.Threshold.Value, s.From, s.To)
			}
		}
	}
	if s := changeScale([]judged{result(90, 100, 110, 0.1)}); s.To > 2.2 {
		t.Errorf("one change of a hundred times makes a scale to %v", s.To)
	}
}

// TestPlaces: what is true of both sides is said once, and else which side it is true of.
func TestPlaces(t *testing.T) {
	for _, p := range newTwoSides(comparisons(t)["unlike"]).page(Options{}).Places {
		both := p.Label != "machine"
		if both != (len(p.Both) == 1) || both != (len(p.Base)+len(p.Head) == 0) {
			t.Errorf("%+v", p)
		}
	}
}

// unfolded returns a page without what is in details, which may stand in one another.
func unfolded(page string) string {
	var b strings.Builder
	depth := 0
	for part := range strings.SplitAfterSeq(page, "details>") {
		before, _, _ := strings.Cut(part, "<details")
		if depth == 0 {
			b.WriteString(before)
		}
		depth += strings.Count(part, "<details") - strings.Count(part, "</details>")
	}
	return b.String()
}

// TestManyCells: of 2,000 cells whatever has changed is there, and the page is bounded all the same.
func TestManyCells(t *testing.T) {
	cells := func(verdict compare.Verdict, n int) (all []compare.Cell) {
		few := comparisons(t)["eight"]
		for i := range n {
			cell := few.Cells[0]
			cell.Label, cell.Verdict, cell.Figures = fmt.Sprintf("%s %d", verdict, i), verdict, slices.Clone(cell.Figures)
			for j := range cell.Figures {
				if cell.Figures[j].Threshold != nil && cell.Figures[j].Threshold.Relative {
					cell.Figures[j].Verdict = verdict
				}
			}
			all = append(all, cell)
		}
		return all
	}
	c := &compare.Comparison{Alpha: 0.05, Tests: 4000, Verdict: compare.Regressed, Cells: slices.Concat(
		cells(compare.Unchanged, 1900), cells(compare.Improved, 40), cells(compare.Regressed, 30), cells(compare.Inconclusive, 30))}
	page := writeComparison(t, c)
	pagetest.Alone(t, page, "summary", "changes", "figures", "environment", "commands")
	if len(page) > 2<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	for verdict, n := range map[string]int{"regressed": 30, "improved": 40, "inconclusive": 30} {
		for i := range n {
			if !strings.Contains(page, fmt.Sprintf(`<th scope="row">%s %d</th>`, verdict, i)) {
				t.Errorf("no row of %s %d", verdict, i)
			}
		}
	}
	if n := strings.Count(page, `<svg class="rowplot"`); n > 2*(openForest+foldedForest) {
		t.Errorf("%d rows in the charts", n)
	}
	if !strings.Contains(page, "1,700 more rows without a change are left out") {
		t.Error("it is not said what is left out")
	}
	open := unfolded(page)
	if strings.Contains(open, `<th scope="row">no change `) || strings.Count(open, `<svg class="rowplot"`) > 2*shownRows {
		t.Error("more is open than anybody looks at")
	}
	c.Cells = c.Cells[:1900]
	if page := writeComparison(t, c); !strings.Contains(page, "None of 1,900 cells regressed") {
		t.Error("an empty chart says nothing")
	}
}

// TestManyWithin: what is worse within its limit is neither folded away nor left out as a row without a change.
func TestManyWithin(t *testing.T) {
	one := comparisons(t)["eight"].Cells[0]
	c := &compare.Comparison{Alpha: 0.05, Tests: 600, Verdict: compare.Unchanged}
	for i := range 300 {
		cell := one
		cell.Label, cell.Figures = fmt.Sprintf("cell %d", i), slices.Clone(cell.Figures)
		if i < 20 || i >= 50 {
			cell.Figures[0].Why = "fell by 3.1 %, which locks/s<-5% allows"
		}
		c.Cells = append(c.Cells, cell)
	}
	page := newTwoSides(c).page(Options{})
	table := page.Tables[0]
	if table.Left > 0 || len(table.Rows) != shownTable || len(table.Rows)+len(table.More) != 300 {
		t.Errorf("%d rows are open, %d folded and %d left out", len(table.Rows), len(table.More), table.Left)
	}
	chart := page.Charts[0]
	if len(chart.Rows) != shownRows || chart.Quiet != "" {
		t.Errorf("%d rows of the chart are open: %s", len(chart.Rows), chart.Quiet)
	}
	for i, r := range table.Rows {
		if r.Verdict != "within limit" {
			t.Errorf("row %d of %s is %s", i, r.Name, r.Verdict)
		}
	}
}

func TestHostileComparisonDoesNotRun(t *testing.T) {
	const evil = `"'></script></style><script>alert(1)</script><img src=x onerror=alert(1)>` + "\x00\u202e"
	for _, n := range []int{1, 3} {
		base, head := sides(n, func(i int, _ bool, r *results.Record) {
			r.Plan.Driver, r.Plan.Command, r.Env.Revision, r.Server.Name, r.Env.CPU = evil+strconv.Itoa(i), evil, evil, evil, evil
		})
		c := compareSides(t, base, head, "", compare.Options{})
		c.Base.Name, c.Notes, c.Missing, c.Added = evil, []string{evil}, []string{evil}, []string{evil}
		for i := range c.Cells {
			c.Cells[i].Notes = []string{evil}
			for j := range c.Cells[i].Figures {
				c.Cells[i].Figures[j].Why = evil
			}
		}
		var out bytes.Buffer
		if err := WriteComparison(&out, c, Options{Title: evil, Command: evil}); err != nil {
			t.Fatal(err)
		}
		pagetest.Alone(t, out.String(), "summary", "changes", "figures")
		pagetest.Harmless(t, out.String())
	}
}

func TestComparisonErrors(t *testing.T) {
	if err := WriteComparison(io.Discard, &compare.Comparison{}, Options{}); err == nil {
		t.Error("a page of no cells")
	}
	if err := WriteComparison(full{}, comparisons(t)["one"], Options{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("%v", err)
	}
}
