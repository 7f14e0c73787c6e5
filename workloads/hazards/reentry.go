package hazards

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
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
	register(Hazard{
		Number: 32, Name: drivers.HazardReentryMiscounted,
		Applies: needsNesting,
		Tell:    reentryMiscounted,
		MinTTL:  longLease, // none ends meanwhile
		Sound:   []string{"rueidis redisson", "rueidis reentrant-count"},
	})
}

func needsNesting(t drivers.Traits) string {
	if !t.Reentrant {
		return "it cannot be acquired again by its holder"
	}
	return needsExclusive(t)
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
		if err != nil {
			s.leave(safety.NotExercised, "B has no answer: %v", err)
		}
		if granted {
			s.Fail("A has acquired its key %d times and left it %s: B was granted it", times, format.Plural(left+1, "time"))
			return
		}
	}
	a.lease = sections[0]
	if _, err := a.Release(); err != nil {
		s.leave(safety.NotExercised, "A has no answer to its release: %v", err)
	}
	s.failIfTaken(a, b)
}

// leaves releases a lease of a key of which the client has others, and reports whether the lock has removed one.
func (c *Client) leaves(l *drivers.Lease) (removed bool) {
	c.add(safety.Lets, "once, and holds it still")
	ctx, cancel := context.WithTimeout(c.stage.ctx, openTimeout)
	defer cancel()
	removed, err := c.session.Release(ctx, l)
	if err != nil {
		c.stage.leave(safety.NotExercised, "%s has no answer to its release: %v", c.name, err)
	}
	kind := safety.Released
	if !removed {
		kind = safety.NotThere
	}
	c.add(kind, "")
	return removed
}
