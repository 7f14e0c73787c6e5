package hazards

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
)

func init() {
	register(Hazard{
		Number: 24, Name: drivers.HazardSessionLost,
		Applies: needsSession,
		Tell:    sessionLost,
		Server:  true,
	})
	register(Hazard{
		Number: 25, Name: drivers.HazardConnectionCut,
		Applies: needsExclusive,
		Tell:    connectionCut,
		Server:  true,
		Fails:   []string{"mysql get-lock", "postgres advisory"},
		Sound:   []string{"rueidis set-nx", "mysql unique-row"},
	})
	register(Hazard{
		Number: 27, Name: drivers.HazardHalfOpen,
		Applies: needsExclusive,
		Tell:    halfOpen,
		Server:  true,
		Fails:   []string{"mysql get-lock", "postgres advisory"},
		Sound:   []string{"rueidis set-nx"},
	})
}

func halfOpen(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	open := a.Vanish()
	gone := s.Now()
	s.Fault(open, "A is gone, and its %d connections to the server stay open", open)
	if b.AcquireBy(gone + 3*s.TTL() + slack) {
		s.Recovered(b.Granted - gone)
		return
	}
	s.Never("the key was not free %v after its holder was gone", (s.Now() - gone).Round(time.Millisecond))
}

func sessionLost(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	links := a.Network().Hold()
	s.Fault(links, "nothing of A reaches the server")
	held := s.Now()
	granted := b.AcquireBy(held + 3*s.TTL() + slack)
	a.Network().Resume()
	a.Release()
	if granted {
		s.Recovered(b.Granted - held)
		b.Release()
	}
	s.FailIfBoth(a, b)
}

func connectionCut(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	cut := a.Network().Cut()
	s.Fault(cut, "the %d connections of A were cut, and A may connect again", cut)
	moment := s.Now() + s.TTL()/2
	if s.Has(expires) {
		moment = a.Asked + s.TTL()*8/10
	}
	cutAt := s.Now()
	if b.AcquireBy(moment) {
		s.StillHolds(a, "the attempt of B")
	} else {
		s.endIfStalled(cutAt, (moment-cutAt)/2, "that B is refused")
	}
	a.Release()
	s.FailIfBoth(a, b)
}
