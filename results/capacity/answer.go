package capacity

// What is known: the verdict on each candidate, and the answer that they make together.

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/results"
)

// alpha is how likely it may be that any candidate is said to sustain the level and does not, by its interval.
const alpha = 0.025

// judge returns the verdict on t, and why it is not Sustains.
func (t *track) judge() (Verdict, Reason) {
	r, claim, asked := t.estimate(), t.claim(), t.q.Asked
	crowd, most := t.crowded(), t.atMost()
	switch {
	case t.phase == over:
		return t.verdict, t.why
	case len(t.trials) == 0:
		return Undecided, Reason{Code: Untried}
	case t.fits != nil && r.High < asked && (crowd.Code == "" || most.Code == ServerFull): // whoever else used the machine
		return RulesOut, most
	case t.carries() && t.byChance():
		return Undecided, Reason{Code: Chance, N: int64(len(t.q.Candidates))}
	case t.carries():
		return Sustains, Reason{}
	case crowd.Code != "":
		return Undecided, crowd
	case len(t.counted()) == 0, t.capped() && t.cap != t.q.Most && asked > 0 && (claim < asked || t.refuted()):
		return Undecided, t.machine()
	case t.fits == nil:
		return Undecided, Reason{Code: Unconfirmed}
	case claim < asked:
		return Undecided, Reason{Code: Within, Low: r.Low, High: r.High}
	case t.refuted():
		return Undecided, Reason{Code: Refuted, Level: cmp.Or(t.asked, t.confirm)}
	case !t.failuresShown():
		return Undecided, Reason{Code: Unproven, Allowed: t.q.SLO.Errors, N: int64(normal95 * normal95 / t.q.SLO.Errors)}
	}
	return Undecided, Reason{Code: Unconfirmed}
}

// capped reports whether the machine, or Question.Most, keeps the level from being known.
func (t *track) capped() bool {
	return len(t.trials) > 0 && len(t.counted()) == 0 || t.fits != nil && t.cap <= t.estimate().Mid
}

// atLeast reports whether nothing but the lower end is known: no trial that counts has broken the goals, or none could.
func (t *track) atLeast() bool {
	_, broken := t.kept()
	return t.capped() || t.fits != nil && math.IsInf(broken, 1)
}

// byChance reports whether the interval is above what is asked for by so little that, among so many candidates, it may
// be chance (Bonferroni).
func (t *track) byChance() bool {
	e := t.estimate()
	if t.q.Asked == 0 || e.Low <= 0 || t.atLeast() {
		return false
	}
	deviation := max(1e-9, math.Log(e.Mid/e.Low)/normal95)
	p := math.Erfc(math.Log(e.Mid/t.q.Asked)/deviation/math.Sqrt2) / 2
	return p > alpha*(1+1e-9)/float64(len(t.q.Candidates))
}

// inMost returns the reason that holds for most of the trials, as in the median of those; empty if there is none.
func inMost(trials []observed, of func(r *results.Record) Reason) Reason {
	var all []Reason
	for _, o := range trials {
		if why := of(o.record); why.Code != "" {
			all = append(all, why)
		}
	}
	if 2*len(all) <= len(trials) {
		return Reason{}
	}
	slices.SortFunc(all, func(a, b Reason) int { return cmp.Compare(a.Cores, b.Cores) })
	return all[len(all)/2]
}

// crowded returns that other programs used many of the cores in most trials; empty if they did not, or nobody knows.
func (t *track) crowded() Reason {
	return inMost(t.trials, func(r *results.Record) Reason {
		l, of := r.Limit(), float64(r.Env.CPUs)
		if l.Mixed || l.Others <= 0 || l.Others < neighbourShare*of {
			return Reason{}
		}
		return Reason{Code: Others, Cores: l.Others, Of: of}
	})
}

// machine returns why the last trial that did not count did not, and what was carried all the same.
func (t *track) machine() (why Reason) {
	for _, o := range t.trials {
		if o.left.Code != "" {
			why = o.left
		}
	}
	why.Level = t.claim()
	return why
}

// atMost returns which level t carries at the most, and what keeps it from more: failures, or its server in most of the
// trials that broke the goals.
func (t *track) atMost() Reason {
	if _, broken := t.failing(); broken > 0 && broken <= t.asked {
		n := t.pool(t.trialsAt(broken, t.asked)).tallies[len(t.goals)-1]
		return Reason{Code: Failing, Level: broken, Share: n.share(), Allowed: t.q.SLO.Errors}
	}
	why := inMost(t.those(func(o *observed) bool { return o.left.Code == "" && !t.keeps(o) }), fullServer)
	why.Code = cmp.Or(why.Code, AtMost)
	why.Level = t.estimate().High
	return why
}

