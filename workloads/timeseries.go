// The time series of a trial: its throughput, latencies, errors and violations in each second.

package workloads

import (
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/results"
)

const (
	sampleEvery = time.Second

	// maxIntervals bounds a record's series: beyond it two neighbours become one, and so on.
	maxIntervals = 600

	// onTime is how late a sample may be and still count as taken when it was due: timers are a millisecond or two late,
	// and an interval of 1.000930134 s is hard to read.
	onTime = 5 * time.Millisecond
)

// timeseries samples the running totals of a trial from a goroutine of its own; clients do nothing for it.
type timeseries struct {
	e        *engine
	stopped  chan struct{}
	sampling sync.WaitGroup

	warmup, window *results.Follower

	mu                 sync.Mutex // of list, for View
	list               []interval
	length             time.Duration // of an interval in the list
	at                 time.Duration // time of the last sample
	errors, violations int64         // totals at that time
	p99                atomic.Int64  // of the last interval that was not very short
}

// interval is one interval of the series with the values behind it, since quantiles cannot be added.
type interval struct {
	results.Interval
	values results.Values
}

// newTimeseries returns the time series of e, which has its recorders already. It reads nothing yet.
func newTimeseries(e *engine) *timeseries {
	s := &timeseries{
		e: e, stopped: make(chan struct{}), length: sampleEvery,
		warmup: results.Follow(e.sources(results.WarmupIndex)...), window: results.Follow(e.grants()...),
	}
	return s
}

// begin starts to sample. The clock must run.
func (s *timeseries) begin() { s.sampling.Go(s.run) }

// close stops the sampling when the window closes.
func (s *timeseries) close() {
	close(s.stopped)
	s.sampling.Wait()
}

// finish takes the last sample, when all clients have ended.
func (s *timeseries) finish() {
	end := s.e.until()
	s.sample(min(s.e.from, end)) // the run stopped in the warm-up, or no sample was taken at its end
	s.take(end)                  // also if the window ended before the last sample
}

// run samples whenever it is due. Due times follow from the window and not from the last sample, so that they do not drift.
// The time of a sample is read from the clock, since a busy machine is late.
func (s *timeseries) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		second := s.next()
		timer.Reset(second - s.e.clock.Now())
		select {
		case <-s.stopped:
			return
		case <-timer.C:
		}
		now := s.e.clock.Now()
		if second <= now && now < s.e.until() {
			if now < second+onTime {
				now = second
			}
			if s.at < s.e.from { // warm-up and window are recorded apart, so this time is exact
				now = min(now, s.e.from)
			}
			s.sample(now)
		}
	}
}

// next returns when the next sample is due: each second of the warm-up, at its end, and each second from there on. The
// end of the window is left to finish.
func (s *timeseries) next() time.Duration {
	base, limit := time.Duration(0), s.e.from
	if s.at >= s.e.from {
		base, limit = s.e.from, s.e.until()
	}
	next := base + (s.at-base)/sampleEvery*sampleEvery + sampleEvery
	switch {
	case next < limit:
		return next
	case base == 0 && s.at < s.e.from:
		return s.e.from
	}
	return never
}

// never is later than any trial ends.
const never = time.Duration(1<<63 - 1)

// sample takes a sample, unless the last one is as late.
func (s *timeseries) sample(now time.Duration) {
	if now > s.at {
		s.take(now)
	}
}

func (s *timeseries) take(now time.Duration) {
	from := s.at
	warmup := now <= s.e.from
	grants := s.window
	if warmup {
		grants = s.warmup
	}
	v := grants.Next()
	s.at = now
	if now-from >= sampleEvery/2 {
		s.p99.Store(int64(v.Quantile(0.99)))
	}
	i := v.Interval(from, now-from)
	i.Warmup = warmup
	errors, violations := s.e.errors.total(), s.e.violations()
	i.Errors, i.Violations = errors-s.errors, violations-s.violations
	s.errors, s.violations = errors, violations
	s.add(interval{i, v})
}

// add appends an interval to the series, or joins it to the last one if either is too short to stand alone.
func (s *timeseries) add(i interval) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.list); n > 0 {
		last := &s.list[n-1]
		open := last.Length+sampleEvery/2 <= s.length
		if last.Warmup == i.Warmup && (open || i.Length < sampleEvery/2) {
			last.join(i)
			return
		}
	}
	if i.Length > 0 {
		s.list = append(s.list, i)
	}
	if len(s.list) <= maxIntervals {
		return
	}
	s.length *= 2
	kept := s.list[:0]
	for _, i := range s.list {
		if n := len(kept); n > 0 && kept[n-1].Warmup == i.Warmup && kept[n-1].Length+i.Length <= s.length+sampleEvery/2 {
			kept[n-1].join(i)
		} else {
			kept = append(kept, i)
		}
	}
	clear(s.list[len(kept):])
	s.list = kept
}

// join lengthens s by t, which follows it.
func (s *interval) join(t interval) {
	s.Length += t.Length
	s.include(t)
}

// violated adds a violation to the interval of its time.
func (s *timeseries) violated(at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) > 0 {
		i := sort.Search(len(s.list), func(i int) bool { return s.list[i].At > at })
		s.list[max(0, i-1)].Violations++
	}
}

// include adds what another process measured in that time.
func (s *interval) include(t interval) {
	values := s.values.Plus(t.values)
	whole := values.Interval(s.At, s.Length)
	whole.Warmup = s.Warmup
	whole.Errors, whole.Violations = s.Errors+t.Errors, s.Violations+t.Violations
	*s = interval{whole, values}
}

func (s *timeseries) series() (list []results.Interval) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.list {
		list = append(list, i.Interval)
	}
	return list
}
