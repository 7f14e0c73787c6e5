package hazards

import (
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 9, Name: drivers.HazardUnlockAfterRefusal,
		Applies: needsExclusive,
		Tell:    unlockAfterRefusal,
		MinTTL:  longLease, // none ends meanwhile
		Fails:   []string{"rueidis set-nx-del"},
		Sound:   []string{"rueidis set-nx"},
	})
}

func unlockAfterRefusal(s *Stage) {
	a, b, c := s.Client("A"), s.Client("B"), s.Client("C")
	a.Acquire()
	if held, err := b.Try(); held || err != nil {
		s.leave(safety.NotExercised, "B was not refused: %v, %v", held, err)
	}
	s.Fault(s.Act(func() { b.Release() }), "B has unlocked what it does not hold")
	s.Intrude(a, c)
}
