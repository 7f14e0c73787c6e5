// The course of a trial: what each second has brought, and each step of a rate that goes in steps.

package workloads

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

const (
	lookEvery = time.Second

	// maxIntervals bounds a record's series: beyond it two neighbours become one, and so on.
	maxIntervals = 600

	// punctual is how late a look may be and still count as one at its edge: timers are a millisecond or two late, and an
	// interval of 1.000930134 s reads worse than it is true.
	punctual = 5 * time.Millisecond

	// settles is the part of a step that is left out: the system is still on its way from the one before.
	settles = 10 // a tenth
)

// Interval is what a stretch of a trial has brought: the time between two looks, which is a second but for the last
// before an edge of the measured window.
type Interval struct {
	From, To time.Duration // since the load began
	Warmup   bool          // it lies before the measured window

	// Values is what has been recorded of each metric: results.WarmupIndex and ProbeIdleIndex alone in the warm-up. A grant
	// counts when the client has it, and where holds take no time when it has given it back; all else when it is over.
	// What began in the window and was over after it belongs to the last interval. Each metric can be asked for once.
	Values func(results.MetricIndex) results.Values
}

// course follows a trial. One goroutine looks at the running totals; the clients know nothing of it.
type course struct {
	e       *engine
	stopped chan struct{}
	looking sync.WaitGroup

	warmup, window *results.Follower
	all            []*results.Follower // by metric, for Run.Interval; nil without it
	steps          *stairs             // nil if the rate has none

	list               []stretch
	length             time.Duration // of an interval in the list
	at                 time.Duration // of the last look
	errors, violations int64         // by then
	p99                atomic.Int64  // of the last look but for the very short
}

// stretch is one interval of the series and the values behind it, since quantiles cannot be added up.
type stretch struct {
	results.Interval
	values results.Values
}

// newCourse prepares to follow e, whose recorders there are already. It reads nothing yet.
func newCourse(e *engine) *course {
	c := &course{e: e, stopped: make(chan struct{}), length: lookEvery}
	c.warmup = results.Follow(e.sources(results.WarmupIndex)...)
	c.window = results.Follow(e.grants()...)
	if e.run.Interval != nil {
		for m := range results.WarmupIndex + 1 {
			c.all = append(c.all, results.Follow(e.sources(m)...))
		}
	}
	c.steps = newStairs(e)
	return c
}

// begin starts to look, once the clock runs.
func (c *course) begin() { c.looking.Go(c.run) }

// close ends the looking when the window closes. What is under way then is still waited for.
func (c *course) close() {
	close(c.stopped)
	c.looking.Wait()
}

// finish takes the last look, when all clients have ended.
func (c *course) finish() {
	end := c.e.until()
	c.look(min(c.e.from, end)) // it was stopped in the warm-up, or no look came at its end
	c.take(end)                // also if the window turns out to have ended before the last look
	c.steps.finish(end)
}

// run looks at each edge. Times are reckoned from the edges that should be, so that they do not drift, and read when
// they are, since a busy machine is late.
func (c *course) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		second, step := c.edge(), c.steps.edge()
		timer.Reset(min(second, step) - c.e.clock.Now())
		select {
		case <-c.stopped:
			return
		case <-timer.C:
		}
		now := c.e.clock.Now()
		if step <= now {
			c.steps.look(now)
		}
		if second <= now && now < c.e.until() {
			if now < second+punctual {
				now = second
			}
			if c.at < c.e.from { // what was recorded before and after that edge is kept apart, so it is exact
				now = min(now, c.e.from)
			}
			c.look(now)
		}
	}
}

// edge is when to look next: each second of the warm-up, at its end, and each second from there on. The end of the window
// is left to finish.
func (c *course) edge() time.Duration {
	base, limit := time.Duration(0), c.e.from
	if c.at >= c.e.from {
		base, limit = c.e.from, c.e.until()
	}
	next := base + (c.at-base)/lookEvery*lookEvery + lookEvery
	switch {
	case next < limit:
		return next
	case base == 0 && c.at < c.e.from:
		return c.e.from
	}
	return never
}

// never is later than any trial ends.
const never = time.Duration(1<<63 - 1)

// look takes in what has come since the last look, unless that was no earlier.
func (c *course) look(now time.Duration) {
	if now > c.at {
		c.take(now)
	}
}

