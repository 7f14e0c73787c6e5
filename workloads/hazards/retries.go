package hazards

import (
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 22, Name: drivers.HazardClientRetries,
		Applies: needsExclusive,
		Tell:    clientRetries,
		Server:  true,
		Drivers: []string{"go-redis"},
		MinTTL:  longLease,
		Fails:   []string{"go-redis set-nx-del", "go-redis redisson"},
		Sound:   []string{"go-redis set-nx"},
	})
}

// clientRetries loses the reply to a release, and the next time that to an acquisition, which the library of the client sends
// again.
func clientRetries(s *Stage) {
	const retries = 3 // go-redis's default
	a := s.ClientWith("A", func(cfg *drivers.Config) { cfg.Retries = retries })
	const acts = 2
	if s.outcome.Gaps = acts; s.number%acts == 0 {
		s.releaseAgain(a)
	} else {
		s.acquireAgain(a)
	}
}

// releaseAgain lets the second release come when the next client holds the key.
func (s *Stage) releaseAgain(a *Client) {
	b, c := s.Client("B"), s.Client("C")
	_, requests := a.Rehearse()
	a.Acquire()
	reply := a.BreakReply(requests)
	answer := later(a.Release)
	s.Hit(reply, answer)
	lost := s.Now()
	if !b.AcquireBy(s.Now() + slack) {
		s.leave(safety.NotExercised, "the key was not free after the release of A")
	}
	reply.Cut()
	_, _ = answer()
	s.FaultSince(lost, reply.Held(), "the reply to the release of A, %d bytes, was lost: its library sent the request again", reply.Held())
	s.Intrude(b, c)
}

// acquireAgain lets a client acquire what it holds already, without knowing. One that is told that it does not hold the key has to
// wait for the end of its own lease, and that is no more than a lost reply costs.
func (s *Stage) acquireAgain(a *Client) {
	b := s.Client("B")
	requests, _ := a.Rehearse()
	reply := a.BreakReply(requests)
	answer := later(a.Try)
	s.Hit(reply, answer)
	lost := s.Now()
	reply.Cut()
	held, _ := answer()
	s.FaultSince(lost, reply.Held(), "the reply to the acquisition of A, %d bytes, was lost: its library sent the request again", reply.Held())
	if !held {
		return
	}
	a.Release()
	if !b.AcquireBy(min(s.Now()+slack, a.Sure())) {
		s.Fail("A was granted the key twice and has let it go once: it is not free")
	}
}
