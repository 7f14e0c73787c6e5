package report

// The document of a history: the figures of each cell over revisions, and where they changed.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/history"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// History returns what a history says: a row a line first, if there are several cells, and then cell by cell its course, its steps
// and its latest points, so many or for 0 all. Steps and courses are of all points.
func History(h *history.History, last int) *Document {
	names, common := h.Names()
	d := &Document{Kind: "lockbench history", Title: historyVerdict(h, names)}
	d.add(Paragraph{Text: format.Plural(len(h.Series), "cell") + ": " + strings.Join(extent(h), ", ") + "."}, Paragraph{Text: common})
	if len(h.Series) > 1 {
		d.add(historySummary(h, names))
	}
	cells := Section{ID: "cells", Title: "Cell by cell"}
	for i, s := range h.Series {
		one := historyCell(h, s, last)
		one.ID, one.Title = seriesID(i), numbered(h, i, names[i])
		cells.Blocks = append(cells.Blocks, one)
	}
	if len(h.Series) > 1 {
		d.add(cells)
	} else {
		d.add(cells.Blocks...)
	}
	var notes []Block
	for _, text := range historyNotes(h) {
		notes = append(notes, note(text))
	}
	d.add(section("notes", "How to read it", notes...))
	return d
}

// historyVerdict says how many figures are worse since their last step, and where the worst of them fell.
func historyVerdict(h *history.History, names []string) string {
	worse, told, loss, worst := 0, 0, 0.0, ""
	for i, s := range h.Series {
		for j := range s.Lines {
			l := &s.Lines[j]
			if l.Missing == 0 {
				told++
			}
			step := l.LastStep()
			if step == nil || lossTone(l, step.Ratio) != Bad {
				continue
			}
			worse++
			if its := l.Loss(step.Ratio); its > loss {
				point := s.Points[step.At]
				loss, worst = its, fmt.Sprintf("%s of %s, %s at %s on %s", l.Figure.Name, names[i], change(step.Ratio),
					format.Cut(revisionName(point.Revision), 24), day(point.Started))
			}
		}
	}
	switch {
	case told == 0:
		return "Too few points to tell whether a figure has changed"
	case worse == 0:
		return "No figure got worse at its last step"
	}
	return fmt.Sprintf("%s got worse at the last step, most of all %s", format.Plural(worse, "figure"), worst)
}

func seriesID(i int) string { return "cell-" + strconv.Itoa(i+1) }

