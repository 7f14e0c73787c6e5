package hazards

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

// slack is how much longer than a lease may take that recovers: a server looks for what has expired now and then.
const slack = 2 * time.Second

func init() {
	register(Hazard{
		Number: 1, Name: drivers.HazardHolderDies,
		Applies: needsExclusive,
		Tell:    holderDies,
		Server:  true,
		Fails:   []string{"rueidis setnx"},
		Sound:   []string{"rueidis set-nx", "postgres advisory"},
	})
}

func holderDies(s *Stage) {
	a, b := s.Process("A"), s.Client("B")
	a.Acquire()
	status := a.Kill()
	s.Fault(int64(len(status)), "the process of A has ended: %s", status)
	died := s.Now()
	if b.AcquireBy(died + 2*s.TTL() + slack) {
		s.Recovered(b.Granted - died)
		return
	}
	rest, told := b.Remaining()
	held, err := b.Try() // which was not asked early and answered late
	after := (s.Now() - died).Round(time.Millisecond)
	switch {
	case held:
		s.Recovered(b.Granted - died)
	case told && rest < 0:
		s.Never("the key of the dead holder never comes free: it has no end")
	case told && rest > s.TTL():
		s.Fail("the key of the dead holder has %v left, %v after its death: its lease was %v", rest.Round(time.Millisecond), after, s.TTL())
	case err != nil || b.unheard > 0:
		s.leave(safety.NotExercised, "B had no answer, and may have the key: %v", err)
	default:
		s.Never("the key of the dead holder was not free after %v", after)
	}
}
