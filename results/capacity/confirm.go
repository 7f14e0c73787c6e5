package capacity

// What the trials of a candidate say together: its rate, and whether fresh trials bear that out.

import (
	"cmp"
	"math"
	"slices"
)

// confirmation is fresh trials at the lower end of a candidate's interval: the best of several estimates is too high on
// average, even if each one by itself is not.
type confirmation struct {
	rate      float64
	predicted []Range // share of late arrivals by each objective, by the trials before
	round     int     // from 1
	trials    int
	arrivals  int64
	late      []int64
	failed    int64
	passed    bool
	over      bool
}

// startConfirmation has the rate confirmed that the trials so far allow to claim.
func (t *track) startConfirmation() {
	round := 1
	rate := t.claim()
	if t.confirm != nil {
		round = t.confirm.round + 1
		rate *= 1 - precise
	}
	if round > confirmations || rate < t.leastClaim() {
		t.confirm.over = true
		return
	}
	rate = t.confirmed(rate)
	t.confirm = &confirmation{rate: rate, round: round, late: make([]int64, len(t.fits))}
	for _, f := range t.fits {
		t.confirm.predicted = append(t.confirm.predicted, f.Share(rate))
	}
}

// confirmed returns the rate of trials that confirm one: below it, or if that is not enough the least that is.
func (t *track) confirmed(rate float64) float64 {
	rate = max(t.q.Rate, t.tidy(rate, rate))
	for _, whole := range []func(float64) float64{math.Floor, math.Ceil} {
		p := t.c.at(rate, t.q.SLO.Strictest().Limit, 1, whole)
		if bursts, _ := t.given(Offered(&p)); bursts >= t.leastClaim() {
			return bursts
		}
	}
	return rate
}

// leastClaim returns the lowest rate that is worth a confirmation: what is asked for, or the lowest of a trial.
func (t *track) leastClaim() float64 { return max(minRate, t.q.Rate) }

// addConfirming takes in a trial of the confirmation.
func (t *track) addConfirming(o *observed) {
	c := t.confirm
	c.trials++
	c.arrivals += o.arrivals
	c.failed += o.failed
	for i, late := range o.late {
		c.late[i] += late
	}
	t.fit(o)
	if c.trials < confirmTrials {
		return
	}
	all := observed{arrivals: c.arrivals, late: c.late, failed: c.failed}
	if c.passed = t.keeps(&all); c.passed {
		c.over = true
		return
	}
	t.startConfirmation()
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
			r.High = min(r.High, broken)
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
	byRate := t.counted()
	slices.SortFunc(byRate, func(a, b observed) int { return cmp.Compare(a.rate, b.rate) })
	for _, o := range byRate {
		if wilsonLow(o.failed, o.arrivals) > t.q.SLO.Errors {
			return clean, o.rate
		}
		clean = o.rate
	}
	return clean, 0
}

// claim returns the rate that the trials so far show to be sustained: the lower end of the interval, but none above the
// highest that was tried without lockbench being the limit.
func (t *track) claim() float64 {
	tried := 0.0
	for _, o := range t.trials {
		if o.left == "" {
			tried = max(tried, o.rate)
		}
	}
	return min(t.estimate().Low, tried, t.cap)
}

// limited reports whether lockbench, its machine or Question.MaxRate keeps the rate from being known.
func (t *track) limited() bool {
	return len(t.trials) > 0 && len(t.counted()) == 0 || t.fits != nil && t.cap <= t.estimate().Mid
}

// settle ends the search of a candidate if more trials would change nothing.
func (t *track) settle() {
	const few, every = 8, 4
	if n := len(t.counted()); n < few || n%every != 0 {
		return
	}
	r := t.estimate()
	t.settled = r.High < t.q.Rate || t.width() <= 2*precise || r.Low >= (1-precise)*t.cap
}
