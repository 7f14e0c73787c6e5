package html

// The page of a plan: which lock carries the load, and the trials from which that is known.

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/text"
	"github.com/lockbench/lockbench/results/view"
)

// openCandidates is how many candidates are unfolded.
const openCandidates = 6

// planned is the page.
type planned struct {
	Title, Mark, Class string
	Takeaways          []view.Finding
	Facts              []view.Item
	Overview           forest
	Hint               string // to the overview
	Table              planTable
	Candidates         []plannedCandidate
	Charted            bool // some candidate has trials
	Stages             []stageSign
	Skipped            []string
	Places             []view.Item
}

func (p planned) title() string { return p.Title }

type planTable struct {
	Head  []string
	Right []bool
	Rows  []planTableRow
}

type planTableRow struct {
	Link, Name, Class string
	Cells             []string
}

// plannedCandidate is all that is known of one.
type plannedCandidate struct {
	ID                         string
	Name, Mark, Verdict, Class string
	Open                       bool
	Charts                     []lineChart
	Facts                      []view.Item
	Resources, Trials          table
}

// WritePlan writes the page of an answer. The same answer makes the same bytes. It fails if the answer is nil, or with the error
// of w, to which nothing is written until the page is whole.
func WritePlan(w io.Writer, a *capacity.Answer, o Options) error {
	if a == nil {
		return errors.New("html: no plan")
	}
	return writePage(w, "plan.html", newPlanned(a.Known(), o))
}

func newPlanned(a *capacity.Answer, o Options) planned {
	p := planned{
		Title: cmp.Or(o.Title, view.PlanHeadline(a)), Mark: view.PlanMark(a.Verdict), Class: verdictClass(a.Verdict),
		Takeaways: planFindings(a), Overview: overview(a), Stages: stageSigns, Skipped: cleaned(a.Skipped),
	}
	p.Hint = overviewHint(a)
	fact := func(list *[]view.Item, label, text string) {
		if text = format.Line(text); text != "" {
			*list = append(*list, view.Item{Label: label, Lines: []string{text}})
		}
	}
	for _, an := range a.Analysis {
		fact(&p.Facts, "on paper", view.PlanAnalysis(an, a.Rate))
	}
	fact(&p.Facts, "measured", view.PlanEffort(a))
	fact(&p.Facts, "breaks", a.Breaks)
	fact(&p.Facts, "strictest", view.PlanBinding(a))
	fact(&p.Facts, "at 2, 10 ×", view.PlanScale(a))
	for _, s := range a.Scaling {
		fact(&p.Facts, "scaling", view.PlanScaling(s))
	}
	fact(&p.Facts, "unseen", a.Unseen)
	if a.Env.CPUs > 0 {
		fact(&p.Places, "machine", view.Machine(a.Env))
	}
	fact(&p.Places, "program", strings.TrimSpace("lockbench "+a.Env.Lockbench))
	fact(&p.Places, "libraries", view.Libraries(a.Env))
	sheet := text.PlanSheet(a)
	p.Table = planTable{Right: sheet.Right}
	for _, head := range sheet.Head {
		p.Table.Head = append(p.Table.Head, strings.ReplaceAll(head, " /", unbroken+"/"))
	}
	slo, err := capacity.ParseSLO(a.SLO)
	for i := range a.Candidates {
		c := &a.Candidates[i]
		one := plannedCandidate{
			ID: fmt.Sprintf("candidate-%d", i+1), Name: format.Line(c.Name), Mark: view.PlanMark(c.Verdict), Verdict: string(c.Verdict), Class: verdictClass(c.Verdict),
			Open: i < openCandidates, Facts: view.PlanFacts(c), Resources: resourceTable(c), Trials: trialTable(c),
		}
		if err != nil {
			slo = capacity.SLO{} // somebody else wrote the file
		}
		one.Charts = rateCharts(a, c, slo)
		p.Charted = p.Charted || len(one.Charts) > 0
		p.Candidates = append(p.Candidates, one)
		p.Table.Rows = append(p.Table.Rows, planTableRow{one.ID, one.Name, one.Class, sheet.Rows[i][1:]})
	}
	return p
}

