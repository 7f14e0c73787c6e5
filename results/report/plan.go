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

// planned is an answer as it is told.
type planned struct {
	*capacity.Answer
	list  []capacity.CandidateAnswer // none if any lock is ruled out on paper
	paper *capacity.Analysis         // which says so; nil if something was tried
}

// Plan returns which locks carry the load of a plan.
func Plan(a *capacity.Answer) *Document {
	p, tried := planned{Answer: a, list: slices.Clone(a.Candidates)}, 0
	for _, c := range p.list {
		tried += len(c.Points)
	}
	var loads, warnings []string
	for _, n := range a.Analysis {
		loads = append(loads, n.Load)
		if tried == 0 && n.Impossible != (capacity.Reason{}) {
			p.list, p.paper = nil, &n
		}
	}
	for _, w := range a.Warnings {
		text, _ := PlanReason(a, w)
		warnings = append(warnings, text)
		for i, c := range p.list { // what is true of all is said with the same figures, once
			if c.Why.Code == w.Code && w.Code != "" {
				p.list[i].Why = w
			}
		}
	}
	at := strings.TrimSuffix(" at "+p.level(a.Asked), " at "+format.None)
	d := &Document{Command: "lockbench plan", Title: p.title(at), Tone: planTones[a.Verdict],
		When: format.Join(cmp.Or(a.SLO, "no objective")+at, format.Few(loads, 1))}
	table, chart, why := p.table(), p.chart(), p.why()
	more := table.rest(d.room(why), "candidate")
	d.add(Block{Chart: chart}, Block{Table: table}, Block{Table: why}, more,
		Block{Heading: "Bounds on paper", Detail: p.paper == nil, Table: PlanAnalysis(a)},
		Block{Heading: "Not tried, and environment", Detail: true, Table: facts(
			"most tried", p.level(a.Most), "caution", strings.Join(warnings, " · "),
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
		t.row(n.Load, known(n.Hottest, format.Percent), known(n.Busy, format.Percent), PlanLevel(capacity.Rates, n.Stable),
			PlanLevel(a.Axis, n.Ceiling), known(float64(n.FitsHold), metric.Duration.Format))
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

// planTones are how verdicts are taken.
var planTones = map[capacity.Verdict]Tone{
	capacity.Sustains: Good, capacity.Undecided: Warn,
	capacity.RulesOut: Bad, capacity.Violated: Bad, capacity.Failed: Bad,
}

// title returns the answer in a sentence. At is the level that is asked for: " at 3,000/s".
func (p planned) title(at string) (text string) {
	var names view.Grouped[capacity.Verdict, string]
	for _, c := range p.list {
		names.Add(c.Verdict, c.Name)
	}
	n, carry := len(p.list), len(names.Of[capacity.Sustains])
	switch {
	case p.Verdict == capacity.Violated:
		text = "violated: " + format.And(names.Of[p.Verdict]) + " let two clients hold one key"
	case carry > 0:
		text = p.list[0].Name + " sustains " + p.sustained(&p.list[0])
		if n > 1 && p.Asked > 0 {
			text += fmt.Sprintf(" · %d of %d sustain %s", carry, n, p.level(p.Asked))
		}
	case p.paper != nil:
		text = "ruled out: no lock sustains " + p.level(p.Asked)
	default:
		who := format.Plural(n, "candidate")
		if n == 1 {
			who = p.list[0].Name
		}
		text = cmp.Or(string(p.Verdict), "undecided") + ": " + who + at
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

// table returns the candidates, ranked.
func (p planned) table() *Table {
	slo, _ := capacity.ParseSLO(p.SLO) // without objectives if nobody can read it
	var quantiles []string
	for _, o := range slo.Objectives {
		quantiles = append(quantiles, "p"+strings.TrimSuffix(spec.FormatShare(o.Quantile), "%"))
	}
	t := &Table{Columns: []Column{
		{Title: "candidate", Left: true},
		{Title: "sustains", About: "with the 95 % interval"},
		{Title: "headroom ×", About: "lower end of the interval by what is asked for"},
		{Title: strings.Join(quantiles, ", "), About: "at what is asked for, or else at the most that was kept"},
		{Title: "breaks first", About: "what is used up first, and at which rate", Left: true, Drop: 1},
	}}
	for _, c := range p.list {
		took, first := []string{}, format.None
		for _, each := range c.Response {
			took = append(took, format.Duration(each))
		}
		if len(c.Resources) > 0 && c.Resources[0].Full.Mid > 0 {
			first = c.Resources[0].Name + " at " + PlanLevel(capacity.Rates, c.Resources[0].Full.Mid)
		}
		t.row(c.Name, p.sustained(&c), known(c.Headroom, metric.Ratio.Format), strings.Join(took, ", "), first).Tone =
			planTones[c.Verdict]
	}
	if dense(t); len(t.Columns) == 1 { // names of which nothing is known
		t.Rows = nil
	}
	return t
}

// chart returns a bar for each of several candidates.
func (p planned) chart() *Chart {
	chart := &Chart{Kind: Bars, Name: "sustained", Title: "What each candidate sustains",
		X: Axis{Name: cmp.Or(string(p.Axis), "arrivals/s"), Label: format.Three}}
	if p.Asked > 0 {
		chart.Uprights = []Line{{p.Asked, "asked for"}}
	}
	for _, c := range p.list {
		if r := c.Sustains; len(p.list) > 1 && r.Low > 0 {
			chart.Series = append(chart.Series, Series{Name: c.Name, Tone: planTones[c.Verdict], Text: p.sustained(&c),
				Points: []Point{{X: max(r.Low, r.Mid), Low: r.Low, High: max(r.Low, r.High)}}})
		}
	}
	return chart
}

// why returns what is wrong with the best candidate, or why it does not sustain the load; why the others do not, unless it
// is the same; and what to do next. A candidate that let two clients hold a key comes before the best.
func (p planned) why() *Table {
	const most = 3 // reasons, each with those that it is of
	var c capacity.CandidateAnswer
	switch n := len(p.list); {
	case p.paper != nil:
		c.Verdict, c.Why = capacity.RulesOut, p.paper.Impossible
	case p.Verdict == capacity.Violated:
		c = p.list[n-1] // those come last
	case n > 0:
		c = p.list[0]
	}
	t := &Table{}
	why, next := PlanReason(p.Answer, c.Why)
	t.fact(planTones[c.Verdict], "because", why)
	if c.Verdict == capacity.Sustains || c.Verdict == capacity.Violated {
		risk, _, _ := strings.Cut(c.Wrong, ";") // the main one
		t.fact(Plain, "risk", risk)
		next = prove(&results.Cell{Trials: []*results.Record{{Plan: c.Plan, Traits: c.Traits}}})
	}
	var others view.Grouped[[2]string, string]
	for _, other := range p.list {
		if text, _ := PlanReason(p.Answer, other.Why); text != why && text != "" && other.Name != c.Name {
			others.Add([2]string{string(other.Verdict), text}, other.Name)
		}
	}
	for _, key := range others.Keys[:min(most, len(others.Keys))] {
		t.fact(Plain, key[0], format.Few(others.Of[key], 2)+": "+key[1])
	}
	if len(p.Warnings) > 0 && len(others.Keys) < most {
		text, _ := PlanReason(p.Answer, p.Warnings[0])
		if !slices.ContainsFunc(t.Rows, func(r Row) bool { return strings.HasSuffix(r.Cells[1].Text, text) }) {
			t.fact(Warn, "caution", text)
		}
	}
	t.fact(Plain, "next", next)
	return t
}
