package report

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
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/view"
)

// planned is an answer, and its best candidate, which is empty if there is none.
type planned struct {
	*capacity.Answer
	slo  capacity.SLO // without objectives if nobody can read it
	best capacity.CandidateAnswer
}

// Plan returns which locks carry the load of a plan.
func Plan(a *capacity.Answer) *Document {
	p := planned{Answer: a}
	p.slo, _ = capacity.ParseSLO(a.SLO)
	tried := 0
	for _, c := range slices.Backward(a.Candidates) {
		p.best, tried = c, tried+len(c.Points)
	}
	candidates := a.Candidates
	if tried == 0 && slices.ContainsFunc(a.Analysis, func(n capacity.Analysis) bool { return n.Impossible != (capacity.Reason{}) }) {
		candidates, p.best = nil, capacity.CandidateAnswer{} // what is known on paper is so of any lock
	}
	var loads []string
	for _, n := range a.Analysis {
		loads = append(loads, n.Load)
	}
	d := &Document{Command: "lockbench plan", Title: p.title(candidates), Tone: planTones[a.Verdict],
		When: format.Join(cmp.Or(a.SLO, "no objective"), format.Few(loads, 1))}
	risks := p.risks(candidates)
	table, chart := p.table(candidates)
	more := table.rest(d.room(risks), "candidate")
	d.add(Block{Chart: chart}, Block{Table: table}, Block{Table: risks}, more,
		Block{Heading: "Bounds on paper", Detail: candidates != nil, Table: PlanAnalysis(a)})
	var warnings []string
	for _, w := range a.Warnings {
		text, _ := PlanReason(a, w)
		warnings = append(warnings, text)
	}
	d.add(Block{Heading: "Not tried, and environment", Detail: true, Table: facts(
		"most tried", PlanLevel(a.Axis, a.Most), "caution", strings.Join(warnings, " · "),
		"not tried", strings.Join(a.Skipped, " · "), "trials", known(float64(tried), metric.Count.Format),
		"measured for", known(float64(a.Spent), metric.Duration.Format), "machine", view.Machine(a.Env),
		"program", strings.TrimSpace("lockbench "+a.Env.Lockbench), "libraries", view.Libraries(a.Env))})
	return d
}

// PlanAnalysis returns what is known of each load of an answer without a server.
func PlanAnalysis(a *capacity.Answer) *Table {
	t := columns("load", "hottest\nkey", "busy", "always\nbusy from", "meets the\nSLO up to", "hold\nthat fits")
	t.Columns[4].About = "first come, first served, with free hand-offs, about"
	t.Columns[5].About = "longest hold with which the rate would meet the SLO"
	for _, n := range a.Analysis {
		r := t.row(n.Load, known(n.Hottest, format.Percent), known(n.Busy, format.Percent), PlanLevel(capacity.Rates, n.Stable),
			PlanLevel(a.Axis, n.Ceiling), known(float64(n.FitsHold), metric.Duration.Format))
		if why, _ := PlanReason(a, n.Impossible); why != "" {
			r.Tone, r.Marks = Bad, []Mark{{"impossible", "", why, Bad}}
		}
	}
	return dense(t)
}

// PlanLevel formats a level; a dash is one that is not known, or beyond what can be asked for.
func PlanLevel(axis capacity.Axis, level float64) string {
	switch {
	case level >= spec.MaxRate || !(level > 0):
		return format.None
	case axis == capacity.Clients:
		return format.Plural(int64(math.Floor(level)), "client")
	}
	return format.Three(level) + "/s"
}

func (p planned) level(v float64) string { return PlanLevel(p.Axis, v) }

// planTones are how verdicts are taken. Others are plain.
var planTones = map[capacity.Verdict]Tone{
	capacity.Sustains: Good, capacity.Undecided: Warn,
	capacity.RulesOut: Bad, capacity.Violated: Bad, capacity.Failed: Bad,
}

// title returns the answer.
func (p planned) title(candidates []capacity.CandidateAnswer) string {
	var names view.Grouped[capacity.Verdict, string]
	for _, c := range candidates {
		names.Add(c.Verdict, c.Name)
	}
	who, asked, n, carry := p.best.Name, p.level(p.Asked), len(candidates), len(names.Of[capacity.Sustains])
	if n == 0 {
		who = "any lock"
	} else if n > 1 {
		who = format.Plural(n, "candidate")
	}
	text := cmp.Or(string(p.Verdict), "undecided") + ": " + strings.TrimSuffix(who+" at "+asked, " at "+format.None)
	if p.Verdict == capacity.Violated {
		text = "violated: " + format.And(names.Of[p.Verdict]) + " let two clients hold one key"
	} else if carry > 0 {
		text = p.best.Name + " sustains " + p.sustained(&p.best)
		if n > 1 && p.Asked > 0 {
			text += fmt.Sprintf(" · %d of %d sustain %s", carry, n, asked)
		}
	}
	return text + strings.TrimSuffix(" ("+p.Partial+")", " ()")
}

