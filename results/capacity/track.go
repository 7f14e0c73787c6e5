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
	fewPilots  = 300 // arrivals that tell whether a low level breaks the goals, too
	fewest     = 100 // that tell anything of a share of some per cent

	maxFixed   = 0.9 // part of an objective's limit that counts as a response without a wait in line
	maxPartial = 3   // trials that do not work, in a row

	confirmTrials = 4
	maxConfirm    = 24   // as many if failures need more arrivals
	precise       = 0.05 // half of the width of an interval that is narrow enough
	roughly       = 0.15 // the same of one that carries what is asked for, of which only the head-room is open

	// guessedOccupied is how long a lock occupies its key, in seconds, if nothing else is known: that of a server here.
	guessedOccupied = 50e-6
)

// phase is where a candidate stands. It settles once more trials of the search would change nothing; the search makes
// the best of those confirming in the end, and a verdict makes any over.
type phase int

const (
	piloting phase = iota
	searching
	settled
	confirming
	confirmed
	refuted
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

	confirm     float64    // level that is confirmed; 0 before it
	confirmedBy []observed // so far
	verdict     Verdict    // once it is over
	why         Reason
}

func newTrack(q *Question, index int) *track {
	c := &q.Candidates[index]
	t := &track{q: q, c: c, index: index, goals: q.goals(c), keys: newKeys(c.queues()), cap: q.Most,
		ceiling: modelOf(q, c).ceiling(), cost: q.minTrial(c)}
	if t.cap == 0 {
		t.cap = spec.MaxRate
	}
	if made := t.made(q.Asked); q.Asked > 0 && !above(q.Asked, made) {
		t.asked = made
	}
	a := Analyse(q, c)
	if t.stable = a.Stable; t.stable == 0 || !c.Traits.Exclusive {
		t.stable = math.Inf(1)
	}
	if a.Impossible.Code != "" {
		t.end(RulesOut, a.Impossible)
	} else if _, window := q.windows(c, t.ceiling, t.occupied(), windowArrivals); q.Axis == Rates && q.Asked == 0 &&
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

// those returns the trials for which is reports true.
func (t *track) those(is func(o *observed) bool) []observed {
	return slices.DeleteFunc(slices.Clone(t.trials), func(o observed) bool { return !is(&o) })
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

// beyond reports whether more arrivals broke the i-th goal than it allows and chance explains.
func (t *track) beyond(o *observed, i int) bool {
	return o.tallies[i].interval(1).Low > t.goals[i].Allowed()
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

// add takes in a record, and reports whether the same candidate is to have another trial at once in its place.
func (t *track) add(r *results.Record) (again bool) {
	t.cost = max(t.cost, r.Plan.Warmup+r.Plan.Duration+trialOverhead)
	o := t.observe(r)
	t.trials = append(t.trials, o)
	t.partial++
	switch {
	case r.Violated():
		t.end(Violated, Reason{Code: Broken, N: r.Broken()})
		return false
	case o.left.Code == Partial && t.partial == maxPartial:
		t.end(Failed, o.left)
		return false
	case o.left.Code == Partial:
		return true
	}
	t.partial = 0
	if o.left.Code == "" {
		t.addToFits(&o)
		t.checkLine()
	}
	switch {
	case o.left.Code != "":
		t.leave(&o)
	case t.phase == piloting:
		t.judgePilot()
	case t.phase == searching:
		t.settle()
	default:
		t.confirmedBy = append(t.confirmedBy, o)
		t.judgeConfirmation()
	}
	return false
}

// leave draws the consequences of a trial that does not count: trials stay below its level, halfway to the highest one
// that was made. Where others use the machine a lower level would not help.
func (t *track) leave(o *observed) {
	best, _ := t.kept()
	if o.left.Code != Others && o.left.Code != Host {
		t.cap = min(t.cap, math.Sqrt(cmp.Or(best.level, o.level/fall)*o.level))
	}
	switch {
	case t.phase == piloting && best.level > 0:
		t.startFit()
	case t.phase == piloting && len(t.trials)-len(t.counted()) >= maxPilots:
		t.phase = settled
	case t.phase == confirming:
		if t.confirm = min(t.confirm, t.tidy(t.cap)); t.confirm < max(t.least(), t.q.Asked) {
			t.phase = refuted
		}
	}
}

// nextLevel returns the level of the next trial, and how many arrivals it is to have.
func (t *track) nextLevel() (level, arrivals float64) {
	arrivals = windowArrivals
	sure := arrivals / confirmTrials // of several at one level
	if slo := t.q.SLO; slo.HasErrors {
		sure = max(sure, normal95*normal95/slo.Errors/confirmTrials)
	}
	switch {
	case t.phase == piloting:
		if level = t.pilotLevel(); equal(level, t.asked) {
			arrivals = sure
		} else if best, _ := t.kept(); best.level == 0 && len(t.counted()) > 0 {
			arrivals = fewPilots
		}
	case t.phase == confirming:
		level, arrivals = t.confirm, max(arrivals, sure)
	case t.wantsAsked():
		level, arrivals = t.asked, sure
	default:
		searched := t.those(func(o *observed) bool { return o.stage == StageSearch })
		level = t.fits[t.binding()].NextRate(len(searched))
	}
	if counted := t.counted(); len(counted) > 0 { // who is refused at once is no part of the share
		arrivals /= max(0.02, counted[len(counted)-1].granted)
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

// wantsAsked reports whether more trials at the level that is asked for may show that it is carried.
func (t *track) wantsAsked() bool {
	all := t.atAsked()
	if t.asked == 0 || len(all) >= maxConfirm || t.estimate().High < t.asked {
		return false
	}
	if len(all) < confirmTrials && t.claim() >= t.asked || len(all) == 0 {
		return true
	}
	sum := pool(all)
	return t.keeps(&sum) && (len(all) < confirmTrials || !t.failuresShown(t.asked))
}

// given returns a level, exactly as the user gave it if it is one of those.
func (t *track) given(level float64) (exact float64, is bool) {
	for _, given := range []float64{t.q.Asked, t.q.Most, t.asked} {
		if equal(level, given) {
			return given, true
		}
	}
	return level, false
}

// tidy returns a level with three digits that is no higher, or one that the user gave. Clients are whole.
func (t *track) tidy(level float64) float64 {
	if given, is := t.given(level); is {
		return given
	}
	if t.q.Axis == Clients {
		level = max(1, math.Floor(level))
	}
	return threeDigits(level)
}

// made returns the level that trials make of one, since bursts have whole clients.
func (t *track) made(level float64) float64 {
	p := t.q.at(t.c, level)
	if is := t.q.Level(&p); !equal(is, level) {
		return is
	}
	return level
}

// pilotLevel returns the level that is asked for, or half of the ceiling; and then higher ones up to three quarters of
// the ceiling, in steps if that is far above what locks do; or lower and lower ones while none keeps the goals.
func (t *track) pilotLevel() float64 {
	pilots, first := t.counted(), min(t.ceiling, firstRate)
	if every := t.c.Plan.Longest(burst); every > 0 {
		first = min(t.ceiling, firstBurst/every.Seconds())
	}
	switch best, _ := t.kept(); {
	case len(pilots) == 0 && t.asked > 0:
		return t.asked
	case len(pilots) == 0:
		return min(pilotFirst*t.ceiling, first)
	case best.level == 0:
		return pilots[len(pilots)-1].level / fall
	case len(pilots) == 1: // far from what is asked for is where something is learnt
		return min(pilotLast*t.ceiling, max(first, climb*best.level))
	}
	return min(pilotLast*t.ceiling, climb*pilots[len(pilots)-1].level)
}

// judgePilot ends the pilot when it has a level that keeps the goals, and one that does not or that is near the
// ceiling. A level so low that a queue cannot be the cause, and that breaks the goals beyond chance, rules the
// candidate out.
func (t *track) judgePilot() {
	pilots := t.counted()
	last := pilots[len(pilots)-1]
	best, broken := t.kept()
	most := min(pilotLast*t.ceiling, t.cap)
	if t.asked > 0 {
		most = min(most, broken/climb)
	}
	switch i := t.worst(&last); {
	case best.level == 0 && len(pilots) < maxPilots && last.level/fall >= t.least() && (len(pilots) < pilotTrials ||
		t.q.throughput(t.c, last.level/fall, t.occupied())*t.q.each().Seconds() > fewest): // lower
	case best.level == 0 && t.beyond(&last, i) && t.crowded().Code == "":
		code := map[bool]Code{false: Late, true: Failing}[t.goals[i].failures]
		t.end(RulesOut, Reason{Code: code, Level: last.level, Share: last.tallies[i].share(), Allowed: t.goals[i].Allowed()})
	case best.level > 0 && len(pilots) < pilotTrials && last.level < 0.99*t.cap,
		t.keeps(&last) && last.level < 0.99*most && len(pilots) < maxPilots: // one more
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
	t.newFits(t.c.queues(), t.occupied())
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
				Burst: t.c.Plan.Burst, Closed: t.q.Axis == Clients, Think: t.c.Plan.Think,
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
	if t.oneLine {
		return
	}
	best, _ := t.kept()
	broken := math.Inf(1)
	for _, o := range t.counted() {
		for i, f := range t.fits {
			if f != nil && o.level > best.level && t.beyond(&o, i) && o.level < f.Least() {
				broken = min(broken, o.level)
			}
		}
	}
	if !math.IsInf(broken, 1) {
		t.oneLine = true
		t.newFits([]float64{1}, 1/math.Sqrt(max(best.level, broken/fall)*broken))
	}
}

// settle ends the search of a candidate if more trials would change nothing.
func (t *track) settle() {
	const few, every = 8, 4
	n, r := len(t.counted()), t.estimate()
	if t.asked > 0 && n > confirmTrials && r.width() <= 2*roughly && t.carries() {
		t.phase = settled
	}
	if n >= few && n%every == 0 && (r.High < t.q.Asked || r.width() <= 2*precise || r.Low >= (1-precise)*t.cap) {
		t.phase = settled
	}
}

// startConfirmation has the level confirmed that the trials so far allow to claim. If the most is wanted, that is a
// little lower: there is no second one, and no trials at a level that is asked for.
func (t *track) startConfirmation() {
	level := t.claim()
	if t.asked == 0 {
		level *= 1 - precise
	}
	t.phase, t.confirm = confirming, max(t.asked, t.made(t.tidy(level)))
}

// judgeConfirmation ends it once enough trials have kept the goals together, or broken them. Failures that are too rare
// to be seen in a few trials take more of them.
func (t *track) judgeConfirmation() {
	switch n, all := len(t.confirmedBy), pool(t.confirmedBy); {
	case n < confirmTrials:
	case !t.keeps(&all):
		t.phase = refuted
	case t.failuresShown(t.confirm):
		t.phase = confirmed
	case n >= maxConfirm:
		t.phase = settled
	}
}
