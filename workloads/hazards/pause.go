package hazards

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 10, Name: drivers.HazardHolderPauses,
		Applies: needsExclusive,
		Tell:    holderPauses,
		Server:  true,
		Fails:   []string{"rueidis set-nx"},
		Sound:   []string{"rueidis setnx"},
	})
}

func holderPauses(s *Stage) {
	a, b := s.Process("A"), s.Client("B")
	a.Acquire()
	a.Work()
	a.Stop()
	granted := b.AcquireBy(s.Now() + 2*s.TTL() + slack)
	if granted {
		s.Until(b.Granted + s.TTL()/10) // B works
	}
	pause := a.Continue()
	s.FaultSince(s.history.clock.Reading(pause.Stopped), int64(pause.Length()),
		"the process of A was stopped (state %s) for %v, its watchdog and all; by its own clock it did not run for %v",
		pause.State, pause.Length().Round(time.Millisecond), pause.Gap.Round(time.Millisecond))
	if !granted {
		a.Release()
		return
	}
	s.Before(b.Sure(), "the end of the pause")
	select {
	case <-a.process.lost:
	case <-time.After(min(s.TTL(), b.Sure()-s.Now()) / 2):
	}
	a.Release()
	b.Release()
	n := a.process.writesAfter(s.history.clock.Time(b.Granted))
	if n == 0 { // who worked when it was stopped goes on with it
		s.leave(safety.Stalled, "A has not written since B was granted the key: it had lost its lease before it was stopped, or has not run since")
	}
	s.Fail("A wrote %s after B was granted the key", format.Plural(n, "time"))
}
