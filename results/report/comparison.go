package report

// The document of a comparison: what became of each figure of each cell from base to head, and by what it was judged.

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

// How many rows there are at the most.
const (
	fullRows      = 60  // judged, without leaving some out
	openRows      = 12  // judged, at once in a comment that has those that need no action
	fullNotes     = 20  // on a terminal and in a comment
	quietRows     = 200 // in a table of a page, of those that need no action
	unjudgedRows  = 100 // in a table of a page, of a figure that no threshold judges
	intervalRows  = 178 // of a chart
	fewCommands   = 6   // stand at once on a page
	shownCommands = 60
)

// Comparison returns what a comparison says. Of many judged figures a terminal has the worst of each kind and a comment those that
// need a look; a page has all of these, and a few hundred of what has not changed. The command makes the comparison again; it is
// empty if a run did more than compare, whose table says what was measured.
func Comparison(c *compare.Comparison, command string) *Document {
	t := newComparison(c)
	d := &Document{Kind: "lockbench comparison", Mark: verdictMarks[c.Verdict], Tone: verdictTones[c.Verdict], Title: format.Upper(c.Headline())}
	rows := shortened(t.rows(false))
	d.add(At{Short | Verbose | Comment, Paragraph{Text: t.title()}})
	depth := Comment
	if command != "" {
		depth |= Short | Verbose
	}
	d.add(At{depth, Paragraph{Text: t.measured}})
	if len(rows) > 0 {
		d.add(At{Short | Verbose, t.table(rows)})
	}
	d.add(At{Short | Verbose, Paragraph{Text: t.left(rows)}})
	open := t.needLook()
	if len(open) > 0 {
		d.add(At{Comment, t.table(open)})
	}
	notes := listOf(t.notes(fullNotes))
	d.add(findingsOf(c.Findings()), At{Short | Verbose, notes},
		At{Comment, Section{Folded: true, Title: format.Plural(len(notes), "note"), Blocks: []Block{notes}}})
	all := t.rows(true)
	d.add(At{Short | Verbose, note(t.method(rows))}, At{Comment, note(t.method(all))})
	if len(all) > len(open) {
		d.add(At{Comment, Section{Folded: true, Title: "All " + format.Plural(len(all), "figure"), Blocks: []Block{t.table(all)}}})
	}
	d.add(At{Page, t.facts()})
	charts := t.charts()
	d.Picture = t.picture(charts)
	d.mean(t.means())
	for _, s := range t.sections(command, charts[min(1, len(charts)):]) {
		d.add(At{Page, s})
	}
	return d
}

// verdictMarks and verdictTones are how verdicts are drawn.
var (
	verdictMarks = map[compare.Verdict]string{compare.Regressed: "✗", compare.Inconclusive: "?", compare.Improved: "▲", compare.NotWorse: "✓", compare.Unchanged: "✓"}
	verdictTones = map[compare.Verdict]Tone{compare.Regressed: Bad, compare.Inconclusive: Warn, compare.Improved: Good}
	kindTones    = map[view.Kind]Tone{view.Bad: Bad, view.Warn: Warn, view.Good: Good}
)

// findingsOf returns findings of package view as a block.
func findingsOf(list []view.Finding) (all Findings) {
	for _, f := range list {
		all = append(all, Finding{Tone: kindTones[f.Kind], Lead: f.Lead, Text: f.Text})
	}
	return all
}

// comparison is one with the names of its cells.
type comparison struct {
	*compare.Comparison
	names    []string // empty of a single cell
	measured string   // what all trials of both sides have in common

	judged, shown []compare.Judgement // see compare.Comparison.Judgements
}

func newComparison(c *compare.Comparison) *comparison {
	t := &comparison{Comparison: c}
	t.judged, t.shown = c.Judgements()
	var trials []*results.Cell
	for _, cell := range c.Cells {
		for _, r := range slices.Concat(cell.Base, cell.Head) {
			trials = append(trials, &results.Cell{Trials: []*results.Record{r}})
		}
		t.names = append(t.names, cell.Label)
	}
	if len(trials) > 0 {
		t.measured = view.InCommon(trials)
	}
	return t
}

func (t *comparison) single() bool { return len(t.Cells) == 1 }

// rows returns the judged figures of all cells, and those of a single one that no threshold judges, or of all.
func (t *comparison) rows(all bool) (rows []compare.Judged) {
	all = all || t.single()
	for i := range t.Cells {
		for j := range t.Cells[i].Figures {
			if r := &t.Cells[i].Figures[j]; all || r.Threshold != nil {
				rows = append(rows, compare.Judged{Cell: i, Result: r})
			}
		}
	}
	return rows
}

