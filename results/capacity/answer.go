package capacity

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
)

// alpha is how likely it may be that any candidate is said to sustain the rate and does not, by its interval.
const alpha = 0.025

// Answer returns what is known so far. A plan that was stopped has an answer too.
func (s *Search) Answer(env results.Env) *Answer {
	q := s.q
	a := &Answer{
		Schema: AnswerVersion, SLO: q.SLO.Text, Rate: q.Rate, MaxRate: q.MaxRate, Load: common(q.Candidates), Env: env,
		Budget: q.Time(), Spent: s.spent, Forced: q.Force,
	}
	a.Analysis = s.analyses()
	for _, t := range s.tracks {
		a.Candidates = append(a.Candidates, t.answer(s))
	}
	s.holm(a.Candidates)
	a.Warnings = s.warnings(a)
	slices.SortStableFunc(a.Candidates, better)
	a.Verdict = overall(a.Candidates)
	a.Advice, a.Breaks, a.Unseen = verdict(a), breaks(a), unseen(a)
	return a
}

// common returns the settings that all candidates share; the others are zero.
func common(candidates []Candidate) (p spec.Plan) {
	if len(candidates) == 0 {
		return p
	}
	p = candidates[0].Plan
	for _, c := range candidates[1:] {
		clearDifferent(reflect.ValueOf(&p).Elem(), reflect.ValueOf(c.Plan))
	}
	p.Command, p.Seed = "", 0
	return p
}

// clearDifferent sets to zero each field of a, and of the structs that it embeds, that has another value in b.
func clearDifferent(a, b reflect.Value) {
	for i := range a.NumField() {
		switch field := a.Field(i); {
		case a.Type().Field(i).Anonymous:
			clearDifferent(field, b.Field(i))
		case !reflect.DeepEqual(field.Interface(), b.Field(i).Interface()):
			field.SetZero()
		}
	}
}

// analyses returns the analysis of each load among the candidates, with the least round trip that was measured with it.
func (s *Search) analyses() (list []Analysis) {
	var loads []string
	for _, t := range s.tracks {
		load := describe(&t.c.Plan)
		if slices.Contains(loads, load) {
			continue
		}
		loads = append(loads, load)
		var trip time.Duration
		sustained := false
		for _, other := range s.tracks {
			if describe(&other.c.Plan) != load {
				continue
			}
			if d := other.trip(); d > 0 && (trip == 0 || d < trip) {
				trip = d
			}
			v, _, _ := other.judge(s)
			sustained = sustained || v == Sustains
		}
		a := Analyse(s.q, t.c, trip)
		if sustained { // a line within lockbench hands a lock over without a round trip
			a.Impossible, a.FitsHold, a.FitsShare = "", 0, 0
		}
		list = append(list, a)
	}
	return list
}

// Candidate returns what is known so far of one candidate, by its place in the Question, without what only all of them
// together tell.
func (s *Search) Candidate(i int) CandidateAnswer { return s.tracks[i].answer(s) }

// answer returns what is known of t.
func (t *track) answer(s *Search) CandidateAnswer {
	a := CandidateAnswer{Name: t.c.Name, Plan: t.c.Plan, Traits: t.c.Traits, Wrong: t.c.Wrong, Floor: t.floor, Cost: results.UnknownCost()}
	a.Verdict, a.Why, a.Remedy = t.judge(s)
	if len(t.trials) > 0 {
		last := t.trials[len(t.trials)-1].record
		a.Server, a.Traits = last.Server, last.Traits
	}
	a.AtLeast = t.limited() && a.Verdict != RulesOut // which the upper end is enough for
	limited := a.AtLeast && a.Verdict == Undecided   // so that what was measured at the rate is lockbench's or its machine's
	if a.Verdict != Violated {
		a.Sustains, a.Response = t.sustains(a.AtLeast), t.responses()
		if limited {
			if t.q.Rate > 0 && a.Sustains.Low >= t.q.Rate {
				a.Sustains.Low = 0 // "at least" what is not decided
			}
			a.Sustains.Low = max(a.Sustains.Low, t.least())
		}
	}
	if t.q.Rate > 0 && !limited {
		a.Headroom = a.Sustains.Low / t.q.Rate
	}
	if t.fits == nil || a.Verdict == Violated {
		a.Points = t.points(1)
		return a
	}
	fit := t.fits[t.binding()]
	if len(t.fits) > 1 {
		a.Binding = t.q.SLO.Objectives[t.binding()].String()
	}
	a.Occupies, a.Noise = fit.Occupies(), fit.Noise().Mid
	if key := 1e9 * t.occupied(); t.oneLine {
		a.Occupies = Range{key, key, key}
	}
	packed := t.packed()
	a.Points, a.Curve = t.points(packed), t.curve(fit, a.Sustains)
	if best := t.best(); best != nil {
		r := best.record
		a.Plan, a.Cost = r.Plan, r.Cost
		a.Clients, a.Conns = r.Plan.Clients, cmp.Or(r.Bound.Pool, r.Server.Connections)
	}
	a.Resources = t.resources(a.Occupies, cmp.Or(t.q.Rate, a.Sustains.Low))
	return a
}

