package results

// Merging: the distributions of several trials become one.

import (
	"fmt"
	"math"
)

// sums are the distributions of a cell or a class, to which trials still come.
type sums map[Metric]*sum

// sum is a distribution of several trials together.
type sum struct {
	Latency // while there is one trial, as that recorded it; then count and overflow of all

	// Packed, what a hundred trials have filled takes longer to add to than a trial takes to decode. So what is long is
	// kept as counts, two bytes a slot, and what they cannot hold waits to be added to merged.
	low  []uint16
	high []filled
}

const (
	longPacked = 16 << 10 // bytes, a quarter of what counts take at most
	longHigh   = 1 << 10
)

// add adds the distributions of a trial, which somebody has unpacked.
func (ss sums) add(more map[Metric]Latency, unpacked map[Metric]packed) {
	for m, l := range more {
		s := ss[m]
		if s == nil {
			s = new(sum)
			ss[m] = s
		}
		s.add(l, unpacked[m])
	}
}

func (s *sum) add(l Latency, p packed) {
	switch {
	case s.Count == 0:
		if l.HDR != "" { // which is all that is kept of one trial
			l.merged = ""
		}
		*s = sum{Latency: l}
		return
	case l.Count == 0:
		return
	case s.HDR != "":
		s.merged, _ = s.unpack() // it has been unpacked before, and was no damage then
	}
	s.Latency = Latency{Count: plus(s.Count, l.Count), Overflow: plus(s.Overflow, l.Overflow), merged: s.merged}
	switch {
	case s.low != nil:
		s.count(p)
	case len(s.merged)+len(p) <= longPacked:
		s.merged = together(s.merged, p)
	default:
		earlier := s.merged
		s.merged = ""
		s.count(earlier)
		s.count(p)
	}
}

// plus is the sum of two counts, or as much as a count can hold.
func plus(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// count adds p to the counts.
func (s *sum) count(p packed) {
	u := p.read()
	for u.next() {
		if u.slot >= len(s.low) {
			longer := make([]uint16, (u.slot>>halfBits+1)<<halfBits)
			copy(longer, s.low)
			s.low = longer
		}
		if had := int64(s.low[u.slot]); u.count < 1<<16-had {
			s.low[u.slot] += uint16(u.count)
		} else {
			s.high = append(s.high, filled{int32(u.slot), had}, filled{int32(u.slot), u.count})
			s.low[u.slot] = 0
		}
	}
	if len(s.high) >= longHigh {
		d := denses.Get().(*dense)
		defer denses.Put(d)
		s.addHigh(d)
		s.merged, s.high = d.pack(), s.high[:0]
	}
}

// addHigh adds what is not in the counts to d.
func (s *sum) addHigh(d *dense) {
	d.add(s.merged)
	for _, f := range s.high {
		d.count(int(f.slot), f.count)
	}
}

// packed is all of it.
func (s *sum) packed() packed {
	d := denses.Get().(*dense)
	defer denses.Put(d)
	s.addHigh(d)
	for slot, n := range s.low {
		d.count(slot, int64(n))
	}
	return d.pack()
}

// spelt are the distributions with their quantiles, which are spelt out in the end, for that takes longer than adding.
func (ss sums) spelt() map[Metric]Latency {
	all := make(map[Metric]Latency, len(ss))
	for m, s := range ss {
		l := s.Latency
		if l.HDR == "" && l.Count > 0 {
			*s = sum{Latency: Latency{Count: s.Count, Overflow: s.Overflow, merged: s.packed()}} // more trials may still come
			l = spell(s.merged.histogram(), s.Overflow)
			l.merged = s.merged
		}
		all[m] = l
	}
	return all
}

// unpackAll unpacks distributions; the error begins with the metric.
func unpackAll(all map[Metric]Latency) (map[Metric]packed, error) {
	unpacked := make(map[Metric]packed, len(all))
	for m, l := range all {
		p, err := l.unpack()
		if err != nil {
			return nil, fmt.Errorf("%s.hdr: %w", m, err)
		}
		unpacked[m] = p
	}
	return unpacked, nil
}
