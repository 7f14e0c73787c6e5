package hazards

// Locks that count only when a replica has acknowledged them: the topology replicated, after Redisson's way of using WAIT.

import (
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 13, Name: drivers.HazardWaitOne,
		Applies:   needsExclusive,
		Tell:      failOver,
		Server:    true,
		Services:  []string{"redis"},
		Kind:      IsReplicated,
		Fresh:     true,
		Acked:     true,
		OnlyAcked: true,
		Prepare:   holdLink,
		Strike:    failsOver(FailOver{Behind: true}),
		MinTTL:    longLease,
		Fails:     []string{"rueidis set-nx"}, // it survives hazard 12 on such servers, where the other replica is promoted
	})
	register(Hazard{
		Number: 30, Name: drivers.HazardWaitForever,
		Applies:  needsExclusive,
		Tell:     waitForever,
		Server:   true,
		Services: []string{"redis"},
		Kind:     IsReplicated,
		Fresh:    true,
		Acked:    true,
		Strike:   failsOver(FailOver{Alone: true}),
		Fails:    []string{"rueidis set-nx"},
		Sound:    []string{"rueidis fair"}, // which no replica has to acknowledge
	})
}

// waitForever needs a client that lives through the fail-over: a lock that needs more replicas than there are cannot be opened.
// See redisson/redisson#4706.
func waitForever(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	a.Release()
	s.Strike()
	if err := b.Network().Lead(s.server); err != nil {
		s.leave(safety.NotExercised, "B does not find the new primary: %v", err)
	}
	since := s.Now()
	held, err := b.Try()
	unacked := func() bool { return drivers.ClassOf(err) == drivers.ClassUnacked }
	for !held && !unacked() && s.Now() < since+slack { // B's connection was to the old one
		s.Until(s.Now() + tryEvery)
		held, err = b.Try()
	}
	switch {
	case held:
		s.Recovered(b.Granted - since)
		b.Release()
	case unacked():
		s.refusedForever(err)
	default:
		s.leave(safety.NotExercised, "the new primary does not grant B the key, though a replica is not what it lacks: %v", err)
	}
}

// refusedForever fails the attempt if the primary has no replica that could acknowledge anything: none comes by itself.
func (s *Stage) refusedForever(why error) {
	switch n, err := s.server.(Replicated).Followers(s.ctx); {
	case err != nil:
		s.leave(safety.NotExercised, "the new primary does not tell how many replicas it has: %v", err)
	case n > 0:
		s.leave(safety.NotExercised, "the new primary has %d replicas", n)
	}
	s.Never("the key that nobody holds is refused as long as the new primary has no replica: %v", why)
}
