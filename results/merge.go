package results

// Merging: the distributions of several trials become one.

import "fmt"

// sums are the distributions of a cell or a class, to which trials still come.
type sums map[Metric]*sum

// sum is a distribution of several trials together.
type sum struct {
	Latency // while there is one trial, as that recorded it; then count and overflow of all

	// It takes longer to add to what a hundred trials have filled, as counts, than a trial takes to decode. So what is long
	// has two bytes a slot, and what they cannot hold is in high.
	low  []uint16
	high map[int]int64
}

// long is a quarter of what two bytes a slot take at most.
const long = slotCount / 2

// add adds the distributions of a trial, which somebody has decoded.
func (ss sums) add(more map[Metric]Latency, decoded map[Metric]counts) {
	for m, l := range more {
		if ss[m] == nil {
			ss[m] = new(sum)
		}
		ss[m].add(l, decoded[m])
	}
}

func (s *sum) add(l Latency, c counts) {
	switch {
	case s.Count == 0:
		s.Latency, s.merged = l, ""
		return
	case l.Count == 0:
		return
	case s.low != nil:
		c.each(s.count)
	default:
		earlier, _ := s.decode() // it has been decoded before
		if s.merged = ""; len(earlier)+len(c) > long {
			earlier.each(s.count)
			c.each(s.count)
		} else {
			s.merged = together(func(add func(int, int64)) {
				earlier.each(add)
				c.each(add)
			})
		}
	}
	s.Latency = Latency{Count: s.Count + l.Count, Overflow: s.Overflow + l.Overflow, merged: s.merged}
}

// count adds n to a slot.
func (s *sum) count(slot int, n int64) {
	if slot >= len(s.low) {
		longer := make([]uint16, (slot>>halfBits+1)<<halfBits)
		copy(longer, s.low)
		s.low = longer
	}
	if n += int64(s.low[slot]); n < 1<<16 {
		s.low[slot] = uint16(n)
		return
	}
	s.low[slot] = 0
	if s.high == nil {
		s.high = map[int]int64{}
	}
	s.high[slot] += n
}

func (s *sum) counts() counts {
	if s.low == nil {
		return s.merged
	}
	return together(func(add func(int, int64)) {
		for slot, n := range s.low {
			if n > 0 {
				add(slot, int64(n))
			}
		}
		for slot, n := range s.high {
			add(slot, n)
		}
	})
}

// latencies returns the distributions with their quantiles, which are calculated in the end, for that takes longer than adding.
func (ss sums) latencies() map[Metric]Latency {
	all := make(map[Metric]Latency, len(ss))
	for m, s := range ss {
		l := s.Latency
		if c := s.counts(); c != "" {
			l = quantilesOf(c.histogram(), s.Overflow)
			l.merged = c
		}
		all[m] = l
	}
	return all
}

// decodeAll decodes distributions; the error begins with the metric.
func decodeAll(all map[Metric]Latency) (map[Metric]counts, error) {
	decoded := make(map[Metric]counts, len(all))
	for m, l := range all {
		c, err := l.decode()
		if err != nil {
			return nil, fmt.Errorf("%s.hdr: %w", m, err)
		}
		decoded[m] = c
	}
	return decoded, nil
}

// decodeEach decodes the distributions that can be, for others who need them.
func decodeEach(all map[Metric]Latency) {
	for m, l := range all {
		l.merged, _ = l.decode()
		all[m] = l
	}
}
