package report

// The document of a plan: which lock carries the load, and the trials from which that is known.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

// Plan returns what an answer of lockbench plan says.
func Plan(a *capacity.Answer) *Document {
	a = a.Known()
	look := planLook(a.Verdict)
	d := &Document{Kind: "lockbench plan", Mark: look.mark, Tone: look.tone, Title: planSentence(a)}
	failed, warnings := planFindings(a)
	if all := append(failed, warnings...); all != nil {
		d.add(At{Short | Verbose | Comment, all})
	}
	facts, columns := PlanAnalysis(a), knownColumns(a)
	const more, besides = Verbose | Comment | Page, Short | Verbose | Comment // a page has those of besides further up
	if len(columns) > 0 {
		for i := range facts {
			facts[i].Depth = more // lockbench plan says it before it measures
		}
	}
	add := func(depth Depth, label string, lines ...string) {
		f := fact(label, lines...)
		f.Depth = depth
		facts = append(facts, filled(f)...)
	}
	add(0, "measured", planEffort(a))
	if len(columns) == 0 {
		add(0, "verdict", planVerdicts(a)...)
	}
	add(besides, "breaks", a.Breaks)
	add(0, "strictest", planBinding(a))
	add(besides, "unseen", a.Unseen)
	d.Picture = planPicture(a)
	means := planMeans(a)
	if len(means) == 0 && len(facts) > 0 && len(a.Analysis) > 0 { // of a load that was refused on paper
		means, facts[0].Depth = Facts{facts[0]}, besides
	}
	if len(failed) > 0 {
		d.mean(means, failed)
	} else {
		d.mean(means)
	}
	if len(a.Skipped) > 0 {
		short := a.Skipped
		const few = 2 // are listed one by one
		if n := len(short); n > few {
			short = []string{format.Count(n) + " candidates that could not run (-v lists them)"}
		}
		facts = append(facts, Fact{Label: "skipped", Lines: short, Tone: Warn, Depth: Short}, Fact{Label: "skipped", Lines: a.Skipped, Tone: Warn, Depth: Verbose | Comment})
	}
	d.add(facts)
	if len(a.Candidates) > 0 {
		s := planCandidates(a, columns)
		if len(columns) > 0 {
			d.add(s)
		} else {
			d.add(At{Page, s}) // elsewhere the facts have all of it
		}
		d.add(At{Verbose | Page, planDetails(a)})
	}
	d.add(At{Page, Section{ID: "skipped", Title: "Skipped", About: "These candidates could not run.", Blocks: []Block{listOf(a.Skipped)}}},
		At{Page, section("environment", "Environment", environment(a.Env))})
	return d
}

// PlanAnalysis returns what is known of the loads of an answer without a server.
func PlanAnalysis(a *capacity.Answer) Facts {
	on := Fact{Label: "on paper"}
	for _, an := range a.Analysis {
		on.Lines = append(on.Lines, analysisText(an, a.Rate))
		if an.Impossible != "" {
			on.Tone = Bad
		}
	}
	if on.Lines == nil {
		return nil
	}
	return Facts{on}
}

// planFindings returns which locks have failed, and what changes how all is read.
func planFindings(a *capacity.Answer) (failed, warnings Findings) {
	for i := range a.Candidates {
		if c := &a.Candidates[i]; c.Verdict == capacity.Violated {
			failed = append(failed, Finding{Tone: Bad, Lead: c.Name + ":", Text: planWhy(c)})
		}
	}
	for _, text := range a.Warnings {
		warnings = append(warnings, Finding{Tone: Warn, Lead: "Warning:", Text: text})
	}
	return failed, warnings
}

// planMeans says what can go wrong with the best candidate, what breaks, how far the figures go, and what to try next.
func planMeans(a *capacity.Answer) Facts {
	risk, next := "", ""
	if len(a.Candidates) > 0 {
		c := &a.Candidates[0]
		next = c.Remedy
		if c.Verdict == capacity.Sustains {
			if risk = c.Wrong; risk != "" {
				risk = c.Name + ": " + risk
			}
			next = proveIt(&results.Cell{Trials: []*results.Record{{Plan: c.Plan, Traits: c.Traits}}})
		}
	}
	return filled(fact("risk", risk), fact("breaks", a.Breaks), fact("trust", append(slices.Clone(a.Warnings), a.Unseen)...), fact("next", next))
}

