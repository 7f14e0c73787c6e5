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
		Number: 6, Name: drivers.HazardStealByDel,
		Applies: needsLease,
		Tell:    stealByDel,
		Server:  true,
		Fails:   []string{"rueidis setnx-steal"},
		Sound:   []string{"rueidis getset", "rueidis set-nx"},
	})
	register(Hazard{
		Number: 7, Name: drivers.HazardClientClock,
		Applies:  needsLease,
		Tell:     clientClock,
		Server:   true,
		Services: []string{"redis"},
		MinTTL:   longLease,
		Fails:    []string{"rueidis getset"},
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
func (c *Client) rehearseExpired(other *Client) int {
	s := c.stage
	key := s.key
	defer func() { s.key = key }()
	s.key += ":expired"
	c.Rehearse()
	held, err := other.request()
	granted := s.Now()
	if err != nil || !held {
		s.leave(safety.NotExercised, "%s could not acquire a free key: %v", other.name, err)
	}
	s.Until(granted + s.TTL() + s.TTL()/10)
	before := c.line().Requests()
	held, err = c.request()
	requests := int(c.line().Requests() - before)
	if err != nil || !held || requests < 1 {
		s.leave(safety.NotExercised, "%s could not acquire an expired lock: %v, %v", c.name, held, err)
	}
	_, _ = c.session.Release(s.ctx, &c.lease) // of a key that nobody uses again
	return requests
}

// clientClock lets a client whose clock is ahead ask for a key that is held. A design that refuses it survives only if a request of
// that client shows the time of its clock: others have no use for one, or it cannot be set.
func clientClock(s *Stage) {
	a := s.Client("A")
	a.Acquire()
	const ahead = 2 * longLease
	var shown atomic.Int64
	s.watch = func(p fault.Passage) {
		if p.Direction == fault.Requests {
			shown.Add(timesAfter(p.Data, p.Came.Add(s.TTL()+ahead/2)))
		}
	}
	b := s.ClientWith("B", func(cfg *drivers.Config) {
		if !s.placebo {
			cfg.ClockOffset = ahead
		}
	})
	s.watch = nil
	const patience = 300 * time.Millisecond
	granted := b.AcquireBy(min(s.Now()+patience, a.Sure()))
	switch {
	case granted:
		s.Before(a.Sure(), "the attempt of B")
		b.Release()
	case shown.Load() == 0:
		s.leave(safety.NotApplicable, "none of its requests tells the time of the client: it has no use for a clock, or it cannot be set")
	}
	s.Fault(int64(b.offset), "the clock of B is %v ahead; its requests tell %d times of it", b.offset, shown.Load())
	a.Release()
	s.FailIfBoth(a, b)
}

// timesAfter returns how many times after a moment a request tells: in seconds, milliseconds, microseconds or nanoseconds, as text.
func timesAfter(request []byte, moment time.Time) (n int64) {
	units := map[int]time.Duration{10: time.Second, 13: time.Millisecond, 16: time.Microsecond, 19: time.Nanosecond}
	notDigit := func(r rune) bool { return r < '0' || r > '9' }
	for _, digits := range bytes.FieldsFunc(request, notDigit) {
		value, err := strconv.ParseInt(string(digits), 10, 64)
		if unit := units[len(digits)]; err == nil && unit > 0 && value/(int64(time.Second/unit)) > moment.Unix() {
			n++
		}
	}
	return n
}