// Answer returns what is known so far. A plan that was stopped has an answer too.
func (s *Search) Answer(env results.Env) *Answer {
	q := s.q
	a := &Answer{Schema: AnswerVersion, SLO: q.SLO.Text, Axis: q.Axis, Asked: q.Asked, Most: q.Most, Env: env,
		Budget: q.Time(), Spent: s.spent, Analysis: []Analysis{Analyse(q)}, Candidates: []CandidateAnswer{}}
	for i := range s.tracks {
		a.Candidates = append(a.Candidates, s.Candidate(i))
	}
	a.Warnings = s.warnings(a)
	slices.SortStableFunc(a.Candidates, func(a, b CandidateAnswer) int {
		ranks := []Verdict{Sustains, Undecided, RulesOut, Failed, Violated}
		return cmp.Or(cmp.Compare(slices.Index(ranks, a.Verdict), slices.Index(ranks, b.Verdict)),
			cmp.Compare(cmp.Or(b.Sustains.Mid, b.Sustains.Low), cmp.Or(a.Sustains.Mid, a.Sustains.Low)),
			cmp.Compare(len(b.Response), len(a.Response)), slices.Compare(a.Response, b.Response))
	})
	a.Verdict = overall(a.Candidates[0].Verdict, a.Candidates[len(s.tracks)-1].Verdict)
	return a
}

// overall returns the verdict on the whole question, given those on the best candidate and on the last. A violation
// comes before all else: some candidate is not a lock, and whoever runs a plan in a script has to hear of it.
func overall(best, last Verdict) Verdict {
	switch {
	case last == Violated, best == last && last == RulesOut:
		return last
	case best == Sustains:
		return best
	}
	return Undecided
}

// Candidate returns what is known so far of one candidate, by its place in the Question.
func (s *Search) Candidate(i int) CandidateAnswer {
	t := s.tracks[i]
	a := CandidateAnswer{Name: t.c.Name, Plan: t.c.Plan, Traits: t.c.Traits, Wrong: t.c.Wrong,
		Cost: results.UnknownCost()}
	a.Verdict, a.Why = t.judge()
	for _, o := range t.trials {
		a.Points = append(a.Points, Point{Level: o.level, Share: o.tallies[t.binding()].interval(),
			P99: o.record.Latency[figures[t.q.Axis]].P99, Arrivals: o.arrivals, Stage: o.stage, Left: o.left})
	}
	if len(t.trials) > 0 {
		last := t.trials[len(t.trials)-1].record
		a.Server, a.Traits = last.Server, last.Traits
	}
	if best, _ := t.kept(); best.level > 0 {
		a.Plan, a.Cost = best.record.Plan, best.record.Cost
	}
	if a.Verdict == Violated {
		return a
	}
	a.AtLeast, a.Response = t.atLeast() && a.Verdict != RulesOut, t.responses() // for which the upper end is enough
	a.Sustains = t.sustains(a.AtLeast, a.Verdict)
	if t.q.Asked > 0 {
		a.Headroom = a.Sustains.Low / t.q.Asked
	}
	if t.fits == nil {
		return a
	}
	fit, measured := t.fits[t.binding()], 1e9*t.measured()
	switch {
	case t.oneLine, t.q.Axis == Clients: // whose fit is not to the times that a key is taken
		a.Occupies = Range{measured, measured, measured}
	case measured > 0: // else the fit has but its guess
		a.Occupies = fit.Occupies()
	}
	a.Resources = t.resources(a.Occupies)
	return a
}

// sustains returns the level that t carries, or its lower end alone. A confirmed one is no higher than the level of the
// trials that confirmed it. An undecided one is never said to carry at least the level
// that is asked for.
func (t *track) sustains(atLeast bool, v Verdict) Range {
	r := t.estimate()
	r.Low = t.claim()
	switch {
	case v == Sustains && t.asked == 0:
		r.Low = min(r.Low, t.confirm)
	case v == Sustains:
		r.Low = max(r.Low, t.q.Asked)
	case t.asked > 0 && t.refuted():
		r.Low = min(r.Low, t.q.Asked)
	}
	switch {
	case atLeast && v != Sustains && t.q.Asked > 0 && r.Low >= t.q.Asked:
		return Range{}
	case atLeast:
		return Range{Low: r.Low}
	}
	return Range{r.Low, max(r.Low, r.Mid), max(r.Low, r.High)}
}

// warnings returns what changes how the figures are read, the most important first.
func (s *Search) warnings(a *Answer) (list []Reason) {
	left, shared := Reason{Code: LeftOut}, false
	for _, t := range s.tracks {
		if r := t.crowded(); r.Code != "" && list == nil {
			list = append(list, r)
		}
		for _, o := range t.trials {
			if o.left.Code != "" {
				left.N, left.Text = left.N+1, string(o.left.Code)
			}
			shared = shared || !o.record.Server.Elsewhere() && o.record.Server.Kind != "external"
		}
	}
	if shared {
		list = append(list, Reason{Code: SharedHost, Of: float64(a.Env.CPUs)})
	}
	if left.N > 0 {
		list = append(list, left)
	}
	return list
}
