package results

// What has been recorded lately: differences of a Recorder's running totals, taken while others go on recording.

import (
	"iter"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Values is a distribution as counts, to the three digits of a histogram. It keeps the slots that hold something, which
// of a second's latencies are some hundred out of the 33,792.
type Values struct {
	slots    []filled // in order
	count    int64
	overflow int64
}

type filled struct {
	slot  int32
	count int64
}

// Count is how many values there are.
func (v Values) Count() int64 { return v.count }

// Overflow is how many of them were beyond the range, and counted at its end.
func (v Values) Overflow() int64 { return v.overflow }

// Quantile is the value that the share q of all does not exceed, as the upper end of its slot; 0 if there is none. It
// answers what Latency would spell out.
func (v Values) Quantile(q float64) time.Duration {
	rank := min(v.count, max(1, int64(q*float64(v.count)+0.5))) // as HdrHistogram rounds it
	for _, f := range v.slots {
		if rank -= f.count; rank <= 0 {
			_, high := bounds(int(f.slot))
			return time.Duration(high)
		}
	}
	return 0
}

// Max is the greatest value, as the upper end of its slot; 0 if there is none.
func (v Values) Max() time.Duration {
	if len(v.slots) == 0 {
		return 0
	}
	_, high := bounds(int(v.slots[len(v.slots)-1].slot))
	return time.Duration(high)
}

// All yields the filled slots in order: the value in the middle of each, which is within 0.05 % of all its values, and
// their number.
func (v Values) All() iter.Seq2[time.Duration, int64] {
	return func(yield func(time.Duration, int64) bool) {
		for _, f := range v.slots {
			low, high := bounds(int(f.slot))
			if !yield(time.Duration(low+(high-low)/2), f.count) {
				return
			}
		}
	}
}

// Plus is the distribution of the values of both together.
func (v Values) Plus(w Values) Values {
	sum := Values{make([]filled, 0, max(len(v.slots), len(w.slots))), v.count + w.count, v.overflow + w.overflow}
	a, b := v.slots, w.slots
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].slot < b[0].slot:
			sum.slots, a = append(sum.slots, a[0]), a[1:]
		case a[0].slot > b[0].slot:
			sum.slots, b = append(sum.slots, b[0]), b[1:]
		default:
			sum.slots = append(sum.slots, filled{a[0].slot, a[0].count + b[0].count})
			a, b = a[1:], b[1:]
		}
	}
	sum.slots = append(append(sum.slots, a...), b...)
	return sum
}

// Histogram is v as a histogram of the library.
func (v Values) Histogram() *hdrhistogram.Histogram {
	counts := make([]int64, slotCount)
	for _, f := range v.slots {
		counts[f.slot] = f.count
	}
	return histogramOf(counts)
}

// Source is one metric of one recorder.
type Source struct {
	Recorder *Recorder
	Metric   MetricIndex
}

// Follower tells what has been recorded since it last looked. Those who record notice nothing of it: it reads their
// running totals and remembers them. One goroutine uses it at a time.
type Follower struct {
	sources  []Source
	last     []int64 // the totals at the last look, a slot each; nil before the first value
	overflow int64
	scratch  []filled
	shards   []*slots
}

// Follow makes a follower of all the sources together, whose first look finds what was recorded until then.
func Follow(sources ...Source) *Follower { return &Follower{sources: sources} }

// Next is what has been recorded since the last call. A value whose recording is under way is found now or next time,
// and never twice.
func (f *Follower) Next() Values {
	f.shards = f.shards[:0]
	var overflow int64
	for _, s := range f.sources {
		for i := range s.Recorder.shards {
			if c := s.Recorder.shards[i].metrics[s.Metric].Load(); c != nil {
				f.shards = append(f.shards, c)
				overflow += c.overflow.Load()
			}
		}
	}
	if len(f.shards) == 0 {
		return Values{}
	}
	if f.last == nil {
		f.last = make([]int64, slotCount)
	}
	v := Values{overflow: overflow - f.overflow}
	f.overflow, f.scratch = overflow, f.scratch[:0]
	for j, last := range f.last {
		total := int64(0)
		for _, c := range f.shards {
			total += c.count[j].Load()
		}
		if total == last {
			continue
		}
		f.last[j] = total
		f.scratch = append(f.scratch, filled{int32(j), total - last})
		v.count += total - last
	}
	v.slots = slices.Clone(f.scratch)
	return v
}

// Total is all that the sources have recorded so far, for a reader who comes seldom and remembers nothing.
func Total(sources ...Source) Values { return Follow(sources...).Next() }

// Interval spells v out as a stretch of a series.
func (v Values) Interval(at, length time.Duration) Interval {
	return Interval{
		At: at, Length: length, Acquired: v.count,
		P50: v.Quantile(0.5), P99: v.Quantile(0.99), Max: v.Max(),
	}
}

// Sum is the sum of all values in seconds, each taken as the middle of its slot.
func (v Values) Sum() float64 {
	sum := 0.0
	for value, n := range v.All() {
		sum += value.Seconds() * float64(n)
	}
	return sum
}