// sustains returns the rate that t carries, or its lower end alone. A confirmed one is no higher than the rate of the trials that
// confirmed it.
func (t *track) sustains(atLeast bool) Range {
	r := t.estimate()
	r.Low = t.claim()
	switch {
	case t.state == confirmed:
		r.Low = min(r.Low, t.confirm.rate)
	case t.state == refuted && t.asked > 0:
		r.Low = min(r.Low, t.q.Rate)
	}
	if t.asked > 0 && t.carries() {
		r.Low = max(r.Low, t.q.Rate)
	}
	if atLeast {
		return Range{Low: r.Low}
	}
	r.Mid, r.High = max(r.Low, r.Mid), max(r.Low, r.High)
	return r
}

// least returns the highest rate of a trial below what is asked for in which lockbench was the limit and that kept the SLO
// beyond chance: the lock carries that at the least.
func (t *track) least() (rate float64) {
	for _, o := range t.trials {
		kept := o.saturated() && (t.asked == 0 || o.rate < t.asked)
		for i, objective := range t.q.SLO.Objectives {
			kept = kept && interval(o.late[i], o.arrivals, 1).High <= objective.Allowed()
		}
		if kept {
			rate = max(rate, o.rate)
		}
	}
	return rate
}

// What would decide a candidate of which too little is known.
const (
	moreBudget = "give it a larger budget"
	quieter    = "let nothing else run on this machine meanwhile"
)

// judge returns the verdict on t, why it is not Sustains, and what would decide it.
func (t *track) judge(s *Search) (v Verdict, why, remedy string) {
	switch {
	case t.state == over:
		return t.verdict, t.why, ""
	case len(t.trials) == 0:
		return Undecided, "it was not tried", moreBudget
	case t.excluded():
		return RulesOut, t.atMost(), ""
	case t.carries():
		return Sustains, "", ""
	}
	if crowded := t.crowded(); crowded != "" {
		return Undecided, crowded, quieter
	}
	why, remedy = t.open(s)
	return Undecided, why, remedy
}

// excluded reports whether t cannot carry what is asked for, whoever else uses the machine: by the fit, or since its server was
// used up.
func (t *track) excluded() bool {
	if t.q.Rate == 0 || len(t.counted()) == 0 {
		return false
	}
	full := t.fullServer() != ""
	if t.fits == nil {
		pilots := t.counted()
		last := &pilots[len(pilots)-1]
		i, of := t.worst(last)
		return full && t.falling() && last.beyond(i, of)
	}
	return t.estimate().High < t.q.Rate && (full || t.crowded() == "")
}

// atMost says which rate t carries at the most, and what keeps it from more if that is its server.
func (t *track) atMost() string {
	most := t.estimate().High
	if _, broken := t.errorRates(); t.q.SLO.HasErrors && broken > 0 && broken <= t.asked {
		all := pool(t.worked(broken, t.asked))
		return fmt.Sprintf("%s of the arrivals fail, and %s may", format.Percent(share(all.failed, all.arrivals)), format.Percent(t.q.SLO.Errors))
	}
	if t.fits == nil {
		for _, o := range t.counted() {
			most = max(most, float64(o.record.Counts.Acquired)/o.record.Elapsed.Seconds())
		}
	}
	text := "it sustains " + format.Three(most) + "/s at the most"
	if most >= t.q.Rate { // by what came through in all, late or not
		text = "it does not sustain " + format.Three(t.q.Rate) + "/s"
	}
	if full := t.fullServer(); full != "" {
		text += "; " + full
	}
	return text
}

// open returns why t is not decided on a machine that nobody else uses, and what would decide it.
func (t *track) open(s *Search) (why, remedy string) {
	switch r, rate := t.estimate(), t.q.Rate; {
	case len(t.counted()) == 0 && !slices.ContainsFunc(t.trials, func(o observed) bool { return o.saturated() }):
		why, _, _ = strings.Cut(t.trials[len(t.trials)-1].left, "; ") // the main reason
		return "no trial counts; the last one: " + why, moreBudget
	case len(t.counted()) == 0, t.limited() && (t.claim() < rate || rate > 0 && t.state == refuted) && t.cap != t.q.MaxRate:
		return t.tooSmall()
	case t.fits == nil:
		return "its pilot did not come to an end", moreBudget
	case t.claim() < rate:
		return "the rate asked for lies within its interval, " + between(r), moreBudget
	case t.state == refuted:
		return "fresh trials at the lower end of its rate broke the objective", moreBudget
	case s.broke:
		return "the budget was used up before fresh trials could confirm its rate", moreBudget
	}
	return "no fresh trials have confirmed its rate", moreBudget
}

func between(r Range) string { return format.Three(r.Low) + " to " + format.Three(r.High) + "/s" }

