package capacity

// One candidate: where it stands, and what a trial changes in that.

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity/queue"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

const (
	pilotTrials = 2 // that each candidate needs
	maxPilots   = 8

	pilotFirst = 0.5  // of the ceiling
	pilotLast  = 0.75 // of the ceiling

	// firstRate is the highest rate of a first trial if none is asked for: a ceiling of millions is that of the model alone.
	// climb and fall are how many times as high the next pilot goes, or how low.
	firstRate = 5000
	climb     = 2.5
	fall      = 4

	minRate = 0.1 // of a trial, in arrivals a second

	// firstBurst is the same for arrivals that come all at once, in arrivals of one burst: to send 5,000 takes lockbench alone
	// 40 ms of both cores.
	firstBurst = 500

	// floorShare: in a queue the share of late arrivals falls at least as the rate does. If it stays above this part of what
	// it was at a rate that is fall times as high, it has another cause.
	floorShare = 0.5

	belowFirst = 0.5 // part of a rate at which lockbench was the limit that is tried instead while no trial has counted
	nearlyMade = 1.1 // times a rate that lockbench made: nothing is learnt between them

	// neighbourShare is the part of the cores that makes other programs the reason for a busy machine.
	neighbourShare = 0.2

	// guessedOccupied is how long a lock occupies its key, in seconds, if nothing is known: that of a server on this machine.
	guessedOccupied = 50e-6

	// maxFixed is the largest part of an objective's limit that counts as a response without a wait in line.
	maxFixed = 0.9

	fewArrivals = 100 // of a window that says nothing of a share of some per cent

	// fewLate is the number of arrivals that may be late in the shortest window of which several together tell something.
	fewLate = 0.2

	maxMore    = 16 // times the usual clients
	maxPartial = 3  // trials that do not work, in a row

	maxDisturbed = 4 // trials after which others on the machine have shown that none will count
)

// state is where a candidate stands.
//
//	state       its trials     becomes
//	piloting    StagePilot     searching, once a rate kept the objectives and one did not (judgePilot); settled (leave, limit)
//	searching   StageSearch    settled, once more trials would change nothing (settle)
//	settled     none
//	confirming  StageConfirm   confirmed or refuted (addConfirming, limit)
//	confirmed   none
//	refuted     none
//	over        none, since it has a verdict
//
// The search makes the best that are piloted confirming when it ends (Search.choose), and end makes any over.
type state int

const (
	piloting state = iota
	searching
	settled
	confirming
	confirmed
	refuted
	over
)

// stages are the stages of the next trial; empty for a candidate that gets no more.
var stages = map[state]Stage{piloting: StagePilot, searching: StageSearch, confirming: StageConfirm}

// track is what is known of a candidate.
type track struct {
	q       *Question
	c       *Candidate
	index   int
	keys    queue.Keys
	ceiling float64 // by the model, before a round trip is known
	asked   float64 // the lowest rate of a trial that is no less than the one asked for; 0: none is

	state   state
	trials  []observed
	fits    []*Fit        // one for each objective; nil during the pilot
	oneLine bool          // the fits are to one queue for all arrivals, and not to those for the keys
	more    int           // times the usual clients
	cap     float64       // arrivals a second that no trial exceeds
	cost    time.Duration // of the last trial
	most    time.Duration // of any trial
	partial int           // trials in a row that did not work
	suspect float64       // rate at which lockbench was the limit, once: it may have been a neighbour; 0: there is none

	verdict Verdict // once it is over
	why     string
	floor   float64
	confirm *confirmation // nil before it

	known     Range // estimate
	estimated int   // after so many trials
}

func newTrack(q *Question, index int) *track {
	c := &q.Candidates[index]
	t := &track{q: q, c: c, index: index, keys: queue.NewKeys(c.queues()), more: 1, cap: spec.MaxRate}
	t.ceiling = modelOf(c, 0).ceiling(q.SLO)
	if q.Rate > 0 {
		if t.asked = t.made(q.Rate, math.Floor); above(q.Rate, t.asked) {
			t.asked = t.made(q.Rate, math.Ceil)
		}
	}
	t.cost, t.most = q.minTrial(c), q.minTrial(c)
	if q.MaxRate > 0 {
		t.cap = q.MaxRate
	}
	if why := Analyse(q, c, 0).Impossible; why != "" && !q.Force {
		t.end(RulesOut, why)
	} else if why := t.tooRare(); why != "" {
		t.end(Undecided, why)
	}
	return t
}

