package results

// Merging: the distributions of several trials become one.

import "fmt"

// sums are the distributions of a cell or a class, to which trials still come.
type sums map[Metric]*sum

// sum is a distribution of several trials together. Adding a trial to what a hundred others have filled takes longer than
// decoding it, so that those which came lately wait until there are enough of them: each slot is then moved twice or three
// times in all, however many trials there are.
type sum struct {
	Latency          // while there is one trial, as that recorded it; then count and overflow of all, and merged of all but the late
	late    []packed // the trials that have not been merged
	waiting int      // bytes of these
}

// fewBytes are too few to merge.
const fewBytes = 1 << 10

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
	s.Latency = Latency{Count: s.Count + l.Count, Overflow: s.Overflow + l.Overflow, merged: s.merged}
	s.late = append(s.late, p)
	if s.waiting += len(p); s.waiting >= max(fewBytes, len(s.merged)/2) {
		s.merge()
	}
}

// merge merges those that wait.
func (s *sum) merge() {
	if len(s.late) > 0 {
		s.merged = together(append(s.late, s.merged)...)
		s.late, s.waiting = nil, 0
	}
}

// spelt are the distributions with their quantiles, which are spelt out in the end, for spelling takes longer than adding.
func (ss sums) spelt() map[Metric]Latency {
	all := make(map[Metric]Latency, len(ss))
	for m, s := range ss {
		s.merge()
		l := s.Latency
		if l.merged != "" {
			v := Values{slots: l.merged.slots()}
			l = spell(v.Histogram(), l.Overflow)
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
