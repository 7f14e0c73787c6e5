package capacity

// One candidate: where it stands, what a trial changes in that, and at which level the next one is.

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

const (
	pilotTrials = 2 // that each candidate needs
	maxPilots   = 8
	pilotFirst  = 0.5  // of the ceiling
	pilotLast   = 0.75 // of the ceiling
	climb       = 2.5  // times as high the next pilot goes
	fall        = 4    // times as low

	// firstRate is the highest rate of a first trial if none is asked for: a ceiling of millions is that of the model
	// alone. firstBurst is the same in arrivals of one burst: to send 5,000 takes lockbench alone 40 ms of both cores.
	firstRate  = 5000
	firstBurst = 500
	fewest     = 100 // arrivals that tell anything of a share of some per cent

	maxFixed   = 0.9 // part of an objective's limit that counts as a response without a wait in line
	maxPartial = 3   // trials that do not work, in a row

	confirmTrials = 4
	maxConfirm    = 24   // as many if failures need more arrivals
	precise       = 0.05 // half of the width of an interval that is narrow enough
	roughly       = 0.15 // the same of one that carries what is asked for, of which only the head-room is open

	// guessedOccupied is how long a lock occupies its key, in seconds, if nothing else is known: that of a server here.
	guessedOccupied = 50e-6
)

// phase is where a candidate stands. It settles once more trials of its phase would change nothing, and is over with a
// verdict that no trial can change.
type phase int

const (
	piloting phase = iota
	searching
	confirming
	settled
	over
)

// track is what is known of a candidate.
type track struct {
	q       *Question
	c       *Candidate
	index   int
	goals   []goal
	keys    keys
	ceiling float64 // by the model
	stable  float64 // rate from which the hottest key is always taken, by the holds as planned
	asked   float64 // the level of trials that is no less than the one asked for; 0: none is

	phase   phase
	trials  []observed
	fits    []*Fit        // one for each goal, and nil for failures that no queue explains; nil during the pilot
	oneLine bool          // the fits are to one queue for all arrivals, and not to those for the keys
	cap     float64       // level that no trial exceeds
	cost    time.Duration // of the dearest trial
	partial int           // trials in a row that did not work
	confirm float64       // level that fresh trials confirm; 0 before
	verdict Verdict       // once it is over
	why     Reason
}

func newTrack(q *Question, index int) *track {
	c := &q.Candidates[index]
	t := &track{q: q, c: c, index: index, goals: q.goals(), keys: newKeys(q.queues()),
		cap: cmp.Or(q.Most, spec.MaxRate), cost: q.minTrial()}
	if made := t.made(q.Asked); q.Asked > 0 && !above(q.Asked, made) {
		t.asked = made
	}
	a := Analyse(q)
	t.ceiling, t.stable = a.Ceiling, a.Stable
	if t.stable == 0 || !c.Traits.Exclusive {
		t.stable = math.Inf(1)
	}
	if a.Impossible.Code != "" && c.Traits.Exclusive {
		t.end(RulesOut, a.Impossible)
	} else if _, window := q.windows(t.ceiling, t.occupied(), windowArrivals); q.Axis == Rates && q.Asked == 0 &&
		t.ceiling*window.Seconds() < 1 {
		t.end(Undecided, Reason{Code: Rare, Level: t.ceiling})
	}
	return t
}

// end makes v the last word on t.
func (t *track) end(v Verdict, why Reason) { t.phase, t.verdict, t.why = over, v, why }

// stage returns the stage of the next trial; empty if there is none.
func (t *track) stage() Stage {
	return map[phase]Stage{piloting: StagePilot, searching: StageSearch, confirming: StageConfirm}[t.phase]
}

// those returns the trials for which is reports true, by their level.
func (t *track) those(is func(o *observed) bool) (list []observed) {
	for _, o := range t.trials {
		if is(&o) {
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b observed) int { return cmp.Compare(a.level, b.level) })
	return list
}

// counted returns the trials that count.
func (t *track) counted() []observed {
	return t.those(func(o *observed) bool { return o.left.Code == "" })
}

// keeps reports whether the trial met all goals.
func (t *track) keeps(o *observed) bool {
	for i, g := range t.goals {
		if o.tallies[i].share() > g.Allowed() {
			return false
		}
	}
	return true
}

// keep reports whether trials met all goals together.
func (t *track) keep(all []observed) bool {
	sum := t.pool(all)
	return t.keeps(&sum)
}

// beyond reports whether more arrivals broke the i-th goal than it allows and chance explains.
func (t *track) beyond(o *observed, i int) bool {
	return o.tallies[i].interval().Low > t.goals[i].Allowed()
}

// kept returns the trial at the highest level that counts and kept the goals; its level is 0 if none did. broken is the
// lowest level of one that broke them; infinite if none did.
func (t *track) kept() (best observed, broken float64) {
	broken = math.Inf(1)
	for _, o := range t.counted() {
		if !t.keeps(&o) {
			broken = min(broken, o.level)
		} else if o.level > best.level {
			best = o
		}
	}
	return best, broken
}

