package capacity

// What the trials of a candidate come to: the level that it sustains, and whether the one that is asked for is carried.

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
)

const (
	// mayLack is the share of the arrivals that trials may lack and still be some at their level.
	mayLack = 0.02
	// looks is how often trials in which the machine was the limit are judged: when there are enough of them for the first
	// time, and with twice as many. Who looks after each trial finds what he wants by chance.
	looks = 2
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

// failing returns the lowest level at which more arrivals fail than may, beyond chance, and the highest one below it that
// was tried. They are 0 if there is none, or failures are fitted.
func (t *track) failing() (clean, broken float64) {
	last := len(t.goals) - 1
	if !t.goals[last].failures || t.goals[last].Limit > 0 {
		return 0, 0
	}
	all := t.counted()
	byLevel(all)
	for _, o := range all {
		if t.beyond(&o, last) {
			return clean, o.level
		}
		clean = o.level
	}
	return 0, 0
}

func byLevel(all []observed) {
	slices.SortStableFunc(all, func(a, b observed) int { return cmp.Compare(a.level, b.level) })
}

// claim returns the level that the trials so far show to be sustained: the lower end of the interval, but none above the
// highest at which a trial kept the goals without the machine being the limit.
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

// occupied returns for how long a lock occupies its key, in seconds; as planned, or a guess, if no trial tells. At rates
// far beyond what is kept a lock may collapse, so that the trial counts in which it was the shortest.
func (t *track) occupied() float64 {
	hold, _ := holds(&t.c.Plan)
	if waiting(&t.c.Plan) == 0 {
		hold = 0
	}
	return cmp.Or(t.measured(), max(guessedOccupied, hold))
}

// measured returns the least mean hold with its hand-off, or with a round trip if there were too few hand-offs; and with
// what keys waited for after the death of a holder. It is 0 if no trial tells.
func (t *track) measured() (least float64) {
	for _, o := range t.trials {
		hold, handoff := o.record.Latency[results.Hold], o.record.Latency[results.Handoff]
		gap := o.record.Bound.RoundTrip()
		if results.Enough(handoff.Count, 0.5) {
			gap = handoff.Mean
		}
		each := gap.Seconds() + (total(hold)+total(o.record.Latency[results.Recovery]))/float64(max(1, hold.Count))
		if hold.Count > 0 && waiting(&t.c.Plan) > 0 && (least == 0 || each < least) {
			least = each
		}
	}
	return least
}

// shows reports whether a trial counts, or shows that the level that is asked for is carried at the least: though the
// machine was the limit, it kept the goals.
func (t *track) shows(o *observed) bool {
	return o.left.Code == "" || o.left.Code != Partial && t.asked > 0 && equal(o.level, t.asked) && t.keeps(o)
}

// worked returns the trials at levels from low to high, by their level, also those in which the machine was the limit: a
// lock that keeps its goals there carries the level at the least.
func (t *track) worked(low, high float64) []observed {
	all := t.those(func(o *observed) bool {
		return o.left.Code != Partial && !above(low, o.level) && !above(o.level, high)
	})
	byLevel(all)
	return all
}

// atAsked returns those at the level that is asked for.
func (t *track) atAsked() []observed {
	if t.asked == 0 {
		return nil
	}
	return t.worked(t.asked, t.asked)
}

// failuresShown reports whether trials at a level, or with those at higher ones, show beyond chance that no more arrivals
// fail than may.
func (t *track) failuresShown(level float64) bool {
	last := len(t.goals) - 1
	if !t.goals[last].failures {
		return true
	}
	all := t.worked(level, math.Inf(1))
	for n := range all {
		sum := pool(all[:n+1])
		if sum.tallies[last].interval(1).High <= t.goals[last].Allowed() {
			return true
		}
	}
	return false
}

// carries reports whether enough trials at the level that is asked for, or with those of a confirmation above it, kept the
// goals together. Where no fit claims the level, since the machine was the limit, they have to do so beyond chance.
func (t *track) carries() bool {
	if t.asked == 0 {
		return t.phase == confirmed && t.q.Asked == 0
	}
	all := t.atAsked()
	if len(all) < confirmTrials && t.phase == confirmed {
		all = t.worked(t.asked, t.confirm)
	}
	if len(all) < confirmTrials || !t.failuresShown(t.asked) {
		return false
	}
	if sum := pool(all); !above(t.asked, t.claim()) {
		return t.keeps(&sum)
	}
	return t.keepsBeyondChance(all[:min(looks, len(all)/confirmTrials)*confirmTrials])
}

// keepsBeyondChance reports whether several trials had their arrivals, and the shares that the goals allow are above the
// intervals of those in all together. Late arrivals come together, while a queue is long: the intervals are as wide as the
// scatter of the trials asks for, and as if the arrivals of one relaxation time were all late or all in time, since few
// trials show no scatter if long queues are rare. They are widened for the number of candidates and looks (Bonferroni).
func (t *track) keepsBeyondChance(all []observed) bool {
	sum, window := pool(all), 0.0
	for _, o := range all {
		window += o.record.Elapsed.Seconds()
	}
	if due := t.q.throughput(t.c, t.asked, t.occupied()) * window; t.q.Axis == Rates &&
		float64(sum.arrivals) < (1-mayLack)*due-3*math.Sqrt(due) {
		return false
	}
	wide := math.Sqrt2 * math.Erfinv(1-0.05/float64(looks*len(t.q.Candidates))) / normal95
	together := max(1, t.q.throughput(t.c, t.asked, t.occupied())*t.c.Shares[0]*t.q.relaxation(t.c, t.asked, t.occupied()))
	for i, g := range t.goals {
		n, scatter := sum.tallies[i], 0.0
		for _, o := range all {
			off := float64(o.tallies[i].broke) - n.share()*float64(o.tallies[i].of)
			scatter += off * off / max(1e-9, n.share()*(1-n.share())*float64(o.tallies[i].of)) / float64(len(all)-1)
		}
		packed := fewScatter * max(1, scatter)
		if !g.failures {
			packed = max(packed, together)
		}
		if n.interval(wide*wide*packed).High > g.Allowed() {
			return false
		}
	}
	return true
}

// fewScatter widens an interval, in variances, for the scatter of four trials being known so badly: Student's quantile with
// three degrees of freedom by the normal one, squared.
const fewScatter = (3.18 / normal95) * (3.18 / normal95)

// responses returns the time to a grant at the quantile of each objective: in the median of the trials at the level that is
// asked for, in the best of them if that is not carried, or at the highest level that was kept if none is asked for.
func (t *track) responses() (list []time.Duration) {
	all := t.atAsked()
	if best, _ := t.kept(); t.q.Asked == 0 && best.level > 0 {
		all = []observed{best}
	}
	figure := figures[t.q.Axis]
	for _, objective := range t.q.SLO.Objectives {
		var took []time.Duration
		for _, o := range all {
			if h, err := o.record.Latency[figure].Histogram(); err == nil && h.TotalCount() > 0 {
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
