package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// How much of many cells is shown. CSV and JSON have all of it.
const (
	fewRows    = 3    // without -v: of one cell its worst figures, of several the worst figure of each
	manyRows   = 40   // of a chart
	mostRows   = 1000 // with -v
	mostTrials = 100  // a side; more than that nobody runs
)

// comparison is one while its document is built.
type comparison struct {
	*compare.Comparison
	worst []compare.Result // all that is judged, cell by cell: the worst first
	sides []*results.Cell  // a base and a head of each cell
}

// Comparison returns what became of metrics from base to head.
func Comparison(c *compare.Comparison) *Document {
	t, place := comparison{Comparison: c, worst: c.Judged()}, map[int]int{}
	for i, r := range slices.Backward(t.worst) {
		place[r.Place] = i
	}
	slices.SortStableFunc(t.worst, func(a, b compare.Result) int { return place[a.Place] - place[b.Place] })
	for _, cell := range c.Cells {
		if len(cell.Base) > 0 && len(cell.Head) > 0 {
			t.sides = append(t.sides, &results.Cell{Trials: cell.Base}, &results.Cell{Trials: cell.Head})
		}
	}
	rows, risks := t.worst, &Table{Rows: t.notes()}
	if len(c.Cells) > 1 {
		rows = slices.CompactFunc(slices.Clone(rows), func(a, b compare.Result) bool { return a.Place == b.Place })
	}
	rows = rows[:min(len(rows), fewRows)]
	more := risks.rest(1+fewRows-len(rows), "note")
	risks.fact(Plain, "next", t.next())
	d := &Document{Command: "lockbench compare", Title: t.title(), When: t.when()}
	d.Tone = cmp.Or(verdictTones[c.Verdict], Good)
	d.add(Block{Table: t.table(rows, false)}, Block{Table: risks}, Block{Chart: t.chart()},
		Block{Heading: "All metrics", Detail: true, Table: t.table(c.Results(), true)}, more)
	if len(t.sides) > 0 {
		d.add(Block{Heading: "Environment", Detail: true, Table: environment(view.NewRun(t.sides))})
	}
	return d
}

// verdictMarks stand before verdicts.
var verdictMarks = map[compare.Verdict]string{compare.Regressed: "✗ ", compare.Inconclusive: "? ",
	compare.Improved: "▲ ", compare.NotWorse: "✓ ", compare.Unchanged: "✓ "}

// title returns the verdict, and the worst that has it: "✗ regressed: 8 clients, locks/s −12.5 % (−15.1 to
// −9.8 %)".
func (t *comparison) title() string {
	text := verdictMarks[t.Verdict] + string(t.Verdict)
	if t.Violated() {
		text = "✗ mutual exclusion violated"
	}
	i := slices.IndexFunc(t.worst, func(r compare.Result) bool { return r.Verdict == t.Verdict })
	if i >= 0 && (verdictTones[t.Verdict] != Plain || len(t.Cells) == 1 && t.worst[i].Threshold.Relative) {
		r := t.worst[i]
		what := r.Figure.Name + " " + changeText(r.Change)
		if !r.Threshold.Relative || math.IsNaN(r.Change.Ratio) && r.Why != "" {
			what = r.Figure.Name + ": " + r.Why
		}
		if r.Reason != "" {
			text += " (" + string(r.Reason) + ")"
		}
		text += ": " + strings.TrimPrefix(t.Cells[r.Place].Label+", ", ", ") + what
	}
	if n := len(t.Missing); n > 0 {
		text += " · " + format.Plural(n, "cell") + " only in the base"
	}
	return text
}

// changeText returns a change with its interval: "−12.5 % (−15.1 to −9.8 %)".
func changeText(c stats.Change) string {
	if math.IsNaN(c.Ratio) {
		return format.None
	}
	return between(c.Ratio, c.Low, c.High, changeOf)
}

func changeOf(ratio float64) string { return format.Change(ratio - 1) }

// when returns what was compared with what, how many cells have which verdict, and what all trials have in common.
func (t *comparison) when() string {
	names, trials, tally := t.Base.Name+" → "+t.Head.Name, fmt.Sprintf("%d + %d trials", t.Base.Trials, t.Head.Trials), ""
	if t.Base.Name == t.Head.Name {
		names = t.Base.Name + ", both sides"
	}
	if t.Paired {
		trials += " in turns"
	}
	for _, v := range compare.Verdicts {
		of := slices.DeleteFunc(slices.Clone(t.Cells), func(c compare.Cell) bool { return c.Verdict != v })
		if len(of) > 0 && len(t.Cells) > 1 {
			tally += fmt.Sprintf(", %d %s", len(of), v)
		}
	}
	return format.Join(names, trials, strings.TrimPrefix(tally, ", "), asked(t.sides))
}

// asked returns the design and the load that cells share.
func asked(cells []*results.Cell) string {
	return view.Common(cells, func(a view.Axis) bool {
		return a.Late || slices.Contains([]string{"revision", "partial"}, a.Title)
	})
}

