package capacity

// What the trials of a candidate come to: the level that it sustains, and what a lock takes.

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
)

// estimate returns the level that meets all goals, with its interval. Failures that no fit explains rule out levels at
// which more fail than may, beyond chance, and those above.
func (t *track) estimate() Range {
	if t.fits == nil {
		return Range{}
	}
	r := Range{t.stable, t.stable, t.stable}
	for _, f := range t.fits {
		if f != nil {
			one := f.Interval()
			r = Range{min(r.Low, one.Low), min(r.Mid, one.Mid), min(r.High, one.High)}
		}
	}
	if clean, broken := t.failing(); broken > 0 {
		r = Range{min(r.Low, clean), min(r.Mid, (clean+broken)/2), min(r.High, math.Nextafter(broken, 0))}
	}
	return r
}

// width returns the width of the interval, relative to its middle.
func (r Range) width() float64 { return (r.High - r.Low) / max(r.Mid, 1e-9) }

// failing returns the lowest level at which more arrivals fail than may, beyond chance, and the highest one below it
// that was tried. They are 0 if there is none, or failures are fitted.
func (t *track) failing() (clean, broken float64) {
	last := len(t.goals) - 1
	if t.goals[last].failures && t.goals[last].Limit == 0 {
		for _, o := range t.counted() {
			if t.beyond(&o, last) {
				return clean, o.level
			}
			clean = o.level
		}
	}
	return 0, 0
}

// claim returns the level that the trials so far show to be sustained: the lower end of the interval, but none above
// the highest at which a trial kept the goals.
func (t *track) claim() float64 {
	best, _ := t.kept()
	return min(t.estimate().Low, best.level)
}

// binding returns the place of the goal that allows the lowest level.
func (t *track) binding() (least int) {
	for i, f := range t.fits {
		if f != nil && f.Quantile(0.5) < t.fits[least].Quantile(0.5) {
			least = i
		}
	}
	return least
}

// occupied returns for how long a lock occupies its key, in seconds; as planned, or a guess, if no trial tells. At
// rates far beyond what is kept a lock may collapse, so that the trial counts in which it was the shortest.
func (t *track) occupied() float64 {
	hold, _ := holds(t.q.load())
	if waiting(t.q.load()) == 0 {
		hold = 0
	}
	return cmp.Or(t.measured(), max(guessedOccupied, hold))
}

// measured returns the least mean hold with its hand-off, or with a round trip if there were too few hand-offs; and
// with what keys waited for after the death of a holder. It is 0 if no trial tells.
func (t *track) measured() (least float64) {
	for _, o := range t.trials {
		hold, handoff := o.record.Latency[results.Hold], o.record.Latency[results.Handoff]
		gap := o.record.Bound.RoundTrip()
		if results.Enough(handoff.Count, 0.5) {
			gap = handoff.Mean
		}
		each := gap.Seconds() + (total(hold)+total(o.record.Latency[results.Recovery]))/float64(max(1, hold.Count))
		if hold.Count > 0 && waiting(t.q.load()) > 0 && (least == 0 || each < least) {
			least = each
		}
	}
	return least
}

// trialsAt returns the trials at levels from low to high that worked, also those that do not count since the machine
// was the limit and the goals were broken.
func (t *track) trialsAt(low, high float64) []observed {
	return t.those(func(o *observed) bool {
		return o.left.Code != Partial && !above(low, o.level) && !above(o.level, high)
	})
}

// failuresShown reports whether trials at the level of proof, or with those at higher ones, show beyond chance that no
// more arrivals fail than may.
func (t *track) failuresShown() bool {
	last := len(t.goals) - 1
	all := t.trialsAt(cmp.Or(t.asked, t.confirm), math.Inf(1))
	shown := !t.goals[last].failures
	for n := 0; n < len(all) && !shown; n++ {
		sum := t.pool(all[:n+1])
		shown = sum.tallies[last].interval().High <= t.goals[last].Allowed()
	}
	return shown
}

// responses returns the time to a grant at the quantile of each objective: in the median of the trials at the level
// that is asked for, in the best of them if that is not carried, or at the highest level that was kept if none is asked
// for.
func (t *track) responses() (list []time.Duration) {
	all := t.trialsAt(t.asked, t.asked)
	if best, _ := t.kept(); t.q.Asked == 0 && best.level > 0 {
		all = []observed{best}
	}
	for _, objective := range t.q.SLO.Objectives {
		var took []time.Duration
		for _, o := range all {
			if h, err := o.record.Latency[figures[t.q.Axis]].Histogram(); err == nil && h.TotalCount() > 0 {
				took = append(took, results.Quantile(h, objective.Quantile))
			}
		}
		if slices.Sort(took); len(took) == 0 {
			return nil
		}
		which := 0
		if t.carries() {
			which = len(took) / 2
		}
		list = append(list, took[which])
	}
	return list
}

var figures = map[Axis]results.Metric{Rates: results.Response, Clients: results.Acquire}
