package html

// The chart of the changes: a row for each cell and figure, the change with its interval against the limit (a forest
// plot). Ratios are drawn on a logarithmic scale, on which half and double are equally far from no change.

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/text"
)

const (
	openForest   = 28  // rows of a chart that hides none
	foldedForest = 150 // rows below the fold; the table has the others
)

// forest is the chart of one threshold over all cells, or of all figures of one cell.
type forest struct {
	Title, About string
	Rows, More   []forestRow
	Axis         template.HTML
	Quiet        string // said in place of rows
	Summary      string // of the fold
	Left         int    // rows that are in the table alone
	turned       bool   // a change lies beyond the scale
}

type forestRow struct {
	Name, Link    string
	Mark, Verdict string
	Class         string
	Plot          template.HTML
	Value, Beside string
}

// charted reports whether a result has a place in a chart of changes.
func (r judged) charted() bool {
	return r.Change.Ratio > 0 && !math.IsInf(r.Change.Ratio, 0) && (r.Threshold == nil || r.Threshold.Relative)
}

func (t *twoSides) forests() (all []forest) {
	if t.single() {
		g := judgement{}
		for _, of := range [][]judgement{t.judged, t.shown} {
			for _, one := range of {
				g.results = append(g.results, one.results...)
			}
		}
		if f := t.forest(g, ""); len(f.Rows) > 0 {
			all = append(all, f)
		}
		return all
	}
	for _, g := range t.judged {
		if !g.Threshold.Relative {
			continue
		}
		f := t.forest(g, g.Metric.Name)
		f.About = format.Upper(g.Metric.About)
		if better := betterWhen(g.Metric); better != "" {
			f.About += "; " + better
		}
		f.About += ". The limit is " + g.Threshold.Allowed() + "."
		if len(f.Rows)+len(f.More) > 0 {
			all = append(all, f)
		}
	}
	return all
}

// forest draws results, which have one scale.
func (t *twoSides) forest(g judgement, title string) forest {
	f := forest{Title: title}
	var drawn []judged
	for _, r := range g.results {
		if r.charted() {
			drawn = append(drawn, r)
		}
	}
	s := changeScale(drawn)
	f.Axis = axis(s)
	for i, r := range drawn {
		if i == openForest+foldedForest {
			break
		}
		row, turned := t.forestRow(r, s)
		f.turned = f.turned || turned
		f.Rows = append(f.Rows, row)
	}
	f.Left = len(drawn) - len(f.Rows)
	if len(drawn) > openForest {
		f.fold(drawn)
	}
	return f
}

// fold leaves open what has regressed, improved, is inconclusive or is worse within its limit, as far as there is room.
func (f *forest) fold(drawn []judged) {
	open := 0
	for open < min(shownRows, len(f.Rows)) && !drawn[open].Quiet() {
		open++
	}
	f.Rows, f.More = f.Rows[:open:open], f.Rows[open:]
	f.Summary = format.Plural(len(f.More), "more row")
	if open == 0 {
		f.Quiet = fmt.Sprintf("None of %s regressed, improved or is inconclusive.", format.Plural(len(drawn), "cell"))
		f.Summary = format.Plural(len(f.More), "row")
	}
	if f.Left > 0 {
		f.Summary += fmt.Sprintf(" of the %s others", format.Count(int64(len(drawn)-open)))
	}
}

func (t *twoSides) forestRow(r judged, s plot.Scale) (row forestRow, turned bool) {
	d := draw.Drawing{Height: rowHeight}
	const mid = rowHeight / 2
	if l := r.Threshold; l != nil {
		from, to := s.At(1+l.Value), 1.0
		if l.Less {
			from, to = 0, s.At(1+l.Value)
		}
		d.Rect("beyond", from, 0, to, rowHeight)
	}
	for _, tick := range s.Ticks {
		d.Line("grid", tick.At, 0, tick.At, rowHeight)
	}
	if l := r.Threshold; l != nil {
		d.Line("limit", s.At(1+l.Value), 0, s.At(1+l.Value), rowHeight)
	}
	d.Line("zero", s.At(1), 0, s.At(1), rowHeight)
	look := class(r.Verdict)
	c := r.Change
	for _, end := range []float64{c.Low, c.High} {
		if math.IsNaN(end) {
			continue
		}
		d.Line("reach "+look, s.At(c.Ratio), mid, s.At(end), mid)
		if end >= s.From && end <= s.To {
			d.Line("reach "+look, s.At(end), mid-4, s.At(end), mid+4)
			continue
		}
		turned = true
		d.Sign("sign arrow "+look, s.At(end), mid, arrow(end > s.To))
	}
	switch {
	case c.Ratio < s.From || c.Ratio > s.To:
		turned = true
		d.Sign("sign arrow "+look, s.At(c.Ratio), mid, arrow(c.Ratio > s.To))
	default:
		d.Sign("sign "+look, s.At(c.Ratio), mid, shape(r.Verdict))
	}
	row = forestRow{Name: t.name(r), Link: anchor(r), Class: look, Mark: mark(r.Verdict), Verdict: text.Verdict(r.Result),
		Value: format.Change(c.Ratio - 1)}
	var beside []string
	if !math.IsNaN(c.Low) {
		beside = append(beside, glued(text.ChangeInterval(c)))
	}
	if row.Verdict == "" {
		row.Verdict = "not judged"
	} else if !math.IsNaN(r.P) {
		beside = append(beside, glued("p "+text.P(r.Result)))
	}
	row.Beside = strings.Join(beside, " · ")
	text := row.Value
	if row.Beside != "" {
		text += " (" + row.Beside + ")"
	}
	row.Plot = d.SVG("rowplot", sentence(row.Name, text, row.Verdict), "", 0)
	return row, turned
}

