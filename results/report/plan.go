package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/view"
)

// planned is an answer whose numbers are all finite.
type planned struct {
	*capacity.Answer
	slo  capacity.SLO              // without objectives if nobody can read it
	best *capacity.CandidateAnswer // empty if there is none
}

// Plan returns which locks carry the load of a plan, and the trials from which that is known.
func Plan(a *capacity.Answer) *Document {
	p := planned{Answer: a.Known(), best: &capacity.CandidateAnswer{}}
	p.slo, _ = capacity.ParseSLO(p.SLO)
	if len(p.Candidates) > 0 {
		p.best = &p.Candidates[0]
	}
	d := &Document{Command: "lockbench plan", Title: p.title(), Tone: planTones[p.Verdict], When: p.when()}
	paper := Block{Heading: "On paper", Table: PlanAnalysis(a)}
	d.add(Block{Table: p.facts()})
	if p.impossible() && len(p.best.Points) == 0 {
		d.add(paper)
		return d
	}
	late, p99 := p.charts(p.best)
	paper.Detail = true
	d.add(Block{Chart: p.overview()}, Block{Chart: late}, Block{Table: p.candidates()}, Block{Chart: p99}, paper)
	for i := range p.Candidates {
		c := &p.Candidates[i]
		d.add(Block{Heading: c.Name, Detail: true, Table: candidateFacts(c)}, Block{Detail: true, Table: trialTable(c)})
		if late, p99 := p.charts(c); i > 0 {
			d.add(Block{Detail: true, Chart: late}, Block{Detail: true, Chart: p99})
		}
	}
	beyond := facts("unseen", p.Unseen, "measured with", format.Join(p.Env.Lockbench, p.Env.Go, view.Libraries(p.Env)))
	for _, text := range p.Skipped {
		beyond.fact(Plain, "not tried", text)
	}
	d.add(Block{Heading: "Beyond these figures", Detail: true, Table: beyond})
	return d
}

// PlanAnalysis returns what is known of each load of an answer without a server.
func PlanAnalysis(a *capacity.Answer) *Table {
	t := columns("load", "hottest\nkey", "busy", "always\nbusy from", "meets the\nSLO up to", "hold\nthat fits",
		"key\nthat fits")
	t.Columns[4].About = "by a queue that is first come, first served, with hand-offs of a round trip"
	t.Columns[6].About, t.Columns[6].Drop = "share of the arrivals that the hottest key may get", 1
	for _, n := range a.Known().Analysis {
		fits := 0.0
		if n.FitsShare < n.Hottest {
			fits = n.FitsShare
		}
		r := t.row(n.Load, known(n.Hottest, format.Percent), known(n.Busy, format.Percent), PlanRate(n.Stable),
			PlanRate(n.Ceiling), known(float64(n.FitsHold), metric.Duration.Format), known(fits, format.Percent))
		if n.Impossible != "" {
			r.Tone, r.Marks = Bad, []Mark{{"impossible", "", n.Impossible, Bad}}
		} else if n.Rough != "" {
			r.Marks = []Mark{{"roughly", "", n.Rough, Plain}}
		}
	}
	return dense(t)
}

// PlanRate formats a rate; a dash is one that is not known, or beyond what can be asked for.
func PlanRate(rate float64) string {
	if rate >= spec.MaxRate {
		return format.None
	}
	return known(rate, func(v float64) string { return format.Three(v) + "/s" })
}

// known formats an amount; what is not more than 0 is not known.
func known(v float64, write func(float64) string) string {
	if v <= 0 {
		return format.None
	}
	return write(v)
}

