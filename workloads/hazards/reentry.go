package hazards

import (
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 8, Name: drivers.HazardReentryNoExtend,
		Applies: needsReentry,
		Tell:    reentry,
		Fails:   []string{"rueidis reentrant-count"},
		Sound:   []string{"rueidis redisson"},
	})
}

func reentry(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	first := a.Ends()
	again := s.Act(func() {
		s.Until(a.Granted + s.TTL()*6/10)
		a.Acquire()
		s.Before(first, "the second acquisition")
	})
	s.Fault(again, "A acquired its key again when %v of its lease were left", first-a.Granted)
	granted := b.AcquireBy(min(first+s.TTL()/10, a.Sure()))
	if granted && b.Granted >= a.Sure() {
		s.leave(safety.Stalled, "B was granted the key after the second lease")
	}
	a.Release()
	s.FailIfBoth(a, b)
}
