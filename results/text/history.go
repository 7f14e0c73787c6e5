package text

// Histories: the figures of each cell over revisions, and where they changed.

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

// HistoryOptions say what the output goes to, and how many points of each cell it lists.
type HistoryOptions struct {
	Options
	Last int // the latest so many; 0: all. Steps and sparklines are of all of them
}

// History writes a history for a terminal: a row a line first, if there are several cells, and then cell by cell its
// course, its steps and its points.
func History(w io.Writer, h *history.History, o HistoryOptions) error {
	p := &page{width: o.Width, color: o.Color}
	if p.width <= 0 {
		p.width = defaultWidth
	}
	names, common := h.Names()
	p.para("", "", format.Plural(len(h.Series), "cell")+": "+strings.Join(extent(h), ", ")+".")
	p.para("", "", common)
	if len(h.Series) > 1 {
		p.blank()
		if err := p.historySummary(h, names); err != nil {
			return err
		}
	}
	for i, s := range h.Series {
		p.blank()
		p.add(bold, format.Wrap("", numbered(h, i, names[i]), p.width)...)
		p.seriesCourse(h, s)
		if err := p.points(s, o.Last); err != nil {
			return err
		}
	}
	if notes := historyNotes(h); len(notes) > 0 {
		p.blank()
		for _, n := range notes {
			p.para("", "", n)
		}
	}
	return p.writeTo(w)
}

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

// historySummary returns a row a line, those of a cell together, the worst cell first.
func (p *page) historySummary(h *history.History, names []string) error {
	g, colors := summaryGrid(h, names)
	foldNames(g, p.width)
	lines, err := g.Text()
	if err != nil {
		return err
	}
	const head = 2 // the titles and a rule
	p.add(bold, lines[:head]...)
	for i, line := range lines[head:] {
		p.add(colors[i], line)
	}
	return nil
}

// foldNames breaks the names that are too long for the width over the rows of their cells. Headings have them in full.
func foldNames(g grid, width int) {
	widest := 0
	for _, row := range g.Rows {
		widest = max(widest, len([]rune(row[0])))
	}
	room := max(widest-max(0, g.Width()-width), 20)
	for i := 0; i < len(g.Rows); {
		to := i + 1
		for to < len(g.Rows) && g.Rows[to][0] == "" {
			to++
		}
		number, name, _ := strings.Cut(g.Rows[i][0], " ")
		parts := format.Wrap(number+" ", name, room)
		for j := range min(len(parts), to-i) {
			g.Rows[i+j][0] = parts[j]
		}
		if len(parts) > to-i {
			g.Rows[to-1][0] = cut(parts[to-i-1]+" "+strings.TrimSpace(parts[to-i]), room)
		}
		i = to
	}
}

func summaryGrid(h *history.History, names []string) (g grid, colors []string) {
	g.Head = []string{"cell", "figure", "points", "latest", "last step", "at", "on", "steps", "drift"}
	g.Right = []bool{false, false, true, true, true, false, false, true, true}
	for i, s := range h.Series {
		name := fmt.Sprintf("%d. %s", i+1, names[i])
		for j := range s.Lines {
			l := &s.Lines[j]
			row := []string{name, l.Figure.Name, format.Count(int64(pointsOf(l))), l.Figure.Unit.Format(l.Values[l.Latest()].Median), format.None, "", "", "0", format.None}
			color := ""
			if step := l.LastStep(); step != nil {
				at := s.Points[step.At]
				row[4], row[5], row[6] = change(step.Ratio), cut(revisionName(at.Revision), 24), day(at.Started)
				row[7] = strconv.Itoa(len(l.Steps))
				color = lossColor(l, step.Ratio)
			}
			if l.Missing > 0 {
				row[7] = "too few"
			}
			if l.Drifts {
				row[8] = change(l.Drifted())
				if drift := lossColor(l, l.Drifted()); color != red {
					color = drift
				}
			}
			g.Rows, colors = append(g.Rows, row), append(colors, color)
			name = ""
		}
		if len(s.Lines) == 0 { // or its number would stand nowhere
			g.Rows, colors = append(g.Rows, []string{name, format.None, "0", format.None, format.None, "", "", "0", format.None}), append(colors, "")
		}
	}
	told := func(col int) bool {
		return slices.ContainsFunc(g.Rows, func(row []string) bool { return row[col] != "" && row[col] != format.None })
	}
	return g.Keeping(func(col int) bool { return col < 4 || told(col) }), colors
}

