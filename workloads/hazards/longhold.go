package hazards

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 33, Name: drivers.HazardLongHold,
		Applies: needsRenewal,
		Tell:    longHold,
		MinTTL:  time.Second, // a watchdog that is a third of it late is not too late
		Sound:   []string{"rueidis set-nx", "postgres advisory"},
	})
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
		a.endWatch()
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
	if _, err := a.Release(); err != nil {
		s.leave(safety.NotExercised, "A has no answer to its release: %v", err)
	}
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
		s.Never("the key that A has let go was not free after %v", (s.Now() - since).Round(time.Millisecond))
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
		s.Never("the key that A and then B have let go was not free after %v", (s.Now() - since).Round(time.Millisecond))
	}
}

// endWatch ends the client's watchdog, if it has one.
func (c *Client) endWatch() {
	if c.unwatch != nil {
		c.unwatch()
	}
}