// tooRare returns why no window has enough arrivals to find the most, if none has.
func (t *track) tooRare() string {
	if t.q.Rate > 0 || t.c.Plan.Burst > 0 || len(t.c.Plan.Classes) > 0 {
		return ""
	}
	_, window := t.q.windows(t.c, t.ceiling, t.occupied(), windowArrivals)
	fewest := fewLate / t.q.SLO.Strictest().Allowed()
	if t.ceiling*window.Seconds() >= fewest {
		return ""
	}
	needs := time.Duration(turns*len(t.q.Candidates)) * (nanoseconds(2*fewest/max(minRate, t.ceiling)) + trialOverhead)
	return fmt.Sprintf("on paper it meets %s up to %s/s, at which a trial sees too few arrivals: take a shorter hold, a longer limit or more keys, or a budget of %s",
		t.q.SLO, format.Three(t.ceiling), format.Exact(needs.Truncate(time.Minute)+time.Minute))
}

// end makes v the last word on t.
func (t *track) end(v Verdict, why string) { t.state, t.verdict, t.why = over, v, why }

func (t *track) inPlay() bool { return t.state != over }

// stage returns the stage of the next trial; empty if there is none.
func (t *track) stage() Stage { return stages[t.state] }

// counted returns the trials that count.
func (t *track) counted() []observed {
	return slices.DeleteFunc(slices.Clone(t.trials), func(o observed) bool { return o.left != "" })
}

// add takes in a record, and reports whether the same candidate is to have another trial at once in its place.
func (t *track) add(r *results.Record) (again bool) {
	o := observe(t.q.SLO, t.c, t.stage(), r)
	o.rate, _ = t.given(o.rate)
	t.trials = append(t.trials, o)
	t.cost = r.Plan.Warmup + r.Plan.Duration + trialOverhead
	t.most = max(t.most, t.cost)
	if r.Violated() {
		t.end(Violated, fmt.Sprintf("two clients held a key at once, %s", format.Plural(r.Broken(), "time")))
		return false
	}
	if o.left != "" {
		return t.leave(&t.trials[len(t.trials)-1])
	}
	t.partial = 0
	if o.rate >= t.suspect {
		t.suspect = 0
	}
	switch t.state {
	case piloting:
		t.judgePilot()
	case searching:
		t.fit(&o)
		t.settle()
	case confirming:
		t.addConfirming(&o)
	}
	return false
}

// leave draws the consequences of a trial that does not count.
func (t *track) leave(o *observed) (again bool) {
	switch kind, _, _ := strings.Cut(o.left, ":"); {
	case kind == leftPartial:
		if t.partial++; t.partial == maxPartial {
			t.end(Failed, o.left)
		}
		return t.inPlay()
	case kind == leftClients:
		if t.more *= 2; t.more <= maxMore {
			return true
		}
		t.more = maxMore
		t.limit(o.rate)
	case t.shows(o): // what is asked for is carried so far, which is no limit
		switch done := t.carries(); {
		case t.state == confirming && done:
			t.state = confirmed
		case len(t.counted()) == 0 && (done || len(t.trials) >= maxPilots):
			t.state = settled
		}
	case disturbed(o.record): // a lower rate would not help
		if t.state == piloting && len(t.trials)-len(t.counted()) >= maxDisturbed {
			t.state = settled
		}
	case t.suspect == 0:
		t.suspect = o.rate
	default:
		t.limit(min(o.rate, t.suspect))
		t.suspect = 0
	}
	return false
}

// limit keeps trials below a rate that lockbench could not make: halfway to the highest one that it made, or that is asked for
// and was not tried. A rate that it made in another trial stays.
func (t *track) limit(rate float64) {
	made := 0.0
	for _, o := range t.counted() {
		made = max(made, o.rate)
	}
	if t.asked < rate {
		made = max(made, t.asked)
	}
	next := math.Sqrt(made * rate)
	switch {
	case made == 0:
		next = belowFirst * rate
	case next < nearlyMade*made:
		next = made
	}
	t.cap = min(t.cap, next)
	switch n := len(t.counted()); {
	case t.state == piloting && len(t.trials)-n >= maxPilots:
		t.state = settled
	case n > 0 && t.state == piloting && !t.falling():
		t.startFit()
	case t.state == confirming:
		if t.confirm.rate = min(t.confirm.rate, t.tidy(t.cap, t.cap)); t.confirm.rate < t.leastClaim() {
			t.state = refuted
		}
	}
}