func (c *course) take(now time.Duration) {
	from := c.at
	warmup := now <= c.e.from
	grants := c.window
	if warmup {
		grants = c.warmup
	}
	v := grants.Next()
	c.at = now
	if now-from >= lookEvery/2 {
		c.p99.Store(int64(v.Quantile(0.99)))
	}
	i := v.Interval(from, now-from)
	i.Warmup = warmup
	errors, violations := c.e.errors.total(), c.e.violations()
	i.Errors, i.Violations = errors-c.errors, violations-c.violations
	c.errors, c.violations = errors, violations
	c.add(stretch{i, v})
	if c.all != nil {
		c.e.run.Interval(Interval{from, now, warmup, func(m results.MetricIndex) results.Values {
			if warmup && m != results.WarmupIndex && m != results.ProbeIdleIndex {
				return results.Values{} // a look at the end of the warm-up may be late: that belongs to the next interval
			}
			return c.all[m].Next()
		}})
	}
}

// add appends to the series, or lengthens its last interval if that is not complete or the new one is but a rest.
func (c *course) add(s stretch) {
	if n := len(c.list); n > 0 {
		last := &c.list[n-1]
		open := last.Length+lookEvery/2 <= c.length
		if last.Warmup == s.Warmup && (open || s.Length < lookEvery/2) {
			last.join(s)
			return
		}
	}
	if s.Length > 0 {
		c.list = append(c.list, s)
	}
	if len(c.list) <= maxIntervals {
		return
	}
	c.length *= 2
	kept := c.list[:0]
	for _, s := range c.list {
		if n := len(kept); n > 0 && kept[n-1].Warmup == s.Warmup && kept[n-1].Length+s.Length <= c.length+lookEvery/2 {
			kept[n-1].join(s)
		} else {
			kept = append(kept, s)
		}
	}
	clear(c.list[len(kept):])
	c.list = kept
}

// join lengthens s by the one that follows it.
func (s *stretch) join(t stretch) {
	values := s.values.Plus(t.values)
	whole := values.Interval(s.At, s.Length+t.Length)
	whole.Warmup = s.Warmup
	whole.Errors, whole.Violations = s.Errors+t.Errors, s.Violations+t.Violations
	*s = stretch{whole, values}
}

// series is the course as a record holds it.
func (c *course) series() (list []results.Interval) {
	for _, s := range c.list {
		list = append(list, s.Interval)
	}
	return list
}

// stairs follows the first class whose rate goes in steps. A nil *stairs follows nothing.
type stairs struct {
	from     time.Duration // the window's begin
	todo     []spec.Step
	follower *results.Follower
	queue    func() int   // arrivals that wait
	left     func() int64 // those that waited when the window closed, once all clients have ended
	dropped  func() int64 // running total

	inside bool // the first of todo counts
	at     time.Duration
	drops  int64 // by then
	list   []results.Step
}

// edge is when to look next: where a step begins to count, and where it ends. The end of the last one is the window's.
func (s *stairs) edge() time.Duration {
	switch {
	case s == nil || len(s.todo) == 0:
		return never
	case !s.inside:
		return s.from + s.todo[0].From + (s.todo[0].To-s.todo[0].From)/settles
	case len(s.todo) == 1:
		return never
	}
	return s.from + s.todo[0].To
}

// look begins or ends a step.
func (s *stairs) look(now time.Duration) {
	if s.inside {
		s.end(now, s.queue())
		return
	}
	s.follower.Next()
	s.inside, s.at, s.drops = true, now, s.dropped()
}

// end takes the step down that has been under way until now.
func (s *stairs) end(now time.Duration, queue int) {
	v := s.follower.Next()
	i := v.Interval(s.at-s.from, now-s.at)
	s.list = append(s.list, results.Step{
		At: i.At, Length: i.Length, Rate: s.todo[0].Rate, Acquired: i.Acquired, P50: i.P50, P99: i.P99, Max: i.Max,
		Dropped: s.dropped() - s.drops, Queue: queue,
	})
	s.todo, s.inside = s.todo[1:], false
}

// finish ends the last step. One that was cut short before it counted is left out. How long the queue was then the queue
// itself does not know any more: clients empty it as soon as the window has closed, and serve nothing of it.
func (s *stairs) finish(end time.Duration) {
	if s != nil && s.inside && end > s.at {
		s.end(end, int(s.left()))
	}
}

// series are the steps as a record holds them.
func (s *stairs) series() []results.Step {
	if s == nil {
		return nil
	}
	return s.list
}
