package hazards

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 2, Name: drivers.HazardCrashBeforeExpire,
		Applies: needsExclusive,
		Tell:    crashBeforeExpire,
		Server:  true,
		Fails:   []string{"rueidis setnx-expire"},
	})
	register(Hazard{
		Number: 5, Name: drivers.HazardGetDelGap,
		Applies: needsLease,
		Tell:    getDelGap,
		Stories: []drivers.Hazard{drivers.HazardWrongReleaseChain}, // whose only request comes late
		Server:  true,
		Fails:   []string{"rueidis set-nx-get-del"},
		Sound:   []string{"rueidis set-nx"},
	})
}

func crashBeforeExpire(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	requests, _ := a.Rehearse()
	if requests < 2 {
		s.leave(safety.NotApplicable, "its acquisition is one request")
	}
	last := a.Break(requests)
	answer := later(a.Try)
	s.Hit(last, answer)
	s.Fault(last.Held(), "request %d of %d, %d bytes, was not sent", requests, requests, last.Held())
	a.Network().Outage()
	_, _ = answer()
	a.Die()
	died := s.Now()
	if b.AcquireBy(died + 2*s.TTL() + slack) {
		s.Recovered(b.Granted - died)
		return
	}
	s.Never("the key was not free after %v", (s.Now() - died).Round(time.Millisecond))
}

func getDelGap(s *Stage) {
	a, b, c := s.Client("A"), s.Client("B"), s.Client("C")
	_, requests := a.Rehearse()
	a.Acquire()
	last := a.Break(requests)
	answer := later(a.Release)
	s.Hit(last, answer)
	s.Fault(last.Held(), "the last request of A's release, %d bytes, is held back", last.Held())
	if !b.AcquireBy(a.Ends() + s.TTL() + slack) {
		s.leave(safety.NotExercised, "the key was not free after the lease of A")
	}
	last.Go()
	_, _ = answer()
	s.Intrude(b, c)
}
