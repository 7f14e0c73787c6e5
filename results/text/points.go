package text

// The points of a history: a row each, with a line between two where a step begins; and the same for Markdown and CSV.

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/history"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
)

// points lists the latest points of a series.
func (p *page) points(s *history.Series, last int) error {
	from := firstShown(s, last)
	g := pointGrid(s, from, true)
	if g.Width()+2 > p.width { // without the intervals
		g = g.Keeping(func(col int) bool { return g.Head[col] != "±" })
	}
	if g.Width()+2 > p.width {
		g = g.Keeping(func(col int) bool { return g.Head[col] != "change" })
	}
	lines, err := g.Text()
	if err != nil {
		return err
	}
	const head = 2
	for _, line := range lines[:head] {
		p.add("", "  "+line)
	}
	if from > 0 {
		p.add("", fmt.Sprintf("  … %s before", format.Plural(from, "point")))
	}
	for i, line := range lines[head:] {
		if text, color := stepsAt(s, from+i); text != "" {
			p.add(color, "  "+format.Line(text))
		}
		p.add("", "  "+line)
	}
	return nil
}

func firstShown(s *history.Series, last int) int {
	if last <= 0 {
		return 0
	}
	return max(0, len(s.Points)-last)
}

// stepsAt returns which lines step at a point, and the colour of the worst of them.
func stepsAt(s *history.Series, at int) (text, color string) {
	var parts []string
	for i := range s.Lines {
		l := &s.Lines[i]
		for _, step := range l.Steps {
			if step.At != at {
				continue
			}
			parts = append(parts, fmt.Sprintf("%s %s %s", l.Figure.Name, change(step.Ratio), direction(l, step.Ratio)))
			if color != red {
				color = lossColor(l, step.Ratio)
			}
		}
	}
	if len(parts) == 0 {
		return "", ""
	}
	return "── " + strings.Join(parts, ", ") + " ──", color
}

// pointGrid returns a row a point. Notes are a column that is there only if a point has one.
func pointGrid(s *history.Series, from int, notes bool) grid {
	points := s.Points[from:]
	g := grid{Rows: make([][]string, len(points))}
	add := func(head string, right bool, value func(i int) string) {
		g.Head, g.Right = append(g.Head, head), append(g.Right, right)
		for i := range points {
			g.Rows[i] = append(g.Rows[i], value(from+i))
		}
	}
	date := day
	for i := range points[1:] {
		if day(points[i].Started) == day(points[i+1].Started) {
			date = func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }
		}
	}
	add("date", false, func(i int) string { return date(s.Points[i].Started) })
	add("revision", false, func(i int) string { return cut(revisionName(s.Points[i].Revision), 24) })
	add("n", true, func(i int) string { return strconv.Itoa(s.Points[i].Trials) })
	for j := range s.Lines {
		l := &s.Lines[j]
		add(l.Figure.Name, true, func(i int) string { return l.Figure.Unit.Format(l.Values[i].Median) })
		if slices.ContainsFunc(l.Values[from:], stats.Estimate.Known) {
			add("±", true, func(i int) string { return halfWidth(l.Values[i]) })
		}
		add("change", true, func(i int) string { return change(toPrevious(l, i)) })
	}
	remark := func(i int) string { return pointNotes(s.Points[i]) }
	if notes && slices.ContainsFunc(points, func(p history.Point) bool { return pointNotes(p) != "" }) {
		add("notes", false, remark)
	}
	return g
}

// halfWidth returns how far the interval reaches from the median at the most.
func halfWidth(e stats.Estimate) string {
	if !(e.Low <= e.High) || e.Median <= 0 {
		return format.None
	}
	return strings.TrimPrefix(format.Change(max(e.High/e.Median-1, 1-e.Low/e.Median)), "+")
}

// toPrevious returns the ratio of a point to the last one before it that is known; NaN for the first.
func toPrevious(l *history.Line, at int) float64 {
	for i := at - 1; i >= 0; i-- {
		if v := l.Values[i]; v.N > 0 {
			if v.Median == 0 {
				break
			}
			return l.Values[at].Median / v.Median
		}
	}
	return math.NaN()
}

// pointNotes returns what makes a point's figures doubtful.
func pointNotes(p history.Point) string {
	var words []string
	if p.Violations > 0 {
		words = append(words, format.Plural(p.Violations, "violation"))
	}
	switch {
	case p.Saturated == p.Trials && p.Saturated > 0:
		words = append(words, "saturated")
	case p.Saturated > 0:
		words = append(words, fmt.Sprintf("saturated %d/%d", p.Saturated, p.Trials))
	}
	return strings.Join(words, ", ")
}

// numbered returns the name of a cell behind its number in the table, if there is one.
func numbered(h *history.History, i int, name string) string {
	if len(h.Series) == 1 {
		return name
	}
	return fmt.Sprintf("%d. %s", i+1, name)
}

// unknownHere returns the figures that no trial of a series knows, though some of another does: those that nobody knows are
// said of the whole.
func unknownHere(h *history.History, s *history.Series) []*metric.Metric {
	return slices.DeleteFunc(slices.Clone(s.Unknown), func(f *metric.Metric) bool {
		return slices.ContainsFunc(h.Unknown, func(u *metric.Metric) bool { return u.Name == f.Name })
	})
}

// HistoryMarkdown writes a history as Markdown: the table of all lines, and the points of each cell folded.
func HistoryMarkdown(w io.Writer, h *history.History, o HistoryOptions) error {
	p := &page{}
	names, common := h.Names()
	plain := func(s string) string { return inert(escapeHTML(format.Line(s))) }
	p.add("", format.Plural(len(h.Series), "cell")+": "+strings.Join(extent(h), ", ")+". "+plain(common), "")
	g, _ := summaryGrid(h, names)
	lines, err := inertRows(g).Markdown()
	if err != nil {
		return err
	}
	p.add("", lines...)
	for i, s := range h.Series {
		p.add("", "", "<details><summary>"+plain(fmt.Sprintf("%d. %s", i+1, names[i]))+"</summary>", "")
		for j := range s.Lines {
			l := &s.Lines[j]
			for k := range l.Steps {
				p.add("", "- "+l.Figure.Name+": "+plain(stepLine(s, l, &l.Steps[k])))
			}
			if l.Drifts {
				p.add("", "- "+l.Figure.Name+": "+plain(driftLine(s, l)))
			}
		}
		for _, f := range unknownHere(h, s) {
			p.add("", "- "+f.Name+": "+plain("in no record of this cell: "+cmp.Or(f.WhyUnknown(), "no trial knows it")))
		}
		p.blank()
		points := markSteps(s, firstShown(s, o.Last), pointGrid(s, firstShown(s, o.Last), true))
		if lines, err = inertRows(points).Markdown(); err != nil {
			return err
		}
		p.add("", lines...)
		p.add("", "", "</details>")
	}
	for _, n := range historyNotes(h) {
		p.add("", "", n)
	}
	return p.writeTo(w)
}

// markSteps adds a column that says where steps begin.
func markSteps(s *history.Series, from int, g grid) grid {
	g.Head, g.Right = append(g.Head, "step"), append(g.Right, false)
	for i := range g.Rows {
		text, _ := stepsAt(s, from+i)
		g.Rows[i] = append(g.Rows[i], strings.Trim(text, "─ "))
	}
	return g
}

func escapeHTML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