// lossColor is red for what got worse, and green for what got better.
func lossColor(l *history.Line, ratio float64) string {
	switch {
	case l.Figure.Better == metric.Neither || math.IsNaN(ratio):
		return ""
	case l.Loss(ratio) > 0:
		return red
	}
	return green
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

// seriesCourse draws each line and tells its steps and its drift.
func (p *page) seriesCourse(h *history.History, s *history.Series) {
	for i := range s.Lines {
		l := &s.Lines[i]
		from, to := extremes(l)
		p.item("", l.Figure.Name, skyline(l, p.width-labelWidth-26)+" "+format.Glue(l.Figure.Unit.Format(from)+" to "+l.Figure.Unit.Format(to)))
		for j := range l.Steps {
			p.item(lossColor(l, l.Steps[j].Ratio), "", stepLine(s, l, &l.Steps[j]))
		}
		if l.Drifts {
			p.item(lossColor(l, l.Drifted()), "", driftLine(s, l))
		}
		last := i+1 == len(s.Lines) || s.Lines[i+1].Missing != l.Missing
		switch {
		case l.Missing > 0 && last: // said once for all lines alike
			p.item("", "", fmt.Sprintf("too few points to tell steps from chance: %s more at the least", format.Count(l.Missing)))
		case l.Missing == 0 && len(l.Steps) == 0 && !l.Drifts:
			p.item("", "", "no step and no drift")
		}
	}
	for _, f := range unknownHere(h, s) {
		p.item("", f.Name, "in no record of this cell: "+cmp.Or(f.WhyUnknown(), "no trial knows it"))
	}
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

// cut shortens text to so many runes, which an ellipsis shows.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// extremes returns the least and the greatest value of a line.
func extremes(l *history.Line) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, v := range l.Values {
		if v.N > 0 {
			least, most = min(least, v.Median), max(most, v.Median)
		}
	}
	return least, most
}

// skyline draws a line in that many characters at the most, with a stroke where a step begins. The lowest bar is the least
// value, not 0: a step of 5 % could not be seen. What varies by less than 10 % altogether is drawn as if it varied by that,
// or noise would look like mountains.
func skyline(l *history.Line, most int) string {
	least, top := extremes(l)
	if room := 0.1*(least+top)/2 - (top - least); top > least && room > 0 {
		least, top = least-room/2, top+room/2
	}
	each := max(1, (len(l.Values)+len(l.Steps)+most-1)/most)
	var line []rune
	for from := 0; from < len(l.Values); from += each {
		to := min(from+each, len(l.Values))
		if slices.ContainsFunc(l.Steps, func(s history.Step) bool { return from <= s.At && s.At < to }) {
			line = append(line, '|')
		}
		line = append(line, bar(l.Values[from:to], least, top))
	}
	return string(line)
}

// bar stands for the mean of values; a dot for none.
func bar(values []stats.Estimate, least, top float64) rune {
	sum, n := 0.0, 0.0
	for _, v := range values {
		if v.N > 0 {
			sum, n = sum+v.Median, n+1
		}
	}
	switch {
	case n == 0:
		return '·'
	case top <= least:
		return bars[len(bars)/2]
	}
	at := int((sum/n - least) / (top - least) * float64(len(bars)))
	return bars[max(0, min(at, len(bars)-1))]
}

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