// planPicture is the rate that each candidate sustains.
func planPicture(a *capacity.Answer) Section {
	overview := planOverview(a)
	if len(overview.Rows) == 0 {
		return Section{}
	}
	return Section{ID: "rates", Title: "What each sustains", Blocks: []Block{overview, Paragraph{Text: overviewHint(a), Note: true}}}
}

// planVerdicts says what became of candidates of which no figure is known, but for those of which the analysis says it.
func planVerdicts(a *capacity.Answer) (lines []string) {
	names := planGroups(a, func(c *capacity.CandidateAnswer) string {
		if slices.ContainsFunc(a.Analysis, func(an capacity.Analysis) bool { return an.Impossible != "" && an.Impossible == c.Why }) {
			return ""
		}
		return planWhy(c)
	})
	for _, text := range names.Keys {
		lines = append(lines, format.And(names.Of[text])+" – "+text)
	}
	return lines
}

// planCandidates is the ranked table, with what a reader needs to see of it at once.
func planCandidates(a *capacity.Answer, columns []planColumn) Section {
	s := Section{ID: "candidates", Title: "Candidates"}
	s.Blocks = append(s.Blocks, At{Short | Comment, planTable(a, columns, false)}, At{Verbose | Page, planTable(a, columns, true)})
	if slices.ContainsFunc(a.Candidates, func(c capacity.CandidateAnswer) bool { return c.Headroom > 0 }) {
		s.Blocks = append(s.Blocks, Paragraph{Note: true, Text: "Head-room: the lower end of the interval, divided by the rate asked for."})
	}
	if slices.ContainsFunc(a.Candidates, func(c capacity.CandidateAnswer) bool { return len(c.Points) > 0 }) {
		s.Blocks = append(s.Blocks, At{Page, Paragraph{Note: true, Text: "Response: at the rate asked for, at the quantile of the objective. First full: the resource that is used up first, and the rate at which it is (utilisation law)."}})
	}
	var why List
	for i := range a.Candidates {
		if c := &a.Candidates[i]; c.Verdict != capacity.Sustains && len(columns) > 0 {
			why = append(why, Item{Text: c.Name + " – " + planWhy(c)})
		}
	}
	if why != nil {
		s.Blocks = append(s.Blocks, At{Comment, why})
	}
	if risks := planRisks(a); len(risks) > 0 && len(columns) > 0 {
		s.Blocks = append(s.Blocks, At{Short | Comment, Section{Title: "What is wrong with each design", Blocks: []Block{risks}}})
	}
	return s
}

// planRisks returns what is wrong with the design that is recommended, and the main risk of each of the others.
func planRisks(a *capacity.Answer) (list List) {
	names := planGroups(a, func(c *capacity.CandidateAnswer) string {
		if c.Wrong == a.Candidates[0].Wrong {
			return c.Wrong
		}
		first, _, _ := strings.Cut(c.Wrong, ";")
		return first
	})
	for _, text := range names.Keys {
		mark := strings.Join(names.Of[text], ", ")
		if n := len(names.Of[text]); n > 1 && n == len(a.Candidates) {
			mark = "all"
		}
		list = append(list, Item{Mark: mark + ":", Text: text})
	}
	return list
}

// planColumn is a figure of the ranked table.
type planColumn struct {
	title string
	drop  int // see Column.Drop
	text  func(c *capacity.CandidateAnswer) string
}