// title returns what is compared with what.
func (t *comparison) title() string {
	of := func(s compare.Side, other string) string {
		parts := []string{format.Plural(s.Trials, "trial")}
		if text := format.Few(s.Revisions, namedSides); text != other {
			parts = append([]string{text}, parts...)
		}
		return strings.TrimPrefix(format.Clean(s.Name)+format.Unbroken, format.Unbroken) + "(" + format.Join(parts...) + ")"
	}
	b, h := t.Base, t.Head
	before := ""
	if b.Name == h.Name { // both sides of one run
		before = format.Clean(b.Name) + ": "
		b.Name, h.Name = "", ""
	}
	return before + "base " + of(b, format.Few(h.Revisions, namedSides)) + " → head " + of(h, format.Few(b.Revisions, namedSides))
}

// table returns rows with all that is known of them. On a terminal the name of a cell stands above its rows.
func (t *comparison) table(rows []compare.Judged) Table {
	table := Table{Caption: "Figures", Columns: []Column{
		{Title: "cell", Left: true, Depth: Comment}, {Title: "figure", Left: true}, {Title: "base", Drop: 3}, {Title: "head", Drop: 3}, {Title: "change"},
		{Title: "95 % interval", Drop: 2}, {Title: "p", Drop: 1}, {Title: "verdict", Left: true}, {Title: "because", Left: true, Wrap: true, Depth: Page},
	}}
	last := -1
	for _, r := range rows {
		name := r.Figure.Name
		if r.Threshold != nil {
			name = r.Threshold.Limit()
		}
		row := t.row(r, name)
		row.Cells = slices.Insert(row.Cells, 0, Value{Text: t.names[r.Cell]})
		if r.Cell != last && t.names[r.Cell] != "" {
			row.Above = []string{t.names[r.Cell]}
		}
		last = r.Cell
		table.Rows = append(table.Rows, row)
	}
	if t.single() {
		return table.without(0)
	}
	return table
}

// without returns the table without a column.
func (t Table) without(col int) Table {
	t.Columns = slices.Delete(t.Columns, col, col+1)
	for i := range t.Rows {
		t.Rows[i].Cells = slices.Delete(t.Rows[i].Cells, col, col+1)
	}
	return t
}

// row returns that of a result under a name.
func (t *comparison) row(r compare.Judged, name string) Row {
	tone := verdictTones[r.Verdict]
	side := func(e stats.Estimate) Value {
		return Value{Text: spread(r.Figure, e), Brief: r.Figure.Unit.Format(e.Median)}
	}
	why := ""
	if r.Why != "" {
		why = format.Upper(r.Why) + "."
	}
	return Row{ID: t.rowID(r), Tone: tone, Cells: []Value{
		{Text: name}, side(r.Change.Base), side(r.Change.Head), {Text: format.Change(r.Change.Ratio - 1)}, {Text: changeInterval(r.Change)}, {Text: pOf(r.Result)},
		{Text: strings.TrimSpace(verdictMarks[r.Verdict] + " " + verdictOf(r.Result)), Tone: tone, Strong: r.Verdict == compare.Regressed}, {Text: strings.TrimSpace(why + " " + compare.Needs(r.Result))},
	}}
}

// rowID returns the place of a result on a page, which other limits do not change.
func (t *comparison) rowID(r compare.Judged) string {
	what := r.Figure.Name
	if r.Threshold != nil {
		what = r.Threshold.String()
	}
	what = strings.NewReplacer("<", "-below-", ">", "-above-", "%", "-percent").Replace(what)
	return fmt.Sprintf("cell-%d-%s", r.Cell+1, strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' {
			return c
		}
		return '-'
	}, what))
}

// changeInterval returns the 95 % interval of a change: "−13.1 to −11.9 %", or a dash where there is none.
func changeInterval(c stats.Change) string {
	if math.IsNaN(c.Low) || math.IsNaN(c.High) {
		return format.None
	}
	return strings.TrimSuffix(format.Change(c.Low-1), " %") + " to " + format.Change(c.High-1)
}

// spread returns a median, with how far its 95 % interval reaches where it has one that says something: "80,000 ± 1 %".
func spread(f *metric.Metric, e stats.Estimate) string {
	text := f.Unit.Format(e.Median)
	if e.Known() && e.Median > 0 && f.Unit != metric.Count {
		text += " ± " + strconv.FormatFloat(math.Round(100*max(e.High/e.Median-1, 1-e.Low/e.Median)), 'f', 0, 64) + " %"
	}
	return text
}

// pOf returns the p by which a result was judged, in brackets that of one which was not, or a dash.
func pOf(r *compare.Result) string {
	switch {
	case r.Change.Base.N == 0 || r.Change.Head.N == 0:
		return format.None
	case !math.IsNaN(r.P):
		return format.P(r.P)
	case r.Threshold == nil:
		return "(" + format.P(r.Change.P) + ")"
	}
	return format.None
}

