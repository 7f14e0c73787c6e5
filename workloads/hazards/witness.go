package hazards

// What keeps a verdict from being about the machine: a witness that time passes.

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/results/safety"
)

const (
	// ticks are how often a witness looks at the clock, and noticeable what is noted.
	ticks      = 2 * time.Millisecond
	noticeable = 3 * ticks

	// tolerable is the part of a lease for which the machine may stall without a doubt that a hold could be renewed in time. A
	// renewal comes at the half of a lease at the latest, and is about six steps from one process to another.
	tolerable = 12

	// unhurried is the part of a wait, of which a lease is the half at most, for which it may stall without a doubt that a key comes
	// free in it.
	unhurried = 4
)

// stalls are times in which something did not happen that had to happen at once. They are safe for concurrent use.
type stalls struct {
	mu   sync.Mutex
	list []stall
}

type stall struct{ from, to time.Time }

// note adds a time, if it is long enough.
func (s *stalls) note(from, to time.Time) {
	if to.Sub(from) <= noticeable {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, stall{from, to})
}

// longest returns the length of the longest one that was not over at a moment.
func (s *stalls) longest(since time.Time) (length time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.list {
		if one.to.After(since) {
			length = max(length, one.to.Sub(one.from))
		}
	}
	return length
}

// witness is a goroutine that wants to run all the time, and notes when it could not. nil has seen nothing.
type witness struct {
	stalls
	last atomic.Pointer[time.Time] // it ran
	stop chan struct{}
}

// newWitness starts a witness, which the caller closes.
func newWitness() *witness {
	w := &witness{stop: make(chan struct{})}
	began := time.Now()
	w.last.Store(&began)
	go func() {
		t := time.NewTicker(ticks)
		defer t.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-t.C:
				now := time.Now()
				w.note(*w.last.Load(), now)
				w.last.Store(&now)
			}
		}
	}()
	return w
}

func (w *witness) close() { close(w.stop) }

// longest returns the longest stall since a moment, of which one may still last.
func (w *witness) longest(since time.Time) time.Duration {
	if w == nil {
		return 0
	}
	return max(time.Since(*w.last.Load()), w.stalls.longest(since))
}

// stalled returns for how long at most, since a moment, this process did not run or a client that suffers no fault had no answer.
func (s *Stage) stalled(since time.Duration) time.Duration {
	from := s.history.clock.Time(since)
	return max(s.witness.longest(from), s.unanswered.longest(from))
}

// endIfStalled ends the attempt if the machine has stalled for longer than that since a moment.
func (s *Stage) endIfStalled(since, most time.Duration, what string) {
	if length := s.stalled(since); length > most {
		s.leave(safety.Stalled, "%s: the machine, which stalled for %v, may be the cause", what, length.Round(time.Millisecond))
	}
}

// StillHolds ends the attempt unless it is sure that a client holds the key: its lease lasts, or nothing has kept it from renewing
// its session in time.
func (s *Stage) StillHolds(c *Client, what string) {
	if s.Has(expires) {
		s.Before(c.Sure(), what)
	} else {
		s.endIfStalled(c.Granted, s.ttl/tolerable, what)
	}
}
