package text

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/stats"
)

// crowd returns a comparison of so many cells, four judged figures each: of the first hundred cells one in ten regressed, one in
// ten improved and three in ten are inconclusive, for two reasons; nothing has become of the others.
func crowd(t *testing.T, cells int, label func(i int) string) *compare.Comparison {
	t.Helper()
	limits, err := compare.ParseThresholds("locks/s<-5%,acquire.p99>+10%,acquire.p50>+10%,violations>0")
	if err != nil {
		t.Fatal(err)
	}
	c := &compare.Comparison{Base: compare.Side{Name: "base.jsonl", Trials: 10 * cells}, Head: compare.Side{Name: "head.jsonl", Trials: 10 * cells},
		Alpha: 0.05, Tests: 3 * cells, Verdict: compare.Regressed}
	for i := range cells {
		cell := compare.Cell{Label: label(i), Verdict: compare.Unchanged, Notes: []string{fmt.Sprintf("note %d of a cell", i), "a note of all"}}
		for j := range limits {
			e := stats.Estimate{N: 10, Median: 80_000, Low: 79_000, High: 81_000}
			r := compare.Result{Figure: limits[j].Figure, Threshold: &limits[j], P: 0.5, Verdict: compare.Unchanged,
				Change: stats.Change{Base: e, Head: e, Ratio: 1, Low: 0.99, High: 1.01, P: 0.1}}
			if j == 0 && i < 100 {
				switch i % 10 {
				case 0:
					r.Verdict, r.Change.Ratio, r.P = compare.Regressed, 0.9-0.001*float64(i), 0.001
					r.Why = fmt.Sprintf("fell by %d", i)
				case 1:
					r.Verdict, r.Change.Ratio = compare.Improved, 1.1
				case 2, 3:
					r.Verdict, r.Reason, r.Why = compare.Inconclusive, compare.Scatter, fmt.Sprintf("scatter %d", i)
				case 4:
					r.Verdict, r.Reason, r.Why = compare.Inconclusive, compare.Unmeasured, "the head does not know it"
				}
			}
			cell.Figures = append(cell.Figures, r)
		}
		jain, _ := metric.Named("jain")
		cell.Figures = append(cell.Figures, compare.Result{Figure: jain, P: math.NaN()})
		c.Cells = append(c.Cells, cell)
	}
	c.Cells[cells-1].Notes = append(c.Cells[cells-1].Notes, "1 of 10 trials of the head: mutual exclusion was violated, which the design claims")
	return c
}

func byClients(i int) string { return fmt.Sprintf("clients %d", i) }

// TestCrowd: of thousands of rows the worst are shown and the others counted.
func TestCrowd(t *testing.T) {
	c := crowd(t, 300, byClients)
	var text, all, markdown bytes.Buffer
	if err := Comparison(&text, c, Options{}); err != nil {
		t.Fatal(err)
	}
	pagetest.Golden(t, "compare-crowd.txt", text.String())
	pagetest.Width(t, text.String(), 100)
	if n := strings.Count(text.String(), "\n"); n > 150 {
		t.Errorf("%d lines", n)
	}
	if err := Comparison(&all, c, Options{All: true}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(all.String(), "\nlocks/s < -5%"); n != 300 || strings.Contains(all.String(), "judged figures") {
		t.Errorf("%d of 300 rows", n)
	}
	if !strings.Contains(all.String(), "note 299 of a cell") {
		t.Error("notes are left out of all rows")
	}
	if err := ComparisonMarkdown(&markdown, c); err != nil {
		t.Fatal(err)
	}
	if n := markdown.Len(); n > draw.CommentRoom {
		t.Errorf("%d bytes of Markdown", n)
	}
	for _, want := range []string{"**regressed ", "locks/s in 250 cells, ", "mutual exclusion was violated", "<summary>All 1,500 figures</summary>", " rows more, for which"} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("no %q in the Markdown", want)
		}
	}
}