// verdictOf returns that of a result in words; what is worse within its threshold is not called unchanged. It is empty for one that no
// threshold judges.
func verdictOf(r *compare.Result) string {
	if r.Within() {
		return "within limit"
	}
	return string(r.Verdict)
}

// method returns how the verdicts of rows came about.
func (t *comparison) method(rows []compare.Judged) string {
	change := "The change is that of the medians, its interval by Moses."
	if t.Paired {
		change = "The change is the middle of those from each trial of the base to the one of the head that it took turns with, its interval by Hodges and Lehmann."
	}
	return strings.TrimSpace(fmt.Sprintf("Medians over trials; ± is a 95 %% interval, which takes %d of them. %s %s", stats.MinTrials, change, t.tested(rows)))
}

// tested returns what p is; empty if nothing was tested.
func (t *comparison) tested(rows []compare.Judged) string {
	if t.Tests == 0 {
		return ""
	}
	text := "p: Mann-Whitney"
	if t.Paired {
		text = "p: Wilcoxon's signed ranks, as the sides took turns"
	}
	if t.Tests > 1 {
		text += fmt.Sprintf(", adjusted for %s tests (Holm)", format.Count(t.Tests))
	}
	text += fmt.Sprintf("; a regression takes p < %s, so that a comparison in which nothing has changed reports one at most that often.",
		strconv.FormatFloat(t.Alpha, 'g', 3, 64))
	if slices.ContainsFunc(rows, func(r compare.Judged) bool { return r.Threshold == nil }) {
		text += " In brackets: not judged, and not adjusted."
	}
	return text
}

// facts are what a page says of both sides, and by what they were judged.
func (t *comparison) facts() Facts {
	var limits []string
	for _, g := range t.judged {
		limits = append(limits, format.Glue(g.Threshold.Limit()))
	}
	return filled(fact("base", t.about(t.Base, t.trials(0))), fact("head", t.about(t.Head, t.trials(1))), t.tally(),
		Fact{Label: "must not be", Lines: []string{strings.Join(limits, " · ")}}, fact("measured", t.measured))
}

// tally says how many cells, or figures of a single one, have each verdict.
func (t *comparison) tally() Fact {
	counts, what, n := map[compare.Verdict]int{}, "cells", len(t.Cells)
	for _, c := range t.Cells {
		counts[c.Verdict]++
	}
	if t.single() {
		clear(counts)
		what, n = "judged", len(t.judged)
		for _, g := range t.judged {
			counts[g.Verdict]++
		}
	}
	var parts []string
	for _, v := range compare.Verdicts {
		if of := counts[v]; of > 0 {
			parts = append(parts, fmt.Sprintf("%s %s %s", verdictMarks[v], format.Count(of), v))
		}
	}
	return Fact{Label: what, Lines: []string{format.Count(n) + ": " + strings.Join(parts, " · ")}}
}

// sections are those of a page, with the charts that are not its picture.
func (t *comparison) sections(command string, charts []Block) []Section {
	return []Section{
		section("notes", "Notes", folded(listOf(t.notes(math.MaxInt)), fullNotes, "more note")...),
		section("more-changes", "More changes", charts...),
		section("figures", "Figures", append(t.tables(), note(t.method(t.rows(true))))...),
		section("environment", "Environment", t.places()),
		section("commands", "Commands", t.commands(command)...),
	}
}

// charted reports whether a result has a place in a chart of changes.
func charted(r compare.Judged) bool {
	return r.Change.Ratio > 0 && !math.IsInf(r.Change.Ratio, 0) && (r.Threshold == nil || r.Threshold.Relative)
}

// charts show the changes: one for each threshold over all cells, the worst first, or one of all figures of a single cell.
func (t *comparison) charts() (blocks []Block) {
	drawn := func(list ...compare.Judgement) (chart Intervals) {
		chart.Axis = Axis{Unit: Change, Log: true}
		for _, g := range list {
			for _, r := range g.Results {
				if charted(r) && len(chart.Rows) < intervalRows {
					chart.Rows = append(chart.Rows, t.interval(r))
				}
			}
		}
		return chart
	}
	if t.single() {
		if chart := drawn(slices.Concat(t.judged, t.shown)...); len(chart.Rows) > 0 {
			blocks = append(blocks, chart)
		}
	} else {
		for _, g := range t.judged {
			chart := drawn(g)
			if len(chart.Rows) == 0 {
				continue
			}
			if len(blocks) == 0 {
				chart.Most = shownFirst
			}
			section := Section{Title: g.Metric.Name, About: aboutMetric(g.Metric) + ". The limit is " + g.Threshold.Allowed() + ".", Blocks: []Block{chart}}
			if more := len(g.Results) - len(chart.Rows); more > 0 && len(chart.Rows) == intervalRows {
				section.Blocks = append(section.Blocks, note("The table below has more."))
			}
			blocks = append(blocks, section)
		}
	}
	return blocks
}