// ranged formats a value with its interval: "3,470/s (3,300–3,640/s)".
func ranged(r capacity.Range, write func(float64) string) string {
	if r.IsZero() {
		return format.None
	}
	low, high := write(r.Low), write(r.High)
	unit := high[strings.LastIndexAny(high, "0123456789")+1:] // which low may have, too
	return write(r.Mid) + " (" + strings.TrimSuffix(low, unit) + "–" + high + ")"
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

// planTones are how verdicts are taken. Others are plain.
var planTones = map[capacity.Verdict]Tone{
	capacity.Sustains: Good, capacity.Undecided: Warn,
	capacity.RulesOut: Bad, capacity.Violated: Bad, capacity.Failed: Bad,
}

// impossible reports whether no lock carries one of the loads.
func (p planned) impossible() bool {
	return slices.ContainsFunc(p.Analysis, func(n capacity.Analysis) bool { return n.Impossible != "" })
}

// title returns the answer.
func (p planned) title() (text string) {
	names := map[capacity.Verdict][]string{}
	for _, c := range p.Candidates {
		names[c.Verdict] = append(names[c.Verdict], c.Name)
	}
	best, n, who, verdict := p.best, len(p.Candidates), p.best.Name, cmp.Or(string(p.best.Verdict), "undecided")
	if n != 1 {
		who = format.Plural(n, "candidate")
	}
	if p.impossible() {
		who = "any lock"
	}
	switch carry := len(names[capacity.Sustains]); {
	case p.Verdict == capacity.Violated:
		text = "violated: " + format.And(names[p.Verdict]) + " let two clients hold one key"
	case carry > 0:
		text = best.Name + " sustains " + sustained(best) + " with " + p.objective()
		if n > 1 && p.Rate > 0 {
			text += fmt.Sprintf(" · %d of %d candidates carry %s", carry, n, PlanRate(p.Rate))
		}
	case p.Rate > 0:
		text = verdict + ": " + who + " at " + PlanRate(p.Rate) + " with " + p.objective()
	default:
		text = verdict + ": " + who + " with " + p.objective()
	}
	if p.Partial != "" {
		text += " (" + p.Partial + ")"
	}
	return text
}

// objective returns what must be true of the arrivals: "response p99 < 20 ms, errors < 0.1 %".
func (p planned) objective() string {
	var list []string
	for _, o := range p.slo.Objectives {
		list = append(list, "response p"+strings.TrimSuffix(spec.FormatShare(o.Quantile), "%")+" < "+format.Exact(o.Limit))
	}
	if p.slo.HasErrors {
		list = append(list, "errors < "+format.Percent(p.slo.Errors))
	}
	return cmp.Or(strings.Join(list, ", "), p.SLO, "no objective")
}

// sustained returns the rate that a candidate sustains.
func sustained(c *capacity.CandidateAnswer) string {
	if c.AtLeast && c.Sustains.Low > 0 {
		return PlanRate(c.Sustains.Low) + " or more"
	}
	return ranged(c.Sustains, PlanRate)
}

// when returns how much was measured, and on what.
func (p planned) when() string {
	trials, effort, machine := 0, "", ""
	for _, c := range p.Candidates {
		trials += len(c.Points)
	}
	if trials > 0 {
		effort = format.Plural(trials, "trial") + " in " + format.Duration(p.Spent) + " of " + format.Duration(p.Budget)
	}
	if p.Env.CPUs > 0 {
		machine = view.CPU(p.Env)
	}
	return format.Join(effort, serverText(p.best.Server), machine)
}

func serverText(s results.Server) string {
	return strings.TrimSpace(s.Kind + " " + s.Name + " " + s.Version)
}

// facts returns what is asked, what limits the best candidate, what can go wrong, and what to do next.
func (p planned) facts() *Table {
	load, most := "", ""
	if len(p.Analysis) == 1 && !p.impossible() {
		load = p.Analysis[0].Load
	}
	if p.MaxRate > 0 {
		most = "no trial beyond " + PlanRate(p.MaxRate)
	}
	c, risk, next := p.best, "", p.best.Remedy
	if n := len(p.Candidates); n > 0 && p.Verdict == capacity.Violated {
		c = &p.Candidates[n-1] // those come last
	}
	if c.Verdict == capacity.Sustains || c.Verdict == capacity.Violated {
		risk, _, _ = strings.Cut(c.Wrong, ";") // the main one
		next = prove(&results.Cell{Trials: []*results.Record{{Plan: c.Plan, Traits: c.Traits}}})
	}
	t := facts("load", format.Join(load, most), "limited by", limiting(p.best), "strictest", p.best.Binding, "risk", risk)
	t.fact(Warn, "caution", strings.Join(p.Warnings, " · "))
	if n := len(p.Skipped); n > 0 && !p.impossible() {
		t.fact(Plain, "not tried", format.Plural(n, "choice")+" (-v)")
	}
	t.fact(Plain, "next", next)
	return t
}

// limiting returns the resource that is used up first, and the rate at which it is.
func limiting(c *capacity.CandidateAnswer) string {
	for _, r := range c.Resources {
		if r.Full.Mid > 0 {
			return r.Name + ", full at " + ranged(r.Full, PlanRate)
		}
	}
	return ""
}

// candidates returns the ranked table.
func (p planned) candidates() *Table {
	t := columns("candidate", "sustains", "head-\nroom", "response\nat rate", "trials", "first full",
		"commands\n/lock", "CPU\n/lock", "guarantees")
	t.Columns[1].About, t.Columns[2].About = "with the 95 % interval", "lower end of the interval by the rate asked for"
	t.Columns[5].Left, t.Columns[8].Left = true, true
	for i, drop := range []int{5: 1, 7: 2, 6: 3, 8: 4} {
		t.Columns[i].Drop = drop
	}
	for i := range p.Candidates {
		c := &p.Candidates[i]
		var response []string
		for _, took := range c.Response {
			response = append(response, format.Duration(took))
		}
		first, _, _ := strings.Cut(limiting(c), ",")
		r := t.row(c.Name, sustained(c), known(c.Headroom, metric.Ratio.Format),
			cmp.Or(strings.Join(response, ", "), format.None), known(float64(len(c.Points)), metric.Count.Format),
			cmp.Or(first, format.None), known(c.Cost.Commands, metric.PerLock.Format),
			known(c.Cost.ServerCPUUs, metric.Micros.Format), cmp.Or(view.Claims(c.Traits), format.None))
		if r.Tone = planTones[c.Verdict]; c.Verdict != capacity.Sustains {
			r.Marks = []Mark{{string(c.Verdict), "", c.Why, r.Tone}}
		} else if c.AtLeast {
			r.Marks = []Mark{{"at least", "", "lockbench or its machine was the limit", Plain}}
		}
	}
	return dense(t)
}

// candidateFacts returns what is known of a candidate beside its row.
func candidateFacts(c *capacity.CandidateAnswer) *Table {
	return facts("limited by", limiting(c), "strictest", c.Binding, "occupies a key for",
		ranged(c.Occupies, metric.Duration.Format), "between trials", known(c.Noise, format.Percent),
		"made by", format.Join(format.Labelled("clients", int64(c.Clients)), format.Labelled("connections", int64(c.Conns))),
		"waiting", c.Plan.Wait, "claims", view.Claims(c.Traits), "risk", c.Wrong, "next", c.Remedy,
		"server", serverText(c.Server), "command", c.Plan.Command)
}

// trialTable returns the trials of a candidate in the order in which they ran.
func trialTable(c *capacity.CandidateAnswer) *Table {
	t := columns("trial", "rate", "late arrivals", "p99", "arrivals")
	for _, pt := range c.Points {
		r := t.row(string(pt.Stage), PlanRate(pt.Rate), ranged(pt.Share, format.Percent),
			known(float64(pt.P99), metric.Duration.Format), format.Count(pt.Arrivals))
		if pt.Left != "" {
			r.Marks = []Mark{{"left out", "", pt.Left, Plain}}
		}
	}
	return t
}

// overview returns the rate that each of several candidates sustains.
func (p planned) overview() *Chart {
	chart := &Chart{Kind: Bars, Name: "sustained", Title: "Rate that each candidate sustains"}
	chart.X = Axis{Name: "arrivals/s", Label: format.Three}
	if p.Rate > 0 {
		chart.Uprights = []Line{{p.Rate, "asked for"}}
	}
	for _, c := range p.Candidates {
		if r := c.Sustains; len(p.Candidates) > 1 && r.Low > 0 {
			chart.Series = append(chart.Series, Series{Name: c.Name, Tone: planTones[c.Verdict], Text: sustained(&c),
				Points: []Point{{X: max(r.Low, r.Mid), Low: r.Low, High: max(r.Low, r.High)}}})
		}
	}
	return chart
}

// charts returns the share of late arrivals and the p99 of the response over the rate.
func (p planned) charts(c *capacity.CandidateAnswer) (late, p99 *Chart) {
	const least = 1e-4 // share that is drawn: trials without any late arrival lie there
	late = &Chart{Name: "late", Title: "Late arrivals of " + c.Name, X: Axis{Name: "arrivals/s", Label: format.Three}}
	late.Y = Axis{Name: "late arrivals", Log: true, Least: least, Label: format.Percent}
	p99 = &Chart{Name: "p99", Title: "p99 of the response of " + c.Name, X: late.X}
	p99.Y = Axis{Name: "p99", Log: true, Label: metric.Duration.Format}
	for _, o := range p.slo.Objectives {
		late.Levels = append(late.Levels, Line{o.Allowed(), "objective " + format.Percent(o.Allowed())})
		if o.Quantile == 0.99 {
			p99.Levels = []Line{{float64(o.Limit), "objective " + format.Exact(o.Limit)}}
		}
	}
	share := func(kind string, pt capacity.Point) {
		late.point(kind, Point{pt.Rate, max(least, pt.Share.Mid), max(least, pt.Share.Low), max(least, pt.Share.High)})
	}
	for _, pt := range c.Curve {
		share(fitted, pt)
	}
	most := 0.0
	for _, pt := range c.Points {
		kind := cmp.Or(string(pt.Stage), "trial")
		if pt.Left != "" {
			kind = "left out"
		}
		if share(kind, pt); pt.P99 > 0 {
			p99.point(kind, Point{X: pt.Rate, Y: float64(pt.P99)})
		}
		most = max(most, pt.Rate)
	}
	if c.Sustains.High > 0 {
		late.Shade = Range{c.Sustains.Low, c.Sustains.High}
	}
	if p.Rate > 0 && p.Rate < 3*most { // it may be far beyond all trials
		late.Uprights = []Line{{p.Rate, "asked for"}}
	}
	p99.Shade, p99.Uprights = late.Shade, late.Uprights
	return late, p99
}

const fitted = "fit" // is a line, other kinds of points are signs

// point adds a point to those of a kind.
func (c *Chart) point(kind string, p Point) {
	i := slices.IndexFunc(c.Series, func(s Series) bool { return s.Name == kind })
	if i < 0 {
		i, c.Series = len(c.Series), append(c.Series, Series{Name: kind, Signs: kind != fitted})
	}
	c.Series[i].Points = append(c.Series[i].Points, p)
}
