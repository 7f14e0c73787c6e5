package hazards

import (
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 3, Name: drivers.HazardOverrun,
		Applies: needsExclusive,
		Tell:    overrun,
		Fails:   []string{"rueidis set-nx"},
		Sound:   []string{"rueidislock library", "postgres advisory"},
	})
	register(Hazard{
		Number: 4, Name: drivers.HazardWrongReleaseChain,
		Applies: needsLease,
		Tell:    wrongReleaseChain,
		Fails:   []string{"rueidis set-nx-del"},
		Sound:   []string{"rueidis set-nx"},
	})
}

func overrun(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	renewed := !s.Has(expires) && !s.placebo
	granted := renewed && b.AcquireBy(a.Ends()+s.TTL()/10) // whose tries show that the server and the machine keep up
	s.AwaitExpiry(a)
	granted = granted || b.AcquireBy(a.Ends()+s.TTL()/2)
	if !granted && s.Has(expires) {
		s.leave(safety.Stalled, "the key of A was not free after its lease")
	}
	a.Release()
	if granted {
		b.Release()
	}
	s.FailIfBoth(a, b)
}

func wrongReleaseChain(s *Stage) {
	a, b, c := s.Client("A"), s.Client("B"), s.Client("C")
	a.Acquire()
	s.AwaitExpiry(a)
	if !b.AcquireBy(a.Ends() + s.TTL()/2) {
		s.leave(safety.NotExercised, "the key of A was not free after its lease")
	}
	a.Release()
	s.Intrude(b, c)
}
