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
	slo   capacity.SLO              // without objectives if nobody can read it
	best  *capacity.CandidateAnswer // empty if there is none
	tried int                       // trials of all candidates
}

// Plan returns which locks carry the load of a plan, and the trials from which that is known.
func Plan(a *capacity.Answer) *Document {
	p := planned{Answer: a.Known(), best: &capacity.CandidateAnswer{}}
	p.slo, _ = capacity.ParseSLO(p.SLO)
	for _, c := range slices.Backward(p.Candidates) {
		p.best, p.tried = &c, p.tried+len(c.Points)
	}
	impossible := func(n capacity.Analysis) bool { return n.Impossible != "" }
	if p.tried == 0 && slices.ContainsFunc(p.Analysis, impossible) {
		p.Candidates, p.best = nil, &capacity.CandidateAnswer{} // what is known on paper is so of any lock
	}
	var loads []string
	for _, n := range p.Analysis {
		loads = append(loads, n.Load)
	}
	d := &Document{Command: "lockbench plan", Title: p.title(), Tone: planTones[p.Verdict],
		When: format.Join(cmp.Or(p.SLO, "no objective"), format.Few(loads, 1))}
	risks := p.risks()
	table, chart := p.candidates()
	more := table.rest(d.room(risks), "candidate")
	d.add(Block{Chart: chart}, Block{Table: table}, Block{Table: risks},
		Block{Heading: "Late arrivals over the rate", Chart: p.late()}, more,
		Block{Heading: "Bounds on paper", Detail: p.Candidates != nil, Table: PlanAnalysis(a)})
	for _, c := range p.Candidates {
		d.add(candidate(&c)...)
	}
	d.add(Block{Heading: "Not tried, and environment", Detail: true, Table: facts(
		"unseen", p.Unseen, "most tried", PlanRate(p.MaxRate), "caution", strings.Join(p.Warnings, " · "),
		"not tried", strings.Join(p.Skipped, " · "), "trials", known(float64(p.tried), metric.Count.Format),
		"measured for", known(float64(p.Spent), metric.Duration.Format), "machine", view.Machine(p.Env),
		"program", strings.TrimSpace("lockbench "+p.Env.Lockbench), "libraries", view.Libraries(p.Env))})
	return d
}

