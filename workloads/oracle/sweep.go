package oracle

// The oracle across ranks: processes that make one load together. Each rank's own oracle has counted what its clients
// did to each other; the sweep goes through the logs of all in the order of their grants, and finds the rest.
//
// Ranks of one host share a clock, so that two of their times are in a known order. Times of two hosts have bounds on
// the common clock: what holds for all times within the bounds is certain, what holds for some possible.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
)

// Ranked is what one rank hands in.
type Ranked struct {
	Logs *Logs

	// Host numbers the clock of which the rank's own is a view. HostOffset is that clock's reading minus the rank's.
	Host       int
	HostOffset time.Duration

	// Offsets are the common clock minus the rank's. Those of all ranks of a host count for each of them. The host whose clock
	// is the common one has none.
	Offsets Offsets
}

// Swept is what the holds of all ranks together show. Times are of the common clock.
//
// Two holds overlap if each began before the other ended: that they touch is not enough. Of two that overlap for
// certain the later grant is wrong, by the middle of the bounds. Violations and Events leave out those
// that the rank's own oracle has counted. Longest and Overlap are of all holds, and at least that. FenceRegress counts
// grants with a fence not above that of an earlier grant to another rank, which needs no clock if both are equal.
// Blind is the widest doubt between two hosts: shorter overlaps may be no more than possible.
type Swept struct {
	results.Safety // Violations, Longest, Overlap, Events, FenceRegress, Possible and Blind

	Holds int64
	Until time.Duration // holds from then on are left out, as some rank has not logged all; math.MaxInt64 if each has

	Changes, LongestRun int64 // results.Fairness of the grants in the window

	Died map[int]time.Duration // when the last holder of a key died, by key; the others are left out
}

// groupKeys is how many keys are swept at a time, which bounds the memory.
const groupKeys = 1 << 16

// Sweep goes through the holds of keys 0 to keys-1. It calls record with each hand-off (results.HandoffIndex) and each
// recovery from a crash (results.RecoveryIndex) that ended in the window from from to until, on the common clock, and
// violated with the time of each violation. It takes memory for the clients, for 65,536 keys, and for the holds of a
// key that overlap or whose order is uncertain.
func Sweep(
	ranks []Ranked, keys int, from, until time.Duration, record func(m results.MetricIndex, d time.Duration),
	violated ...func(at time.Duration),
) (Swept, error) {
	w := sweep{all: keys, from: from, until: until, record: record, violated: violated, swept: Swept{Until: never, Died: map[int]time.Duration{}}}
	if err := w.clocks(ranks); err != nil {
		return Swept{}, err
	}
	for ; w.first < keys; w.first += groupKeys {
		w.keys = make([]keyState, min(groupKeys, keys-w.first))
		if err := w.group(); err != nil {
			return Swept{}, err
		}
		w.swept.Events = First(w.swept.Events)
		for i := range w.keys {
			if k := &w.keys[i]; k.died {
				w.swept.Died[w.first+i] = k.freed
			}
		}
	}
	w.swept.Overlap = max(w.swept.Overlap, w.swept.Longest)
	return w.swept, nil
}

// First returns the first MaxEvents of some events, in the order of their times. It changes the list.
func First(events []results.Violation) []results.Violation {
	slices.SortStableFunc(events, func(a, b results.Violation) int { return cmp.Compare(a.At, b.At) })
	return events[:min(len(events), MaxEvents)]
}

type sweep struct {
	ranks       []Ranked   // each with the offsets of its host's clock
	keys        []keyState // of the group
	first, all  int        // the first key of the group, and how many there are in all
	from, until time.Duration
	record      func(m results.MetricIndex, d time.Duration)
	violated    []func(at time.Duration)
	swept       Swept
}

// clocks relates the clocks of the ranks.
func (w *sweep) clocks(ranks []Ranked) error {
	hosts, widths := map[int]Offsets{}, map[int]time.Duration{}
	for i, r := range ranks {
		h, samples := r.HostOffset, hosts[r.Host]
		for _, o := range append(slices.Clip(r.Offsets), Offset{Low: h, High: h}) {
			if o.Low > o.High || min(o.At, o.Low) < -maxTime || max(o.At, o.High) > maxTime {
				return fmt.Errorf("rank %d: %+v is no offset of a clock", i, o)
			}
			samples = append(samples, Offset{o.At + h, o.Low - h, o.High - h})
		}
		hosts[r.Host] = samples[:len(samples)-1]
	}
	common := 0
	for id, o := range hosts {
		if len(o) == 0 {
			common++
		}
		hosts[id] = o.Tight()
		if slices.ContainsFunc(hosts[id], func(o Offset) bool { return o.Low > o.High }) {
			return fmt.Errorf("the samples of the clock of host %d contradict each other: it was set, or drifts by more than 100 ppm", id)
		}
	}
	if common > 1 {
		return fmt.Errorf("%d hosts have no sample of their clocks", common)
	}
	for _, r := range ranks {
		r.Offsets = hosts[r.Host]
		w.ranks = append(w.ranks, r)
		widths[r.Host] = max(widths[r.Host], r.Offsets.Widest(r.HostOffset, r.HostOffset+r.Logs.end()))
		if at := r.Logs.Complete(); at != never {
			w.swept.Until = min(w.swept.Until, r.moment(at).common.low)
		}
	}
	if all := slices.Sorted(maps.Values(widths)); len(all) > 1 {
		w.swept.Blind = all[len(all)-1] + all[len(all)-2]
	}
	return nil
}

// end returns when the last hold was over.
func (l *Logs) end() (at time.Duration) {
	for i := range l.logs {
		at = max(at, l.logs[i].last.to)
	}
	return at
}

// span is where a time lies on a clock.
type span struct{ low, high time.Duration }

// moment is a time of a rank, by the clock of its host and by the common one.
type moment struct {
	host   time.Duration
	common span
}

// moment relates a time of a rank in a sweep.
func (r *Ranked) moment(t time.Duration) moment {
	t += r.HostOffset
	low, high := r.Offsets.At(t)
	return moment{t, span{t + low, t + high}}
}

func (s span) middle() time.Duration { return s.low + (s.high-s.low)/2 }