// extent returns how much there is.
func extent(h *history.History) []string {
	revisions := map[string]bool{}
	var first, last time.Time
	points := 0
	for _, s := range h.Series {
		points += len(s.Points)
		for _, p := range s.Points {
			revisions[p.Revision] = true
			if first.IsZero() || p.Started.Before(first) {
				first = p.Started
			}
			if p.Started.After(last) {
				last = p.Started
			}
		}
	}
	parts := []string{format.Plural(h.Records, "trial"), format.Plural(points, "point"), format.Plural(len(revisions), "revision")}
	if h.Machines > 1 {
		parts = append(parts, format.Plural(h.Machines, "machine"))
	}
	if day(first) == day(last) {
		return append(parts, day(first))
	}
	return append(parts, day(first)+" to "+day(last))
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// historySummary has a row a line, those of a cell together, the worst cell first.
func historySummary(h *history.History, names []string) Table {
	t := Table{Caption: "Each figure of each cell", Columns: []Column{
		{Title: "cell", Left: true}, {Title: "figure", Left: true}, {Title: "points"}, {Title: "latest"}, {Title: "last step"}, {Title: "at", Left: true}, {Title: "on", Left: true}, {Title: "steps"}, {Title: "drift"},
	}}
	for i, s := range h.Series {
		name := Value{Text: fmt.Sprintf("%d. %s", i+1, names[i]), Link: seriesID(i)}
		add := func(tone Tone, texts ...string) {
			t.Rows, name = append(t.Rows, Row{Cells: append([]Value{name}, values(texts...)...), Tone: tone}), Value{}
		}
		for j := range s.Lines {
			l := &s.Lines[j]
			latest, drift, steps := l.Figure.Unit.Format(l.Values[l.Latest()].Median), format.None, strconv.Itoa(len(l.Steps))
			changed, at, on := format.None, "", ""
			tone := Plain
			if step := l.LastStep(); step != nil {
				point := s.Points[step.At]
				changed, at, on = change(step.Ratio), format.Cut(revisionName(point.Revision), 24), day(point.Started)
				tone = lossTone(l, step.Ratio)
			}
			if l.Missing > 0 {
				steps = "too few"
			}
			if l.Drifts {
				drift = change(l.Drifted())
				if tone != Bad {
					tone = lossTone(l, l.Drifted())
				}
			}
			add(tone, l.Figure.Name, format.Count(int64(pointsOf(l))), latest, changed, at, on, steps, drift)
		}
		if len(s.Lines) == 0 { // or its number would stand nowhere
			add(Plain, format.None, "0", format.None, format.None, "", "", "0", format.None)
		}
	}
	return t
}

// lossTone is bad for what got worse, and good for what got better.
func lossTone(l *history.Line, ratio float64) Tone {
	switch {
	case l.Figure.Better == metric.Neither || math.IsNaN(ratio):
		return Plain
	case l.Loss(ratio) > 0:
		return Bad
	}
	return Good
}

// pointsOf returns how many of them know the figure.
func pointsOf(l *history.Line) (n int) {
	for _, v := range l.Values {
		if v.N > 0 {
			n++
		}
	}
	return n
}

// historyCell is the course of each line with its steps and its drift, and the latest points.
func historyCell(h *history.History, s *history.Series, last int) Section {
	one := Section{Folded: true, Open: true}
	var facts Facts
	for i := range s.Lines {
		l := &s.Lines[i]
		course := courseOf(l)
		from, to := course.Range()
		f := Fact{Label: l.Figure.Name, Course: course, Lines: []string{format.Glue(l.Figure.Unit.Format(from) + " to " + l.Figure.Unit.Format(to))}}
		for j := range l.Steps {
			f.Lines, f.Tone = append(f.Lines, stepLine(s, l, &l.Steps[j])), lossTone(l, l.Steps[j].Ratio)
		}
		if l.Drifts {
			f.Lines, f.Tone = append(f.Lines, driftLine(s, l)), lossTone(l, l.Drifted())
		}
		more := i+1 == len(s.Lines) || s.Lines[i+1].Missing != l.Missing
		switch {
		case l.Missing > 0 && more: // said once for all lines alike
			f.Lines = append(f.Lines, fmt.Sprintf("too few points to tell steps from chance: %s more at the least", format.Count(l.Missing)))
		case l.Missing == 0 && len(l.Steps) == 0 && !l.Drifts:
			f.Lines = append(f.Lines, "no step and no drift")
		}
		facts = append(facts, f)
	}
	for _, f := range unknownHere(h, s) {
		facts = append(facts, Fact{Label: f.Name, Lines: []string{"in no record of this cell: " + cmp.Or(f.WhyUnknown(), "no trial knows it")}})
	}
	one.Blocks = append(one.Blocks, facts, pointTable(s, firstShown(s, last)))
	return one
}

// courseOf returns the medians of a line, and where its steps begin.
func courseOf(l *history.Line) *Course {
	c := &Course{}
	for _, v := range l.Values {
		if v.N > 0 {
			c.Values = append(c.Values, v.Median)
		} else {
			c.Values = append(c.Values, math.NaN())
		}
	}
	for _, s := range l.Steps {
		c.Steps = append(c.Steps, s.At)
	}
	return c
}

// stepLine returns what a step is, where it begins, and what else may be its cause.
func stepLine(s *history.Series, l *history.Line, step *history.Step) string {
	at, last := s.Points[step.At], s.Points[step.Last]
	text := fmt.Sprintf("%s %s at %s, %s: from %s to %s (p %s); before it %s, %s", change(step.Ratio), direction(l, step.Ratio),
		revisionName(at.Revision), day(at.Started), l.Figure.Unit.Format(step.Before), l.Figure.Unit.Format(step.After), format.P(step.P),
		revisionName(last.Revision), day(last.Started))
	if at.Revision == last.Revision {
		text += ": the same revision, so it is not its doing"
	}
	var also []string
	for _, c := range step.Also {
		also = append(also, fmt.Sprintf("%s %s → %s", c.What, c.Before, c.After))
	}
	if len(also) > 0 {
		text += ". Changed with it: " + strings.Join(also, ", ")
	}
	return text
}

func driftLine(s *history.Series, l *history.Line) string {
	since := "in all"
	if step := l.LastStep(); step != nil {
		since = "since that step"
	}
	return fmt.Sprintf("drifts by %s a point, %s %s %s (p %s)", change(l.Drift.Growth), change(l.Drifted()), direction(l, l.Drifted()),
		since, format.P(l.P))
}

// direction returns what a change of the figure means.
func direction(l *history.Line, ratio float64) string {
	switch {
	case l.Figure.Better == metric.Neither:
		return "changed"
	case l.Loss(ratio) > 0:
		return "worse"
	}
	return "better"
}

// change writes a ratio as what became of the figure: +3.4 %.
func change(ratio float64) string { return format.Change(ratio - 1) }

// revisionName returns a revision as short as it can be told from others: Go's names of untagged builds and git's hashes have
// a part that does it.
func revisionName(revision string) string {
	name, dirty := strings.CutSuffix(revision, "+dirty")
	if parts := strings.Split(name, "-"); len(parts) >= 3 && len(parts[len(parts)-1]) == 12 && isHex(parts[len(parts)-1]) {
		name = parts[len(parts)-1]
	} else if len(name) == 40 && isHex(name) {
		name = name[:12]
	}
	if dirty {
		name += "+dirty"
	}
	return format.Clean(name)
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// historyNotes say what a reader must know before believing it.
func historyNotes(h *history.History) (notes []string) {
	add := func(n int, noun, rest string) {
		if n > 0 {
			notes = append(notes, format.Plural(n, noun)+" "+rest)
		}
	}
	if h.Lines > 0 {
		together := ""
		if h.Lines > 1 {
			together = ", over all " + format.Plural(h.Lines, "figure") + " of all cells together; p is adjusted for that"
		}
		notes = append(notes, fmt.Sprintf("Of histories without any change %g %% show a step by chance, and as many a drift%s. "+
			"It takes points that are independent: a machine that is slow for some days makes a step.", 100*history.Alpha, together))
	}
	if h.Machines > 1 {
		notes = append(notes, "Different machines are different series: their figures do not compare.")
	}
	early := "of runs that ended early: left out."
	if h.Violated > 0 {
		early += " In " + format.Count(int64(h.Violated)) + " of them mutual exclusion was violated, though the design claims it."
	}
	add(h.Partial, "record", early)
	add(h.Duplicates, "record", "that had been read before: left out.")
	add(h.Earlier, "record", "from before -since: left out.")
	add(h.Backwards, "record", "older than the one before it: sorted by time, so a clock that was wrong has moved points.")
	for _, f := range h.Unknown {
		notes = append(notes, f.Name+" is in no record, and left out: "+cmp.Or(f.WhyUnknown(), "no trial knows it")+".")
	}
	return notes
}

func firstShown(s *history.Series, last int) int {
	if last <= 0 {
		return 0
	}
	return max(0, len(s.Points)-last)
}

// stepsAt returns which lines step at a point.
func stepsAt(s *history.Series, at int) (text string) {
	var parts []string
	for i := range s.Lines {
		l := &s.Lines[i]
		for _, step := range l.Steps {
			if step.At == at {
				parts = append(parts, fmt.Sprintf("%s %s %s", l.Figure.Name, change(step.Ratio), direction(l, step.Ratio)))
			}
		}
	}
	return strings.Join(parts, ", ")
}

// pointTable has a row a point.
func pointTable(s *history.Series, from int) Table {
	points := s.Points[from:]
	t := Table{Caption: "Points", Rows: make([]Row, len(points))}
	add := func(c Column, value func(i int) string) {
		t.Columns = append(t.Columns, c)
		for i := range points {
			t.Rows[i].Cells = append(t.Rows[i].Cells, Value{Text: value(from + i)})
		}
	}
	date := day
	for i := range points[1:] {
		if day(points[i].Started) == day(points[i+1].Started) {
			date = func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }
		}
	}
	add(Column{Title: "date", Left: true}, func(i int) string { return date(s.Points[i].Started) })
	add(Column{Title: "revision", Left: true}, func(i int) string { return format.Cut(revisionName(s.Points[i].Revision), 24) })
	add(Column{Title: "n"}, func(i int) string { return strconv.Itoa(s.Points[i].Trials) })
	for j := range s.Lines {
		l := &s.Lines[j]
		add(Column{Title: l.Figure.Name}, func(i int) string { return l.Figure.Unit.Format(l.Values[i].Median) })
		if slices.ContainsFunc(l.Values[from:], stats.Estimate.Known) {
			add(Column{Title: "±", Drop: 2}, func(i int) string { return view.HalfWidth(l.Values[i]) })
		}
		add(Column{Title: "change", Drop: 1}, func(i int) string { return change(toPrevious(l, i)) })
	}
	if slices.ContainsFunc(points, func(p history.Point) bool { return pointNotes(p) != "" }) {
		add(Column{Title: "notes", Left: true}, func(i int) string { return pointNotes(s.Points[i]) })
	}
	add(Column{Title: "step", Left: true, Depth: Comment | Page}, func(i int) string { return stepsAt(s, i) })
	for i := range points {
		if text := stepsAt(s, from+i); text != "" {
			t.Rows[i].Above = append(t.Rows[i].Above, "── "+text+" ──")
		}
	}
	if from > 0 {
		t.Rows[0].Above = slices.Insert(t.Rows[0].Above, 0, fmt.Sprintf("… %s before", format.Plural(from, "point")))
	}
	return t
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
