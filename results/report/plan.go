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
	trials int
	list   []capacity.CandidateAnswer
}

// Plan returns which locks carry the load of a plan.
func Plan(a *capacity.Answer) *Document {
	p := planned{Answer: a, list: slices.Clone(a.Candidates)}
	var loads, warnings []string
	for _, n := range a.Analysis {
		loads = append(loads, n.Load)
	}
	for _, w := range a.Warnings {
		warnings = append(warnings, p.words(w))
	}
	for i, c := range p.list {
		p.trials += len(c.Points)
		for _, w := range a.Warnings { // what is true of all is said with the same figures, once
			if c.Why.Code == w.Code && w.Code != "" {
				p.list[i].Why = w
			}
		}
	}
	at := strings.TrimSuffix(" at "+p.level(a.Asked), " at "+format.None)
	d := &Document{Command: "lockbench plan", Title: p.title(at), Tone: planTones[a.Verdict],
		When: format.Join(cmp.Or(a.SLO, "no objective")+at, format.Few(loads, 1))}
	table, why := p.table(), p.why()
	more := table.rest(d.room(why), "candidate")
	d.add(Block{Table: table}, Block{Table: why}, more,
		Block{Heading: "Bounds on paper", Detail: !p.onPaper(), Table: PlanAnalysis(a)},
		Block{Heading: "Not tried, and environment", Detail: true, Table: facts(
			"most tried", p.level(a.Most), "caution", strings.Join(warnings, " · "),
			"not tried", strings.Join(a.Skipped, " · "), "trials", known(float64(p.trials), metric.Count.Format),
			"measured for", known(float64(a.Spent), metric.Duration.Format), "machine", view.Machine(a.Env),
			"program", strings.TrimSpace("lockbench "+a.Env.Lockbench), "libraries", view.Libraries(a.Env))})
	return d
}

// onPaper reports whether any lock was ruled out before a trial.
func (p planned) onPaper() bool { return p.trials == 0 && p.Verdict == capacity.RulesOut }

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

func (p planned) words(r capacity.Reason) string {
	why, _ := PlanReason(p.Answer, r)
	return why
}

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
	case p.onPaper():
		text = "ruled out: no lock sustains " + p.level(p.Asked)
	case n == 1:
		text = string(p.Verdict) + ": " + p.list[0].Name + at
	default:
		text = cmp.Or(string(p.Verdict), "undecided") + ": " + format.Plural(n, "candidate") + at
	}
	return text + strings.TrimSuffix(" ("+p.Partial+")", " ()")
}

// sustained returns the level that a candidate sustains, with its interval.
func (p planned) sustained(c *capacity.CandidateAnswer) string {
	switch r := c.Sustains; {
	case c.AtLeast && r.Low > 0:
		return p.level(r.Low) + " or more"
	case r.Mid > 0:
		return between(r.Mid, r.Low, r.High, p.level)
	}
	return format.None
}

// table returns the candidates, ranked.
func (p planned) table() *Table {
	slo, _ := capacity.ParseSLO(p.SLO) // without objectives if nobody can read it
	var quantiles []string
	for _, o := range slo.Objectives {
		quantiles = append(quantiles, "p"+strings.TrimSuffix(spec.FormatShare(o.Quantile), "%"))
	}
	t := columns("candidate", "sustains", "headroom ×", strings.Join(quantiles, ", "), "breaks first")
	for i, about := range []string{1: "with the 95 % interval", 2: "lower end of the interval by what is asked for",
		3: "at what is asked for, or at the most that was kept", 4: "what is used up first, and at which rate"} {
		t.Columns[i].About = about
	}
	t.Columns[4].Left, t.Columns[4].Drop = true, 1
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

// why returns what is wrong with the best candidate, or why it does not sustain the load; why others do not, unless it
// is the same; and what to do next. A candidate that let two clients hold a key comes before the best.
func (p planned) why() *Table {
	const most = 3 // reasons, each with those that it is of
	t, c := &Table{}, capacity.CandidateAnswer{}
	if n := len(p.list); n > 0 && p.Verdict == capacity.Violated {
		c = p.list[n-1] // those come last
	} else if n > 0 {
		c = p.list[0]
	}
	why, next := PlanReason(p.Answer, c.Why)
	t.fact(planTones[c.Verdict], "because", why)
	if c.Verdict == capacity.Sustains || c.Verdict == capacity.Violated {
		risk, _, _ := strings.Cut(c.Wrong, ";") // the main one
		t.fact(Plain, "risk", risk)
		next = prove(&results.Cell{Trials: []*results.Record{{Plan: c.Plan, Traits: c.Traits}}})
	}
	var others view.Grouped[[2]string, string]
	for _, other := range p.list {
		if text := p.words(other.Why); text != why && text != "" {
			others.Add([2]string{string(other.Verdict), text}, other.Name)
		}
	}
	if len(p.Warnings) > 0 && len(others.Keys) < most {
		if text := p.words(p.Warnings[0]); text != why {
			others.Add([2]string{"caution", text}, "")
		}
	}
	for _, key := range others.Keys[:min(most, len(others.Keys))] {
		t.fact(Plain, key[0], strings.TrimPrefix(format.Few(others.Of[key], 2)+": "+key[1], ": "))
	}
	t.fact(Plain, "next", next)
	return t
}
