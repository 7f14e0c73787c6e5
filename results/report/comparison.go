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
	fewNotes = 3    // without -v
	manyRows = 40   // of a chart
	mostRows = 1000 // with -v; more trials than that nobody runs
)

// comparison is one while its document is built.
type comparison struct {
	*compare.Comparison
	worst []compare.Judged // all that is judged, the worst first
	sides []*results.Cell  // a base and a head of each cell
}

// Comparison returns what became of metrics from base to head. The command compares again; empty: a run did more.
func Comparison(c *compare.Comparison, command string) *Document {
	t := comparison{Comparison: c, worst: c.Judged()}
	for _, cell := range c.Cells {
		if len(cell.Base) > 0 && len(cell.Head) > 0 {
			t.sides = append(t.sides, &results.Cell{Trials: cell.Base}, &results.Cell{Trials: cell.Head})
		}
	}
	rows, notes := t.worst, t.notes()
	if len(rows) > someRows {
		quiet := func(r compare.Judged) bool { return r.Quiet() && !r.Threshold.Relative }
		rows = slices.DeleteFunc(slices.Clone(rows), quiet)
	}
	few := min(fewNotes, len(notes))
	risks := facts("cells", t.tally(), "only in base", format.Few(c.Missing, fewNotes),
		"only in head", format.Few(c.Added, fewNotes))
	risks.Rows = append(risks.Rows, notes[:few]...)
	risks.fact(Plain, "next", t.next())
	d := &Document{Command: "lockbench compare", Title: t.title(), When: t.compared()}
	d.Tone = cmp.Or(verdictTones[c.Verdict], Good)
	d.add(Block{Table: t.table(t.together(rows[:min(len(rows), someRows)]), false)}, Block{Table: risks},
		Block{Chart: t.chart()}, Block{Heading: "All metrics", Detail: true, Table: t.table(c.Results(), true)},
		Block{Heading: "More notes", Detail: true, Table: &Table{Rows: notes[few:]}})
	if len(t.sides) > 0 {
		d.add(Block{Heading: "Environment", Detail: true, Table: environment(view.NewRun(t.sides))})
	}
	if command != "" {
		d.add(Block{Heading: "Command", Detail: true, Text: []Text{{Text: command, Code: true}}})
	}
	return d
}

// verdictMarks stand before verdicts.
var verdictMarks = map[compare.Verdict]string{compare.Regressed: "✗ ", compare.Inconclusive: "? ",
	compare.Improved: "▲ ", compare.NotWorse: "✓ ", compare.Unchanged: "✓ "}

// title returns the verdict, and what the worst was judged by: "✗ regressed: locks/s −12.5 % (−15.1 to −9.8 %), …".
func (t *comparison) title() string {
	text, passed := verdictMarks[t.Verdict]+string(t.Verdict), verdictTones[t.Verdict] == Plain
	i := slices.IndexFunc(t.worst, func(r compare.Judged) bool { return r.Verdict == t.Verdict })
	if t.Broken > 0 || t.Verdict == compare.Regressed && t.worst[i].Figure.Name == "violations" {
		text = "✗ mutual exclusion violated"
	}
	if i >= 0 && (!passed || len(t.Cells) == 1 && t.worst[i].Threshold.Relative) {
		r, change := t.worst[i], " "+changeText(t.worst[i].Change)
		if !r.Threshold.Relative || math.IsNaN(r.Change.Ratio) {
			change = ": " + r.Why
		}
		text += ": " + strings.TrimPrefix(t.Cells[r.Cell].Label+", ", ", ") +
			r.Figure.Name + change + ", threshold " + r.Threshold.Allowed()
	}
	if len(t.Missing) > 0 {
		text += " · " + format.Plural(len(t.Missing), "cell") + " only in the base"
	}
	return text
}

// changeText returns a change with its interval: "−12.5 % (−15.1 to −9.8 %)".
func changeText(c stats.Change) string {
	return strings.TrimSuffix(format.Change(c.Ratio-1)+" ("+interval(c)+")", " ("+format.None+")")
}

