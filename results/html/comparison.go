package html

// A comparison as a page: what came out in a sentence, how far each figure has moved against its limit, then every figure
// with its reason.

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/render"
	"github.com/lockbench/lockbench/results/view"
)

// WriteComparison writes a comparison. The same one makes the same bytes. Whatever regressed, improved, is inconclusive
// or is worse within its limit has its row in a table; of what has not changed, and of figures that no threshold
// judges, there are a few hundred rows at the most, and it is said how many there are no more of.
//
// It fails if there are no cells, or with the error of w, to which nothing is written until the page is whole.
func WriteComparison(w io.Writer, c *compare.Comparison, o Options) error {
	if len(c.Cells) == 0 {
		return errors.New("html: no cells")
	}
	return writePage(w, "comparison.html", newContest(c).page(o))
}

// comparison is all that the page says.
type comparison struct {
	Title, Mark, Class   string
	Sides                []sideLine
	Key                  []verdictCount
	Takeaways            []finding
	Criteria             []view.Item
	Charts               []forest
	Uncharted            int // judged figures without a change in percent
	Notes                []string
	CellNotes, MoreNotes []cellNote
	Missing, Added       lone
	Tables, Unjudged     []changeTable
	Tested               string
	Paired               bool
	Places               []sidedPlace
	Commands             []command
	Left                 int // commands that are not shown
	Command              string
	Open                 bool // the figures that no threshold judges are
	Several, Turned      bool // cells; a figure whose change is drawn beyond the scale
}

func (c *comparison) title() string { return c.Title }

// Noted tells whether there is anything to note.
func (c *comparison) Noted() bool {
	return len(c.Notes)+len(c.CellNotes)+len(c.Missing.Names)+len(c.Added.Names) > 0
}

// UnchartedText says what no chart of changes can show.
func (c *comparison) UnchartedText() string {
	return fmt.Sprintf("%s judged by the head's own value, or %s no change in percent: see the tables.",
		format.Verb(c.Uncharted, "figure is", "figures are"), map[bool]string{true: "has", false: "have"}[c.Uncharted == 1])
}

// verdictCount is how many cells, or figures of a single one, have a verdict.
type verdictCount struct{ Count, Mark, Word, Class string }

// cellNote is what holds for one cell alone.
type cellNote struct {
	Name  string
	Notes []string
}

// lone are cells of one side that have no partner on the other.
type lone struct {
	Names []string
	More  int
}

// contest is what all parts of the page are drawn from.
type contest struct {
	*compare.Comparison
	names  []string    // of cells; empty if there is only one
	judged []judgement // what is judged by one threshold, the worst first
	shown  []judgement // figures that none judges
	counts map[compare.Verdict]int
}

// judgement are the results of all cells for one threshold, or for one figure that none judges; the worst first.
type judgement struct {
	figure    *metric.Metric
	threshold *compare.Threshold
	verdict   compare.Verdict // the worst of them
	results   []judged
}

// judged is one result and its cell.
type judged struct {
	cell int
	*compare.Result
}

func newContest(c *compare.Comparison) *contest {
	t := &contest{Comparison: c, counts: map[compare.Verdict]int{}}
	at := map[string]*judgement{}
	var order []*judgement
	for i, cell := range c.Cells {
		t.names = append(t.names, format.Line(cell.Label))
		t.counts[cell.Verdict]++
		for j := range cell.Figures {
			r := &c.Cells[i].Figures[j]
			key := r.Figure.Name
			if r.Threshold != nil {
				key = render.Limit(r.Threshold)
			}
			g := at[key]
			if g == nil {
				g = &judgement{figure: r.Figure, threshold: r.Threshold, verdict: r.Verdict}
				at[key] = g
				order = append(order, g)
			}
			g.verdict = worse(g.verdict, r.Verdict)
			g.results = append(g.results, judged{i, r})
		}
	}
	for _, g := range order {
		slices.SortStableFunc(g.results, worstFirst)
		if g.threshold == nil {
			t.shown = append(t.shown, *g)
		} else {
			t.judged = append(t.judged, *g)
		}
	}
	slices.SortStableFunc(t.judged, func(a, b judgement) int {
		// Of what has regressed, a lock that does not exclude comes before one that is slow.
		safe := func(g judgement) int { return b2i(g.figure.Name != "violations" || g.verdict != compare.Regressed) }
		return cmp.Or(cmp.Compare(rank(a.verdict), rank(b.verdict)), cmp.Compare(safe(a), safe(b)))
	})
	if t.single() { // then what counts are its figures
		clear(t.counts)
		for _, g := range t.judged {
			t.counts[g.verdict]++
		}
	}
	return t
}

func (t *contest) single() bool { return len(t.Cells) == 1 }