// add takes in a record.
func (t *track) add(r *results.Record) {
	t.cost = max(t.cost, r.Plan.Warmup+r.Plan.Duration+trialOverhead)
	o := t.observe(r)
	t.trials = append(t.trials, o)
	if t.partial++; o.left.Code != Partial {
		t.partial = 0
	}
	switch {
	case r.Violated():
		t.end(Violated, Reason{Code: Broken, N: r.Broken()})
	case t.partial == maxPartial:
		t.end(Failed, o.left)
	case o.left.Code == Partial:
	case o.left.Code != "":
		t.leave(&o)
	case t.phase == piloting:
		t.judgePilot()
	default:
		t.addToFits(&o)
		t.checkLine()
		t.settle()
	}
}

// leave draws the consequences of a trial that does not count: trials stay below its level, halfway to the highest one
// that was made. Where others use the machine a lower level would not help.
func (t *track) leave(o *observed) {
	best, _ := t.kept()
	if o.left.Code != Others && o.left.Code != Host {
		t.cap = min(t.cap, math.Sqrt(cmp.Or(best.level, o.level/fall)*o.level))
		t.confirm = min(t.confirm, t.tidy(t.cap))
	}
	if t.phase == piloting && best.level > 0 {
		t.startFit()
	} else if t.phase == piloting && len(t.trials)-len(t.counted()) >= maxPilots {
		t.phase = settled
	}
}

// nextLevel returns the level of the next trial, and how many arrivals it is to have.
func (t *track) nextLevel() (level, arrivals float64) {
	arrivals = windowArrivals
	switch {
	case t.phase == piloting:
		level = t.pilotLevel()
	case t.phase == confirming:
		level = t.confirm
	case t.wantsAsked():
		level = t.asked
	default:
		searched := t.those(func(o *observed) bool { return o.stage == StageSearch })
		level = t.fits[t.binding()].NextRate(len(searched))
	}
	if slo := t.q.SLO; slo.HasErrors && equal(level, cmp.Or(t.asked, t.confirm)) {
		arrivals = max(arrivals, normal95*normal95/slo.Errors/confirmTrials)
	}
	if n := len(t.trials); n > 0 { // who is refused at once is no part of the share
		arrivals /= max(0.02, t.trials[n-1].granted)
	}
	return t.tidy(max(t.least(), min(level, t.cap))), arrivals
}

// least returns the lowest level of any trial.
func (t *track) least() float64 {
	if t.q.Axis == Clients {
		return 1
	}
	return minRate
}

// tidy returns a level with three digits that is no higher, or one that the user gave. Clients are whole.
func (t *track) tidy(level float64) float64 {
	for _, given := range []float64{t.q.Asked, t.q.Most, t.asked} {
		if equal(level, given) {
			return given
		}
	}
	if t.q.Axis == Clients {
		level = max(1, math.Floor(level))
	}
	return threeDigits(level)
}

// made returns the level that trials make of one, since bursts have whole clients.
func (t *track) made(level float64) float64 {
	p := t.q.at(t.c.Plan, level)
	return t.q.Level(&p)
}

// pilotLevel returns the level that is asked for, or half of the ceiling; then higher ones up to three quarters of the
// ceiling, in steps if that is far above what locks do; or lower and lower ones while none keeps the goals.
func (t *track) pilotLevel() float64 {
	first := min(t.ceiling, firstRate)
	if every := t.q.load().Longest(burst); every > 0 {
		first = min(t.ceiling, firstBurst/every.Seconds())
	}
	switch best, broken := t.kept(); {
	case best.level > 0 && len(t.counted()) == 1: // far from what is asked for is where something is learnt
		return min(pilotLast*t.ceiling, max(first, climb*best.level))
	case best.level > 0:
		return min(pilotLast*t.ceiling, climb*best.level)
	case !math.IsInf(broken, 1):
		return broken / fall
	}
	return cmp.Or(t.asked, min(pilotFirst*t.ceiling, first))
}

// judgePilot ends the pilot when it has a level that keeps the goals, and one that does not or that is near the
// ceiling. A level so low that a queue cannot be the cause, and that breaks the goals beyond chance, rules the
// candidate out.
func (t *track) judgePilot() {
	n, last := len(t.counted()), t.trials[len(t.trials)-1]
	best, broken := t.kept()
	lower := last.level / fall
	switch i := t.worst(&last); {
	case best.level > 0 && (n < pilotTrials && last.level < 0.99*t.cap || n < maxPilots && math.IsInf(broken, 1) &&
		last.level < 0.99*min(pilotLast*t.ceiling, t.cap)): // higher
	case best.level == 0 && n < maxPilots && lower >= t.least() &&
		(n < pilotTrials || t.q.throughput(lower, t.occupied())*t.q.each().Seconds() > fewest): // lower
	case best.level == 0 && t.beyond(&last, i) && t.crowded().Code == "":
		code := map[bool]Code{false: Late, true: Failing}[t.goals[i].failures]
		t.end(RulesOut, Reason{Code: code, Level: last.level, Share: last.tallies[i].share(), Allowed: t.goals[i].Allowed()})
	default:
		t.startFit()
	}
}

