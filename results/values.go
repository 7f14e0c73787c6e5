package results

// What has been recorded lately: differences of a Recorder's running totals, taken while others go on recording.

import (
	"cmp"
	"iter"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Values is a distribution as counts, to the three digits of a histogram.
type Values struct {
	hist     *hdrhistogram.PackedHistogram // nil: there are none
	overflow int64
}

// none is the histogram of no values.
var none = newHistogram()

// Histogram returns v as a histogram; do not change it.
func (v Values) Histogram() *hdrhistogram.PackedHistogram { return cmp.Or(v.hist, none) }

// Count returns how many values there are.
func (v Values) Count() int64 { return v.Histogram().TotalCount() }

// Overflow returns how many of them were beyond the range, and counted at its end.
func (v Values) Overflow() int64 { return v.overflow }

// Quantile returns the value that the share q of all does not exceed, as the upper end of its slot; 0 if there is none. It
// answers what Latency would spell out.
func (v Values) Quantile(q float64) time.Duration {
	return time.Duration(v.Histogram().ValueAtPercentile(100 * q))
}

// Max returns the greatest value, as the upper end of its slot; 0 if there is none.
func (v Values) Max() time.Duration { return time.Duration(v.Histogram().Max()) }

// All yields the filled slots in order: the value in the middle of each, which is within 0.05 % of all its values, and
// their number.
func (v Values) All() iter.Seq2[time.Duration, int64] {
	return func(yield func(time.Duration, int64) bool) {
		for value, n := range v.Histogram().ForEachBucket {
			low, high := bounds(slot(value))
			if !yield(time.Duration(low+(high-low)/2), n) {
				return
			}
		}
	}
}

// Plus returns the distribution of the values of both together.
func (v Values) Plus(w Values) Values {
	sum := v.Histogram().Clone()
	sum.Merge(w.Histogram())
	return Values{sum, v.overflow + w.overflow}
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
	shards   []*slots
}

// Follow makes a follower of all the sources together, whose first look finds what was recorded until then.
func Follow(sources ...Source) *Follower { return &Follower{sources: sources} }

// Next returns what has been recorded since the last call. A value whose recording is under way is found now or next time,
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
	v := Values{newHistogram(), overflow - f.overflow}
	f.overflow = overflow
	for j, last := range f.last {
		total := int64(0)
		for _, c := range f.shards {
			total += c.count[j].Load()
		}
		if total == last {
			continue
		}
		f.last[j] = total
		low, _ := bounds(j)
		_ = v.hist.RecordValues(low, total-last) // every slot is in its range
	}
	return v
}

// Total returns all that the sources have recorded so far, for a reader who comes seldom and remembers nothing.
func Total(sources ...Source) Values { return Follow(sources...).Next() }

// LatencyOf returns all that the sources have recorded so far, as a Record holds it. While others record, it is some state
// between the call and the return.
func LatencyOf(sources ...Source) Latency {
	v := Total(sources...)
	if v.Count() == 0 {
		return noLatency()
	}
	return latencyOf(v.hist, v.overflow)
}

// noLatency is the distribution of a metric that has no values, encoded once since most metrics of a run have none.
var noLatency = sync.OnceValue(func() Latency { return latencyOf(none, 0) })

// Interval spells v out as a stretch of a series.
func (v Values) Interval(at, length time.Duration) Interval {
	return Interval{
		At: at, Length: length, Acquired: v.Count(),
		P50: v.Quantile(0.5), P99: v.Quantile(0.99), Max: v.Max(),
	}
}
