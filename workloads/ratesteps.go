// The steps of a rate that goes in steps, each with its own throughput and latency.

package workloads

import (
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// settlingPart is the part of a step that is left out, a tenth: the system is still settling after the step before.
const settlingPart = 10

// rateSteps measures the steps of the first class whose rate goes in steps. A nil *rateSteps measures nothing.
type rateSteps struct {
	from     time.Duration // start of the window
	todo     []spec.Step
	follower *results.Follower
	queue    func() int   // arrivals that wait for a client
	left     func() int64 // arrivals that waited when the window closed; valid once all clients have ended
	dropped  func() int64 // running total

	inside bool          // the first of todo is being measured,
	at     time.Duration // since then,
	drops  int64         // and so many arrivals had been dropped by then
	list   []results.Step
}

// newRateSteps returns nil if no class has a rate that goes in steps.
func newRateSteps(e *engine) *rateSteps {
	p := &e.run.Plan
	for i, cl := range e.classes {
		if todo := cl.Rate.Steps(p.Duration, seed(p, streamArrivals+i)); len(todo) > 0 {
			return &rateSteps{
				from: p.Warmup, todo: todo, follower: results.Follow(cl.grants()),
				queue: cl.queue.Len, left: cl.arrivals.left.Load, dropped: cl.arrivals.refused.Load,
			}
		}
	}
	return nil
}

// next returns when the next step begins to count, or the present one ends. The last one ends with the window.
func (s *rateSteps) next() time.Duration {
	switch {
	case s == nil || len(s.todo) == 0:
		return never
	case !s.inside:
		return s.from + s.todo[0].From + (s.todo[0].To-s.todo[0].From)/settlingPart
	case len(s.todo) == 1:
		return never
	}
	return s.from + s.todo[0].To
}

// advance begins or ends a step.
func (s *rateSteps) advance(now time.Duration) {
	if s.inside {
		s.end(now, s.queue())
		return
	}
	s.follower.Next()
	s.inside, s.at, s.drops = true, now, s.dropped()
}

// end adds the step that ends now to the list.
func (s *rateSteps) end(now time.Duration, queue int) {
	v := s.follower.Next()
	i := v.Interval(s.at-s.from, now-s.at)
	s.list = append(s.list, results.Step{
		At: i.At, Length: i.Length, Rate: s.todo[0].Rate, Acquired: i.Acquired, P50: i.P50, P99: i.P99, Max: i.Max,
		Dropped: s.dropped() - s.drops, Queue: queue,
	})
	s.todo, s.inside = s.todo[1:], false
}

// finish ends the last step. It leaves out a step that was cut short before it counted. The queue itself is empty by now:
// clients drain it when the window closes, and do not serve what they take.
func (s *rateSteps) finish(end time.Duration) {
	if s != nil && s.inside && end > s.at {
		s.end(end, int(s.left()))
	}
}

// series returns the steps for the record.
func (s *rateSteps) series() []results.Step {
	if s == nil {
		return nil
	}
	return s.list
}