// interval returns that of a change, or a dash.
func interval(c stats.Change) string {
	if math.IsNaN(c.Low) || math.IsNaN(c.High) {
		return format.None
	}
	return strings.TrimSuffix(format.Change(c.Low-1), " %") + " to " + format.Change(c.High-1)
}

// compared returns what was compared with what, and what all trials have in common.
func (t *comparison) compared() string {
	names := "base " + t.Base.Name + " → head " + t.Head.Name
	if t.Base.Name == t.Head.Name {
		names = "base → head, both " + t.Base.Name
	}
	if names += fmt.Sprintf(" · %d + %d trials", t.Base.Trials, t.Head.Trials); t.Paired {
		names += " in turns"
	}
	if len(t.sides) == 0 {
		return names
	}
	run, load := view.NewRun(t.sides), ""
	if len(run.Groups) == 1 {
		load = run.Groups[0].Load
	}
	return format.Join(names, load, inCommon(run))
}

// tally counts cells by their verdict; it is empty of a single one.
func (t *comparison) tally() (text string) {
	for _, v := range compare.Verdicts {
		of := slices.DeleteFunc(slices.Clone(t.Cells), func(c compare.Cell) bool { return c.Verdict != v })
		if len(of) > 0 && len(t.Cells) > 1 {
			text += fmt.Sprintf(" · %d %s", len(of), v)
		}
	}
	return strings.TrimPrefix(text, " · ")
}

// together puts results of a cell next to each other, the cell with the worst first.
func (t *comparison) together(list []compare.Judged) []compare.Judged {
	kept, rank := map[*compare.Result]bool{}, map[int]int{}
	for i, r := range list {
		kept[r.Result], rank[r.Cell] = true, max(rank[r.Cell], len(list)-i)
	}
	all := slices.DeleteFunc(t.Results(), func(r compare.Judged) bool { return !kept[r.Result] })
	slices.SortStableFunc(all, func(a, b compare.Judged) int { return rank[b.Cell] - rank[a.Cell] })
	return all
}

// thresholdText returns what must not come true: "< −5 %".
func thresholdText(l *compare.Threshold) string {
	return map[bool]string{true: "< ", false: "> "}[l.Less] + l.Allowed()
}

// table returns a row a result. In full it has p, the trials a side that would tell, and why the verdict is what it is.
func (t *comparison) table(rows []compare.Judged, full bool) *Table {
	table := columns("", "base", "head", "change", "95 % interval", "threshold", "verdict", "p", "trials", "because")
	for i, drop := range []int{0, 3, 3, 0, 1, 2, 0, 5, 4, 6} {
		table.Columns[i].Drop, table.Columns[i].Left = drop, i == 0 || i == 6 || i == 9
	}
	table.Columns[4].About = "Moses; of pairs: Hodges and Lehmann"
	table.Columns[7].About = "Mann-Whitney; of pairs: Wilcoxon; adjusted by Holm"
	table.Columns[8].About = "a side that would tell"
	table.Columns = table.Columns[:map[bool]int{false: 7, true: 10}[full]]
	last := -1
	for _, r := range rows[:min(len(rows), mostRows)] {
		c, l, unit := r.Change, r.Threshold, r.Figure.Unit
		base, head, threshold, verdict, p := c.Base.Median, c.Head.Median, format.None, "", c.P
		if l != nil {
			threshold, verdict, p = thresholdText(l), verdictMarks[r.Verdict]+string(r.Verdict), r.P
			if unit == metric.Count && !l.Relative && !l.Less { // the worst trial is judged
				base, head = c.Base.Max, c.Head.Max
			}
		}
		if r.Within() {
			verdict = "~ worse within"
		}
		row := table.row(r.Figure.Name, unit.Format(base), unit.Format(head), format.Change(c.Ratio-1), interval(c),
			threshold, verdict, strings.Replace(format.P(p), "NaN", format.None, 1),
			known(float64(r.Needed), metric.Count.Format), r.Why)
		row.Tone, row.Cells = verdictTones[r.Verdict], row.Cells[:len(table.Columns)]
		if row.Cells[6].Tone = row.Tone; r.Cell != last {
			row.Group, last = t.Cells[r.Cell].Label, r.Cell
		}
		if r.Reason != "" {
			row.Marks = []Mark{{Code: string(r.Reason), Line: r.Reason.About(), Tone: Warn}}
		}
	}
	return dense(table)
}