// shape returns what a verdict looks like, ten pixels wide: a cross, a ring, a triangle, a dot. What is
// not judged is a stroke.
func shape(v compare.Verdict) string {
	switch v {
	case compare.Regressed:
		return "M-5 -5L5 5M-5 5L5 -5"
	case compare.Inconclusive:
		return "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z"
	case compare.Improved:
		return "M0 -6L5.5 4.5L-5.5 4.5Z"
	case "":
		return "M0 -5L0 5"
	}
	return "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z"
}

// arrow points at what lies beyond the scale.
func arrow(right bool) string {
	if right {
		return "M-7 -5L0 0L-7 5Z"
	}
	return "M7 -5L0 0L7 5Z"
}

// anchor returns the place of a result in the tables.
func anchor(r judged) string {
	what := r.Figure.Name
	if r.Threshold != nil {
		what = r.Threshold.String()
	}
	id := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '.':
			return c
		case c == '<':
			return 'L'
		case c == '>':
			return 'G'
		case c == '%':
			return 'P'
		}
		return '-'
	}, what)
	return fmt.Sprintf("cell-%d-%s", r.Cell+1, id)
}

// farthest is how far a scale of changes goes at the most, if the limits do not lie beyond that: to half and to double.
// One cell that takes ten times as long would make all others look unchanged.
const farthest = 2.0

// changeScale spans the changes, their intervals and the limits, with no change always among them.
func changeScale(list []judged) plot.Scale {
	least, most, room := 0.0, 0.0, math.Log(farthest)
	take := func(ratio float64) {
		if l := math.Log(ratio); !math.IsNaN(l) && !math.IsInf(l, 0) {
			least, most = math.Min(least, l), math.Max(most, l)
		}
	}
	for _, r := range list {
		take(r.Change.Ratio)
		take(r.Change.Low)
		take(r.Change.High)
		if l := r.Threshold; l != nil {
			take(1 + l.Value)
			room = math.Max(room, 1.5*math.Abs(math.Log(1+l.Value)))
		}
	}
	least, most = math.Max(least, -room), math.Min(most, room)
	if most-least < 0.02 {
		least, most = least-0.01, most+0.01
	}
	pad := 0.06 * (most - least)
	s := plot.Scale{From: math.Exp(least - pad), To: math.Exp(most + pad), Log: true}
	s.Ticks = changeTicks(s)
	return s
}

// changeTicks go outward from no change, in round percentages and as many as there is room for on a telephone.
func changeTicks(s plot.Scale) []plot.Tick {
	const apart = 0.16 // of the width
	zero := s.At(1)
	var below, above []plot.Tick
	for _, step := range []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 25, 50, 100} {
		if s.At(1+step/100)-zero < apart && s.At(1+2*step/100) < 0.97 || zero-s.At(1-step/100) < apart && s.At(1-2*step/100) > 0.03 {
			continue // there would be more of them than there is room for
		}
		last := zero
		for v := step; 1+v/100 < s.To && len(above) < 20; v += step {
			if at := s.At(1 + v/100); at-last >= apart && at < 0.97 {
				above, last = append(above, plot.Tick{At: at, Label: changeLabel(v)}), at
			}
		}
		last = zero
		for v := step; v < 100 && 1-v/100 > s.From; v += step {
			if at := s.At(1 - v/100); last-at >= apart && at > 0.03 {
				below, last = append([]plot.Tick{{At: at, Label: changeLabel(-v)}}, below...), at
			}
		}
		break
	}
	return append(append(below, plot.Tick{At: zero, Label: "0"}), above...)
}

func changeLabel(percent float64) string {
	sign := "+"
	if percent < 0 {
		sign = "−"
	}
	return sign + plot.Trim(math.Abs(percent)) + " %"
}