// TestCrowdWithin: of many rows those that are worse within their limit are not called fine, and those that were asked
// for stay beside them.
func TestCrowdWithin(t *testing.T) {
	c := crowd(t, 300, byClients)
	c.Verdict = compare.Unchanged
	for i := range c.Cells {
		r := &c.Cells[i].Figures[0]
		r.Verdict, r.Reason, r.Why = compare.Unchanged, "", ""
		if i >= 250 {
			r.Why, r.Change.Ratio = fmt.Sprintf("fell by %d", i), 0.97-0.0001*float64(i)
		}
	}
	for figures, rows := range map[bool]int{false: 0, true: 10} {
		var text bytes.Buffer
		if err := Comparison(&text, c, Options{Figures: figures}); err != nil {
			t.Fatal(err)
		}
		for want, n := range map[string]int{
			"  within limit\n": 10, "\nclients 299\n": 1, "\nclients 290\n": 1, "\nclients 289\n": 0,
			"\njain": rows, "needs a look": 0, "1,200 judged figures, the worst of each kind are shown (": 1,
			"\nlocks/s is worse within the limit in 50 of 300 cells: clients 299, ": 1,
			"\nno change in 300 cells · 50 figures worse within the limit\n":        1,
		} {
			if got := strings.Count(text.String(), want); got != n {
				t.Errorf("figures %t: %q is there %d times, want %d", figures, want, got, n)
			}
		}
	}
	var markdown bytes.Buffer
	if err := ComparisonMarkdown(&markdown, c); err != nil {
		t.Fatal(err)
	}
	open, _, _ := strings.Cut(markdown.String(), "<details>")
	if n := strings.Count(open, "| within limit |"); n != 50 || !strings.Contains(open, "- locks/s is worse within the limit in 50 of 300 cells") {
		t.Errorf("%d of 50 rows in the Markdown: %s", n, open)
	}
}

// TestFiguresAreNoCrowd: what makes a comparison long are the figures that somebody has to look at, not those that he
// has asked for.
func TestFiguresAreNoCrowd(t *testing.T) {
	for cells, rows := range map[int]int{15: 15, 16: 10} { // 60 and 64 judged figures; of 16 cells 10 have rows left
		var text bytes.Buffer
		if err := Comparison(&text, crowd(t, cells, byClients), Options{Figures: true}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(text.String(), "\njain"); n != rows {
			t.Errorf("%d cells: %d rows that nobody judges, want %d:\n%s", cells, n, rows, &text)
		}
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
		for _, cells := range []int{1, 15, 70, 300} {
			c := crowd(t, cells, label)
			for i := range c.Cells { // the trials, for what they have in common
				r := record(0)
				r.Server.Version, r.Env.CPU, r.Env.Revision = label(0), label(0), label(0)
				c.Cells[i].Base = []*results.Record{r}
			}
			c.Base.Name, c.Head.Revisions = label(0), []string{label(1), label(2), label(3), label(4), label(5), label(6)}
			for i := range c.Cells {
				c.Cells[i].Notes = append(c.Cells[i].Notes, label(i))
				c.Notes = append(c.Notes, label(i)+" of all")
				c.Cells[i].Figures[1].Verdict, c.Cells[i].Figures[1].Why = compare.Regressed, label(i)
				r := &c.Cells[i].Figures[2]
				r.Verdict, r.Reason, r.Why = compare.Inconclusive, compare.Unlike, label(i)
				c.Missing, c.Added = append(c.Missing, label(i)), append(c.Added, label(i))
			}
			var b bytes.Buffer
			if err := ComparisonMarkdown(&b, c); err != nil {
				t.Fatal(err)
			}
			if b.Len() > draw.CommentRoom {
				t.Errorf("%s, %d cells: %d bytes", name, cells, b.Len())
			}
			if open, closed := strings.Count(b.String(), "<details>"), strings.Count(b.String(), "</details>"); open != closed || open == 0 {
				t.Errorf("%s, %d cells: %d folds begin and %d end", name, cells, open, closed)
			}
			if !strings.HasPrefix(b.String(), "**regressed") || !strings.HasSuffix(b.String(), "</sub>\n") {
				t.Errorf("%s, %d cells: the beginning or the end is lost", name, cells)
			}
			if cut := halfEscapes.FindString(b.String()); cut != "" {
				t.Errorf("%s, %d cells: a text is cut within an escape: %q", name, cells, cut)
			}
		}
	}
}

// halfEscapes are characters that escape leaves only with what belongs to them, in the line where it is missing.
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
		if got := draw.EscapeWithin(c.text, c.most); got != c.want {
			t.Errorf("%q within %d bytes: %q, want %q", c.text, c.most, got, c.want)
		}
	}
}