// table returns a row a result. In full cells have headings, and there is p, the trials a side that would tell, and why
// the verdict is what it is.
func (t *comparison) table(rows []compare.Result, full bool) *Table {
	table := &Table{Columns: []Column{
		{Left: true}, {Title: "metric", Left: true}, {Title: "base", Drop: 1}, {Title: "head", Drop: 1},
		{Title: "change", About: "95 % interval: Moses; of pairs: Hodges and Lehmann"}, {Title: "verdict", Left: true},
		{Title: "p", Drop: 3, About: "Mann-Whitney; of pairs: Wilcoxon; adjusted by Holm"},
		{Title: "trials", Drop: 2, About: "a side that would tell"}, {Title: "because", Left: true, Drop: 4}}}
	if !full {
		table.Columns = table.Columns[:6]
	}
	if len(t.Cells) == 1 && !full {
		table.Columns[0].Title = "fails if"
	}
	last := -1
	for _, r := range rows[:min(len(rows), mostRows)] {
		c, l, unit, p := r.Change, r.Threshold, r.Figure.Unit, r.Change.P
		base, head, first, name, verdict := c.Base.Median, c.Head.Median, r.Figure.Name, format.None, ""
		if l != nil {
			first, verdict, p = l.String(), verdictMarks[r.Verdict]+cmp.Or(string(r.Reason), string(r.Verdict)), r.P
			if unit == metric.Count && !l.Relative && !l.Less { // the worst trial is judged
				base, head = c.Base.Max, c.Head.Max
			}
		}
		switch notes := slices.Concat(t.Notes, t.Cells[r.Place].Notes); {
		case r.Within():
			verdict = "~ worse within"
		case r.Verdict == compare.Unchanged && slices.Contains(notes, r.Figure.Name+": "+compare.NotTested):
			verdict = "– not tested"
		}
		label := t.Cells[r.Place].Label
		if !full && label != "" {
			first, name = label, first
		}
		texts := []string{first, name, unit.Format(base), unit.Format(head), changeText(c), verdict,
			strings.Replace(format.P(p), "NaN", format.None, 1), known(float64(r.Needed), metric.Count.Format), r.Why}
		row := table.row(texts[:len(table.Columns)]...)
		row.Tone = verdictTones[r.Verdict]
		if row.Cells[5].Tone = row.Tone; full && r.Place != last {
			row.Group, last = label, r.Place
		}
	}
	return dense(table)
}

// notes returns what limits the comparison, violations first and revisions last; cells with the same note share it.
func (t *comparison) notes() []Row {
	var cells view.Grouped[string, string]
	list := &Table{}
	list.fact(Warn, "only in base", format.Few(t.Missing, 1))
	for _, c := range append([]compare.Cell{{Notes: t.Notes}}, t.Cells...) {
		for _, note := range c.Notes {
			cells.Add(note, c.Label)
		}
	}
	said := map[compare.Reason]bool{compare.Missing: true, compare.Unlike: true}
	for _, note := range cells.Keys {
		code, text, _ := strings.Cut(note, ": ")
		if of := format.Few(cells.Of[note], 1); of != "" {
			text += " (" + of + ")"
		}
		list.fact(map[bool]Tone{true: Bad}[code == "violated"], code, text)
		said[compare.Reason(code)] = true
	}
	for _, reason := range t.Reasons() {
		if !said[reason] {
			list.fact(Warn, string(reason), reason.About())
		}
	}
	list.fact(Plain, "only in head", format.Few(t.Added, 1))
	rank := map[string]int{"violated": 3, "only in base": 2, "replaced": 2, "evicted": 2,
		"violations": 1, "forced": 1, "revision": -1}
	for _, reason := range t.Reasons() {
		rank[string(reason)] = 2
	}
	slices.SortStableFunc(list.Rows, func(a, b Row) int { return rank[b.Cells[0].Text] - rank[a.Cells[0].Text] })
	return list.Rows
}

// next returns the one thing to do; empty if nothing is wrong.
func (t *comparison) next() string {
	need := 0 // trials
	for _, r := range t.worst {
		need = max(need, r.Needed)
	}
	text := t.Next()
	switch {
	case need > mostTrials && slices.Equal(t.Reasons(), []compare.Reason{compare.Scatter}):
		return "a quieter machine: more trials would not tell"
	case need > 0:
		text = strings.Replace(text, "NUMBER", strconv.Itoa(min(need, mostRows)), 1)
	}
	return text
}

// chart returns the changes that are judged.
func (t *comparison) chart() *Chart {
	c := &Chart{Kind: Changes, Name: "changes", Title: "Changes from base to head",
		X: Axis{Name: "change · line: 95 % interval", Log: true, Label: changeOf}, Uprights: []Line{{1, "no change"}}}
	last := -1
	for _, r := range t.worst {
		change := r.Change
		if !(change.Ratio > 0) || math.IsInf(change.Ratio, 0) || !r.Threshold.Relative || len(c.Series) == manyRows {
			continue
		}
		s := Series{Name: r.Figure.Name, Text: changeText(change), Tone: verdictTones[r.Verdict],
			Bound: 1 + r.Threshold.Value, Points: []Point{{X: change.Ratio, Low: change.Low, High: change.High}}}
		if r.Place != last {
			s.Group, last = t.Cells[r.Place].Label, r.Place
		}
		c.Series = append(c.Series, s)
	}
	return c
}
