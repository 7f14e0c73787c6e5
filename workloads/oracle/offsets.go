package oracle

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// Offset is what is known of a clock at a time: the reading of another clock minus that of this one lies between Low and High.
type Offset struct{ At, Low, High time.Duration } // At is a reading of this clock

// Offsets are samples of a clock against the common clock, in the order of At. Between and beyond them the bounds widen by
// drift, 100 ppm of the distance.
type Offsets []Offset

// drift is how far two clocks may move apart in d, rounded up.
func drift(d time.Duration) time.Duration { return (d + 9_999) / 10_000 }

// At returns the bounds that the samples next to t, one on each side, set together. Without a sample the clock is the common one.
func (o Offsets) At(t time.Duration) (low, high time.Duration) {
	if len(o) == 0 {
		return 0, 0
	}
	low, high = -maxTime, maxTime
	i := sort.Search(len(o), func(i int) bool { return o[i].At > t })
	for _, s := range o[max(0, i-1):min(i+1, len(o))] {
		d := drift(max(t-s.At, s.At-t))
		low, high = max(low, s.Low-d), min(high, s.High+d)
	}
	return low, high
}

// Tight returns the samples in order, each with what all others say of its time: a good one makes its neighbours better. The
// bounds of the result at any time are what all samples say together. If a Low is above its High, the samples contradict
// each other: the clock was set, or drifts more.
func (o Offsets) Tight() Offsets {
	o = slices.Clone(o)
	slices.SortFunc(o, func(a, b Offset) int { return cmp.Compare(a.At, b.At) })
	tighten := func(s *Offset, by Offset, distance time.Duration) {
		d := drift(distance)
		s.Low, s.High = max(s.Low, by.Low-d), min(s.High, by.High+d)
	}
	for i := 1; i < len(o); i++ {
		tighten(&o[i], o[i-1], o[i].At-o[i-1].At)
	}
	for i := len(o) - 2; i >= 0; i-- {
		tighten(&o[i], o[i+1], o[i+1].At-o[i].At)
	}
	return o
}

// Widest returns a bound on the distance of the bounds at any time between from and until.
func (o Offsets) Widest(from, until time.Duration) (most time.Duration) {
	for _, t := range []time.Duration{from, until} {
		low, high := o.At(t)
		most = max(most, high-low)
	}
	for i := 1; i < len(o); i++ {
		if a, b := o[i-1], o[i]; b.At >= from && a.At <= until {
			most = max(most, (a.High-a.Low+b.High-b.Low)/2+drift(b.At-a.At)+2)
		}
	}
	return most
}
