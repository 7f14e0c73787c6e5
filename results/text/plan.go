package text

// The answer of lockbench plan: the verdict and the advice, what is known without a server, then the candidates, the best
// first.

import (
	"io"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

// verdictColors are how verdicts of candidates are drawn.
var verdictColors = map[capacity.Verdict]string{
	capacity.Sustains: green, capacity.RulesOut: red, capacity.Violated: red, capacity.Failed: red, capacity.Undecided: yellow,
}

// Plan writes an answer for a terminal: the verdict, the advice and the analysis, then a table with two lines a candidate, and
// below it what is wrong with each design, what breaks first, what cannot have been seen, and what changes how the figures are
// read. When the rows are too wide, names stand above the figures, and then columns
// are left out, clients and what a lock costs first. Options.Verbose adds all
// resources and all trials.
func Plan(w io.Writer, a *capacity.Answer, o Options) error {
	a = a.Known()
	p := planPage(o)
	p.para(verdictColors[a.Verdict], view.PlanMark(a.Verdict)+" ", view.PlanHeadline(a))
	if a.Advice != "" {
		p.para("", "  ", a.Advice)
	}
	p.blank()
	p.analysis(a)
	p.item("", "measured", view.PlanEffort(a))
	if columns := knownColumns(a); len(columns) > 0 {
		p.blank()
		if err := p.candidates(a, columns); err != nil {
			return err
		}
		p.blank()
		p.explain(planRisks(a, p.verbose))
	} else {
		p.verdicts(a)
	}
	if p.lines[len(p.lines)-1] != "" {
		p.blank()
	}
	p.below(a)
	if p.verbose {
		for i := range a.Candidates {
			if err := p.candidate(&a.Candidates[i]); err != nil {
				return err
			}
		}
	}
	p.lines = p.lines[:len(p.lines)-trailing(p.lines)]
	return p.writeTo(w)
}

// PlanAnalysis writes what is known of the loads of an answer without a server.
func PlanAnalysis(w io.Writer, a *capacity.Answer, o Options) error {
	p := planPage(o)
	p.analysis(a.Known())
	return p.writeTo(w)
}

func planPage(o Options) *page {
	p := &page{width: o.Width, color: o.Color, verbose: o.Verbose}
	if p.width <= 0 {
		p.width = defaultWidth
	}
	return p
}

// trailing returns how many lines at the end are empty.
func trailing(lines []string) (n int) {
	for n < len(lines) && lines[len(lines)-1-n] == "" {
		n++
	}
	return n
}

func (p *page) analysis(a *capacity.Answer) {
	for i, an := range a.Analysis {
		label := "on paper"
		if i > 0 {
			label = ""
		}
		color := ""
		if an.Impossible != "" {
			color = red
		}
		p.item(color, label, view.PlanAnalysis(an, a.Rate))
	}
}

// planTable is the ranked table, before it takes a format.
func planTable(a *capacity.Answer, columns []planColumn, name func(*capacity.CandidateAnswer) string) grid {
	g := grid{Head: []string{"\n"}, Right: []bool{false}}
	for _, col := range columns {
		g.Head, g.Right = append(g.Head, col.head), append(g.Right, true)
	}
	for i := range a.Candidates {
		c := &a.Candidates[i]
		row := []string{name(c)}
		for _, col := range columns {
			row = append(row, col.text(c))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// verdicts writes what became of candidates of which no figure is known, but for those of which the analysis says it.
func (p *page) verdicts(a *capacity.Answer) {
	for _, g := range view.PlanGroups(a, func(c *capacity.CandidateAnswer) string {
		if slices.ContainsFunc(a.Analysis, func(an capacity.Analysis) bool { return an.Impossible != "" && an.Impossible == c.Why }) {
			return ""
		}
		return p.why(c)
	}) {
		p.item("", "verdict", format.And(g.Names)+" – "+g.Text)
	}
}

// why returns the verdict on c with its reason; in short, the first of that.
func (p *page) why(c *capacity.CandidateAnswer) string {
	text := view.PlanWhy(c)
	if !p.verbose {
		text, _, _ = strings.Cut(text, ";")
	}
	return text
}

// knownColumns returns those of the ranked table; none if no figure of any candidate is known.
func knownColumns(a *capacity.Answer) []planColumn {
	known := func(col planColumn) bool {
		return slices.ContainsFunc(a.Candidates, func(c capacity.CandidateAnswer) bool { return col.text(&c) != format.None })
	}
	if !slices.ContainsFunc(planColumns, known) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(planColumns), func(col planColumn) bool { return col.drop > 0 && !known(col) })
}

// candidates writes the ranked table: the figures of each candidate beside its name, or below all names if one is too long for
// that.
func (p *page) candidates(a *capacity.Answer, columns []planColumn) error {
	marked := func(c *capacity.CandidateAnswer) string { return view.PlanMark(c.Verdict) + " " + format.Clean(c.Name) }
	g := planTable(a, columns, marked)
	beside := g.Width() <= p.width
	var left []string
	for !beside {
		g = planTable(a, columns, func(*capacity.CandidateAnswer) string { return "  " })
		worst := slices.IndexFunc(columns, func(col planColumn) bool { return col.drop == mostDropped(columns) })
		if g.Width() <= p.width || columns[worst].drop == 0 {
			break
		}
		left = append(left, draw.OneLine(columns[worst].head))
		columns = slices.Delete(columns, worst, worst+1)
	}
	lines, err := g.Text()
	if err != nil {
		return err
	}
	const head = 3 // two lines of titles and a rule
	p.add(bold, lines[:head-1]...)
	p.add("", lines[head-1])
	for i, line := range lines[head:] {
		c := &a.Candidates[i]
		if color := verdictColors[c.Verdict]; beside {
			p.add(color, line)
			p.para("", "    ", p.details(c))
		} else {
			p.para(color, view.PlanMark(c.Verdict)+" ", format.Join(c.Name, p.details(c)))
			p.add("", line)
		}
	}
	if len(left) > 0 {
		p.para("", "", "Left out for lack of room: "+strings.Join(left, ", ")+".")
	}
	return nil
}

// mostDropped returns the drop of the column that goes first.
func mostDropped(columns []planColumn) (most int) {
	for _, col := range columns {
		most = max(most, col.drop)
	}
	return most
}

// details returns what a row has no column for.
func (p *page) details(c *capacity.CandidateAnswer) string {
	var parts []string
	if c.Verdict != capacity.Sustains {
		parts = append(parts, p.why(c))
	}
	parts = append(parts, view.PlanClaims(c))
	if first := view.PlanFirst(c); first != "" {
		parts = append(parts, "first full: "+first)
	}
	return format.Join(parts...)
}

// middleCut cuts what does not fit into the room out of the middle of a name.
func middleCut(name string, room int) string {
	whole := []rune(name)
	for n := len(whole); format.Width(name) > room && n > 0; n-- {
		name = string(whole[:n/2]) + "…" + string(whole[len(whole)-(n-1)/2:])
	}
	return name
}

// planRisks returns what is wrong with each design that was measured; in short, the first of it.
func planRisks(a *capacity.Answer, whole bool) (list []note) {
	for _, g := range view.PlanGroups(a, func(c *capacity.CandidateAnswer) string {
		if whole {
			return c.Wrong
		}
		first, _, _ := strings.Cut(c.Wrong, ";")
		return first
	}) {
		mark := format.Clean(strings.Join(g.Names, ", "))
		if n := len(g.Names); n > 1 && n == len(a.Candidates) {
			mark = "all"
		}
		list = append(list, note{mark: mark + ":", text: g.Text, item: true})
	}
	if list != nil {
		list = slices.Insert(list, 0, note{text: "What is wrong with each design:"})
	}
	return list
}

// below writes what stands below the table.
func (p *page) below(a *capacity.Answer) {
	p.item("", "breaks", a.Breaks)
	p.item("", "strictest", view.PlanBinding(a))
	p.item("", "at 2, 10 ×", view.PlanScale(a))
	for _, s := range a.Scaling {
		p.item("", "scaling", view.PlanScaling(s))
	}
	p.item("", "unseen", a.Unseen)
	for _, text := range a.Warnings {
		p.item(yellow, "warning", text)
	}
	for _, text := range planSkipped(a, p.verbose) {
		p.item(yellow, "skipped", text)
	}
}

// fewSkipped are as many as are listed one by one, in short.
const fewSkipped = 2

// planSkipped returns what could not run, and why; in short, how many there are if they are more than a few.
func planSkipped(a *capacity.Answer, whole bool) []string {
	if n := len(a.Skipped); n > fewSkipped && !whole {
		return []string{format.Count(n) + " candidates that could not run (-v lists them)"}
	}
	return a.Skipped
}

// candidate writes all that is known of one.
func (p *page) candidate(c *capacity.CandidateAnswer) error {
	p.blank()
	p.add(bold, rule(format.Clean(c.Name), p.width)...)
	for _, item := range view.PlanFacts(c) {
		if item.Label != "risk" { // which is said above
			p.item("", item.Label, strings.Join(item.Lines, " "))
		}
	}
	for _, g := range []grid{planResources(c), planPoints(c, p.width-2)} {
		if len(g.Rows) == 0 {
			continue
		}
		p.blank()
		lines, err := g.Text()
		if err != nil {
			return err
		}
		for _, line := range lines {
			p.add("", "  "+line)
		}
	}
	return nil
}

// planResources is what a lock takes of each resource.
func planResources(c *capacity.CandidateAnswer) grid {
	g := grid{Head: []string{"resource", "a lock takes", "there are", "used", "full at", "2 ×", "10 ×"}, Right: []bool{false, true, true, true, true, true, true}}
	for _, r := range c.Resources {
		takes := format.None
		if r.Demand.Mid > 0 {
			takes = metric.Duration.Format(r.Demand.Mid * 1e9)
		}
		g.Rows = append(g.Rows, []string{middleCut(format.Clean(r.Name), 14), takes, view.UnitsText(r.Units), view.UsedText(r.Used), view.RateRange(r.Full), view.UsedText(r.Double), view.UsedText(r.Tenfold)})
	}
	return g
}

// planPoints is the trials of a candidate, in the order in which they ran. Of why some were left out it has the kind.
func planPoints(c *capacity.CandidateAnswer, room int) grid {
	g := grid{Head: []string{"stage", "rate", "late", "p99", "arrivals", "left out"}, Right: []bool{false, true, true, true, true, false}}
	last := len(g.Head) - 1
	left := false
	for _, pt := range c.Points {
		p99 := format.None
		if pt.P99 > 0 {
			p99 = format.Duration(pt.P99)
		}
		left = left || pt.Left != ""
		kind, _, _ := strings.Cut(pt.Left, ":")
		g.Rows = append(g.Rows, []string{string(pt.Stage), view.PerSecond(pt.Rate), view.ShareRange(pt.Share), p99, format.Count(pt.Arrivals), format.Clean(kind)})
	}
	if !left {
		return g.Keeping(func(col int) bool { return col < last })
	}
	if over := g.Width() - room; over > 0 {
		for _, row := range g.Rows {
			row[last] = middleCut(row[last], max(shortestName, g.Widest(last)-over))
		}
	}
	return g
}