// holm takes the verdict Sustains back from candidates that may have it by chance, since there are many of them (Holm 1979).
// They are in the order of the question.
func (s *Search) holm(list []CandidateAnswer) {
	if s.q.Rate == 0 {
		return
	}
	ps := make([]float64, len(list))
	for i, a := range list {
		ps[i] = math.NaN()
		if a.Verdict == Sustains && !a.AtLeast {
			r := s.tracks[i].estimate()
			deviation := max(1e-9, math.Log(r.Mid/r.Low)/1.96)
			ps[i] = math.Erfc(math.Log(r.Mid/s.q.Rate)/deviation/math.Sqrt2) / 2
		}
	}
	for i, p := range stats.Holm(ps) {
		if p > alpha*(1+1e-9) {
			list[i].Verdict = Undecided
			list[i].Why = "its interval is just above what is asked for, which is no proof among " + format.Plural(len(list), "candidate")
			list[i].Remedy = moreBudget
		}
	}
}

// ranks are the verdicts from best to worst.
var ranks = []Verdict{Sustains, Undecided, Dropped, RulesOut, Failed, Violated}

func better(a, b CandidateAnswer) int {
	return cmp.Or(cmp.Compare(slices.Index(ranks, a.Verdict), slices.Index(ranks, b.Verdict)), cmp.Compare(b.Sustains.Low, a.Sustains.Low),
		slices.Compare(a.Response, b.Response))
}

// overall returns the verdict on the whole question. A violation comes before all else: some candidate is not a lock, and
// whoever runs a plan in a script has to hear of it.
func overall(list []CandidateAnswer) Verdict {
	n := map[Verdict]int{}
	for _, a := range list {
		n[a.Verdict]++
	}
	switch {
	case n[Violated] > 0:
		return Violated
	case n[Sustains] > 0:
		return Sustains
	case n[RulesOut] > 0 && n[RulesOut]+n[Dropped] == len(list):
		return RulesOut // what was left out did worse than those
	}
	return Undecided
}

// best returns the trial at the highest rate that counts and kept the SLO; nil if none did.
func (t *track) best() (best *observed) {
	for i := range t.trials {
		if o := &t.trials[i]; o.left == "" && t.keeps(o) && (best == nil || o.rate > best.rate) {
			best = o
		}
	}
	return best
}

// packed returns how many times the variance of the late arrivals in a trial is that of independent ones: they come
// together, while a queue is long (Pearson's dispersion, about the fit).
func (t *track) packed() float64 {
	i := t.binding()
	over := censored(t.q.SLO.Objectives[i].Allowed())
	sum, n := 0.0, 0
	for _, o := range t.counted() {
		p := t.fits[i].Share(o.rate).Mid
		if o.share(i) > over || p <= 0 || p >= 1 {
			continue
		}
		off := float64(o.late[i]) - p*float64(o.arrivals)
		sum += off * off / (p * (1 - p) * float64(o.arrivals))
		n++
	}
	return max(1, sum/float64(max(1, n)))
}

// interval returns a share with its 95 % interval (Wilson 1927) if the variance is packed times that of independent arrivals.
func interval(k, n int64, packed float64) Range {
	const z = 1.96
	if n == 0 {
		return Range{}
	}
	p, of := share(k, n), float64(n)/packed
	mid, half := p+z*z/(2*of), z*math.Sqrt(p*(1-p)/of+z*z/(4*of*of))
	r := Range{Low: (mid - half) / (1 + z*z/of), Mid: p, High: min(1, (mid+half)/(1+z*z/of))}
	if k == 0 {
		r.Low = 0 // without what is left by rounding
	}
	return r
}

// points returns the trials.
func (t *track) points(packed float64) (list []Point) {
	i := 0
	if t.fits != nil {
		i = t.binding()
	}
	for _, o := range t.trials {
		p := Point{
			Rate: o.rate, Share: interval(o.late[i], o.arrivals, packed), P99: o.record.Latency[results.Response].P99,
			Arrivals: o.arrivals, Stage: o.stage,
		}
		if !t.shows(&o) {
			p.Left = o.left
		}
		list = append(list, p)
	}
	return list
}

// curve returns the fit around the rate that is sustained and over all that was tried.
func (t *track) curve(fit *Fit, r Range) (list []Point) {
	const places = 25
	low, high := r.Low, max(r.Low, r.High)
	for _, o := range t.counted() {
		low, high = min(low, o.rate), max(high, o.rate)
	}
	if low <= 0 {
		return nil
	}
	for i := range places {
		rate := low * math.Pow(high/low, float64(i)/(places-1))
		list = append(list, Point{Rate: rate, Share: fit.Share(rate)})
	}
	return list
}

// ReadAnswer reads what lockbench plan -format json has written.
func ReadAnswer(in io.Reader) (*Answer, error) {
	var a Answer
	if err := results.ReadForm(in, "an answer of lockbench plan -format json", &a, &a.Schema, AnswerVersion); err != nil {
		return nil, err
	}
	return &a, nil
}
