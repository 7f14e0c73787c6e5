// Renewals that go on for too long, come too late, or do not renew.

package hazards

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 11, Name: drivers.HazardOrphanWatchdog, Applies: needsRenewal, Tell: orphanWatchdog,
		Fails: []string{"rueidis set-nx"}, Sound: []string{"postgres advisory"},
	})
	register(Hazard{
		Number: 28, Name: drivers.HazardRenewalReacquires, Applies: needsRenewer, Tell: renewalReacquires,
		Local: true, Fails: []string{"redsync set-nx-on-extend"},
		Sound: []string{"rueidis set-nx", "redsync library"},
	})
	register(Hazard{
		Number: 33, Name: drivers.HazardLongHold, Applies: needsRenewal, Tell: longHold, Local: true,
		MinTTL: time.Second, // a watchdog that is a third of it late is not too late
		Sound:  []string{"rueidis set-nx", "postgres advisory"},
	})
}

func orphanWatchdog(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	s.Fault(a.LoseRelease(), "the release of A was lost with its connection")
	failed := s.Now()
	renewals := a.Watch()
	if b.AcquireBy(failed + 2*s.TTL() + slack) {
		s.leaveIf(a.renews.Load(), safety.Stalled, "the lease of A was over before its renewal")
		s.Recovered(b.Granted - failed)
		return
	}
	s.Never("the key that A has let go was not free after %v, with %s by A, whose client lives on",
		s.elapsed(failed), format.Plural(renewals(), "renewal"))
}

// renewalReacquires lets a renewal come too late, the next time when the lease still lasts, then while another client holds the
// key, and then not at all.
func renewalReacquires(s *Stage) {
	acts := []func(*Stage){renewsLate, renewsInTime, renewsBesideNext, renewsInVain}
	if s.server == nil {
		acts = acts[:3] // no connection can break
	}
	s.outcome.Gaps = len(acts)
	acts[s.number%len(acts)](s)
}

func renewsLate(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	s.AwaitExpiry(a)
	b.acquireAfter(a)
	b.Release()
	if a.toldOfRenewal() {
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
		s.leaveIf(!held, safety.NotExercised, "A has not renewed its lease: %v", err)
	})
	s.Fault(renewed, "A renewed its lease when %v of it were left", (first - a.Granted).Round(time.Millisecond))
	granted := b.AcquireBy(min(first+s.TTL()/10, a.Sure()))
	s.leaveIf(granted && b.Granted >= a.Sure(), safety.Stalled, "B was granted the key after the renewed lease")
	a.Release()
	s.FailIfBoth(a, b)
}

func renewsBesideNext(s *Stage) {
	a, b, c := s.Client("A"), s.Client("B"), s.Client("C")
	a.Acquire()
	s.AwaitExpiry(a)
	b.acquireAfter(a)
	s.Until(b.Granted + s.TTL()*6/10)
	told := a.toldOfRenewal()
	taken, err := c.Try()
	s.Before(b.Sure(), "the renewal of A and the attempt of C")
	switch {
	case told:
		s.Fail("A was told that it still holds the key, which B holds")
	case err != nil:
		s.leave(safety.NotExercised, "C has no answer: %v", err)
	case taken:
		b.Release()
		c.Release()
		s.FailIfBoth(b, c)
	default:
		s.failIfExtended(b, c, "the renewal of A")
	}
}

// failIfExtended fails the attempt if the next client is refused the key after the lease of its holder, which has not renewed it.
// If what extends a lease does so when more than half of it is over, the key is not free for another half.
func (s *Stage) failIfExtended(holder, next *Client, what string) {
	free := next.AcquireBy(holder.Ends() + s.TTL()*3/10)
	switch {
	case next.unheard > 0:
		s.leave(safety.NotExercised, "%s has no answer", next.name)
	case free && next.Granted > holder.Ends()+s.TTL()/2, !free && next.Asked < holder.Ends()+s.TTL()/10:
		s.leave(safety.Stalled, "%s did not ask in time whether the lease of %s was over", next.name, holder.name)
	case !free:
		s.Fail("%s has extended the lease of %s: %s was refused the key %s after its end", what, holder.name, next.name, format.Duration(next.Asked-holder.Ends()))
	}
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

// longHold keeps a key for three leases, with lockbench's watchdog or that of the library, and looks whether anything of it is left
// after the release.
func longHold(s *Stage) {
	a, b, c := s.Client("A"), s.Client("B"), s.Client("C")
	a.Acquire()
	const leases = 3
	granted := false
	var renewals int64
	held := s.Act(func() {
		answered := a.Watch()
		granted = s.tries(b, a.Granted+leases*s.TTL())
		renewals = answered()
		a.unwatch()
	})
	if sure := time.Duration(a.kept.Load()) + s.TTL(); granted && s.Has(expires) && b.Granted >= sure {
		s.leave(safety.Stalled, "the lease of A was over before its renewal")
	}
	s.Fault(held, "A has held the key for %s, with %s", format.Duration(s.Now()-a.Granted), format.Plural(renewals, "renewal"))
	if granted {
		a.Release()
		b.Release()
		s.FailIfBoth(a, b)
		return
	}
	a.letGo()
	s.failIfKeptAlive(b, c)
}

// tries lets a client try until a moment has come, and reports whether it was granted the key.
func (s *Stage) tries(c *Client, moment time.Duration) (granted bool) {
	for !granted && s.Now() < moment {
		s.Watches(nil, min(moment, s.Now()+s.TTL()/10))
		granted, _ = c.Try()
	}
	return granted
}

// failIfKeptAlive fails the attempt if the watchdog of a holder that has let the key go keeps it, takes it back, or renews the lease of
// the next holder, which has no watchdog.
func (s *Stage) failIfKeptAlive(next, last *Client) {
	since := s.Now()
	if !next.AcquireBy(since + 2*s.TTL() + slack) {
		s.Never("the key that A has let go was not free after %v", s.elapsed(since))
		return
	}
	if s.Has(expires) {
		s.failIfExtended(next, last, "what renewed the lease of A")
		return
	}
	next.Release()
	since = s.Now()
	s.Until(since + s.TTL()/2) // in which a watchdog would renew
	if !last.AcquireBy(s.Now() + slack) {
		s.Never("the key that A and then B have let go was not free after %v", s.elapsed(since))
	}
}

// acquireAfter acquires the key when the lease of its holder is over.
func (c *Client) acquireAfter(holder *Client) {
	if !c.AcquireBy(holder.Ends() + c.stage.ttl + slack) {
		c.stage.leave(safety.NotExercised, "the key of %s was not free after its lease", holder.name)
	}
}

// toldOfRenewal is Renew of a client that has to hear an answer.
func (c *Client) toldOfRenewal() (held bool) {
	held, err := c.Renew()
	c.stage.leaveIf(err != nil, safety.NotExercised, "%s has no answer to its renewal: %v", c.name, err)
	return held
}
