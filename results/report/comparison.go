package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
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
	fewNames = 3
	someRows = 8    // of notes, without -v
	manyRows = 40   // of the worst, without -v, and of a chart
	mostRows = 1000 // with -v
)

// comparison is one while its document is built.
type comparison struct {
	*compare.Comparison
	judged, shown []compare.Judgement // by thresholds, and by none
	worst         []compare.Judged    // all that is judged, the worst first
	all           []compare.Judged    // in the order of the cells
	trials        [2][]*results.Cell  // of base and head, each as a cell
}

// Comparison returns what became of metrics from base to head. The command compares again; empty: a run did more.
func Comparison(c *compare.Comparison, command string) *Document {
	t := &comparison{Comparison: c, worst: c.Judged()}
	t.judged, t.shown = c.Judgements()
	for i, cell := range c.Cells {
		for j := range cell.Figures {
			t.all = append(t.all, compare.Judged{Cell: i, Result: &cell.Figures[j]})
		}
		for side, trials := range [][]*results.Record{cell.Base, cell.Head} {
			for n := range trials {
				t.trials[side] = append(t.trials[side], &results.Cell{Trials: trials[n : n+1]})
			}
		}
	}
	rows, left := t.listed()
	charts, notes := t.charts(), t.notes()
	first, shown := min(1, len(charts)), min(someRows, len(notes))
	risks := facts("cells", t.tally(), "only in base", format.FewClauses(c.Missing, fewNames))
	risks.fact(Plain, "only in head", format.FewClauses(c.Added, fewNames))
	risks.Rows = append(risks.Rows, notes[:shown]...)
	risks.fact(Plain, "not listed", left)
	risks.fact(Plain, "next", cmp.Or(remedies[compare.Reason(c.Verdict)], remedies[append(c.Reasons(), "")[0]]))
	d := &Document{Command: "lockbench compare", Title: t.title(), When: t.sides()}
	d.Tone = cmp.Or(verdictTones[c.Verdict], Good)
	d.add(charts[:first]...)
	d.add(Block{Table: t.table(rows, false)}, Block{Table: risks})
	d.add(charts[first:]...)
	d.add(Block{Heading: "All metrics", Detail: true, Table: t.table(t.all, true)},
		Block{Heading: "More notes", Detail: true, Table: &Table{Rows: notes[shown:]}},
		Block{Heading: "Environment", Detail: true, Table: t.environment()},
		Block{Heading: "Commands", Detail: true, Text: t.commands(command)})
	return d
}

// verdictMarks and verdictTones are how verdicts are drawn.
var (
	verdictMarks = map[compare.Verdict]string{compare.Regressed: "✗ ", compare.Inconclusive: "? ",
		compare.Improved: "▲ ", compare.NotWorse: "✓ ", compare.Unchanged: "✓ "}
	verdictTones = map[compare.Verdict]Tone{compare.Regressed: Bad, compare.Inconclusive: Warn, compare.Improved: Good}
)

// title returns the verdict and the worst that has it.
func (t *comparison) title() string {
	text, passed := verdictMarks[t.Verdict]+string(t.Verdict), verdictTones[t.Verdict] == Plain
	of := slices.DeleteFunc(slices.Clone(t.worst), func(r compare.Judged) bool { return r.Verdict != t.Verdict })
	if t.Broken > 0 || t.Verdict == compare.Regressed && of[0].Figure.Name == "violations" {
		text = "✗ mutual exclusion violated"
	}
	if len(of) > 0 && (!passed || len(t.Cells) == 1 && of[0].Threshold.Relative) {
		text += ": " + strings.TrimPrefix(t.Cells[of[0].Cell].Label+", "+decisive(of[0].Result), ", ")
	}
	if len(t.Missing) > 0 {
		text += " · " + format.Plural(len(t.Missing), "cell") + " only in the base"
	}
	return text
}

