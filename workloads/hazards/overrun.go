package hazards

import (
	"time"

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
	granted := b.AcquireBy(a.Ends() + s.TTL()/2)
	s.Until(a.Ends() + s.TTL()/10)
	s.Fault(int64(s.Now()-a.Ends()), "A has held on for %v, and its lease was %v", (s.Now() - a.Granted).Round(time.Millisecond), s.TTL())
	a.Release()
	if granted {
		b.Release()
	}
	s.FailIfBoth(a, b)
}

func wrongReleaseChain(s *Stage) {
	a, b, c := s.Client("A"), s.Client("B"), s.Client("C")
	a.Acquire()
	if !b.AcquireBy(a.Ends() + s.TTL()/2) {
		s.leave(safety.NotExercised, "the key of A was not free after its lease")
	}
	s.Fault(int64(b.Granted-a.Granted), "A outlived its lease, and lets go now that B holds the key")
	a.Release()
	s.Intrude(b, c)
}
