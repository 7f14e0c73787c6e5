package results

// The recorder: latencies of many goroutines, counted without a lock.

import (
	"cmp"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Recorder collects the latencies of one measured window. It is split into shards so that goroutines on different
// processors seldom touch the same cache line. A shard belongs to a processor and not to a client, since clients wander between
// processors, and a histogram a client would be 264 KiB each. All methods are safe for concurrent use.
type Recorder struct {
	shards   []Shard
	near     sync.Pool     // of *Shard; it keeps one at hand for each processor
	assigned atomic.Uint32 // shards that near has been given
}

// Shard is a part of a Recorder. Several goroutines may record to the same one.
type Shard struct {
	// Granted counts locks that were granted and given back, whether their latencies are recorded or not. It is here
	// because the shard is in the cache anyhow: an atomic store to memory of the client's own is dearer.
	Granted atomic.Int64

	metrics [WarmupIndex + 1]atomic.Pointer[slots] // nil until a metric is first used, so that the others cost nothing
	ended   [outcomeCount]atomic.Int64             // acquisitions that were not granted, warm-up included
	_       [64]byte                               // keeps the pointers of two shards off one cache line
}

// slots counts the values of one metric of one shard.
type slots struct {
	count    [slotCount]atomic.Int64
	overflow atomic.Int64
}

// spare is how many shards there may be for each processor. A goroutine that loses its processor between Borrow and Return
// keeps its shard away from it, and the next one there is dealt another. Were there no more than processors, two of them might
// share one for the rest of the run, which cost the null driver up to 7 %.
const spare = 8

// NewRecorder makes a recorder with that many shards; 0 takes as many as it needs.
func NewRecorder(shards int) *Recorder {
	if shards <= 0 {
		shards = spare * runtime.GOMAXPROCS(0)
	}
	r := &Recorder{shards: make([]Shard, shards)}
	// The pool may forget a shard, so it deals out the same few in turn, and two borrowers may have the same.
	r.near.New = func() any { return &r.shards[int(r.assigned.Add(1)-1)%shards] }
	return r
}

// Borrow lends the shard that is nearest to the calling goroutine. Record what there is to record, without blocking in
// between, and return it.
func (r *Recorder) Borrow() *Shard { return r.near.Get().(*Shard) }

// Return takes a borrowed shard back.
func (r *Recorder) Return(s *Shard) { r.near.Put(s) }

// Granted returns the sum of what the shards have counted.
func (r *Recorder) Granted() (n int64) {
	for i := range r.shards {
		n += r.shards[i].Granted.Load()
	}
	return n
}

// Outcome is how an acquisition ended that was not granted; see Counts.
type Outcome int

const (
	OutcomeContended Outcome = iota
	OutcomeTimedOut
	OutcomeGaveUp
	OutcomeUnknown
	OutcomeRefused
	outcomeCount
)

// End counts an acquisition that was not granted, whether its latency is recorded or not. Only the paths that are rare
// or slow anyhow come here.
func (s *Shard) End(o Outcome) { s.ended[o].Add(1) }

// Ended returns the sum of what the shards have counted of one outcome.
func (r *Recorder) Ended(o Outcome) (n int64) {
	for i := range r.shards {
		n += r.shards[i].ended[o].Load()
	}
	return n
}

// Attempts returns how many acquisitions are over. Those granted count when they are given back.
func (r *Recorder) Attempts() int64 {
	n := r.Granted()
	for o := range outcomeCount {
		n += r.Ended(o)
	}
	return n
}

// Record counts one value. It never waits and, but for the first value of a metric, never allocates. A value below
// 1 ns counts as 1 ns: two stamps may fall on the same tick of the clock. A value above one hour counts as one hour
// and as an overflow, so that no value is ever dropped.
func (s *Shard) Record(m MetricIndex, d time.Duration) { s.RecordN(m, d, 1) }

// RecordN counts a value n times, as Record does.
func (s *Shard) RecordN(m MetricIndex, d time.Duration, n int64) {
	c := s.metrics[m].Load()
	if c == nil {
		c = s.first(m)
	}
	if uint64(d-lowestValue) >= uint64(highestValue) { // one comparison for both ends
		d = c.clamp(d, n)
	}
	c.count[slot(int64(d))].Add(n)
}

// Add adds the values of a distribution, which another recorder has recorded; its quantiles are those of one recorder of both.
// The error is that of a histogram that does not decode, or of more values than any run has.
func (s *Shard) Add(m MetricIndex, l Latency) error {
	c, err := l.decode()
	if err != nil || c == "" {
		return err
	}
	to := s.metrics[m].Load()
	if to == nil {
		to = s.first(m)
	}
	c.each(func(slot int, n int64) { to.count[slot].Add(n) })
	to.overflow.Add(l.Overflow)
	return nil
}

// Forget drops what was recorded of a metric. Nobody records it meanwhile.
func (r *Recorder) Forget(m MetricIndex) {
	for i := range r.shards {
		r.shards[i].metrics[m].Store(nil)
	}
}

// first makes room for a metric; if two goroutines come at once, both use the slots of the one that won.
func (s *Shard) first(m MetricIndex) *slots {
	s.metrics[m].CompareAndSwap(nil, new(slots))
	return s.metrics[m].Load()
}

func (c *slots) clamp(d time.Duration, n int64) time.Duration {
	if d < lowestValue {
		return lowestValue
	}
	c.overflow.Add(n)
	return time.Duration(highestValue)
}

// Latency returns the distribution of one metric over all shards; see LatencyOf.
func (r *Recorder) Latency(m MetricIndex) Latency { return LatencyOf(Source{r, m}) }

// Latencies returns the distributions of all metrics, as a Record holds them.
func (r *Recorder) Latencies() map[Metric]Latency {
	all := make(map[Metric]Latency, len(Metrics))
	for i, name := range Metrics {
		all[name] = r.Latency(MetricIndex(i))
	}
	return all
}

// What has been recorded lately: differences of a Recorder's running totals, taken while others go on recording.

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

// Quantile returns the q-quantile; 0 if there are too few values for it (see Enough).
func (v Values) Quantile(q float64) time.Duration {
	if !Enough(v.Count(), q) {
		return 0
	}
	return Quantile(v.Histogram(), q)
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

// Latency returns v as a record holds it, and Values what it holds.
func (v Values) Latency() Latency { return latencyOf(v.Histogram(), v.overflow) }

// Values returns the values of l, without error for what Latency has returned.
func (l Latency) Values() (Values, error) {
	h, err := l.Histogram()
	return Values{h, l.Overflow}, err
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
