package hazards

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

// longLease is one that no fault of a server outlasts.
const longLease = 30 * time.Second

func init() {
	register(Hazard{
		Number: 14, Name: drivers.HazardRestartEmpty,
		Applies: needsExclusive,
		Tell:    serverFails,
		Server:  true,
		Strike:  restart,
		MinTTL:  longLease,
		Fails:   []string{"rueidis set-nx"},
		Sound:   []string{"etcd lease", "mysql unique-row"},
	})
	register(Hazard{
		Number: 15, Name: drivers.HazardEviction,
		Applies:  needsExclusive,
		Tell:     serverFails,
		Server:   true,
		Services: []string{"redis"},
		Lone:     true,
		Strike:   evict,
		MinTTL:   longLease,
		Fails:    []string{"rueidis set-nx"},
	})
	register(Hazard{
		Number: 16, Name: drivers.HazardServerClock,
		Applies:  needsLease,
		Tell:     serverFails,
		Server:   true,
		Services: []string{"redis"},
		Kind:     HasClock,
		Fresh:    true,
		Strike:   jump,
		MinTTL:   longLease,
		Fails:    []string{"rueidis set-nx"},
	})
}

// restart restarts a server; of a Quorum the first one.
func restart(ctx context.Context, server Server, _ []string) (evidence string, err error) {
	if q, ok := server.(Quorum); ok {
		server = q.Nodes()[0]
	}
	before := server.PID()
	if err := server.Kill(); err != nil {
		return "", err
	}
	if err := server.Restart(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("the server's process %d was killed, and %d answers at its address", before, server.PID()), nil
}

func evict(ctx context.Context, server Server, keys []string) (evidence string, err error) {
	n, err := server.(Evicter).Evict(ctx, "allkeys-random", keys...)
	if err == nil && n == 0 {
		err = errors.New("no key was evicted")
	}
	return fmt.Sprintf("the server was short of memory and evicted %d keys", n), err
}

func jump(ctx context.Context, server Server, _ []string) (evidence string, err error) {
	const by = 2 * longLease
	if err := server.(Clocked).SetClock(ctx, by); err != nil {
		return "", err
	}
	return fmt.Sprintf("the server's clock has jumped ahead by %v", by), nil
}

// serverFails is the story of a fault of the server while a key is held.
func serverFails(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	s.Strike()
	const patience = 300 * time.Millisecond // of a client that has an answer
	if !b.AnswerBy(a.Sure()) {
		s.leave(safety.NotExercised, "the server does not answer B")
	}
	b.AcquireWhile(a, patience)
	a.Release()
	s.FailIfBoth(a, b)
}
