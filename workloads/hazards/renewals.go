package hazards

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 28, Name: drivers.HazardRenewalReacquires,
		Applies: needsRenewer,
		Tell:    renewalReacquires,
		Fails:   []string{"redsync set-nx-on-extend"},
		Sound:   []string{"rueidis set-nx", "redsync library"},
	})
}

// renewalReacquires lets a renewal come too late, the next time when the lease still lasts, and then not at all.
func renewalReacquires(s *Stage) {
	acts := []func(*Stage){renewsLate, renewsInTime, renewsInVain}
	if s.server == nil {
		acts = acts[:2] // no connection can break
	}
	s.outcome.Gaps = len(acts)
	acts[s.number%len(acts)](s)
}

func renewsLate(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	s.Outlast(a)
	if !b.AcquireBy(a.Ends() + s.TTL() + slack) {
		s.leave(safety.NotExercised, "the key of A was not free after its lease")
	}
	b.Release()
	held, err := a.Renew()
	if err != nil {
		s.leave(safety.NotExercised, "A has no answer to its renewal: %v", err)
	}
	if held {
		s.Fail("A was told that it still holds the key, which B has had meanwhile")
	}
}

func renewsInTime(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	first := a.Ends()
	renewed := s.Act(func() {
		s.Until(a.Granted + s.TTL()*6/10)
		held, err := a.Renew()
		s.Before(first, "the renewal")
		if !held {
			s.leave(safety.NotExercised, "A has not renewed its lease: %v", err)
		}
	})
	s.Fault(renewed, "A renewed its lease when %v of it were left", (first - a.Granted).Round(time.Millisecond))
	granted := b.AcquireBy(min(first+s.TTL()/10, a.Sure()))
	if granted && b.Granted >= a.Sure() {
		s.leave(safety.Stalled, "B was granted the key after the renewed lease")
	}
	a.Release()
	s.FailIfBoth(a, b)
}

func renewsInVain(s *Stage) {
	a := s.Client("A")
	a.Acquire()
	links := a.Network().Outage()
	s.Fault(links, "nothing of A reaches a server")
	if held, _ := a.Renew(); held {
		s.Fail("A was told that it still holds the key, and no answer has reached it")
	}
}
