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
	switch {
	case told && rest < 0:
		s.Never("the key of the dead holder never comes free: it has no end")
	case told && rest > s.TTL():
		s.Fail("the key of the dead holder has %v left, %v after its death: its lease was %v",
			rest.Round(time.Millisecond), (s.Now() - died).Round(time.Millisecond), s.TTL())
	case told:
		s.leave(safety.NotExercised, "the key has %v left, after %v", rest, s.Now()-died)
	default:
		s.Never("the key of the dead holder was not free after %v", (s.Now() - died).Round(time.Millisecond))
	}
}
