package text

// A comparison for a terminal: each figure on both sides, what became of it, and what that means.

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// Comparison writes c for a terminal: a row for each figure, under the name of its cell if there are several, then what a
// reader must know, what the verdicts are for, and at the end the verdict of the whole. Figures that no threshold judges
// are left out if there are several cells, unless Options.Figures asks for them. When the rows are too wide, the intervals
// of the two sides go first, then that of the change. Of more than fullRows rows it shows the worst and counts the others,
// unless Options.All asks for them.
func Comparison(w io.Writer, c *compare.Comparison, o Options) error {
	p := &page{width: o.Width, color: o.Color}
	if p.width <= 0 {
		p.width = defaultWidth
	}
	t := newComparison(c, o.Figures)
	most := fullNotes
	if o.All {
		most = math.MaxInt
	} else {
		t.shorten(fullRows)
	}
	p.para(bold, "", t.title())
	if o.Plan {
		p.para("", "", t.measured())
	}
	p.blank()
	if len(t.rows) > 0 {
		if err := p.comparison(t); err != nil {
			return err
		}
		p.blank()
	}
	if text := t.left("-all-rows shows every one"); text != "" {
		p.para("", "", text)
		p.blank()
	}
	for _, line := range t.below(most) {
		p.para("", "", line)
	}
	if p.lines[len(p.lines)-1] != "" {
		p.blank()
	}
	p.verdict(t)
	return p.writeTo(w)
}

// comparison is what a comparison shows, before it takes a format.
type comparison struct {
	*compare.Comparison
	rows   []figureRow
	hidden []figureRow // that are left out; see shorten
}

// figureRow is one figure of one cell.
type figureRow struct {
	cell int
	*compare.Result
}

func newComparison(c *compare.Comparison, all bool) *comparison {
	t := &comparison{Comparison: c}
	all = all || len(c.Cells) == 1
	for i := range c.Cells {
		for j := range c.Cells[i].Figures {
			if r := &c.Cells[i].Figures[j]; all || r.Threshold != nil {
				t.rows = append(t.rows, figureRow{i, r})
			}
		}
	}
	return t
}

// title returns what is compared with what.
func (t *comparison) title() string {
	of := func(s compare.Side, other string) string {
		parts := []string{format.Plural(s.Trials, "trial")}
		if text := format.Few(s.Revisions, named); text != other {
			parts = append([]string{text}, parts...)
		}
		return strings.TrimPrefix(format.Clean(s.Name)+format.Unbroken, format.Unbroken) + "(" + format.Join(parts...) + ")"
	}
	b, h := t.Base, t.Head
	if b.Name == h.Name { // both sides of one run
		b.Name, h.Name = "", ""
		return format.Clean(t.Base.Name) + ": base " + of(b, format.Few(h.Revisions, named)) + " → head " + of(h, format.Few(b.Revisions, named))
	}
	return "base " + of(b, format.Few(h.Revisions, named)) + " → head " + of(h, format.Few(b.Revisions, named))
}

// measured returns what all trials of both sides have in common.
func (t *comparison) measured() string {
	var cells []*results.Cell
	for _, c := range t.Cells {
		for _, r := range slices.Concat(c.Base, c.Head) {
			cells = append(cells, &results.Cell{Trials: []*results.Record{r}})
		}
	}
	if len(cells) == 0 {
		return ""
	}
	return view.InCommon(cells)
}

// The parts of a row, in the order in which they go when there is no room for them.
const (
	withSpread = 1 << iota
	withInterval
)

// grid returns the table with those parts.
func (t *comparison) grid(parts int) (g grid) {
	g.Rows = make([][]string, len(t.rows))
	add := func(head string, right bool, value func(r figureRow) string) {
		g.Head, g.Right = append(g.Head, head), append(g.Right, right)
		for i, r := range t.rows {
			g.Rows[i] = append(g.Rows[i], value(r))
		}
	}
	add("figure", false, func(r figureRow) string {
		if r.Threshold == nil {
			return r.Figure.Name
		}
		return r.Threshold.Limit()
	})
	side := func(of func(c stats.Change) stats.Estimate) func(r figureRow) string {
		return func(r figureRow) string {
			if parts&withSpread != 0 {
				return Spread(r.Figure, of(r.Change))
			}
			return r.Figure.Unit.Format(of(r.Change).Median)
		}
	}
	add("base", true, side(func(c stats.Change) stats.Estimate { return c.Base }))
	add("head", true, side(func(c stats.Change) stats.Estimate { return c.Head }))
	add("change", true, func(r figureRow) string { return format.Change(r.Change.Ratio - 1) })
	if parts&withInterval != 0 {
		add("95 % interval", true, func(r figureRow) string { return ChangeInterval(r.Change) })
	}
	add("p", true, func(r figureRow) string { return P(r.Result) })
	add("", false, func(r figureRow) string { return Verdict(r.Result) })
	return g
}

// comparison lays the table out, each cell's rows below its name.
func (p *page) comparison(t *comparison) error {
	parts := withInterval | withSpread
	for drop := 1; parts != 0 && t.grid(parts).Width() > p.width; drop <<= 1 {
		parts &^= drop
	}
	lines, err := t.grid(parts).Text()
	if err != nil {
		return err
	}
	const head = 2 // the titles and a rule
	p.add(bold, lines[:head]...)
	last := -1
	for i, line := range lines[head:] {
		r := t.rows[i]
		if r.cell != last && t.Cells[r.cell].Label != "" {
			p.para(bold, "", t.Cells[r.cell].Label)
		}
		last = r.cell
		p.add(colour(r.Verdict), line)
	}
	return nil
}

// colour returns that of a verdict.
func colour(v compare.Verdict) string {
	switch v {
	case compare.Regressed:
		return red
	case compare.Inconclusive:
		return yellow
	case compare.Improved:
		return green
	}
	return ""
}

// below returns what the table needs said: why figures are judged as they are, what holds for a cell or for all, and how to read it.
func (t *comparison) below(notes int) (lines []string) {
	for _, f := range t.Findings() {
		lines = append(lines, f.Lead+" "+f.Text)
	}
	lines = append(lines, t.notes(notes)...)
	if few := t.fewest(); few > 0 && few < stats.MinTrials {
		lines = append(lines, fmt.Sprintf("An interval of a median takes %d trials.", stats.MinTrials))
	}
	if t.Tests > 0 {
		lines = append(lines, t.tested())
	}
	return lines
}

// tested returns what p is.
func (t *comparison) tested() string {
	text := "p: Mann-Whitney"
	if t.Paired {
		text = "p: Wilcoxon's signed ranks, as the sides took turns"
	}
	if t.Tests > 1 {
		text += fmt.Sprintf(", adjusted for %s tests (Holm)", format.Count(t.Tests))
	}
	text += fmt.Sprintf("; a regression takes p < %s, so that a comparison in which nothing has changed reports one at most that often.",
		strconv.FormatFloat(t.Alpha, 'g', 3, 64))
	if slices.ContainsFunc(t.rows, func(r figureRow) bool { return r.Threshold == nil }) {
		text += " In brackets: not judged, and not adjusted."
	}
	return text
}

// fewest returns the least number of trials of a side of a cell.
func (t *comparison) fewest() int {
	least := math.MaxInt
	for _, c := range t.Cells {
		least = min(least, len(c.Base), len(c.Head))
	}
	return least
}

// verdict ends the page: what came out, in a line.
func (p *page) verdict(t *comparison) {
	color := colour(t.Verdict)
	if color == "" {
		color = bold
	}
	p.para(color, "", t.Headline())
}