// sustained returns the level that a candidate sustains, with its interval.
func (p planned) sustained(c *capacity.CandidateAnswer) string {
	r := c.Sustains
	switch {
	case c.AtLeast && r.Low > 0:
		return p.level(r.Low) + " or more"
	case r.Mid <= 0:
		return format.None
	}
	return between(r.Mid, r.Low, r.High, p.level)
}

// table returns the candidates, ranked, and of several a bar for each.
func (p planned) table(candidates []capacity.CandidateAnswer) (*Table, *Chart) {
	var quantiles []string
	for _, o := range p.slo.Objectives {
		quantiles = append(quantiles, "p"+strings.TrimSuffix(spec.FormatShare(o.Quantile), "%"))
	}
	t := columns("candidate", "sustains", "headroom", strings.Join(quantiles, ", "), "breaks first")
	t.Columns[1].About, t.Columns[2].About = "with the 95 % interval", "lower end of the interval by what is asked for"
	t.Columns[3].About, t.Columns[4].About = "at what is asked for", "what is used up first, and at which rate"
	t.Columns[4].Left, t.Columns[4].Drop = true, 1
	chart := &Chart{Kind: Bars, Name: "sustained", Title: "What each candidate sustains",
		X: Axis{Name: cmp.Or(string(p.Axis), "arrivals/s"), Label: format.Three}}
	if p.Asked > 0 {
		chart.Uprights = []Line{{p.Asked, "asked for"}}
	}
	for _, c := range candidates {
		first, response := format.None, []string{}
		for _, took := range c.Response {
			response = append(response, format.Duration(took))
		}
		for _, r := range slices.Backward(c.Resources) {
			if r.Full.Mid > 0 {
				first = r.Name + " at " + PlanLevel(capacity.Rates, r.Full.Mid)
			}
		}
		row := t.row(c.Name, p.sustained(&c), known(c.Headroom, metric.Ratio.Format),
			cmp.Or(strings.Join(response, ", "), format.None), first)
		row.Tone = planTones[c.Verdict]
		if r := c.Sustains; len(candidates) > 1 && r.Low > 0 {
			chart.Series = append(chart.Series, Series{Name: c.Name, Tone: row.Tone, Text: p.sustained(&c),
				Points: []Point{{X: max(r.Low, r.Mid), Low: r.Low, High: max(r.Low, r.High)}}})
		}
	}
	if dense(t); len(t.Columns) == 1 { // names of which nothing is known
		t.Rows = nil
	}
	return t, chart
}

// risks returns what is wrong with the best candidate, or why it does not sustain the load; why the others lost; and
// what to do next. A candidate that let two clients hold a key comes before the best.
func (p planned) risks(candidates []capacity.CandidateAnswer) *Table {
	const most = 3 // reasons, each with those that lost for it
	c, t := p.best, &Table{}
	if p.Verdict == capacity.Violated {
		c = candidates[len(candidates)-1] // those come last
	}
	why, next := PlanReason(p.Answer, c.Why)
	t.fact(planTones[c.Verdict], "because", why)
	if c.Verdict == capacity.Sustains || c.Verdict == capacity.Violated {
		risk, _, _ := strings.Cut(c.Wrong, ";") // the main one
		t.fact(Plain, "risk", risk)
		next = prove(&results.Cell{Trials: []*results.Record{{Plan: c.Plan, Traits: c.Traits}}})
	}
	var lost view.Grouped[string, string]
	for _, other := range candidates {
		if why, _ := PlanReason(p.Answer, other.Why); why != "" && other.Name != c.Name {
			lost.Add(why, other.Name)
		}
	}
	for _, why := range lost.Keys[:min(most, len(lost.Keys))] {
		t.fact(Plain, "lost", format.Few(lost.Of[why], 2)+": "+why)
	}
	if len(p.Warnings) > 0 && len(lost.Keys) < most {
		if text, _ := PlanReason(p.Answer, p.Warnings[0]); text != why {
			t.fact(Warn, "caution", text)
		}
	}
	t.fact(Plain, "next", next)
	return t
}
