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
	objective string                    // "response p99 < 20 ms, errors < 0.1 %"
	quantiles string                    // "p99"
	allowed   []Line                    // shares of late arrivals
	best      *capacity.CandidateAnswer // empty if there is none
	tried     int                       // trials of all candidates

	impossible bool // for any lock
}

// Plan returns which locks carry the load of a plan, and the trials from which that is known.
func Plan(a *capacity.Answer) *Document {
	p := planned{Answer: a.Known(), best: &capacity.CandidateAnswer{}}
	slo, _ := capacity.ParseSLO(p.SLO) // without objectives if nobody can read it
	for _, o := range slo.Objectives {
		name := "p" + strings.TrimSuffix(spec.FormatShare(o.Quantile), "%")
		p.quantiles += ", " + name
		p.objective += ", response " + name + " < " + format.Exact(o.Limit)
		p.allowed = append(p.allowed, Line{o.Allowed(), "objective " + format.Percent(o.Allowed())})
	}
	if slo.HasErrors {
		p.objective += ", errors < " + format.Percent(slo.Errors)
	}
	p.quantiles = strings.TrimPrefix(p.quantiles, ", ")
	p.objective = cmp.Or(strings.TrimPrefix(p.objective, ", "), p.SLO, "no objective")
	p.impossible = slices.ContainsFunc(p.Analysis, func(n capacity.Analysis) bool { return n.Impossible != "" })
	for _, c := range slices.Backward(p.Candidates) {
		p.best, p.tried = &c, p.tried+len(c.Points)
	}
	d := &Document{Command: "lockbench plan", Title: p.title(), Tone: planTones[p.Verdict], When: p.when()}
	if p.tried > 0 || !p.impossible {
		d.add(Block{Chart: p.sustained()}, Block{Table: p.candidates()})
	}
	d.add(Block{Table: p.risks()}, Block{Heading: "Late arrivals over the rate", Chart: p.late()},
		Block{Heading: "On paper", Detail: p.tried > 0, Table: PlanAnalysis(a)})
	for _, c := range p.Candidates {
		if len(c.Points) > 0 {
			d.add(Block{Heading: c.Name, Detail: true, Table: candidateFacts(&c)},
				Block{Detail: true, Table: trialTable(&c)})
		}
	}
	d.add(Block{Heading: "Beyond these figures", Detail: true, Table: facts(
		"unseen", p.Unseen, "most tried", PlanRate(p.MaxRate), "caution", strings.Join(p.Warnings, " · "),
		"not tried", strings.Join(p.Skipped, " · "),
		"measured with", format.Join(p.Env.Lockbench, p.Env.Go, view.Libraries(p.Env)))})
	return d
}