// picture is the first of the charts.
func (t *comparison) picture(charts []Block) Section {
	if len(charts) == 0 {
		return Section{}
	}
	uncharted := 0
	for _, g := range t.judged {
		for _, r := range g.Results {
			if !charted(r) {
				uncharted++
			}
		}
	}
	text := "The mark is the change from base to head, the line its 95 % interval; the shaded part lies beyond the limit. " +
		"A cross has regressed: it is beyond the limit, and significant. A ring is inconclusive: neither that, nor can it be ruled out. A triangle has improved. " +
		"Of a dot a change as large as the limit is ruled out. Ratios are drawn on a logarithmic scale; an arrow points at what lies beyond it."
	if uncharted > 0 {
		text += fmt.Sprintf(" %s judged by the head's own value, or %s no change in percent: see the tables.",
			format.Verb(uncharted, "figure is", "figures are"), map[bool]string{true: "has", false: "have"}[uncharted == 1])
	}
	return Section{ID: "changes", Title: "Changes", Blocks: []Block{charts[0], howToRead(text)}}
}

// aboutMetric returns what a figure is, and which way it improves.
func aboutMetric(f *metric.Metric) string {
	return format.Upper(f.About) + map[metric.Better]string{metric.Higher: "; more is better", metric.Lower: "; less is better"}[f.Better]
}

func (t *comparison) interval(r compare.Judged) Interval {
	c := r.Change
	row := Interval{Name: t.names[r.Cell], Link: t.rowID(r), Mark: verdictMarks[r.Verdict], Tone: verdictTones[r.Verdict],
		Status: cmp.Or(verdictOf(r.Result), "not judged"), Value: format.Change(c.Ratio - 1), Low: c.Low, Mid: c.Ratio, High: c.High}
	if l := r.Threshold; l != nil {
		row.Limit, row.Above = 1+l.Value, !l.Less
	}
	if t.single() {
		row.Name = r.Figure.Name
		if r.Threshold != nil {
			row.Name = r.Threshold.Limit()
		}
	}
	var beside []string
	if !math.IsNaN(c.Low) {
		beside = append(beside, format.Glue(changeInterval(c)))
	}
	if r.Threshold != nil && !math.IsNaN(r.P) {
		beside = append(beside, format.Glue("p "+pOf(r.Result)))
	}
	row.Beside = strings.Join(beside, " · ")
	return row
}

// tables are one for each threshold over all cells, and one for each figure that none judges; or one of a single cell.
func (t *comparison) tables() (blocks []Block) {
	if t.single() {
		return []Block{t.table(t.rows(true))}
	}
	of := func(g compare.Judgement) Section {
		s := Section{Title: g.Metric.Name}
		room, left := unjudgedRows, "Those that moved the most; %s left out here, and in the CSV and JSON of the comparison."
		if g.Threshold != nil {
			s.Title, room, left = g.Threshold.Limit(), quietRows, "%s without a change are left out here, and in the CSV and JSON of the comparison."
		} else {
			slices.SortStableFunc(g.Results, func(a, b compare.Judged) int { return cmp.Compare(badness(b.Result), badness(a.Result)) })
		}
		table := t.table(nil)
		table.Columns[1].Title = "cell"
		table.Caption = aboutMetric(g.Metric) + "."
		for i, r := range g.Results {
			if r.Threshold == nil || r.Quiet() {
				if room--; room < 0 {
					left = fmt.Sprintf(left, format.Plural(len(g.Results)-i, "more row"))
					break
				}
			}
			row := t.row(r, t.names[r.Cell])
			row.Cells = slices.Insert(row.Cells, 0, Value{})
			table.Rows = append(table.Rows, row)
		}
		s.Blocks = []Block{table.without(0)}
		if room < 0 {
			s.Blocks = append(s.Blocks, note(left))
		}
		return s
	}
	for _, g := range t.judged {
		blocks = append(blocks, of(g))
	}
	more := Section{Folded: true, Title: "Figures that no threshold judges"}
	for _, g := range t.shown {
		more.Blocks = append(more.Blocks, of(g))
	}
	if len(t.shown) > 0 {
		blocks = append(blocks, more)
	}
	return blocks
}

// badness returns how far a figure has moved in the bad direction, or in any if none is, as the logarithm of a ratio.
func badness(r *compare.Result) float64 {
	moved := math.Log(r.Change.Ratio)
	switch r.Figure.Better {
	case metric.Higher:
		return -moved
	case metric.Neither:
		return math.Abs(moved)
	}
	return moved
}
