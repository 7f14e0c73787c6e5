package hazards

import (
	"bytes"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 6, Name: drivers.HazardStealByDel, Applies: needsLease, Tell: stealByDel,
		Fails: []string{"rueidis setnx-steal"}, Sound: []string{"rueidis getset", "rueidis set-nx"},
	})
	register(Hazard{
		Number: 7, Name: drivers.HazardClientClock, Applies: needsEnd, Tell: clientClock, Services: []string{"redis"},
		MinTTL: longLease, Fails: []string{"rueidis getset"},
	})
}

// stealByDel stops a waiter at one of its requests, a later one each time, when it has found the lock expired.
func stealByDel(s *Stage) {
	a, b, c := s.Client("A"), s.Client("B"), s.Client("C")
	requests := b.rehearseExpired(a)
	s.outcome.Gaps = requests
	a.Acquire()
	s.Until(a.Ends())
	stopped := b.Break(1 + s.number%requests)
	answer := later(b.Try)
	s.Hit(stopped, answer)
	s.Fault(stopped.Held(), "request %d of %d of B, %d bytes, is held back after the lease of A", 1+s.number%requests, requests, stopped.Held())
	stolen := c.AcquireBy(s.Now() + s.TTL())
	stopped.Go()
	granted, _ := answer()
	switch {
	case stolen:
		s.Before(c.Sure(), "the answer to B")
	case granted: // it had taken the lock before
		return
	default:
		s.leave(safety.NotExercised, "C was not granted the expired lock")
	}
	if granted {
		b.Release()
	}
	c.Release()
	s.FailIfBoth(b, c)
}

// rehearseExpired returns how many requests it takes to acquire a key whose lease, of another client, is over.
func (c *Client) rehearseExpired(other *Client) (requests int) {
	s := c.stage
	s.withOtherKey("expired", func() {
		c.Rehearse()
		other.acquireUnseen()
		s.Until(s.Now() + s.TTL() + s.TTL()/10)
		before := c.line().Requests()
		held, err := c.request()
		requests = int(c.line().Requests() - before)
		if err != nil || !held || requests < 1 {
			s.leave(safety.NotExercised, "%s could not acquire an expired lock: %v, %v", c.name, held, err)
		}
		_, _ = c.session.Release(s.ctx, &c.lease) // of a key that nobody uses again
	})
	return requests
}

// clientClock lets a client whose clock is ahead ask for a key that is held; in every second attempt, a client ask for a key whose holder
// has a clock that is behind. It counts only if a request of the client with the wrong clock shows the time of that clock: others
// have no use for one, or theirs cannot be set.
func clientClock(s *Stage) {
	s.outcome.Gaps = 2
	off := 2 * s.TTL()
	name, held := "B", s.number%2 == 1
	if held {
		name, off = "A", -off
	}
	var shown [2]atomic.Int64 // times of the wrong clock, and of the right one
	wrong := func() *Client {
		s.watch = func(p fault.Passage) {
			if p.Direction == fault.Requests {
				shown[0].Add(timesAbout(p.Data, p.Came.Add(off), s.TTL()))
				shown[1].Add(timesAbout(p.Data, p.Came, s.TTL()))
			}
		}
		defer func() { s.watch = nil }()
		c := s.ClientWith(name, func(cfg *drivers.Config) {
			if !s.placebo {
				cfg.ClockOffset = off
			}
		})
		c.AnswerBy(s.Now() + slack)
		switch {
		case shown[0].Load() > 0 || s.placebo:
		case shown[1].Load() > 0:
			s.leave(safety.NotApplicable, "its requests tell the time of the client, whose clock cannot be set: its driver ignores Config.ClockOffset")
		default:
			s.leave(safety.NotApplicable, "none of its requests tells the time of the client: it has no use for a clock")
		}
		s.Fault(shown[0].Load(), "the clock of %s is %v wrong: its requests tell %d times of it", name, off, shown[0].Load())
		return c
	}
	var a, b *Client
	if held {
		a, b = wrong(), s.Client("B")
		a.Acquire()
	} else {
		a = s.Client("A")
		a.Acquire()
		b = wrong()
	}
	const patience = 300 * time.Millisecond
	if b.AcquireWhile(a, patience) {
		b.Release()
	}
	a.Release()
	s.FailIfBoth(a, b)
}

// timesAbout returns how many times between a moment and the end of a lease that begins then are told in a request: as text, in
// seconds, milliseconds, microseconds or nanoseconds. The machine may stall for a moment.
func timesAbout(request []byte, moment time.Time, lease time.Duration) (n int64) {
	units := map[int]time.Duration{10: time.Second, 13: time.Millisecond, 16: time.Microsecond, 19: time.Nanosecond}
	notDigit := func(r rune) bool { return r < '0' || r > '9' }
	from, to := moment.Add(-lease/4), moment.Add(lease+lease/4)
	for _, digits := range bytes.FieldsFunc(request, notDigit) {
		value, err := strconv.ParseInt(string(digits), 10, 64)
		unit := units[len(digits)]
		if err != nil || unit == 0 {
			continue
		}
		if told := time.Unix(0, 0).Add(time.Duration(value) * unit); told.After(from) && told.Before(to) {
			n++
		}
	}
	return n
}