// worst returns the goal that the trial breaks by most.
func (t *track) worst(o *observed) (worst int) {
	over := func(i int) float64 { return o.tallies[i].share() / t.goals[i].Allowed() }
	for i := range t.goals {
		if over(i) > over(worst) {
			worst = i
		}
	}
	return worst
}

// startFit begins the search with what the pilot has measured.
func (t *track) startFit() {
	t.newFits(t.q.queues(), t.occupied())
	t.checkLine()
	t.phase = searching
	t.settle()
}

// newFits fits the trials so far to queues with these shares of the arrivals, each of which takes so many seconds.
// Failures are fitted if those fail whose patience ends: that is a limit like any other.
func (t *track) newFits(shares []float64, occupies float64) {
	counted := t.counted()
	fixed := slices.MinFunc(counted, func(a, b observed) int { return int(a.fast - b.fast) }).fast
	t.fits = nil
	for _, g := range t.goals {
		var f *Fit
		if g.Limit > 0 {
			f = NewFit(g.Objective, shares, FitPrior{
				Occupies: nanoseconds(occupies), Fixed: min(fixed, time.Duration(maxFixed*float64(g.Limit))),
				Burst: t.q.load().Burst, Closed: t.q.Axis == Clients, Think: t.q.load().Think,
			})
		}
		t.fits = append(t.fits, f)
	}
	for i := range counted {
		t.addToFits(&counted[i])
	}
}

func (t *track) addToFits(o *observed) {
	for i, f := range t.fits {
		if n := o.tallies[i]; f != nil {
			f.Add(Observation{Level: o.level, Arrivals: n.of, Late: n.broke})
		}
	}
}

// checkLine has all arrivals in one line, as of a server or its connections, if they are late at levels at which no key
// can have a queue. A fit to the keys takes such trials for impossible, and sees no limit in them.
func (t *track) checkLine() {
	best, _ := t.kept()
	for _, o := range t.counted() { // the lowest first
		for i, f := range t.fits {
			if !t.oneLine && f != nil && o.level > best.level && t.beyond(&o, i) && o.level < f.Least() {
				t.oneLine = true
				t.newFits([]float64{1}, 1/math.Sqrt(max(best.level, o.level/fall)*o.level))
			}
		}
	}
}

// proof returns the trials that bear on the level asked for, or on that which is confirmed. At the former, those count
// whose machine was the limit, too.
func (t *track) proof() []observed {
	if t.asked > 0 {
		return t.trialsAt(t.asked, t.asked)
	}
	return t.those(func(o *observed) bool { return o.stage == StageConfirm && o.left.Code == "" })
}

// open reports whether more trials at the level of proof may show that it is carried.
func (t *track) open() bool {
	all := t.proof()
	return len(all) < confirmTrials || len(all) < maxConfirm && t.keep(all) && !t.failuresShown()
}

// wantsAsked reports whether the next trial is to be at the level that is asked for.
func (t *track) wantsAsked() bool {
	return t.asked > 0 && t.open() && t.estimate().High >= t.asked && (t.claim() >= t.asked || t.keep(t.proof()))
}

// carries reports whether enough trials at the level that is asked for kept the goals together, and the fit claims it;
// or at the one that is confirmed.
func (t *track) carries() bool {
	all := t.proof()
	return (t.asked > 0 || t.q.Asked == 0) && len(all) >= confirmTrials && t.keep(all) && t.claim() >= t.asked &&
		t.failuresShown()
}

// refuted reports whether they broke them.
func (t *track) refuted() bool {
	all := t.proof()
	return len(all) >= confirmTrials && !t.keep(all)
}

// settle ends a phase if more trials would change nothing.
func (t *track) settle() {
	const few, every = 8, 4
	if t.phase == confirming {
		if !t.open() {
			t.phase = settled
		}
		return
	}
	n, r := len(t.counted()), t.estimate()
	if n >= few && (r.width() <= 2*roughly && t.asked > 0 && t.carries() ||
		n%every == 0 && (r.High < t.q.Asked || r.width() <= 2*precise || r.Low >= (1-precise)*t.cap)) || len(t.trials) >= maxTrials {
		t.phase = settled
	}
}

// startConfirmation has a little less confirmed than what the trials so far claim: there is no second level.
func (t *track) startConfirmation() {
	t.phase, t.confirm = confirming, t.tidy(t.made(t.tidy((1-precise)*t.claim())))
}