// PlanAnalysis returns what is known of each load of an answer without a server.
func PlanAnalysis(a *capacity.Answer) *Table {
	t := columns("load", "hottest\nkey", "busy", "always\nbusy from", "meets the\nSLO up to", "hold\nthat fits",
		"key\nthat fits")
	t.Columns[4].About = "first come, first served, with hand-offs of a round trip"
	t.Columns[6].About, t.Columns[6].Drop = "share of the arrivals that the hottest key may get", 1
	for _, n := range a.Known().Analysis {
		fits := n.FitsShare
		if fits >= n.Hottest {
			fits = 0
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

// ranged formats a value with its interval, if it has one.
func ranged(r capacity.Range, write func(float64) string) string {
	if r.High <= r.Low {
		return known(r.Mid, write)
	}
	return between(r.Mid, r.Low, r.High, write)
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
	who, rate, n, carry := p.best.Name, PlanRate(p.Rate), len(p.Candidates), len(names.Of[capacity.Sustains])
	if n == 0 {
		who = "any lock"
	} else if n > 1 {
		who = format.Plural(n, "candidate")
	}
	text := cmp.Or(string(p.Verdict), "undecided") + ": " + strings.TrimSuffix(who+" at "+rate, " at "+format.None)
	if p.Verdict == capacity.Violated {
		text = "violated: " + format.And(names.Of[p.Verdict]) + " let two clients hold one key"
	} else if carry > 0 {
		text = p.best.Name + " sustains " + sustained(p.best)
		if n > 1 && p.Rate > 0 {
			text += fmt.Sprintf(" · %d of %d sustain %s", carry, n, rate)
		}
	}
	return text + strings.TrimSuffix(" ("+p.Partial+")", " ()")
}

// sustained returns the rate that a candidate sustains, with its interval.
func sustained(c *capacity.CandidateAnswer) string {
	if c.AtLeast && c.Sustains.Low > 0 {
		return PlanRate(c.Sustains.Low) + " or more"
	}
	return ranged(c.Sustains, PlanRate)
}

// candidates returns the ranked table, and of several a bar for each.
func (p planned) candidates() (*Table, *Chart) {
	var quantiles []string
	for _, o := range p.slo.Objectives {
		quantiles = append(quantiles, "p"+strings.TrimSuffix(spec.FormatShare(o.Quantile), "%"))
	}
	t := columns("candidate", "sustains", "headroom", strings.Join(quantiles, ", "), "bottleneck", "verdict")
	t.Columns[1].About, t.Columns[2].About = "with the 95 % interval", "lower end of the interval by the rate asked for"
	t.Columns[3].About, t.Columns[4].About = "at the rate asked for", "what is used up first, and at which rate"
	t.Columns[4].Left, t.Columns[4].Drop, t.Columns[5].Left = true, 1, true
	chart := &Chart{Kind: Bars, Name: "sustained", Title: "Rate that each candidate sustains",
		X: Axis{Name: "arrivals/s", Label: format.Three}}
	if p.Rate > 0 {
		chart.Uprights = []Line{{p.Rate, "asked for"}}
	}
	for _, c := range p.Candidates {
		first, response := format.None, []string{}
		for _, took := range c.Response {
			response = append(response, format.Duration(took))
		}
		for _, r := range slices.Backward(c.Resources) {
			if r.Full.Mid > 0 {
				first = r.Name + " at " + PlanRate(r.Full.Mid)
			}
		}
		row := t.row(c.Name, sustained(&c), known(c.Headroom, metric.Ratio.Format),
			cmp.Or(strings.Join(response, ", "), format.None), first, string(c.Verdict))
		row.Tone = planTones[c.Verdict]
		if r := c.Sustains; len(p.Candidates) > 1 && r.Low > 0 {
			chart.Series = append(chart.Series, Series{Name: c.Name, Tone: row.Tone, Text: sustained(&c),
				Points: []Point{{X: max(r.Low, r.Mid), Low: r.Low, High: max(r.Low, r.High)}}})
		}
	}
	return dense(t), chart
}

// risks returns why nothing sustains the load, or what can go wrong with the best candidate; and what to do next. A
// candidate that let two clients hold a key comes before the best.
func (p planned) risks() *Table {
	c, t, next := p.best, &Table{}, p.best.Remedy
	if p.Verdict == capacity.Violated {
		c = &p.Candidates[len(p.Candidates)-1] // those come last
	}
	t.fact(planTones[c.Verdict], "because", c.Why)
	if c.Verdict == capacity.Sustains || c.Verdict == capacity.Violated {
		risk, _, _ := strings.Cut(c.Wrong, ";") // the main one
		t.fact(Plain, "risk", risk)
		next = prove(&results.Cell{Trials: []*results.Record{{Plan: c.Plan, Traits: c.Traits}}})
	}
	t.fact(Warn, "caution", strings.Join(p.Warnings[:min(len(p.Warnings), 1)], ""))
	t.fact(Plain, "next", next)
	return t
}

// candidate returns what is known of one beside its row, and its trials in the order in which they ran.
func candidate(c *capacity.CandidateAnswer) []Block {
	server, full := c.Server, []string{}
	for _, r := range c.Resources {
		if at := ranged(r.Full, PlanRate); at != format.None {
			full = append(full, r.Name+" at "+at)
		}
	}
	t := facts("because", c.Why, "strictest", c.Binding, "occupies a key for", ranged(c.Occupies, metric.Duration.Format),
		"clients", known(float64(c.Clients), metric.Count.Format),
		"connections", known(float64(c.Conns), metric.Count.Format),
		"commands/lock", known(c.Cost.Commands, metric.PerLock.Format),
		"CPU/lock", known(c.Cost.ServerCPUUs, metric.Micros.Format),
		"claims", view.Claims(c.Traits), "risk", c.Wrong, "next", c.Remedy,
		"server", strings.TrimSpace(server.Kind+" "+server.Name+" "+server.Version), "full", strings.Join(full, " · "),
		"command", c.Plan.Command)
	trials := columns("trial", "rate", "late arrivals", "p99", "arrivals")
	for _, pt := range c.Points {
		r := trials.row(string(pt.Stage), PlanRate(pt.Rate), ranged(pt.Share, format.Percent),
			known(float64(pt.P99), metric.Duration.Format), format.Count(pt.Arrivals))
		if pt.Left != "" {
			r.Marks = []Mark{{"left out", "", pt.Left, Plain}}
		}
	}
	return []Block{{Heading: c.Name, Detail: true, Table: t}, {Detail: true, Table: trials}}
}

// late returns the share of late arrivals over the rate: what was fitted to the trials of the best candidates, or else
// the trials.
func (p planned) late() *Chart {
	const least, lines = 1e-4, 6 // of the share; as many as can be told apart
	chart := &Chart{Name: "late", Title: "Late arrivals over the rate", X: Axis{Name: "arrivals/s", Label: format.Three},
		Y: Axis{Name: "late arrivals", Log: true, Label: format.Percent}}
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
		if s.Points = slices.Compact(s.Points); s.Points != nil { // one alone is drawn as a sign
			chart.Series = append(chart.Series, s)
		}
	}
	for _, o := range p.slo.Objectives {
		if at := o.Allowed(); highest > 0 {
			chart.Series = append(chart.Series, Series{Name: "objective " + format.Percent(at), Tone: Bad, Dashed: true,
				Points: []Point{{Y: at}, {X: highest, Y: at}}})
		}
	}
	return chart
}
