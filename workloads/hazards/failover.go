package hazards

import (
	"context"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 12, Name: drivers.HazardFailover,
		Applies:  needsExclusive,
		Tell:     failOver,
		Server:   true,
		Services: []string{"redis"},
		Kind:     IsPair,
		Fresh:    true,
		Prepare:  holdLink,
		Strike:   promote,
		MinTTL:   longLease,
		Fails:    []string{"rueidis set-nx"},
	})
	register(Hazard{
		Number: 26, Name: drivers.HazardFenceFailover,
		Applies:  needsFence,
		Tell:     fenceFailOver,
		Server:   true,
		Services: []string{"redis"},
		Kind:     IsPair,
		Fresh:    true,
		Prepare:  holdLink,
		Strike:   promote,
		MinTTL:   longLease,
		Fails:    []string{"rueidis fenced"},
	})
}

func holdLink(ctx context.Context, s Server) error { return s.(Pair).HoldLink(ctx) }

func promote(ctx context.Context, s Server, _ []string) (evidence string, err error) {
	return s.(Pair).FailOver(ctx)
}

func failOver(s *Stage) {
	a := s.Client("A")
	a.Acquire()
	s.Strike()
	b := s.Client("B")
	const patience = 300 * time.Millisecond
	if b.AcquireWhile(a, patience) {
		b.Release()
	}
	s.FailIfBoth(a, b)
}

func fenceFailOver(s *Stage) {
	a := s.Client("A")
	a.Acquire()
	s.Strike()
	b := s.Client("B")
	if !b.AcquireBy(a.Sure()) {
		s.leave(safety.NotExercised, "B was not granted the key")
	}
	if a.lease.Fence >= b.lease.Fence {
		s.Fail("B has the fencing token %d, and A had %d before", b.lease.Fence, a.lease.Fence)
	}
}