// decisive returns what a result was judged by: "locks/s −12.5 % (−15.1 to −9.8 %), threshold −5 %".
func decisive(r *compare.Result) string {
	text := " " + changeText(r.Change)
	if !r.Threshold.Relative || math.IsNaN(r.Change.Ratio) {
		text = ": " + r.Why
	}
	return r.Figure.Name + text + ", threshold " + r.Threshold.Allowed()
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

// sides returns what was compared with what, and what all trials have in common.
func (t *comparison) sides() string {
	names := "base " + t.Base.Name + " → head " + t.Head.Name
	if t.Base.Name == t.Head.Name {
		names = "base → head of " + t.Base.Name
	}
	if names += fmt.Sprintf(" · %d + %d trials", t.Base.Trials, t.Head.Trials); t.Paired {
		names += " in turns"
	}
	all := slices.Concat(t.trials[:]...)
	if len(all) == 0 {
		return names
	}
	elsewhere := []string{"claims", "trials", "side", "revision", "machine", "lockbench", "libraries", "library"}
	return format.Join(names, view.Common(all, func(a view.Axis) bool {
		return a.Server || slices.Contains(elsewhere, a.Title) || a.Title != "driver" && a.Usual(a.Value(all[0]))
	}))
}

// tally counts cells by their verdict; it is empty of a single one.
func (t *comparison) tally() string {
	if len(t.Cells) < 2 {
		return ""
	}
	text := format.Count(len(t.Cells))
	for _, v := range compare.Verdicts {
		of := slices.DeleteFunc(slices.Clone(t.Cells), func(c compare.Cell) bool { return c.Verdict != v })
		if len(of) > 0 {
			text += fmt.Sprintf(" · %d %s", len(of), v)
		}
	}
	return text
}

// listed returns the judged rows that everybody has to see, the worst first, and counts the others.
func (t *comparison) listed() (rows []compare.Judged, left string) {
	keep, few := map[*compare.Result]bool{}, len(t.worst) <= someRows
	for _, r := range t.worst[:min(len(t.worst), manyRows)] {
		keep[r.Result] = few || !r.Quiet() || r.Threshold.Relative && len(t.worst) <= manyRows
	}
	for _, g := range t.judged {
		kept := slices.DeleteFunc(slices.Clone(g.Results), func(r compare.Judged) bool { return !keep[r.Result] })
		if rows = append(rows, kept...); len(kept) < len(g.Results) {
			left += fmt.Sprintf(" · %s %s in %d cells", g.Metric.Name, thresholdText(g.Threshold), len(g.Results)-len(kept))
		}
	}
	return rows, strings.TrimPrefix(left, " · ")
}

// table returns a row a result, of several cells below its metric. In full it has p, and why, and the cells stand above.
func (t *comparison) table(rows []compare.Judged, full bool) *Table {
	table := columns("", "base", "head", "change", "95 % interval", "threshold", "verdict", "p", "because")
	for i, drop := range []int{0, 3, 4, 0, 2, 1, 0, 5, 6} {
		table.Columns[i].Drop, table.Columns[i].Left = drop, i == 0 || i == 6 || i == 8
	}
	table.Columns[4].About = "Moses; of pairs: Hodges and Lehmann"
	table.Columns[6].About = "in brackets: how many trials a side would tell"
	table.Columns[7].About = "Mann-Whitney; of pairs: Wilcoxon; adjusted by Holm"
	table.Columns = table.Columns[:map[bool]int{false: 7, true: 9}[full]]
	last := ""
	for _, r := range rows[:min(len(rows), mostRows)] {
		c, l, unit, tone := r.Change, r.Threshold, r.Figure.Unit, verdictTones[r.Verdict]
		base, head, threshold, verdict, p := c.Base.Median, c.Head.Median, format.None, "", c.P
		if l != nil {
			threshold, verdict, p = thresholdText(l), verdictMarks[r.Verdict]+string(r.Verdict), r.P
			if unit == metric.Count && !l.Relative && !l.Less { // the worst trial is judged
				base, head = c.Base.Max, c.Head.Max
			}
		}
		if r.Needed > 0 {
			verdict += " (" + format.Count(min(r.Needed, mostRows)) + "+ trials)"
		} else if r.Within() {
			verdict = "~ worse within"
		}
		name, group := r.Figure.Name, t.Cells[r.Cell].Label
		if !full && group != "" {
			name, group = group, name
		}
		row := table.row(name, unit.Format(base), unit.Format(head), format.Change(c.Ratio-1), interval(c),
			threshold, verdict, strings.Replace(format.P(p), "NaN", format.None, 1), r.Why)
		row.Tone, row.Cells[6].Tone, row.Cells = tone, tone, row.Cells[:len(table.Columns)]
		if group != last {
			row.Group, last = group, group
		}
		if r.Reason != "" {
			row.Marks = []Mark{{Code: string(r.Reason), Line: r.Reason.About(), Tone: Warn}}
		}
	}
	return table
}

// thresholdText returns what must not come true: "< −5 %".
func thresholdText(l *compare.Threshold) string {
	return map[bool]string{true: "< ", false: "> "}[l.Less] + l.Allowed()
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
		code, text, coded := strings.Cut(note, ": ")
		if !coded {
			code, text = "note", note
		}
		if of := format.FewClauses(cells.Of[note], fewNames); of != "" {
			text += " (" + of + ")"
		}
		list.fact(map[bool]Tone{true: Bad}[code == "violated"], code, text)
	}
	slices.SortStableFunc(list.Rows, func(a, b Row) int { return cmp.Compare(b.Cells[1].Tone, a.Cells[1].Tone) })
	return list.Rows
}

