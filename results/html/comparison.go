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
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/text"
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
	return writePage(w, "comparison.html", newTwoSides(c).page(o))
}

// comparison is all that the page says.
type comparison struct {
	Title, Mark, Class   string
	Short                string // title of the window
	Sides                []sideLine
	Key                  []verdictCount
	Takeaways            []view.Finding
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

func (c *comparison) title() string { return c.Short }

// Noted reports whether there is anything to note.
func (c *comparison) Noted() bool {
	return len(c.Notes)+len(c.CellNotes)+len(c.Missing.Names)+len(c.Added.Names) > 0
}

// UnchartedText returns what no chart of changes can show.
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

// twoSides is what all parts of the page are drawn from.
type twoSides struct {
	*compare.Comparison
	names         []string // of cells; empty if there is only one
	judged, shown []judgement
}

// judgement and judged are those of package compare, as the page draws them.
type judgement struct {
	compare.Judgement
	results []judged
}

type judged struct{ compare.Judged }

func newTwoSides(c *compare.Comparison) *twoSides {
	t := &twoSides{Comparison: c}
	for _, cell := range c.Cells {
		t.names = append(t.names, format.Line(cell.Label))
	}
	drawn := func(list []compare.Judgement) (all []judgement) {
		for _, g := range list {
			one := judgement{Judgement: g}
			for _, r := range g.Results {
				one.results = append(one.results, judged{r})
			}
			slices.SortStableFunc(one.results, inOrder)
			all = append(all, one)
		}
		return all
	}
	j, s := c.Judgements()
	t.judged, t.shown = drawn(j), drawn(s)
	return t
}

func (t *twoSides) single() bool { return len(t.Cells) == 1 }

// inOrder keeps the order of judged results, but that what has not changed begins with what has a place in a chart. What
// nobody judges begins with what has moved the most, in the bad direction if there is one.
func inOrder(a, b judged) int {
	switch {
	case a.Threshold == nil:
		return cmp.Compare(b.badness(), a.badness()) // what is not known is less than all else
	case !a.Quiet() || !b.Quiet() || a.charted() == b.charted():
		return 0
	case a.charted():
		return -1
	}
	return 1
}

// badness returns how far a figure has moved in the bad direction, or in any if none is, as the logarithm of a ratio.
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

// name returns that of the result's cell, or of its figure where there is only one cell.
func (t *twoSides) name(r judged) string {
	switch {
	case !t.single():
		return t.names[r.Cell]
	case r.Threshold != nil:
		return r.Threshold.Limit()
	}
	return r.Figure.Name
}

func (t *twoSides) page(o Options) *comparison {
	c := &comparison{
		Title: cmp.Or(o.Title, format.Upper(format.Line(t.Headline()))), Short: cmp.Or(o.Title, t.short()), Mark: mark(t.Verdict), Class: class(t.Verdict),
		Sides: t.lines(), Key: t.tallies(), Takeaways: cleanFindings(t.Findings()), Criteria: t.criteria(),
		Charts: t.forests(), Tables: t.tables(t.judged), Unjudged: t.tables(t.shown), Tested: text.Tested(t.Comparison), Paired: t.Paired,
		Missing: alone(t.Missing), Added: alone(t.Added), Places: t.places(), Command: o.Command, Open: o.Figures, Several: !t.single(),
	}
	for _, note := range t.Notes {
		c.Notes = append(c.Notes, begun(format.Line(note)))
	}
	c.CellNotes, c.MoreNotes = t.cellNotes()
	c.Commands, c.Left = t.commands()
	for _, g := range t.judged {
		for _, r := range g.results {
			if !r.charted() {
				c.Uncharted++
			}
		}
	}
	for _, f := range c.Charts {
		c.Turned = c.Turned || f.turned
	}
	return c
}

// short returns what came out in a word, and of which sides.
func (t *twoSides) short() string {
	const most = 24 // letters of a name
	return fmt.Sprintf("%s: %s → %s", format.Upper(string(t.Verdict)), shorten(format.Line(t.Base.Name), most), shorten(format.Line(t.Head.Name), most))
}

// begun returns a sentence with its first letter in upper case, unless that is the name of a figure.
func begun(s string) string {
	if word, _, _ := strings.Cut(s, " "); strings.ContainsAny(word, "./-") {
		return s
	}
	return format.Upper(s)
}

const shownNotes = 6 // cells whose notes are open

func (t *twoSides) cellNotes() (shown, more []cellNote) {
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

// criteria returns what the verdicts were come to by.
func (t *twoSides) criteria() (all []view.Item) {
	say := func(label string, lines ...string) { all = append(all, view.Item{Label: label, Lines: lines}) }
	var limits []string
	for _, g := range t.judged {
		limits = append(limits, glued(g.Threshold.Limit()))
	}
	say("must not be", strings.Join(limits, " · "))
	alpha := fmt.Sprintf("%v", t.Alpha)
	if t.Tests > 0 {
		alpha += fmt.Sprintf(": if nothing has changed, at most %s in 100 such comparisons report a regression. %s", plot.Trim(100*t.Alpha),
			format.Plural(t.Tests, "test")+map[bool]string{false: " of Mann and Whitney", true: " of signed ranks (Wilcoxon)"}[t.Paired])
		if t.Tests > 1 {
			alpha += ", corrected for their number (Holm)"
		}
		alpha += "."
	}
	say("alpha", alpha)
	if text := text.Alike(t.Comparison); text != "" {
		say("measured", text)
	}
	return all
}
