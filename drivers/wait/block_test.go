// Sleeping on the server: what wakes a client there, and what bounds its sleep.

package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
)

// bed is where the clients of a service sleep: one slot for a token.
type bed struct {
	tokens chan struct{}
	roused int
	err    error // of Block
	rouse  error // of Rouse
	late   bool  // a token is handed over at the moment when the sleep ends
}

// sleeper is a session that can sleep on the server; the fake's release leaves a token.
type sleeper struct {
	*session
	bed *bed
}

func (s sleeper) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	owned, err := s.session.Release(ctx, l)
	if owned {
		s.leave()
	}
	return owned, err
}

func (s sleeper) leave() {
	select {
	case s.bed.tokens <- struct{}{}:
	default:
	}
}

func (s sleeper) Block(ctx context.Context, _ *drivers.Lease, d time.Duration) (bool, error) {
	if s.bed.err != nil {
		return false, s.bed.err
	}
	select {
	case <-s.bed.tokens:
		return true, nil
	case <-time.After(d):
		return s.bed.late, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (s sleeper) Rouse(ctx context.Context, _ *drivers.Lease) error {
	if s.bed.rouse != nil {
		return s.bed.rouse
	}
	s.bed.roused++
	s.leave()
	return ctx.Err()
}

// sleeping runs a test of clients of k that sleep on the server.
func sleeping(t *testing.T, f func(s *stage, b *bed, newSleeper func() *client)) {
	svc := newService()
	svc.owned, svc.traits.Wakes, svc.traits.Blocks = true, false, true
	on(t, wait.Block, deaf{svc}, wait.Options{}, func(s *stage) {
		b := &bed{tokens: make(chan struct{}, 1)}
		f(s, b, func() *client {
			return s.as("k", func(inner *session) drivers.Session { return sleeper{inner, b} })
		})
	})
}

// What ends a sleep without a release. A wake-up is lost if the client that it woke dies: the others sleep no longer than
// the lease of the present holder. A client that is cancelled or out of time may have been sent a wake-up: it passes that
// on.
func TestBlockIsBounded(t *testing.T) {
	for _, test := range []struct {
		name                    string
		hold                    time.Duration // the holder's lease; 0 never ends
		lost, cancel            time.Duration // the lock is free and nobody is woken; the client is cancelled
		timeout                 time.Duration
		late, broken, waitFails bool
		want                    wait.Attempt
		err                     error
		tries                   []time.Duration
		roused                  int
	}{
		{name: "the lease", hold: 2 * sec, want: wait.Attempt{Held: true}, tries: []time.Duration{0, 2*sec + wait.Grace}},
		{name: "a wake-up is lost", hold: 2 * sec, lost: sec, want: wait.Attempt{Held: true}, tries: []time.Duration{0, 2*sec + wait.Grace}},
		{name: "a long lease", hold: 7 * sec, want: wait.Attempt{Held: true}, tries: []time.Duration{0, wait.MaxSleep, 7*sec + wait.Grace}},
		{name: "the deadline", hold: time.Hour, timeout: 3 * sec, tries: []time.Duration{0}},
		{name: "the deadline, and a useless wake-up", hold: time.Hour, timeout: 3 * sec, late: true, tries: []time.Duration{0}, roused: 1},
		{name: "a lease without end", timeout: wait.MaxSleep + sec, tries: []time.Duration{0, wait.MaxSleep}},
		{name: "the context", hold: time.Hour, cancel: sec, err: context.Canceled, tries: []time.Duration{0}, roused: 1},
		{name: "the context, and nothing is passed on", hold: time.Hour, cancel: sec, broken: true, err: context.Canceled,
			want: wait.Attempt{Leave: errBroken}, tries: []time.Duration{0}},
		{name: "the deadline, and nothing is passed on", hold: time.Hour, timeout: sec, late: true, broken: true,
			want: wait.Attempt{Leave: errBroken}, tries: []time.Duration{0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			sleeping(t, func(s *stage, b *bed, newSleeper func() *client) {
				if b.late = test.late; test.broken {
					b.rouse = errBroken
				}
				s.svc.hold("k", test.hold)
				c := newSleeper()
				ctx, cancel := context.WithCancel(s.Context())
				defer cancel()
				if test.cancel > 0 {
					time.AfterFunc(test.cancel, cancel)
				}
				if test.lost > 0 {
					time.AfterFunc(test.lost, func() { s.svc.lose("k") })
				}
				if test.timeout > 0 {
					c.timeout(test.timeout)
				}
				a, err := c.acquire(ctx)
				if a.Held != test.want.Held || err != test.err || !errors.Is(a.Leave, test.want.Leave) {
					s.Errorf("got %+v, %v", a, err)
				}
				c.triedAt(test.tries...)
				if b.roused != test.roused {
					s.Errorf("%d wake-ups passed on", b.roused)
				}
				if !a.Held {
					s.took(test.timeout + test.cancel)
				}
				b.rouse = nil
				if err := c.waiter.Leave(s.Context(), &c.lease); err != nil || b.roused != test.roused {
					s.Errorf("later: %v, and %d wake-ups passed on", err, b.roused)
				}
			})
		})
	}
}

// A waiter that gets the lock for less time than the others sleep makes one of them ask for the lease, because it may
// die.
func TestBlockMindsAShortLease(t *testing.T) {
	for ttl, roused := range map[time.Duration]int{sec: 1, wait.MaxSleep: 0} {
		sleeping(t, func(s *stage, b *bed, newSleeper func() *client) {
			s.svc.hold("k", time.Hour)
			brief, next := newSleeper(), newSleeper()
			brief.lease.TTL = ttl
			s.then(brief.must) // and dies
			s.then(next.must)
			s.svc.release("k")
			b.tokens <- struct{}{}
			synctest.Wait()
			if b.roused != roused {
				s.Errorf("%d wake-ups were passed on", b.roused)
			}
			s.all.Wait()
			s.took(ttl + wait.Grace*time.Duration(roused))
		})
	}
}
