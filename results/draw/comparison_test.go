package draw

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/compare/comparetest"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/report"
)

func comparisonText(t *testing.T, c *compare.Comparison, command string, to Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Terminal(&out, report.Comparison(c, command), to); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func comparisonMarkdown(t *testing.T, c *compare.Comparison) string {
	t.Helper()
	var out bytes.Buffer
	if err := Markdown(&out, report.Comparison(c, ""), CommentRoom); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func comparisonPage(t *testing.T, c *compare.Comparison) string {
	t.Helper()
	var out bytes.Buffer
	if err := Page(&out, report.Comparison(c, "lockbench compare base.jsonl head.jsonl")); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestComparisons(t *testing.T) {
	for name, c := range comparetest.All() {
		t.Run(name, func(t *testing.T) {
			text := comparisonText(t, c, "lockbench compare", Options{})
			pagetest.Golden(t, "compare-"+name+".txt", text)
			pagetest.Width(t, text, 100)
			markdown := comparisonMarkdown(t, c)
			pagetest.Golden(t, "compare-"+name+".md", markdown)
			colored := comparisonText(t, c, "lockbench compare", Options{Color: true})
			if plain := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(colored, ""); plain != text {
				t.Error("the coloured output is not the plain one with colours")
			}
			if strings.ContainsAny(text+markdown, "\x1b\r\t") || strings.Contains(markdown, "<script") {
				t.Error("control characters or markup in the output")
			}
			page := comparisonPage(t, c)
			pagetest.Alone(t, page, "summary", "figures", "environment", "commands")
			if name != "absolute" {
				pagetest.Alone(t, page, "changes")
			}
			if again := comparisonPage(t, c); again != page {
				t.Error("two pages of one comparison differ")
			}
		})
	}
}

func byClients(i int) string { return fmt.Sprintf("clients %d", i) }

// TestCrowd: of thousands of rows the worst are shown and the others counted.
func TestCrowd(t *testing.T) {
	c := comparetest.Crowd(300, byClients)
	text := comparisonText(t, c, "", Options{})
	pagetest.Golden(t, "compare-crowd.txt", text)
	pagetest.Width(t, text, 100)
	if n := strings.Count(text, "\n"); n > 150 {
		t.Errorf("%d lines", n)
	}
	markdown := comparisonMarkdown(t, c)
	if n := len(markdown); n > CommentRoom {
		t.Errorf("%d bytes of Markdown", n)
	}
	for _, want := range []string{"**✗ Regressed ", "locks/s in 250 cells, ", "mutual exclusion was violated", "<summary>All 1,500 figures</summary>", " rows more, for which"} {
		if !strings.Contains(markdown, want) {
			t.Errorf("no %q in the Markdown", want)
		}
	}
}

// TestCrowdWithin: of many rows those that are worse within their limit are not called fine.
func TestCrowdWithin(t *testing.T) {
	c := comparetest.Crowd(300, byClients)
	c.Verdict = compare.Unchanged
	for i := range c.Cells {
		r := &c.Cells[i].Figures[0]
		r.Verdict, r.Reason, r.Why = compare.Unchanged, "", ""
		if i >= 250 {
			r.Why, r.Change.Ratio = fmt.Sprintf("fell by %d", i), 0.97-0.0001*float64(i)
		}
	}
	text := comparisonText(t, c, "", Options{})
	for want, n := range map[string]int{
		"  ✓ within limit\n": 10, "\nclients 299\n": 1, "\nclients 290\n": 1, "\nclients 289\n": 0,
		"\njain": 0, "needs a look": 0, "1,200 judged figures, of which the worst of each kind are shown (": 1,
		"locks/s is worse within the limit in 50 of 300 cells: clients 299, ": 1,
		"✓ No change in 300 cells · 50 figures worse within the limit\n":      1,
	} {
		if got := strings.Count(text, want); got != n {
			t.Errorf("%q is there %d times, want %d", want, got, n)
		}
	}
	open, _, _ := strings.Cut(comparisonMarkdown(t, c), "<details>")
	if n := strings.Count(open, "| ✓ within limit |"); n != 50 || !strings.Contains(open, "**locks/s is worse within the limit in 50 of 300 cells:**") {
		t.Errorf("%d of 50 rows in the Markdown: %s", n, open)
	}
}

// TestCommentFits: whatever stands in the records, GitHub takes the comment, and all that is folded is folded whole.
func TestCommentFits(t *testing.T) {
	for name, label := range map[string]func(int) string{
		"markup": func(i int) string { return strings.Repeat("<*_`[@&", 200) + fmt.Sprint(i) },
		"long":   func(i int) string { return strings.Repeat("ä", 30_000) + fmt.Sprint(i) },
		"and":    func(i int) string { return fmt.Sprintf("%03d", i) + strings.Repeat("&", 5_000) },
		"at":     func(i int) string { return fmt.Sprintf("%03d", i) + strings.Repeat("@", 5_000) },
		"short":  byClients,
	} {
		for _, cells := range []int{1, 300} {
			c := comparetest.Crowd(cells, label)
			base, _ := comparetest.Sides(1, comparetest.AsIs)
			r := base[0].Trials[0]
			r.Server.Version, r.Env.CPU, r.Env.Revision = label(0), label(0), label(0)
			c.Base.Name, c.Head.Revisions = label(0), []string{label(1), label(2), label(3), label(4), label(5), label(6)}
			for i := range c.Cells {
				c.Cells[i].Base = []*results.Record{r} // for what trials have in common
				c.Cells[i].Notes = append(c.Cells[i].Notes, label(i))
				c.Notes = append(c.Notes, label(i)+" of all")
				c.Cells[i].Figures[1].Verdict, c.Cells[i].Figures[1].Why = compare.Regressed, label(i)
				r := &c.Cells[i].Figures[2]
				r.Verdict, r.Reason, r.Why = compare.Inconclusive, compare.Unlike, label(i)
				c.Missing, c.Added = append(c.Missing, label(i)), append(c.Added, label(i))
			}
			b := comparisonMarkdown(t, c)
			if len(b) > CommentRoom {
				t.Errorf("%s, %d cells: %d bytes", name, cells, len(b))
			}
			if open, closed := strings.Count(b, "<details>"), strings.Count(b, "</details>"); open != closed || open == 0 {
				t.Errorf("%s, %d cells: %d folds begin and %d end", name, cells, open, closed)
			}
			if !strings.HasPrefix(b, "**✗ Regressed") || strings.Count(b, "<sub>") != 1 || strings.Count(b, "</sub>") != 1 {
				t.Errorf("%s, %d cells: the beginning or the method is lost", name, cells)
			}
			if cut := halfEscapes.FindString(b); cut != "" {
				t.Errorf("%s, %d cells: a text is cut within an escape: %q", name, cells, cut)
			}
		}
	}
}

// halfEscapes are characters that Escape leaves only with what belongs to them, in the line where it is missing.
var halfEscapes = regexp.MustCompile("&(?:[^alg\n]|a[^m\n]|[lg][^t\n]|am[^p\n]|(?:amp|[lg]t)[^;\n]).{0,9}|@[^\u200b].{0,9}")

// TestEscapedWithin cuts between what stands for two characters of the text, never within one.
func TestEscapedWithin(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 10, ""}, {"short", 5, "short"}, {"longer", 5, "lo…"}, {"&&", 10, "&amp;&amp;"}, {"&&", 9, "&amp;…"}, {"&&", 8, "&amp;…"}, {"&&", 7, "…"},
		{"@@", 8, "@\u200b@\u200b"}, {"@@", 7, "@\u200b…"}, {"äää", 6, "äää"}, {"äää", 5, "ä…"}, {`a\\\\`, 9, `a\\\\\\\\`}, {`a\\\\`, 8, `a\\\\…`}, {"a\xff", 2, "a "},
	} {
		if got := EscapeWithin(c.text, c.most); got != c.want {
			t.Errorf("%q within %d bytes: %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

// TestHeadlineNamesEveryFigure: a figure whose name begins another one's is named beside it, and one with two limits once.
func TestHeadlineNamesEveryFigure(t *testing.T) {
	const on = "acquire.p999>+10%,acquire.p99>+10%,acquire.p99>15ms,lost-early>0,lost>1"
	c := comparetest.Of(1, on, func(_ int, head bool, r *results.Record) {
		if head {
			l := r.Latency[results.Acquire]
			l.P99, l.P999 = 2*l.P99, 3*l.P999
			r.Latency[results.Acquire] = l
			r.Counts.Lost, r.Safety.LostEarly = 2, 1
		}
	})
	_, list, _ := strings.Cut(c.Headline(), ": ")
	var figures []string
	for part := range strings.SplitSeq(list, "; ") {
		name, _, _ := strings.Cut(part, " ")
		figures = append(figures, name)
	}
	slices.Sort(figures)
	if want := []string{"acquire.p99", "acquire.p999", "lost", "lost-early"}; !slices.Equal(figures, want) {
		t.Errorf("%q names %q, want %q", c.Headline(), figures, want)
	}
}

// pageOf returns the blocks of a page.
func pageOf(d *report.Document) []report.Block { return append([]report.Block{d.Picture}, d.Blocks...) }

// blocksOf returns all blocks of a type that a page has.
func blocksOf[B report.Block](blocks []report.Block) (all []B) {
	for _, b := range report.Of(blocks, report.Page) {
		if one, is := b.(B); is {
			all = append(all, one)
		}
		if s, is := b.(report.Section); is {
			all = append(all, blocksOf[B](s.Blocks)...)
		}
	}
	return all
}

// TestWorstFirst: rows go from regressed to no change, what is worse within the limit before that, and of each from
// what has gone farthest in the bad direction, which is down for one figure and up for the other.
func TestWorstFirst(t *testing.T) {
	charts := blocksOf[report.Intervals](pageOf(report.Comparison(comparetest.All()["forty"], "")))
	order := []string{"regressed", "inconclusive", "improved", "within limit", "no change"}
	for i, sign := range []float64{-1, 1} {
		last, lastChange := 0, math.Inf(1)
		for _, r := range charts[i].Rows {
			at, change := slices.Index(order, r.Status), sign*r.Mid
			if order[at] == "improved" {
				change = -change // the best is what matters
			}
			if at < last || at == last && change > lastChange && order[at] != "inconclusive" { // those go by their reasons
				t.Errorf("chart %d: %s %s comes too late", i, r.Name, r.Value)
			}
			last, lastChange = at, change
		}
		if n := len(charts[i].Rows); n != 40 {
			t.Errorf("chart %d: %d rows", i, n)
		}
	}
}

// TestChangesDrawn reads a chart's rows back: the limit's side, the mark's place and form, and the ends of its interval.
func TestChangesDrawn(t *testing.T) {
	charts := blocksOf[report.Intervals](pageOf(report.Comparison(comparetest.All()["eight"], "")))
	forms := map[string]string{"regressed": "M-5 -5L5", "inconclusive": "M-4.5 0a", "improved": "M0 -6L", "no change": "M-4 0a", "within limit": "M-4 0a"}
	for i, beyond := range []string{`class="beyond" x="0.00%"`, `class="beyond" x="`} {
		for _, r := range newIntervals(charts[i]).Rows {
			plot := string(r.Plot)
			if !strings.Contains(plot, beyond) {
				t.Errorf("%s: no %s in %s", r.Name, beyond, plot)
			}
			form := forms[r.Status]
			if strings.Contains(r.Value, "−70") || strings.Contains(r.Value, "+40") { // beyond the scale
				if strings.Contains(plot, `d="`+form) {
					t.Errorf("%s: %s has its mark at the end of the scale, as if it lay there", r.Name, r.Value)
				}
				form = map[int]string{0: "M7 -5L0 0", 1: "M-7 -5L0 0"}[i]
			}
			if form == "" || strings.Count(plot, `d="`+form) == 0 {
				t.Errorf("%s, %s: no %q in %s", r.Name, r.Status, form, plot)
			}
			if ends := strings.Count(plot, `class="reach `); ends != 4 && ends != 0 && !strings.Contains(plot, "arrow") {
				t.Errorf("%s: an interval of %d lines", r.Name, ends)
			}
			for _, text := range []string{r.Value, r.Status, r.Beside} {
				if !strings.Contains(plot, format.Line(text)) {
					t.Errorf("%s: %q is not read out in %s", r.Name, text, plot)
				}
			}
		}
	}
}

func TestChangeScale(t *testing.T) {
	row := func(low, ratio, high, limit float64) report.Interval {
		return report.Interval{Low: low, Mid: ratio, High: high, Limit: 1 + limit, Above: limit > 0}
	}
	nan := math.NaN()
	for name, list := range map[string][]report.Interval{
		"none": nil, "the same": {row(1, 1, 1, -0.05)}, "tiny": {row(0.9999, 1, 1.0001, 0.0001)}, "fall": {row(0.85, 0.9, 0.95, -0.05)},
		"no interval": {row(nan, 0.9, nan, -0.05)}, "rise": {row(1.2, 1.3, 1.4, 0.1)}, "both": {row(0.6, 0.7, 0.8, -0.05), row(1.1, 1.5, 1.9, 0.05)},
		"far": {row(90, 100, 110, 0.1), row(0.001, 0.01, 0.1, -0.05)}, "nothing left": {row(0, 0.0001, 1, -0.9)}, "limit far out": {row(1, 1, 1, 9)},
		"infinite": {row(0, math.Inf(1), math.Inf(1), 0.1)},
	} {
		s := changeScale(list)
		if !(s.from < 1 && s.to > 1) || math.IsInf(s.to, 0) || !(s.from > 0) {
			t.Errorf("%s: from %v to %v", name, s.from, s.to)
		}
		zeros, last := 0, -1.0
		for _, tick := range s.ticks {
			if tick.at < 0 || tick.at > 1 || tick.at-last < 0.1 {
				t.Errorf("%s: ticks at %v and %v of %q", name, last, tick.at, tick.label)
			}
			if last = tick.at; tick.label == "0" {
				zeros++
			}
		}
		if zeros != 1 || len(s.ticks) < 2 && name != "none" || len(s.ticks) > 9 {
			t.Errorf("%s: %v", name, s.ticks)
		}
		for _, r := range list {
			if r.Limit < s.from || r.Limit > s.to {
				t.Errorf("%s: the limit %v is beyond %v to %v", name, r.Limit, s.from, s.to)
			}
		}
	}
	if s := changeScale([]report.Interval{row(90, 100, 110, 0.1)}); s.to > 2.2 {
		t.Errorf("one change of a hundred times makes a scale to %v", s.to)
	}
}

// TestPlaces: what is true of both sides is said once, and else which side it is true of.
func TestPlaces(t *testing.T) {
	page := comparisonPage(t, comparetest.All()["unlike"])
	_, environment, _ := strings.Cut(page, `<section id="environment">`)
	for label, n := range map[string]int{"server": 0, "machine": 2, "program": 0} {
		_, place, found := strings.Cut(environment, "<dt>"+label+"</dt>")
		place, _, _ = strings.Cut(place, "</dd>")
		if got := strings.Count(place, ">base: ") + strings.Count(place, ">head: "); !found || got != n {
			t.Errorf("%s: %d lines of one side, want %d: %s", label, got, n, place)
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
	few := comparetest.All()["eight"]
	cells := func(verdict compare.Verdict, n int) (all []compare.Cell) {
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
	page := comparisonPage(t, c)
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
	if n := strings.Count(page, `<svg class="rowplot"`); n > 2*178 {
		t.Errorf("%d rows in the charts", n)
	}
	if !strings.Contains(page, "1,700 more rows without a change are left out") {
		t.Error("it is not said what is left out")
	}
	open := unfolded(page)
	if strings.Count(open, `<th scope="row">`) > 4*30 || strings.Count(open, `<svg class="rowplot"`) > 2*30 {
		t.Error("more is open than anybody looks at")
	}
}

func TestHostileComparisonDoesNotRun(t *testing.T) {
	const evil = `"'></script></style><script>alert(1)</script><img src=x onerror=alert(1)>` + "\x00\u202e"
	for _, n := range []int{1, 3} {
		c := comparetest.Of(n, "", func(i int, _ bool, r *results.Record) {
			r.Plan.Driver, r.Plan.Command, r.Env.Revision, r.Server.Name, r.Env.CPU = evil+strconv.Itoa(i), evil, evil, evil, evil
		})
		c.Base.Name, c.Notes, c.Missing, c.Added = evil, []string{evil}, []string{evil}, []string{evil}
		for i := range c.Cells {
			c.Cells[i].Notes = []string{evil}
			for j := range c.Cells[i].Figures {
				c.Cells[i].Figures[j].Why = evil
			}
		}
		var out bytes.Buffer
		if err := Page(&out, report.Comparison(c, evil)); err != nil {
			t.Fatal(err)
		}
		pagetest.Alone(t, out.String(), "summary", "changes", "figures")
		pagetest.Harmless(t, out.String())
	}
}
