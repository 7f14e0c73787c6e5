package capacity

// The result of all trials of a candidate: its rate, how long a lock occupies its key, and whether fresh trials confirm that.

import (
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity/queue"
	"github.com/lockbench/lockbench/results/spec"
)

// confirmation is fresh trials at the lower end of a candidate's interval: the best of several estimates is too high on
// average, even if each one by itself is not.
type confirmation struct {
	rate   float64
	trials []observed
}

// startConfirmation has the rate confirmed that the trials so far allow to claim. If the most is wanted, that is a little lower:
// there is no second one, and no trials at a rate that is asked for.
func (t *track) startConfirmation() {
	rate := t.claim()
	if t.asked == 0 {
		rate *= 1 - precise
	}
	t.state, t.confirm = confirming, &confirmation{rate: t.confirmable(rate)}
}

// confirmable returns the rate of trials that confirm one: below it, or if that is not enough the one that is asked for.
func (t *track) confirmable(rate float64) float64 {
	rate = t.tidy(rate, rate)
	return max(t.asked, t.made(rate, math.Floor))
}

// made returns the rate that trials make of one, since bursts have whole clients.
func (t *track) made(rate float64, whole func(float64) float64) float64 {
	p := t.c.at(rate, t.q.SLO.Strictest().Limit, 1, whole)
	if offered := Offered(&p); !equal(offered, rate) {
		return offered
	}
	return rate
}

// leastClaim returns the lowest rate that is worth a confirmation: what is asked for, or the lowest of a trial.
func (t *track) leastClaim() float64 { return max(minRate, t.q.Rate) }

// addConfirming takes in a trial of the confirmation.
func (t *track) addConfirming(o *observed) {
	c := t.confirm
	c.trials = append(c.trials, *o)
	t.fit(o)
	switch all := pool(c.trials); {
	case len(c.trials) < confirmTrials:
	case t.keeps(&all):
		t.state = confirmed
	default:
		t.state = refuted
	}
}

// estimate returns the rate that meets all objectives, with its interval.
func (t *track) estimate() Range {
	if t.fits == nil {
		return Range{}
	}
	if t.estimated != len(t.trials) {
		t.known = t.combine()
		t.estimated = len(t.trials)
	}
	return t.known
}

// width returns the width of the interval, relative to the rate.
func (t *track) width() float64 {
	r := t.estimate()
	if r.Mid <= 0 {
		return 0
	}
	return (r.High - r.Low) / r.Mid
}

// combine returns the least rate of all objectives, and none beyond which a key would always be taken.
func (t *track) combine() Range {
	r := Range{math.Inf(1), math.Inf(1), math.Inf(1)}
	for _, f := range t.fits {
		one := f.Interval()
		r.Low, r.Mid, r.High = min(r.Low, one.Low), min(r.Mid, one.Mid), min(r.High, one.High)
	}
	if t.q.SLO.HasErrors {
		if clean, broken := t.errorRates(); broken > 0 {
			r.High = min(r.High, math.Nextafter(broken, 0))
			r.Low = min(r.Low, clean)
			r.Mid = min(r.Mid, (clean+broken)/2)
		}
	}
	stable := t.stable()
	return Range{min(r.Low, stable), min(r.Mid, stable), min(r.High, stable)}
}

// errorRates returns the lowest rate with more errors than the SLO allows, beyond chance, and the highest one below it that
// was tried; 0 if there is none.
func (t *track) errorRates() (clean, broken float64) {
	for _, o := range t.counted() {
		if interval(o.failed, o.arrivals, 1).Low > t.q.SLO.Errors && (broken == 0 || o.rate < broken) {
			broken = o.rate
		}
	}
	for _, o := range t.counted() {
		if broken == 0 || o.rate < broken {
			clean = max(clean, o.rate)
		}
	}
	return clean, broken
}

// claim returns the rate that the trials so far show to be sustained: the lower end of the interval, but none above the
// highest at which a trial kept the SLO without lockbench being the limit.
func (t *track) claim() float64 { return min(t.estimate().Low, t.kept()) }

// limited reports whether lockbench, its machine or Question.MaxRate keeps the rate from being known.
func (t *track) limited() bool {
	return len(t.trials) > 0 && len(t.counted()) == 0 || t.fits != nil && t.cap <= t.estimate().Mid || t.carries() && t.claim() < t.asked
}

// binding returns the place of the objective that allows the lowest rate.
func (t *track) binding() int {
	least := 0
	for i, f := range t.fits {
		if f.Quantile(0.5) < t.fits[least].Quantile(0.5) {
			least = i
		}
	}
	return least
}

// trip returns the shortest round trip of the records; 0 if they have none.
func (t *track) trip() (least time.Duration) {
	for _, o := range t.trials {
		if trip := o.record.Bound.RoundTrip(); trip > 0 && (least == 0 || trip < least) {
			least = trip
		}
	}
	return least
}

// taken returns for how long a lock keeps its key from others by a record, in seconds, without the hand-off: its hold, and what
// its key waits for after the death of a holder. It is 0 if there was no lock.
func taken(r *results.Record) float64 {
	hold, dead := r.Latency[results.Hold], r.Latency[results.Recovery]
	if hold.Count == 0 {
		return 0
	}
	return (hold.Mean.Seconds()*float64(hold.Count) + dead.Mean.Seconds()*float64(dead.Count)) / float64(hold.Count)
}

// stable returns the arrivals a second from which the hottest key would always be taken, by the trial in which a lock took it
// for the least time: beyond that every queue grows without end, whatever a fit says. It is spec.MaxRate if nobody waits
// for a key, or if several may hold one.
func (t *track) stable() float64 {
	limit, least := float64(spec.MaxRate), math.Inf(1)
	hottest := waiting(&t.c.Plan) * t.keys.Hottest()
	for _, o := range t.trials {
		if each := taken(o.record); o.left == "" && each > 0 && o.record.Traits.Exclusive {
			least = min(least, each)
		}
	}
	if hottest > 0 && !math.IsInf(least, 1) {
		limit = min(limit, queue.Capacity(hottest, least))
	}
	return limit
}

// occupied returns for how long a lock occupies its key as measured, in seconds: the hold and the hand-off of the median
// trial, or a round trip if there were too few hand-offs; before the first trial the hold as planned.
func (t *track) occupied() float64 {
	if waiting(&t.c.Plan) == 0 {
		return guessedOccupied
	}
	var measured []float64
	for _, o := range t.trials {
		each, handoff := taken(o.record), o.record.Latency[results.Handoff]
		if each == 0 {
			continue
		}
		gap := o.record.Bound.RoundTrip()
		if results.Enough(handoff.Count, 0.5) {
			gap = handoff.Mean
		}
		measured = append(measured, each+gap.Seconds())
	}
	if len(measured) == 0 {
		return max(guessedOccupied, holds(&t.c.Plan).mean)
	}
	slices.Sort(measured)
	occupied := max(1e-6, measured[len(measured)/2])
	// At the rate that was kept each key is free for part of the time. What was measured says otherwise if it is from a far
	// higher rate, at which the lock has collapsed.
	kept, hottest := t.kept(), waiting(&t.c.Plan)*t.keys.Hottest()
	if occupied*kept*hottest >= 1 {
		occupied = 1 / (hottest * min(math.Sqrt(kept*t.broken()), fall*kept))
	}
	return occupied
}
