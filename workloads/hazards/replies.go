package hazards

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 20, Name: drivers.HazardAcquireReplyLost,
		Applies: needsExclusive,
		Tell:    acquireReplyLost,
		Server:  true,
		Fails:   []string{"rueidis setnx"},
		Sound:   []string{"rueidis set-nx"},
	})
}

func acquireReplyLost(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	requests, _ := a.Rehearse()
	s.outcome.Gaps = requests
	lost := 1 + s.number%max(1, requests)
	reply := a.BreakReply(lost)
	answer := later(a.Try)
	s.Hit(reply, answer)
	heard := a.heard()
	reply.Cut()
	if !s.Has(ofSession) { // one of a session does not end with its connection, but with a longer outage
		a.network.Outage() // the client cannot ask again
	}
	since := s.Now()
	held, err := answer()
	a.network.Resume()
	s.FaultSince(since, reply.Held(), "the reply to request %d of %d of A, %d bytes, was lost with its connection", lost, requests, reply.Held())
	switch {
	case err == nil && a.heard() == heard:
		s.Fail("A was told whether it holds the key (%v), and no answer has reached it", held)
		return
	case err == nil: // its library has asked again
		s.leave(safety.NotExercised, "A has heard an answer: %v", held)
	}
	if b.AcquireBy(since + 2*s.TTL() + slack) {
		s.Recovered(b.Granted - since)
		return
	}
	s.Never("the key that nobody holds was not free after %v", (s.Now() - since).Round(time.Millisecond))
}