// nextRate returns the rate of the next trial, and how many arrivals it is to have.
func (t *track) nextRate() (rate, arrivals float64) {
	arrivals = windowArrivals
	switch {
	case t.state == piloting:
		if rate = t.pilotRate(); equal(rate, t.asked) {
			arrivals /= confirmTrials
		}
		if t.falling() {
			arrivals = lowArrivals
		}
	case t.state == confirming:
		rate = t.confirm.rate
	case t.wantsAsked():
		rate, arrivals = t.asked, arrivals/confirmTrials
	default:
		searched := slices.DeleteFunc(slices.Clone(t.trials), func(o observed) bool { return o.stage != StageSearch })
		rate = t.fits[t.binding()].NextRate(len(searched))
	}
	return t.tidy(max(minRate, min(rate, t.cap)), t.cap), arrivals
}

// wantsAsked reports whether more trials at the rate that is asked for may show that it is carried.
func (t *track) wantsAsked() bool {
	all := t.atAsked()
	if t.asked == 0 || len(all) >= confirmTrials || t.estimate().High < t.asked {
		return false
	}
	if len(all) == 0 || t.claim() >= t.asked {
		return true
	}
	sum := pool(all)
	return t.keeps(&sum)
}

// given returns the rate that the user gave, which is not rounded, if rate is that.
func (t *track) given(rate float64) (given float64, is bool) {
	for _, given := range []float64{t.q.Rate, t.q.MaxRate, t.asked} {
		if equal(rate, given) {
			return given, true
		}
	}
	return rate, false
}

// tidy returns a rate with three digits that is not above the most, or one that the user gave.
func (t *track) tidy(rate, most float64) float64 {
	if given, is := t.given(rate); is {
		return given
	}
	if near := threeDigits(rate, math.Round); near <= most {
		return near
	}
	return threeDigits(rate, math.Floor)
}

// keeps reports whether the trial met all objectives.
func (t *track) keeps(o *observed) bool {
	for i, objective := range t.q.SLO.Objectives {
		if o.share(i) > objective.Allowed() {
			return false
		}
	}
	return !t.q.SLO.HasErrors || share(o.failed, o.arrivals) < t.q.SLO.Errors
}

// falling reports whether the last pilot broke the SLO, and no other kept it.
func (t *track) falling() bool {
	pilots := t.counted()
	return len(pilots) > 0 && !slices.ContainsFunc(pilots, func(o observed) bool { return t.keeps(&o) })
}

// pilotRate returns the rate that is asked for, or half of the ceiling; and then three quarters of the ceiling, with steps
// between if that is far above what locks do; or lower and lower rates while none keeps the SLO.
func (t *track) pilotRate() float64 {
	pilots := t.counted()
	first := float64(firstRate)
	if burst := longestBurst(&t.c.Plan); burst > 0 {
		first = firstBurst / burst.Seconds()
	}
	switch {
	case len(pilots) == 0 && t.asked > 0:
		return t.asked
	case len(pilots) == 0:
		return min(pilotFirst*t.ceiling, first)
	}
	last := pilots[len(pilots)-1]
	switch {
	case t.falling():
		return last.rate / fall
	case t.asked > 0 && len(pilots) == 1: // far from what is asked for is where something is learnt
		return min(pilotLast*t.ceiling, max(first, climb*last.rate))
	}
	return min(pilotLast*t.ceiling, climb*last.rate)
}

// broken returns the lowest rate of a trial that broke the SLO; infinite if none did.
func (t *track) broken() float64 {
	lowest := math.Inf(1)
	for _, o := range t.counted() {
		if !t.keeps(&o) {
			lowest = min(lowest, o.rate)
		}
	}
	return lowest
}

// judgePilot ends the pilot when it has a rate that keeps the SLO, and one that does not or that is near the ceiling.
func (t *track) judgePilot() {
	pilots := t.counted()
	last := pilots[len(pilots)-1]
	most := min(pilotLast*t.ceiling, t.cap)
	if t.asked > 0 {
		most = min(most, t.broken()/climb)
	}
	switch {
	case t.falling() && t.atFloor():
		if t.ruleOut(&last); t.inPlay() {
			t.startFit() // by chance, perhaps
		}
	case t.falling(), len(pilots) < pilotTrials && last.rate < 0.99*t.cap,
		t.keeps(&last) && last.rate < 0.99*most && len(pilots) < maxPilots: // one more
	default:
		t.startFit()
	}
}

// atFloor reports whether a low rate breaks the SLO by itself: whether the share of late arrivals did not fall with the rate,
// or the rate can fall no further.
func (t *track) atFloor() bool {
	pilots := t.counted()
	n := len(pilots)
	last := &pilots[n-1]
	if n < 2 { // one may be chance
		return false
	}
	if n >= maxPilots || last.rate/fall < t.lowest() {
		return true
	}
	i, of := t.worst(last)
	before := &pilots[n-2]
	return before.beyond(i, of) && last.beyond(i, of) && before.share(i) < 1-floorShare && last.share(i) > floorShare*before.share(i)
}