// planColumns are those of figures, in their order.
var planColumns = []planColumn{
	{"sustains\n/s", 0, func(c *capacity.CandidateAnswer) string {
		switch {
		case c.AtLeast && c.Sustains.Low > 0:
			return "≥ " + format.Three(c.Sustains.Low)
		case c.Sustains.Mid <= 0:
			return format.None
		}
		return format.Three(c.Sustains.Mid)
	}},
	{"95 %\ninterval", 0, func(c *capacity.CandidateAnswer) string {
		if c.AtLeast {
			return format.None
		}
		return intervalText(c.Sustains, format.Three)
	}},
	{"head-\nroom", 0, func(c *capacity.CandidateAnswer) string {
		if c.Headroom <= 0 {
			return format.None
		}
		return metric.Ratio.Format(c.Headroom)
	}},
	{"response\nat rate", 1, func(c *capacity.CandidateAnswer) string {
		if c.AtLeast && c.Verdict == capacity.Undecided { // it is lockbench's, or its machine's
			return format.None
		}
		return cmp.Or(planResponse(c), format.None)
	}},
	{"clients\n/conns", 4, func(c *capacity.CandidateAnswer) string {
		if c.Clients <= 0 {
			return format.None
		}
		if c.Conns <= 0 {
			return format.Count(c.Clients)
		}
		return format.Count(c.Clients) + " / " + format.Count(c.Conns)
	}},
	{"commands\n/lock", 3, func(c *capacity.CandidateAnswer) string { return planCost(c.Cost.Commands, metric.PerLock) }},
	{"CPU\n/lock", 2, func(c *capacity.CandidateAnswer) string { return planCost(c.Cost.ServerCPUUs, metric.Micros) }},
}