// PlanAnalysis returns what is known of each load of an answer without a server.
func PlanAnalysis(a *capacity.Answer) *Table {
	t := columns("load", "hottest\nkey", "busy", "always\nbusy from", "meets the\nSLO up to", "hold\nthat fits",
		"key\nthat fits")
	t.Columns[4].About = "first come, first served, with hand-offs of a round trip"
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

// ranged formats a value with its interval, if it has one: "3,470/s (3,300–3,640/s)".
func ranged(r capacity.Range, write func(float64) string) string {
	if r.High == 0 || r.Low == r.High {
		return known(r.Mid, write)
	}
	low, high := write(r.Low), write(r.High)
	unit := high[strings.LastIndexAny(high, "0123456789")+1:] // which low may have, too
	return write(r.Mid) + " (" + strings.TrimSuffix(low, unit) + "–" + high + ")"
}

// planTones are how verdicts are taken. Others are plain.
var planTones = map[capacity.Verdict]Tone{
	capacity.Sustains: Good, capacity.Undecided: Warn,
	capacity.RulesOut: Bad, capacity.Violated: Bad, capacity.Failed: Bad,
}

// title returns the answer.
func (p planned) title() string {
	var names view.Grouped[capacity.Verdict, string]
	for _, c := range p.Candidates {
		names.Add(c.Verdict, c.Name)
	}
	best, n, carry, who := p.best, len(p.Candidates), len(names.Of[capacity.Sustains]), p.best.Name
	if p.impossible {
		who = "any lock"
	} else if n != 1 {
		who = format.Plural(n, "candidate")
	}
	if p.Rate > 0 {
		who += " at " + PlanRate(p.Rate)
	}
	text := cmp.Or(string(best.Verdict), "undecided") + ": " + who + " with " + p.objective
	if p.Verdict == capacity.Violated {
		text = "violated: " + format.And(names.Of[p.Verdict]) + " let two clients hold one key"
	} else if carry > 0 {
		if text = best.Name + " sustains " + sustained(best) + " with " + p.objective; n > 1 && p.Rate > 0 {
			text += fmt.Sprintf(" · %d of %d carry %s", carry, n, PlanRate(p.Rate))
		}
	}
	if p.Partial != "" {
		text += " (" + p.Partial + ")"
	}
	return text
}

// sustained returns the rate that a candidate sustains, with its interval.
func sustained(c *capacity.CandidateAnswer) string {
	if c.AtLeast && c.Sustains.Low > 0 {
		return PlanRate(c.Sustains.Low) + " or more"
	}
	return ranged(c.Sustains, PlanRate)
}

// when returns what was asked for, where, and how much was measured.
func (p planned) when() string {
	parts := []string{}
	for _, n := range p.Analysis {
		parts = append(parts, n.Load)
	}
	if parts = append(parts, serverText(p.best.Server)); p.Env.CPUs > 0 {
		parts = append(parts, view.CPU(p.Env))
	}
	if p.tried > 0 {
		parts = append(parts, format.Plural(p.tried, "trial")+" in "+format.Duration(p.Spent))
	}
	return format.Join(parts...)
}

func serverText(s results.Server) string {
	return strings.TrimSpace(s.Kind + " " + s.Name + " " + s.Version)
}

// candidates returns the ranked table.
func (p planned) candidates() *Table {
	t := columns("candidate", "sustains", "head-\nroom", p.quantiles+" at\n"+PlanRate(p.Rate), "first full")
	t.Columns[1].About, t.Columns[2].About = "with the 95 % interval", "lower end of the interval by the rate asked for"
	t.Columns[4].About, t.Columns[4].Left, t.Columns[4].Drop = "what is used up first, and at which rate", true, 1
	for _, c := range p.Candidates {
		var response []string
		for _, took := range c.Response {
			response = append(response, format.Duration(took))
		}
		first := format.None
		for _, r := range slices.Backward(c.Resources) {
			if r.Full.Mid > 0 {
				first = r.Name + " at " + PlanRate(r.Full.Mid)
			}
		}
		r := t.row(c.Name, sustained(&c), known(c.Headroom, metric.Ratio.Format),
			cmp.Or(strings.Join(response, ", "), format.None), first)
		if r.Tone = planTones[c.Verdict]; c.Verdict != capacity.Sustains {
			r.Marks = []Mark{{string(c.Verdict), "", c.Why, r.Tone}}
		} else if c.AtLeast {
			r.Marks = []Mark{{"at least", "", "lockbench or its machine was the limit", Plain}}
		}
	}
	return dense(t)
}

// risks returns what can go wrong with the best candidate, or has gone wrong with another one, and what to do next.
func (p planned) risks() *Table {
	c, t, next := p.best, &Table{}, p.best.Remedy
	if p.Verdict == capacity.Violated {
		c = &p.Candidates[len(p.Candidates)-1] // those come last
	}
	if c.Verdict == capacity.Sustains || c.Verdict == capacity.Violated {
		risk, _, _ := strings.Cut(c.Wrong, ";") // the main one
		t.fact(Plain, "risk", risk)
		next = prove(&results.Cell{Trials: []*results.Record{{Plan: c.Plan, Traits: c.Traits}}})
	}
	t.fact(Warn, "caution", strings.Join(p.Warnings[:min(len(p.Warnings), 1)], ""))
	if n := len(p.Skipped); n > 0 && p.tried > 0 {
		t.fact(Plain, "not tried", format.Plural(n, "choice")+" (-v)")
	}
	t.fact(Plain, "next", next)
	return t
}

// candidateFacts returns what is known of a candidate beside its row.
func candidateFacts(c *capacity.CandidateAnswer) *Table {
	t := facts("strictest", c.Binding, "occupies a key for", ranged(c.Occupies, metric.Duration.Format),
		"clients", known(float64(c.Clients), metric.Count.Format),
		"connections", known(float64(c.Conns), metric.Count.Format),
		"commands/lock", known(c.Cost.Commands, metric.PerLock.Format),
		"CPU/lock", known(c.Cost.ServerCPUUs, metric.Micros.Format),
		"claims", view.Claims(c.Traits), "risk", c.Wrong, "next", c.Remedy, "server", serverText(c.Server),
		"command", c.Plan.Command)
	for _, r := range c.Resources {
		t.fact(Plain, "full", strings.TrimSuffix(r.Name+" at "+ranged(r.Full, PlanRate), r.Name+" at "+format.None))
	}
	return t
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

// sustained returns the rate that each of several candidates sustains.
func (p planned) sustained() *Chart {
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

// late returns the share of late arrivals over the rate: what was fitted to the trials of the best candidates, or else
// the trials.
func (p planned) late() *Chart {
	const least, lines = 1e-4, 6 // of the share; as many as can be told apart
	chart := &Chart{Name: "late", Title: "Late arrivals over the rate"}
	chart.X = Axis{Name: "arrivals/s", Label: format.Three}
	chart.Y = Axis{Name: "late arrivals", Log: true, Label: format.Percent}
	highest := 0.0
	for _, c := range p.Candidates[:min(len(p.Candidates), lines)] {
		s, points := Series{Name: c.Name}, c.Curve
		if points == nil {
			s.Signs, points = true, c.Points
		}
		for _, pt := range points {
			s.Points = append(s.Points, Point{X: pt.Rate, Y: max(least, pt.Share.Mid)})
			highest = max(highest, pt.Rate)
			if p.Rate > 0 && p.Rate < 3*pt.Rate { // it may be far beyond all trials
				chart.Uprights = []Line{{p.Rate, "asked for"}}
			}
		}
		if s.Points != nil {
			chart.Series = append(chart.Series, s)
		}
	}
	for _, l := range p.allowed {
		if highest > 0 {
			chart.Series = append(chart.Series, Series{Name: l.Name, Tone: Bad, Dashed: true,
				Points: []Point{{Y: l.At}, {X: highest, Y: l.At}}})
		}
	}
	return chart
}
