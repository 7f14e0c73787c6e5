package hazards

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

// longLease is longer than any fault of a server.
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
		Tell:     keyEvicted,
		Server:   true,
		Services: []string{"redis"},
		Lone:     true,
		Strike:   evict,
		MinTTL:   longLease,
		Fails:    []string{"rueidis set-nx"},
	})
	register(Hazard{
		Number: 16, Name: drivers.HazardServerClock,
		Applies:  needsEnd,
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

// evict evicts all keys of the locks, whatever else is in their names. The evidence is that they are gone, and not that some key is.
func evict(ctx context.Context, server Server, locks []string) (evidence string, err error) {
	e := server.(Evicter)
	var keys []string
	for _, lock := range locks {
		of, err := e.KeysWith(ctx, lock)
		if err != nil {
			return "", err
		}
		keys = append(keys, of...)
	}
	if _, err := e.Evict(ctx, "allkeys-random", keys...); err != nil {
		return "", err
	}
	for _, lock := range locks {
		switch left, err := e.KeysWith(ctx, lock); {
		case err != nil:
			return "", err
		case len(left) > 0:
			return "", fmt.Errorf("the key %s was not evicted", left[0])
		}
	}
	return "the server was short of memory and evicted the keys: " + format.Few(keys, 3), nil
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
	s.failsUnder(a, b)
}

// keyEvicted is that story for a fault that is known by the keys of the lock.
func keyEvicted(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	if len(ask(s, func(ctx context.Context) ([]string, error) { return s.server.(Evicter).KeysWith(ctx, s.key) })) == 0 {
		s.leave(safety.NotExercised, "the server has no key with the name of the lock")
	}
	s.failsUnder(a, b)
}

// failsUnder lets the fault of the server strike while A has the key.
func (s *Stage) failsUnder(a, b *Client) {
	s.Strike()
	const patience = 300 * time.Millisecond // of a client that has an answer
	if !b.AnswerBy(a.Sure()) {
		s.leave(safety.NotExercised, "the server does not answer B")
	}
	b.AcquireWhile(a, patience)
	a.Release()
	s.FailIfBoth(a, b)
}