// planCost formats an amount of which 0 and less are not known.
func planCost(v float64, u *metric.Unit) string {
	if v <= 0 {
		return format.None
	}
	return u.Format(v)
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

// planTable is the ranked table. Its reasons are whole, or in short the first of them.
func planTable(a *capacity.Answer, columns []planColumn, whole bool) Table {
	const besides = Page | Comment // where a terminal has a line below the row
	t := Table{Caption: "Candidates, the best first", Columns: []Column{{Title: "candidate", Left: true}, {Title: "verdict", Left: true, Depth: besides}, {Title: "guarantees", Left: true, Depth: besides}}}
	for _, col := range columns {
		t.Columns = append(t.Columns, Column{Title: col.title, Drop: col.drop})
	}
	t.Columns = append(t.Columns, Column{Title: "first full", Left: true, Depth: besides})
	for i := range a.Candidates {
		c := &a.Candidates[i]
		look := planLook(c.Verdict)
		row := Row{Mark: look.mark, Tone: look.tone, Cells: []Value{
			{Text: c.Name, Link: candidateID(i)}, {Text: look.mark + " " + string(c.Verdict), Tone: look.tone}, {Text: planClaims(c)},
		}}
		for _, col := range columns {
			row.Cells = append(row.Cells, Value{Text: col.text(c)})
		}
		first := planFirst(c)
		row.Cells = append(row.Cells, Value{Text: cmp.Or(first, format.None)})
		why := ""
		if c.Verdict != capacity.Sustains {
			if why = planWhy(c); !whole {
				why, _, _ = strings.Cut(why, ";")
			}
		}
		if first != "" {
			first = "first full: " + first
		}
		row.Below = format.Join(why, view.Waits(&c.Plan), planClaims(c), first)
		t.Rows = append(t.Rows, row)
	}
	return t
}

func candidateID(i int) string { return fmt.Sprintf("candidate-%d", i+1) }

// planOverview is a row a candidate: its rate with the interval, against the rate asked for. It has none if no rate is known.
func planOverview(a *capacity.Answer) (chart Intervals) {
	if !slices.ContainsFunc(a.Candidates, func(c capacity.CandidateAnswer) bool { return c.Sustains.Low > 0 }) {
		return chart
	}
	chart.Axis, chart.Most = planRates(a), shownFirst
	for i := range a.Candidates {
		c := &a.Candidates[i]
		r, look := c.Sustains, planLook(c.Verdict)
		row := Interval{Name: c.Name, Link: candidateID(i), Mark: look.mark, Tone: look.tone, Status: string(c.Verdict), Value: format.None,
			Limit: a.Rate, Low: r.Low, Mid: r.Mid, High: r.High}
		switch {
		case c.AtLeast && r.Low > 0:
			row.AtLeast, row.Value = true, "≥ "+RateText(r.Low)
		case r.Mid > 0:
			row.Value, row.Beside = RateText(r.Mid), intervalText(r, format.Three)
		}
		chart.Rows = append(chart.Rows, row)
	}
	return chart
}

// planRates spans the rates of all candidates and the one asked for; on a logarithmic scale if they are far apart.
func planRates(a *capacity.Answer) Axis {
	x := Axis{Unit: PerSecond, Least: math.Inf(1)}
	list := []float64{a.Rate}
	for _, c := range a.Candidates {
		list = append(list, c.Sustains.Low, c.Sustains.Mid, c.Sustains.High)
	}
	for _, v := range list {
		if v > 0 && !math.IsInf(v, 0) {
			x.Least, x.Most = min(x.Least, v), max(x.Most, v)
		}
	}
	const farApart = 20
	x.Log = x.Most > farApart*x.Least
	return x
}

// overviewHint says how to read it.
func overviewHint(a *capacity.Answer) string {
	text := "Arrivals a second that each sustains under the SLO, with the 95 % interval"
	if planRates(a).Log {
		text += ", on a logarithmic scale"
	}
	text += "."
	if a.Rate > 0 {
		text += " The broken line is " + RateText(a.Rate) + ", which is asked for; the shaded part lies below it."
	}
	if slices.ContainsFunc(a.Candidates, func(c capacity.CandidateAnswer) bool { return c.AtLeast }) {
		text += " An arrow: at least so many, and lockbench, its machine or the highest rate to be tried was the limit."
	}
	return text
}

// planDetails is all that is known of each candidate.
func planDetails(a *capacity.Answer) Section {
	const unfolded = 6
	s := Section{ID: "details", Title: "One by one"}
	slo, err := capacity.ParseSLO(a.SLO)
	if err != nil {
		slo = capacity.SLO{} // somebody else wrote the file
	}
	for i := range a.Candidates {
		c := &a.Candidates[i]
		look := planLook(c.Verdict)
		one := Section{ID: candidateID(i), Title: c.Name, Folded: true, Open: i < unfolded, Mark: look.mark, Tone: look.tone, Status: string(c.Verdict)}
		for _, chart := range planCharts(a, c, slo) {
			one.Blocks = append(one.Blocks, At{Page, Charts{chart}})
		}
		one.Blocks = append(one.Blocks, planFacts(c))
		if len(c.Resources) > 0 {
			one.Blocks = append(one.Blocks, planResources(c))
		}
		if len(c.Points) > 0 {
			one.Blocks = append(one.Blocks, planTrials(c))
		}
		s.Blocks = append(s.Blocks, one)
	}
	return s
}

// planResources is what a lock takes of each resource.
func planResources(c *capacity.CandidateAnswer) Table {
	t := Table{Caption: "What a lock takes of each resource, the first to be used up first", Columns: []Column{
		{Title: "resource", Left: true}, {Title: "a lock takes"}, {Title: "there are"}, {Title: "used"}, {Title: "full at"},
	}}
	for _, r := range c.Resources {
		takes := format.None
		if r.Demand.Mid > 0 {
			takes = metric.Duration.Format(r.Demand.Mid * 1e9)
		}
		t.line(r.Name, takes, unitsText(r.Units), usedText(r.Used), rateRange(r.Full))
	}
	return t
}

// planTrials is the trials of a candidate, in the order in which they ran.
func planTrials(c *capacity.CandidateAnswer) Table {
	t := Table{Caption: "Trials", Columns: []Column{{Title: "stage", Left: true}, {Title: "rate"}, {Title: "late arrivals"}, {Title: "p99"}, {Title: "arrivals"}, {Title: "left out", Left: true}}}
	for _, pt := range c.Points {
		p99 := format.None
		if pt.P99 > 0 {
			p99 = format.Duration(pt.P99)
		}
		t.line(cmp.Or(string(pt.Stage), format.None), RateText(pt.Rate), shareRange(pt.Share), p99, format.Count(pt.Arrivals), pt.Left)
	}
	return t
}

// planCharts returns the charts of a candidate over the rate: the share of late arrivals, and the p99 if some trial has one.
func planCharts(a *capacity.Answer, c *capacity.CandidateAnswer, slo capacity.SLO) (all []Chart) {
	var points []capacity.Point
	for _, pt := range c.Points {
		if pt.Rate > 0 {
			points = append(points, pt)
		}
	}
	if len(points) == 0 {
		return nil
	}
	most := max(a.Rate, c.Sustains.High)
	for _, pt := range points {
		most = max(most, pt.Rate)
	}
	most = min(most, 3*max(c.Sustains.High, points[len(points)-1].Rate)) // the rate that was asked for may be far beyond all trials
	base := Chart{Of: c.Name, X: Axis{Unit: PerSecond, Most: most}}
	if c.Sustains.High > 0 {
		base.From, base.To = c.Sustains.Low, c.Sustains.High
	}
	if a.Rate > 0 {
		base.Uprights = []Line{{a.Rate, "asked for"}}
	}
	all = append(all, shareChart(base, c, slo, points))
	if chart := p99Chart(base, slo, points); chart.Panels[0].Y.Most > 0 {
		all = append(all, chart)
	}
	return all
}

// shareChart is the share of late arrivals over the rate. Trials without any late arrival lie at its lower end.
func shareChart(chart Chart, c *capacity.CandidateAnswer, slo capacity.SLO, points []capacity.Point) Chart {
	const lowest = 1e-5
	chart.Title, chart.Finding = "Late arrivals by rate", "Share of the arrivals beyond the limit, by arrivals a second."
	if r := c.Sustains; r.High > 0 {
		chart.Finding = "The fit crosses the limit at " + format.Glue(rateRange(r)) + ". " + chart.Finding
	}
	p := Panel{Y: Axis{Unit: Share, Log: true, Least: 1}}
	for _, pt := range points {
		p.Y.take(pt.Share.Mid, pt.Share.High)
	}
	for _, o := range slo.Objectives {
		p.Y.take(o.Allowed()/10, o.Allowed()*3)
		p.Levels = append(p.Levels, Line{o.Allowed(), "SLO " + format.Percent(o.Allowed())})
	}
	p.Y.Least, p.Y.Most = max(p.Y.Least, lowest), min(p.Y.Most, 1)
	fit := Series{Band: true}
	for _, pt := range c.Curve {
		if pt.Rate > 0 && !pt.Share.IsZero() {
			fit.Points = append(fit.Points, Point{pt.Rate, pt.Share.Mid, pt.Share.Low, pt.Share.High})
		}
	}
	p.Series = []Series{fit}
	p.Signs = planSigns(points, func(pt capacity.Point) Point { return Point{pt.Rate, pt.Share.Mid, pt.Share.Low, pt.Share.High} })
	chart.Panels = []Panel{p}
	return chart
}

// p99Chart is the p99 of the response over the rate.
func p99Chart(chart Chart, slo capacity.SLO, points []capacity.Point) Chart {
	chart.Title, chart.Finding = "p99 by rate", "p99 of the response of each trial, by arrivals a second."
	p := Panel{Y: Axis{Unit: Nanoseconds, Log: true, Least: math.Inf(1)}}
	known := slices.DeleteFunc(slices.Clone(points), func(pt capacity.Point) bool { return pt.P99 <= 0 })
	for _, pt := range known {
		p.Y.take(float64(pt.P99))
	}
	const quantile = 0.99
	for _, o := range slo.Objectives {
		if o.Quantile == quantile && len(known) > 0 {
			p.Y.take(float64(o.Limit))
			p.Levels = append(p.Levels, Line{float64(o.Limit), "SLO " + format.Exact(o.Limit)})
		}
	}
	p.Signs = planSigns(known, func(pt capacity.Point) Point { return Point{X: pt.Rate, Y: float64(pt.P99)} })
	chart.Panels = []Panel{p}
	return chart
}

// take makes room for values that are more than 0 and finite.
func (x *Axis) take(values ...float64) {
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) {
			x.Least, x.Most = min(x.Least, v), max(x.Most, v)
		}
	}
}

// planSigns sorts trials by their stages; those that do not count are the last kind.
func planSigns(points []capacity.Point, place func(capacity.Point) Point) (all []Signs) {
	for i, stage := range []capacity.Stage{capacity.StagePilot, capacity.StageSearch, capacity.StageConfirm, ""} {
		s := Signs{Kind: i, Name: cmp.Or(map[capacity.Stage]string{capacity.StageConfirm: "confirmation"}[stage], string(stage), "does not count")}
		for _, pt := range points {
			counts := pt.Left == "" && slices.Contains([]capacity.Stage{capacity.StagePilot, capacity.StageSearch, capacity.StageConfirm}, pt.Stage)
			if counts && pt.Stage == stage || !counts && stage == "" {
				s.Points = append(s.Points, place(pt))
			}
		}
		if s.Points != nil {
			all = append(all, s)
		}
	}
	return all
}
