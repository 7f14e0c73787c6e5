package report

// How all documents write figures, names and lists of them.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

const (
	named    = 2 // names of a line; more are counted
	someRows = 6 // of the worst results, without -v
)

// verdictTones are how verdicts are taken. Others are plain.
var verdictTones = map[compare.Verdict]Tone{
	compare.Regressed: Bad, compare.Missed: Bad, compare.Violated: Bad,
	compare.Inconclusive: Warn, compare.Improved: Good, compare.Passed: Good,
}

// duration writes nanoseconds.
func duration(ns float64) string { return metric.Duration.Format(ns) }

// known formats an amount; what is not more than 0 is not known.
func known(v float64, write func(float64) string) string {
	if v <= 0 {
		return format.None
	}
	return write(v)
}

// between writes a value with its interval, if it has one: "3,470/s (3,300 to 3,640/s)".
func between(v, low, high float64, write func(float64) string) string {
	if !(low < high) {
		return write(v)
	}
	from, to := write(low), write(high)
	unit := to[strings.LastIndexAny(to, "0123456789")+1:]
	return write(v) + " (" + strings.TrimSuffix(from, unit) + " to " + to + ")"
}

// figure is something that is known, or is not: an empty text.
type figure struct{ title, text string }

// line is figures of a cell, or of a part of it, which has a name.
type line struct {
	name    string
	figures []figure
}

// joined returns the figures that are known.
func joined(figures []figure) string {
	var texts []string
	for _, f := range figures {
		if f.text != "" && f.text != format.None {
			texts = append(texts, f.title+" "+f.text)
		}
	}
	return strings.Join(texts, " · ")
}

// lasting returns a duration; one that is not above 0 is not known.
func lasting(title string, d time.Duration) figure {
	if d <= 0 {
		return figure{title, ""}
	}
	return figure{title, format.Duration(d)}
}

// ofGroup returns the metrics of a group, those of enough trials with their 95 % interval. A count of 0 is empty.
func ofGroup(c *results.Cell, g metric.Group) (all []figure) {
	for _, m := range metric.Of(g) {
		value, e := m.Of(c.Figures()), stats.Of(m.Values(c.Trials))
		text := strings.TrimPrefix(m.Unit.Format(value), format.None)
		if m.Unit == metric.Count && value == 0 {
			text = ""
		}
		if text != "" && e.Known() && e.Low < e.High {
			text += " (" + m.Unit.Format(e.Low) + " – " + m.Unit.Format(e.High) + ")"
		}
		all = append(all, figure{strings.TrimSuffix(m.Name, "/lock"), text})
	}
	return all
}

// quantiles returns those of a latency, and the longest.
func quantiles(l results.Latency) (all []figure) {
	for _, q := range metric.Quantiles {
		all = append(all, figure{strings.Replace(q.Name, "p999", "p99.9", 1), duration(l.Quantile(q.Q))})
	}
	return append(all, lasting("max", l.Max))
}

// scatter returns how far from their median trials are at the most: its 95 % interval or, of too few for one, all of
// them.
func scatter(e stats.Estimate) string {
	if e.N > 1 && !e.Known() {
		e.Low, e.High = e.Min, e.Max
	}
	return strings.TrimPrefix(format.Change(max(e.High/e.Median-1, 1-e.Low/e.Median)), "+")
}

// marks returns how the figures of a cell are to be taken.
func marks(c *results.Cell) (all []Mark) {
	for _, m := range view.Marks(c) {
		args := strings.TrimSpace(strings.TrimPrefix(m.Text, m.Code))
		all = append(all, Mark{m.Code, args, m.Line, map[bool]Tone{true: Warn}[m.Doubt]})
	}
	return all
}

// toneOf returns the tone of a row: bad for a broken promise, a warning for figures that are doubtful.
func toneOf(c *results.Cell) Tone {
	switch {
	case c.Violated():
		return Bad
	case c.Breaches() > 0 || view.Doubts(c) != nil:
		return Warn
	}
	return Plain
}

// design returns the parts of a design that keep names: its driver, lock and topology.
func design(c *results.Cell, keep func(title string) bool) string {
	p, parts := c.Plan(), []string{}
	for _, part := range [][2]string{{"driver", p.Driver}, {"lock", p.Lock}, {"topology", p.Topology}} {
		if part[1] != "" && keep(part[0]) {
			parts = append(parts, part[1])
		}
	}
	return strings.Join(parts, " ")
}

// designs returns cells by the parts of their design in which they differ; by all if they differ in none.
func designs(v *view.Run) (names []string) {
	differs := view.Differing(v.Cells)
	for _, c := range v.Cells {
		names = append(names, cmp.Or(design(c, differs), design(c, func(string) bool { return true })))
	}
	return names
}

// spaced returns a name as it stands in a line that has dots between its parts.
func spaced(name string) string { return strings.ReplaceAll(name, " · ", " ") }

// of makes a list of a text.
func of(text func(*results.Cell) string) func(*results.Cell) []string {
	return func(c *results.Cell) []string { return []string{text(c)} }
}

// tell adds a fact for each text that is true of cells, with their names if it is not true of all. Of several the
// first is told, and the others go to more; nil: all are told.
func (t *Table) tell(v *view.Run, names []string, tone Tone, label string, of func(*results.Cell) []string,
	more *Table) {
	var whose view.Grouped[string, string]
	times, all := map[string]int{}, &Table{}
	for i, c := range v.Cells {
		for _, text := range of(c) {
			times[text]++
			whose.Add(text, spaced(names[i]))
		}
	}
	for _, text := range whose.Keys {
		if text != "" && times[text] < len(v.Cells) {
			text = format.Few(whose.Of[text], named) + ": " + text
		}
		all.fact(tone, label, text)
	}
	if n := len(all.Rows); more != nil && n > 1 {
		more.Rows = append(more.Rows, all.Rows[1:]...)
		all.Rows = all.Rows[:1]
		all.Rows[0].Cells[1].Text += fmt.Sprintf(" · %d more", n-1)
	}
	t.Rows = append(t.Rows, all.Rows...)
}

// listed returns a row for each line of cells, and a column for each figure that any of them knows.
func listed(v *view.Run, of func(*results.Cell) []line) *Table {
	t, texts, known := columns(""), []map[string]string{}, view.Grouped[string, bool]{}
	for i, c := range v.Cells {
		for j, l := range of(c) {
			r := t.row(cmp.Or(l.name, v.Names[i]))
			if l.name != "" && j == 0 && len(v.Cells) > 1 {
				r.Group = v.Names[i]
			}
			row := map[string]string{}
			for _, f := range l.figures {
				known.Add(f.title, f.text != "")
				row[f.title] = f.text
			}
			texts = append(texts, row)
		}
	}
	for _, title := range known.Keys {
		if slices.Contains(known.Of[title], true) {
			t.Columns = append(t.Columns, Column{Title: title, Drop: len(t.Columns) - 1})
			for i := range t.Rows {
				t.Rows[i].Cells = append(t.Rows[i].Cells, Cell{Text: texts[i][title]})
			}
		}
	}
	if len(t.Columns) == 1 {
		return nil
	}
	return t
}

// dense returns a table without the columns in which nothing is known.
func dense(t *Table) *Table {
	for i := len(t.Columns) - 1; i > 0; i-- {
		if !slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Cells[i].Text != format.None }) {
			t.Columns = slices.Delete(t.Columns, i, i+1)
			for j := range t.Rows {
				t.Rows[j].Cells = slices.Delete(t.Rows[j].Cells, i, i+1)
			}
		}
	}
	return t
}