// notes returns a fact for each note, violations first; cells with the same note share it.
func (t *comparison) notes() []Row {
	var cells view.Grouped[string, string]
	for _, c := range append([]compare.Cell{{Notes: t.Notes}}, t.Cells...) {
		for _, note := range c.Notes {
			cells.Add(note, c.Label)
		}
	}
	list := &Table{}
	for _, note := range cells.Keys {
		code, text, _ := strings.Cut(note, ": ")
		if of := format.Few(cells.Of[note], 1); of != "" {
			text += " (" + of + ")"
		}
		list.fact(map[bool]Tone{true: Bad}[code == "violated"], code, text)
	}
	rank := map[string]int{"violated": 2, "violations": 1}
	slices.SortStableFunc(list.Rows, func(a, b Row) int { return rank[b.Cells[0].Text] - rank[a.Cells[0].Text] })
	return list.Rows
}

// remedies are what to do about a regression, or about the reason why nothing can be told.
var remedies = map[compare.Reason]string{
	compare.Reason(compare.Regressed): "look at each side: lockbench report -v FILE",
	compare.NoTrials:                  "run the trials again that ended early",
	compare.Missing:                   "run the missing cells, or judge without them: -force",
	compare.Unmeasured:                "run longer trials: -duration",
	compare.Unlike:                    "run both sides on one machine, or judge all the same: -force",
	compare.Zero:                      "judge the amount: -fail-on 'METRIC>VALUE'",
	compare.Saturated:                 "run fewer clients or a larger machine, or judge anyway: -force",
	compare.TooFew:                    "run more trials a side: -trials NUMBER",
	compare.Scatter:                   "run more trials a side (-trials NUMBER), or on a quieter machine",
}

// next returns the one thing to do; empty if nothing is wrong.
func (t *comparison) next() string {
	reason := compare.Reason(t.Verdict)
	if reasons := t.Reasons(); t.Verdict == compare.Inconclusive && len(reasons) > 0 {
		reason = reasons[0]
	}
	need := 0 // trials
	for _, r := range t.worst {
		need = max(need, min(r.Needed, mostRows))
	}
	if need == 0 {
		return remedies[reason]
	}
	return strings.Replace(remedies[reason], "NUMBER", strconv.Itoa(need), 1)
}

// chart returns the changes that are judged.
func (t *comparison) chart() *Chart {
	c := &Chart{Kind: Changes, Name: "changes", Title: "Changes from base to head", Uprights: []Line{{1, "no change"}}}
	c.X = Axis{Name: "change · line: 95 % interval", Log: true}
	c.X.Label = func(v float64) string { return format.Change(v - 1) }
	last := -1
	for _, r := range t.together(t.worst) {
		change := r.Change
		if !(change.Ratio > 0) || math.IsInf(change.Ratio, 0) || !r.Threshold.Relative || len(c.Series) == manyRows {
			continue
		}
		s := Series{Name: r.Figure.Name, Text: changeText(change), Tone: verdictTones[r.Verdict],
			Bound: 1 + r.Threshold.Value, Points: []Point{{X: change.Ratio, Low: change.Low, High: change.High}}}
		if r.Cell != last {
			s.Group, last = t.Cells[r.Cell].Label, r.Cell
		}
		c.Series = append(c.Series, s)
	}
	return c
}