// verdictClass returns how a verdict is drawn.
func verdictClass(v capacity.Verdict) string {
	switch v {
	case capacity.Sustains:
		return "good"
	case capacity.RulesOut, capacity.Violated, capacity.Failed:
		return "bad"
	case capacity.Dropped:
		return "same"
	}
	return "warn"
}

// planFindings returns what stands at the top: the advice, why no lock can carry a load, and what changes how all is read.
func planFindings(a *capacity.Answer) (all []view.Finding) {
	kinds := map[string]view.Kind{"good": view.Good, "bad": view.Bad, "warn": view.Warn}
	if a.Advice != "" {
		all = append(all, view.Finding{Kind: kinds[verdictClass(a.Verdict)], Text: a.Advice})
	}
	for i := range a.Candidates {
		if c := &a.Candidates[i]; c.Verdict == capacity.Violated {
			all = append(all, view.Finding{Kind: view.Bad, Lead: c.Name + ":", Text: view.PlanWhy(c)})
		}
	}
	for _, an := range a.Analysis {
		if an.Impossible != "" && !strings.Contains(a.Advice, an.Impossible) {
			all = append(all, view.Finding{Kind: view.Bad, Lead: "Impossible:", Text: an.Impossible})
		}
	}
	if a.Partial != "" {
		all = append(all, view.Finding{Kind: view.Warn, Lead: "Not finished:", Text: a.Partial})
	}
	for _, text := range a.Warnings {
		all = append(all, view.Finding{Kind: view.Warn, Lead: "Warning:", Text: text})
	}
	return cleanFindings(all)
}

// overview is a row a candidate: its rate with the interval, against the rate asked for. It has none if no rate is known.
func overview(a *capacity.Answer) forest {
	if !slices.ContainsFunc(a.Candidates, func(c capacity.CandidateAnswer) bool { return c.Sustains.Low > 0 }) {
		return forest{}
	}
	s := rateScale(a)
	f := forest{Axis: axis(s)}
	for i := range a.Candidates {
		c := &a.Candidates[i]
		d := drawing{height: rowHeight}
		const mid = rowHeight / 2
		if a.Rate > 0 {
			d.rect("beyond", 0, 0, s.At(a.Rate), rowHeight)
		}
		for _, tick := range s.Ticks {
			d.line("grid", tick.At, 0, tick.At, rowHeight)
		}
		if a.Rate > 0 {
			d.line("limit", s.At(a.Rate), 0, s.At(a.Rate), rowHeight)
		}
		look, r := verdictClass(c.Verdict), c.Sustains
		row := forestRow{Name: format.Line(c.Name), Link: fmt.Sprintf("candidate-%d", i+1), Mark: view.PlanMark(c.Verdict), Verdict: string(c.Verdict), Class: look}
		switch {
		case c.AtLeast && r.Low > 0:
			d.line("reach "+look, s.At(r.Low), mid-4, s.At(r.Low), mid+4)
			d.line("reach "+look, s.At(r.Low), mid, 1, mid)
			d.sign("sign arrow "+look, 1, mid, arrow(true))
			row.Value = "≥ " + view.PerSecond(r.Low)
		case r.Mid > 0:
			d.line("reach "+look, s.At(r.Low), mid, s.At(r.High), mid)
			for _, end := range []float64{r.Low, r.High} {
				d.line("reach "+look, s.At(end), mid-4, s.At(end), mid+4)
			}
			d.sign("sign "+look, s.At(r.Mid), mid, verdictShape(c.Verdict))
			row.Value, row.Beside = view.PerSecond(r.Mid), glued(view.Interval(r, format.Three))
		default:
			row.Value = format.None
		}
		row.Plot = d.svg("rowplot", sentence(row.Name, strings.TrimSpace(row.Value+" "+row.Beside), row.Verdict), "", 0)
		f.Rows = append(f.Rows, row)
	}
	return f
}