// remedies are what to do about a verdict, or about the reason of one that is inconclusive.
var remedies = map[compare.Reason]string{
	compare.Reason(compare.Regressed): "look at each side: lockbench report -v FILE",
	compare.NoTrials:                  "run the trials again that ended early",
	compare.Missing:                   "run the missing cells, or judge without them: -force",
	compare.Unmeasured:                "run longer trials: -duration",
	compare.Unlike:                    "run both sides on one machine, or judge all the same: -force",
	compare.Zero:                      "judge the amount: -fail-on 'METRIC>VALUE'",
	compare.Saturated:                 "run fewer clients or a larger machine, or judge all the same: -force",
	compare.TooFew:                    "run more trials: -trials",
	compare.Scatter:                   "run more trials (-trials), or on a quieter machine",
}

// charts returns one for each relative threshold, the worst first; of a single cell one with all metrics.
func (t *comparison) charts() (blocks []Block) {
	groups := [][]compare.Judgement{slices.Concat(t.judged, t.shown)}
	if len(t.Cells) != 1 {
		groups = slices.Collect(slices.Chunk(t.judged, 1))
	}
	for _, group := range groups {
		c := &Chart{Kind: Changes, Name: "changes", Title: "Changes from base to head"}
		c.X = Axis{Name: "change · line: 95 % interval", Log: true}
		c.X.Label = func(v float64) string { return format.Change(v - 1) }
		if l := group[0].Threshold; len(t.Cells) != 1 {
			c.Title = l.Figure.Name + " from base to head"
			c.Name += "-" + strings.ReplaceAll(l.Figure.Name, "/", "-")
			if c.Shade = (Range{1 + l.Value, math.Inf(1)}); l.Less {
				c.Shade = Range{0, 1 + l.Value}
			}
		}
		for _, g := range group {
			for _, r := range g.Results[:min(len(g.Results), manyRows)] {
				l, change := g.Threshold, r.Change
				if !(change.Ratio > 0) || math.IsInf(change.Ratio, 0) || l != nil && !l.Relative {
					continue
				}
				s := Series{Name: cmp.Or(t.Cells[r.Cell].Label, r.Figure.Name), Text: changeText(change)}
				s.Tone = verdictTones[r.Verdict]
				if s.Points = []Point{{X: change.Ratio, Low: change.Low, High: change.High}}; l != nil {
					s.Bound = 1 + l.Value
				}
				c.Series = append(c.Series, s)
			}
		}
		if len(c.Series) > 0 {
			blocks = append(blocks, Block{Chart: c})
		}
	}
	return blocks
}

// environment returns what each side was, and where its first trial ran. Notes tell in what trials differ.
func (t *comparison) environment() *Table {
	list := &Table{}
	for i, s := range []compare.Side{t.Base, t.Head} {
		texts := []string{s.Name, strings.Join(s.Revisions, ", ")}
		if all := t.trials[i]; len(all) > 0 {
			texts = append(texts, format.Span(all[0].First().Started, all[len(all)-1].First().Started))
			for _, f := range view.Place(all[0]) {
				texts = append(texts, f.Text)
			}
		}
		list.fact(Plain, []string{"base", "head"}[i], format.Join(texts...))
	}
	return list
}

// commands returns the one that compares again, and those that measure again.
func (t *comparison) commands(own string) (all []Text) {
	lines := []string{own}
	for _, c := range slices.Concat(t.trials[:]...) {
		if line := c.Plan().Command; !slices.Contains(lines, line) && len(lines) <= manyRows {
			lines = append(lines, line)
		}
	}
	if text := strings.TrimSpace(strings.Join(lines, "\n")); text != "" {
		all = []Text{{Text: text, Code: true}}
	}
	return all
}
