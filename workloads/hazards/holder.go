// Holders that die, pause, hold for too long, let go what is not theirs, or enter again.

package hazards

import (
	"context"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 1, Name: drivers.HazardHolderDies, Tell: holderDies, Fails: []string{"rueidis setnx"},
		Sound: []string{"rueidis set-nx", "postgres advisory"},
	})
	register(Hazard{
		Number: 10, Name: drivers.HazardHolderPauses, Tell: holderPauses, Fails: []string{"rueidis set-nx"},
		Sound: []string{"rueidis setnx"},
	})
	register(Hazard{
		Number: 3, Name: drivers.HazardOverrun, Tell: overrun, Local: true, Fails: []string{"rueidis set-nx"},
		Sound: []string{"rueidislock library", "postgres advisory"},
	})
	register(Hazard{
		Number: 4, Name: drivers.HazardWrongReleaseChain, Applies: needsLease, Tell: wrongReleaseChain, Local: true,
		Fails: []string{"rueidis set-nx-del"}, Sound: []string{"rueidis set-nx"},
	})
	register(Hazard{
		Number: 9, Name: drivers.HazardUnlockAfterRefusal, Tell: unlockAfterRefusal, Local: true,
		MinTTL: longLease, // none ends meanwhile
		Fails:  []string{"rueidis set-nx-del"}, Sound: []string{"rueidis set-nx"},
	})
	register(Hazard{
		Number: 8, Name: drivers.HazardReentryNoExtend, Applies: needs(reentrant, notReentrant, needsLease),
		Tell: reentry, Local: true, Fails: []string{"rueidis reentrant-count"}, Sound: []string{"rueidis redisson"},
	})
	register(Hazard{
		Number: 32, Name: drivers.HazardReentryMiscounted, Applies: needs(reentrant, notReentrant, needsExclusive),
		Tell: reentryMiscounted, Local: true, MinTTL: longLease, // none ends meanwhile
		Sound: []string{"rueidis redisson", "rueidis reentrant-count"},
	})
}

// slack is how much longer than a lease may take that recovers: a server looks for what has expired now and then.
const slack = 2 * time.Second

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
	after := s.elapsed(died)
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

func overrun(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	renewed := !s.Has(expires) && !s.placebo
	granted := renewed && b.AcquireBy(a.Ends()+s.TTL()/10) // whose tries show that the server and the machine keep up
	s.AwaitExpiry(a)
	granted = granted || b.AcquireBy(a.Ends()+s.TTL()/2)
	s.leaveIf(!granted && s.Has(expires), safety.Stalled, "the key of A was not free after its lease")
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
	s.leaveIf(!b.AcquireBy(a.Ends()+s.TTL()/2), safety.NotExercised, "the key of A was not free after its lease")
	a.Release()
	s.Intrude(b, c)
}

func unlockAfterRefusal(s *Stage) {
	a, b, c := s.Client("A"), s.Client("B"), s.Client("C")
	a.Acquire()
	b.mustBeRefused(b.Try())
	s.Fault(s.Act(func() { b.Release() }), "B has unlocked what it does not hold")
	s.Intrude(a, c)
}

const notReentrant = "it cannot be acquired again by its holder"

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
	s.leaveIf(granted && b.Granted >= a.Sure(), safety.Stalled, "B was granted the key after the second lease")
	a.Release()
	s.FailIfBoth(a, b)
}

// reentryMiscounted lets a holder leave as often as it has entered, the innermost section first.
func reentryMiscounted(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	const times = 3
	var sections []drivers.Lease
	entered := s.Act(func() {
		for range times {
			a.Acquire()
			sections = append(sections, a.lease)
		}
	})
	s.Fault(entered*times, "A has acquired its key %d times", times)
	for left := range times - 1 {
		if !a.leaves(&sections[times-1-left]) {
			s.Fail("A has acquired its key %d times and left it %s: it was told that it did not hold it", times, format.Plural(left+1, "time"))
			return
		}
		granted, err := b.Try()
		s.StillHolds(a, "the attempt of B")
		s.leaveIf(err != nil, safety.NotExercised, "B has no answer: %v", err)
		if granted {
			s.Fail("A has acquired its key %d times and left it %s: B was granted it", times, format.Plural(left+1, "time"))
			return
		}
	}
	a.lease = sections[0]
	a.letGo()
	s.failIfTaken(a, b)
}

// leaves releases a lease of a key of which the client has others, and reports whether the lock has removed one.
func (c *Client) leaves(l *drivers.Lease) (removed bool) {
	c.add(safety.Lets, "once, and holds it still")
	ctx, cancel := context.WithTimeout(c.stage.ctx, openTimeout)
	defer cancel()
	removed, err := c.session.Release(ctx, l)
	c.stage.leaveIf(err != nil, safety.NotExercised, "%s has no answer to its release: %v", c.name, err)
	kind := safety.Released
	if !removed {
		kind = safety.NotThere
	}
	c.add(kind, "")
	return removed
}
