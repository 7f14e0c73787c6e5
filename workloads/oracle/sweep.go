package oracle

// The oracle across ranks: processes that make one load together. Each rank's own oracle has seen what its clients did to each
// other; the sweep goes through the logs of all in the order of their grants, and finds what clients of different ranks did.
//
// A rank's times are of its own clock. Ranks of one host share a clock, so that two of their times are in a known order. Times of
// two hosts have bounds on the common clock: what holds for all times within the bounds is certain, what holds for some possible.

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

	// Host numbers the clock of which the rank's own is a view. HostOffset is that clock's reading minus the rank's; it does
	// not drift, and its At means nothing.
	Host       int
	HostOffset Offset

	// Offsets are the common clock minus the rank's. Those of all ranks of a host count for each of them. The host whose clock
	// is the common one has none.
	Offsets Offsets
}

// Swept is what the holds of all ranks together show. Times are of the common clock.
//
// A grant is wrong if a client of another rank held the key, and none of its own rank, whose oracle has counted it then. Two holds
// overlap if each began before the other ended: that they touch is not enough. Of two that overlap for certain the
// later grant is wrong, by the middle of the bounds. FenceRegress counts grants with a fence not above that of an earlier grant to
// another rank, which needs no clock if both are equal. Blind is the widest uncertainty between two ranks: shorter overlaps may be no
// more than possible.
type Swept struct {
	results.Safety // Violations, those Overstayed, Longest and Overlap (both at least), Events, FenceRegress, Possible, and Blind

	Holds int64
	Until time.Duration // holds from then on are left out, as some rank has not logged all; math.MaxInt64 if each has

	Changes, LongestRun int64 // results.Fairness of the grants in the window
}

// groupKeys is how many keys are swept at a time, which bounds the memory.
const groupKeys = 1 << 16

// Sweep goes through the holds of keys 0 to keys-1. It calls record with each hand-off (results.HandoffIndex) and each recovery
// from a crash (results.RecoveryIndex) that ended in the window from from to until, on the common clock. It takes memory for the
// clients, for 65,536 keys, and for the holds of a key that overlap or whose order is uncertain.
func Sweep(
	ranks []Ranked, keys int, from, until time.Duration, record func(m results.MetricIndex, d time.Duration),
) (Swept, error) {
	w := sweep{all: keys, from: from, until: until, record: record, swept: Swept{Until: never}}
	if err := w.clocks(ranks); err != nil {
		return Swept{}, err
	}
	for ; w.first < keys; w.first += groupKeys {
		w.keys = make([]keyState, min(groupKeys, keys-w.first))
		if err := w.group(); err != nil {
			return Swept{}, err
		}
	}
	s := &w.swept
	s.Overlap = max(s.Overlap, s.Longest)
	slices.SortStableFunc(s.Events, func(a, b results.Violation) int { return cmp.Compare(a.At, b.At) })
	return *s, nil
}

type sweep struct {
	ranks       []rank
	keys        []keyState // of the group
	first, all  int        // the first key of the group, and how many there are in all
	from, until time.Duration
	record      func(m results.MetricIndex, d time.Duration)
	swept       Swept
}

// rank is a rank with the offsets of its host's clock, of which there are none if that is the common one.
type rank struct {
	Ranked
	offsets Offsets
}

// clocks relates the clocks of the ranks.
func (w *sweep) clocks(ranks []Ranked) error {
	hosts, widths := map[int]Offsets{}, map[int]time.Duration{}
	local := time.Duration(0) // the widest HostOffset
	for i, r := range ranks {
		h, samples := r.HostOffset, r.samples()
		for _, o := range append(samples, Offset{Low: h.Low, High: h.High}) {
			if o.Low > o.High || min(o.At, o.Low) < -maxTime || max(o.At, o.High) > maxTime {
				return fmt.Errorf("rank %d: %+v is no offset of a clock", i, o)
			}
		}
		hosts[r.Host] = append(hosts[r.Host], samples...)
		local = max(local, h.High-h.Low)
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
	for _, ranked := range ranks {
		r := rank{ranked, hosts[ranked.Host]}
		w.ranks = append(w.ranks, r)
		widths[r.Host] = max(widths[r.Host], r.offsets.Widest(r.HostOffset.Low, r.HostOffset.High+r.Logs.end()))
		if at := r.Logs.Complete(); at != never {
			w.swept.Until = min(w.swept.Until, r.moment(at).common.low)
		}
	}
	w.swept.Blind = 2 * local
	if len(hosts) > 1 {
		all := slices.Sorted(maps.Values(widths))
		w.swept.Blind += all[len(all)-1] + all[len(all)-2]
	}
	return nil
}

// samples returns the offsets as those of the host's clock.
func (r *Ranked) samples() (all Offsets) {
	h := r.HostOffset
	for _, o := range r.Offsets {
		all = append(all, Offset{o.At + h.Low + (h.High-h.Low)/2, o.Low - h.High, o.High - h.Low})
	}
	return all
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
type moment struct{ host, common span }

func (r *rank) moment(t time.Duration) moment {
	low, high := t+r.HostOffset.Low, t+r.HostOffset.High
	a, b := r.offsets.At(low + (high-low)/2)
	return moment{span{low, high}, span{low + a, high + b}}
}

func (s span) middle() time.Duration { return s.low + (s.high-s.low)/2 }