// overviewHint says how to read it.
func overviewHint(a *capacity.Answer) string {
	text := "Arrivals a second that each sustains under the SLO, with the 95 % interval"
	if rateScale(a).Log {
		text += ", on a logarithmic scale"
	}
	text += "."
	if a.Rate > 0 {
		text += " The broken line is " + view.PerSecond(a.Rate) + ", which is asked for; the shaded part lies below it."
	}
	if slices.ContainsFunc(a.Candidates, func(c capacity.CandidateAnswer) bool { return c.AtLeast }) {
		text += " An arrow: at least so many, and lockbench, its machine or the highest rate to be tried was the limit."
	}
	return text
}

// verdictShape returns what a verdict looks like, ten pixels wide.
func verdictShape(v capacity.Verdict) string {
	switch view.PlanMark(v) {
	case "✓":
		return "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z"
	case "✗":
		return "M-5 -5L5 5M-5 5L5 -5"
	}
	return "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z"
}

// rateScale spans the rates of all candidates and the one asked for; on a logarithmic scale if they are far apart.
func rateScale(a *capacity.Answer) plot.Scale {
	least, most := math.Inf(1), 0.0
	for _, v := range rates(a) {
		least, most = math.Min(least, v), math.Max(most, v)
	}
	const farApart = 20
	if most > farApart*least {
		return plot.Log(least, most, plot.RateLabel)
	}
	return plot.Linear(most, 5, plot.RateLabel)
}

// rates returns those of the overview that are known.
func rates(a *capacity.Answer) (all []float64) {
	list := []float64{a.Rate}
	for _, c := range a.Candidates {
		list = append(list, c.Sustains.Low, c.Sustains.Mid, c.Sustains.High)
	}
	for _, v := range list {
		if v > 0 {
			all = append(all, v)
		}
	}
	return all
}

// resourceTable is what a lock takes of each resource.
func resourceTable(c *capacity.CandidateAnswer) table {
	t := table{Caption: "What a lock takes of each resource, the first to be used up first",
		Head: heads("resource", "a lock takes", "there are", "used", "full at", "at 2 ×", "at 10 ×")}
	for _, r := range c.Resources {
		takes := format.None
		if r.Demand.Mid > 0 {
			takes = metric.Duration.Format(r.Demand.Mid * 1e9)
		}
		row := tableRow{Name: format.Line(r.Name), Cells: texts(takes, view.UnitsText(r.Units), view.UsedText(r.Used), view.RateRange(r.Full))}
		for _, used := range []capacity.Range{r.Double, r.Tenfold} {
			one := datum{Text: view.UsedText(used)}
			if used.Mid > 1 {
				one.Class = "bad"
			}
			row.Cells = append(row.Cells, one)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// trialTable is the trials in their order.
func trialTable(c *capacity.CandidateAnswer) table {
	t := table{Caption: "Trials", Head: heads("stage", "rate", "late arrivals", "p99", "arrivals", "left out")}
	for _, pt := range c.Points {
		p99 := format.None
		if pt.P99 > 0 {
			p99 = format.Duration(pt.P99)
		}
		t.Rows = append(t.Rows, tableRow{Name: cmp.Or(format.Line(string(pt.Stage)), format.None),
			Cells: append(texts(view.PerSecond(pt.Rate), view.ShareRange(pt.Share), p99, format.Count(pt.Arrivals)), datum{Text: format.Line(pt.Left), Class: "why"})})
	}
	t.fold()
	return t
}

// stageSign is how the trials of a stage are drawn, or those that do not count.
type stageSign struct {
	Stage capacity.Stage
	Class string
	Path  template.HTMLAttr
	Name  string
}

var stageSigns = []stageSign{
	{capacity.StagePilot, "sign pilot", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z", "pilot"},
	{capacity.StageSearch, "sign search", "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z", "search"},
	{capacity.StageConfirm, "sign confirm", "M0 -6L6 0L0 6L-6 0Z", "confirmation"},
	{"", "sign left", "M-4 -4L4 4M-4 4L4 -4", "does not count"},
}

// signOf returns how a trial is drawn.
func signOf(pt capacity.Point) stageSign {
	for _, s := range stageSigns {
		if s.Stage == pt.Stage && pt.Left == "" {
			return s
		}
	}
	return stageSigns[len(stageSigns)-1]
}