// beyond reports whether more arrivals were late, by the i-th objective, than it allows and chance explains.
func (o *observed) beyond(i int, of Objective) bool {
	return interval(o.late[i], o.arrivals, 1).Low > of.Allowed()
}

// ruleOut rules t out if a trial at a low rate breaks the SLO beyond chance.
func (t *track) ruleOut(o *observed) {
	if t.crowded() != "" {
		return
	}
	at := "floor: at " + format.Three(o.rate) + "/s "
	slo := t.q.SLO
	switch i, of := t.worst(o); {
	case o.beyond(i, of):
		t.floor = o.share(i)
		t.end(RulesOut, fmt.Sprintf("%s%s of the arrivals take longer than %s, and %s may",
			at, format.Percent(t.floor), format.Exact(of.Limit), format.Percent(of.Allowed())))
	case slo.HasErrors && interval(o.failed, o.arrivals, 1).Low > slo.Errors:
		t.floor = share(o.failed, o.arrivals)
		t.end(RulesOut, fmt.Sprintf("%s%s of the arrivals fail, and %s may", at, format.Percent(t.floor), format.Percent(slo.Errors)))
	}
}

// lowest returns the lowest rate that tells a floor: below it a window has too few arrivals, and nobody asks for so few.
func (t *track) lowest() float64 {
	_, window := t.q.windows(t.c, minRate, 0, windowArrivals)
	lowest := fewArrivals / window.Seconds()
	if t.q.Rate > 0 {
		lowest = min(lowest, t.q.Rate)
	}
	return max(minRate, min(lowest, t.ceiling/(fall*fall)))
}

// worst returns the objective that the trial breaks by most.
func (t *track) worst(o *observed) (index int, of Objective) {
	most := -1.0
	for i, objective := range t.q.SLO.Objectives {
		if over := o.share(i) / objective.Allowed(); over > most {
			index, of, most = i, objective, over
		}
	}
	return index, of
}

// startFit begins the search with what the pilot has measured.
func (t *track) startFit() {
	t.newFits(t.c.queues(), t.occupied())
	t.checkLine()
	t.state = searching
	t.settle()
}

// newFits fits the trials so far to queues with these shares of the arrivals, each of which takes so many seconds.
func (t *track) newFits(shares []float64, occupies float64) {
	counted := t.counted()
	fixed := counted[0].fast
	for _, o := range counted {
		fixed = min(fixed, o.fast)
	}
	t.fits, t.estimated = nil, 0
	for i, of := range t.q.SLO.Objectives {
		prior := FitPrior{
			Occupies: nanoseconds(occupies), Fixed: min(fixed, time.Duration(maxFixed*float64(of.Limit))), Burst: t.c.Plan.Burst,
		}
		f := NewFit(of, shares, prior)
		for _, o := range counted {
			f.Add(Observation{Rate: o.rate, Arrivals: o.arrivals, Late: o.late[i]})
		}
		t.fits = append(t.fits, f)
	}
}

// checkLine has all arrivals in one line, as of a server or its connections, if they are late at rates at which no key can have a queue.
// A fit to the keys takes such trials for impossible, and sees no limit in them.
func (t *track) checkLine() {
	if t.oneLine {
		return
	}
	kept, broken := t.kept(), math.Inf(1)
	for _, o := range t.counted() {
		for i, of := range t.q.SLO.Objectives {
			if o.rate > kept && o.beyond(i, of) && o.rate < t.fits[i].Least() {
				broken = min(broken, o.rate)
			}
		}
	}
	if !math.IsInf(broken, 1) {
		t.oneLine = true
		t.newFits([]float64{1}, 1/math.Sqrt(max(kept, broken/fall)*broken))
	}
}

// kept returns the highest rate of a trial that counts and kept the SLO; 0 if none did.
func (t *track) kept() float64 {
	if best := t.best(); best != nil {
		return best.rate
	}
	return 0
}

// settle ends the search of a candidate if more trials would change nothing.
func (t *track) settle() {
	const few, every = 8, 4
	n := len(t.counted())
	if t.asked > 0 && n > confirmTrials && t.width() <= 2*roughly && t.carries() {
		t.state = settled
	}
	if n < few || n%every != 0 {
		return
	}
	if r := t.estimate(); r.High < t.q.Rate || t.width() <= 2*precise || r.Low >= (1-precise)*t.cap {
		t.state = settled
	}
}

func (t *track) fit(o *observed) {
	for i, f := range t.fits {
		f.Add(Observation{Rate: o.rate, Arrivals: o.arrivals, Late: o.late[i]})
	}
	t.checkLine()
}
