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
		Strike:   failsOver(FailOver{}),
		MinTTL:   longLease,
		Fails:    []string{"rueidis set-nx"},
		Sound:    []string{"rueidis@replicated set-nx"}, // the replica that has acknowledged it becomes the primary
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
		Strike:   failsOver(FailOver{}),
		MinTTL:   longLease,
		Fails:    []string{"rueidis fenced"},
		Sound:    []string{"rueidis@replicated fenced"},
	})
}

func holdLink(ctx context.Context, s Server) error { return s.(Replicated).HoldLink(ctx) }

// failsOver returns a Strike.
func failsOver(f FailOver) func(context.Context, Server, []string) (evidence string, err error) {
	return func(ctx context.Context, s Server, _ []string) (string, error) {
		return s.(Replicated).FailOver(ctx, f)
	}
}

func failOver(s *Stage) {
	a := s.Client("A")
	a.Acquire()
	s.Strike()
	b := s.Client("B")
	if !b.AnswerBy(a.Sure()) {
		s.leave(safety.NotExercised, "the new primary grants B no other key")
	}
	const patience = 300 * time.Millisecond
	if b.AcquireWhile(a, patience) {
		b.Release()
	}
	s.FailIfBoth(a, b)
}

// fenceFailOver lets two clients have the key; every grant is checked for its fencing token.
func fenceFailOver(s *Stage) {
	a := s.Client("A")
	a.Acquire()
	a.Release()
	s.Strike()
	b := s.Client("B")
	if !b.AcquireBy(a.Sure()) {
		s.leave(safety.NotExercised, "B was not granted the key")
	}
}