// rank is the place of a verdict among all of them, the worst first.
func rank(v compare.Verdict) int {
	if i := slices.Index(compare.Verdicts, v); i >= 0 {
		return i
	}
	return len(compare.Verdicts)
}

func worse(a, b compare.Verdict) compare.Verdict {
	if rank(b) < rank(a) {
		return b
	}
	return a
}

// worstFirst is the order of compare.Worse. What nobody judges begins with what has moved the most, in the bad direction if
// there is one, and what has not changed with what has a place in a chart.
func worstFirst(a, b judged) int {
	switch {
	case a.Threshold == nil:
		x, y := a.badness(), b.badness()
		return cmp.Or(cmp.Compare(b2i(math.IsNaN(x)), b2i(math.IsNaN(y))), cmp.Compare(y, x))
	case a.Verdict == compare.Unchanged && b.Verdict == compare.Unchanged && a.charted() != b.charted():
		return cmp.Compare(b2i(b.charted()), b2i(a.charted()))
	}
	return compare.Worse(a.Result, b.Result)
}

// badness is how far a figure has moved in the bad direction, or in any if none is, as the logarithm of a ratio.
func (r judged) badness() float64 {
	moved := math.Log(r.Change.Ratio)
	switch r.Figure.Better {
	case metric.Higher:
		return -moved
	case metric.Neither:
		return math.Abs(moved)
	}
	return moved
}

// name is that of the result's cell, or of its figure where there is only one cell.
func (t *contest) name(r judged) string {
	switch {
	case !t.single():
		return t.names[r.cell]
	case r.Threshold != nil:
		return render.Limit(r.Threshold)
	}
	return r.Figure.Name
}

func (t *contest) page(o Options) *comparison {
	c := &comparison{
		Title: cmp.Or(o.Title, t.headline()), Mark: mark(t.Verdict), Class: class(t.Verdict),
		Sides: t.sides(), Key: t.tallies(), Takeaways: t.takeaways(), Criteria: t.criteria(),
		Charts: t.forests(), Tables: t.tables(t.judged), Unjudged: t.tables(t.shown), Tested: render.Tested(t.Comparison), Paired: t.Paired,
		Missing: alone(t.Missing), Added: alone(t.Added), Places: t.places(), Command: o.Command, Open: o.Figures, Several: !t.single(),
	}
	for _, note := range t.Notes {
		c.Notes = append(c.Notes, begun(format.Line(note)))
	}
	c.CellNotes, c.MoreNotes = t.cellNotes()
	c.Commands, c.Left = t.commands()
	for _, g := range t.judged {
		for _, r := range g.results {
			c.Uncharted += b2i(!r.charted())
		}
	}
	for _, f := range c.Charts {
		c.Turned = c.Turned || f.turned
	}
	return c
}

// begun is a sentence with its first letter in upper case, unless that is the name of a figure.
func begun(s string) string {
	if word, _, _ := strings.Cut(s, " "); strings.ContainsAny(word, "./-") {
		return s
	}
	return format.Upper(s)
}

const shownNotes = 6 // cells whose notes are open

func (t *contest) cellNotes() (shown, more []cellNote) {
	for i, cell := range t.Cells {
		if len(cell.Notes) == 0 {
			continue
		}
		n := cellNote{Name: t.names[i]}
		for _, text := range cell.Notes {
			n.Notes = append(n.Notes, begun(format.Line(text)))
		}
		if len(shown) < shownNotes {
			shown = append(shown, n)
		} else {
			more = append(more, n)
		}
	}
	return shown, more
}

const shownLone = 20 // cells without a partner

func alone(labels []string) lone {
	l := lone{}
	for i, label := range labels {
		if i == shownLone {
			l.More = len(labels) - i
			break
		}
		l.Names = append(l.Names, cmp.Or(format.Line(label), "the only cell"))
	}
	return l
}

// criteria are what the verdicts were come to by.
func (t *contest) criteria() (all []view.Item) {
	say := func(label string, lines ...string) { all = append(all, view.Item{Label: label, Lines: lines}) }
	var limits []string
	for _, g := range t.judged {
		limits = append(limits, glued(render.Limit(g.threshold)))
	}
	say("must not be", strings.Join(limits, " · "))
	alpha := fmt.Sprintf("%v", t.Alpha)
	if t.Tests > 0 {
		alpha += fmt.Sprintf(": if nothing has changed, at most %s in 100 such comparisons report a regression. %s", trim(100*t.Alpha),
			format.Plural(t.Tests, "test")+map[bool]string{false: " of Mann and Whitney", true: " of signed ranks (Wilcoxon)"}[t.Paired])
		if t.Tests > 1 {
			alpha += ", corrected for their number (Holm)"
		}
		alpha += "."
	}
	say("alpha", alpha)
	if text := render.Alike(t.Comparison); text != "" {
		say("measured", text)
	}
	return all
}
