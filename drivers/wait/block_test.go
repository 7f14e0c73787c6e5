// Sleeping on the server: what wakes a client there, and what bounds its sleep.

package wait_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
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

// newSleeper makes a client of k that sleeps in bed.
func newSleeper(t *testing.T, svc *service, room *wait.Room, id int, b *bed) *client {
	t.Helper()
	c := &client{session: &session{svc: svc}, lease: drivers.Lease{Key: "k", TTL: time.Minute}, clock: drivers.NewClock()}
	var err error
	if c.use, c.waiter, err = room.Client(sleeper{c.session, b}, id); err != nil {
		t.Fatal(err)
	}
	return c
}

// sleeping runs a test of clients that sleep on the server.
func sleeping(t *testing.T, f func(t *testing.T, svc *service, room *wait.Room, b *bed)) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		svc.owned, svc.traits.Wakes, svc.traits.Blocks = true, false, true
		room := newRoom(t, wait.Block, deaf{svc}, wait.Options{})
		defer closeRoom(t, room)
		f(t, svc, room, &bed{tokens: make(chan struct{}, 1)})
	})
}

// Each release wakes exactly one sleeper, and all get through.
func TestBlockWakesOne(t *testing.T) {
	sleeping(t, func(t *testing.T, svc *service, room *wait.Room, b *bed) {
		const n = 100
		holder := newSleeper(t, svc, room, n, b)
		holder.must(t)
		var all sync.WaitGroup
		var clients []*client
		for i := range n {
			c := newSleeper(t, svc, room, i, b)
			clients = append(clients, c)
			all.Go(func() {
				c.must(t)
				time.Sleep(time.Millisecond)
				c.free(t)
			})
		}
		synctest.Wait()
		start := time.Now()
		holder.free(t)
		all.Wait()
		if took := time.Since(start); took != n*time.Millisecond {
			t.Errorf("took %v", took)
		}
		for i, c := range clients {
			if c.tries != 2 || c.rests != 1 {
				t.Errorf("client %d has tried %d times and asked %d times for the lease", i, c.tries, c.rests)
			}
		}
		if b.roused != 0 {
			t.Errorf("%d wake-ups were passed on", b.roused)
		}
	})
}

// What ends a sleep without a release.
func TestBlockIsBounded(t *testing.T) {
	const sec = time.Second
	for _, test := range []struct {
		name    string
		hold    time.Duration // the holder's lease; 0 never ends
		timeout time.Duration
		late    bool
		held    bool
		tries   []time.Duration
		roused  int
	}{
		{"the lease", 2 * sec, 0, false, true, []time.Duration{0, 2*sec + wait.Grace}, 0},
		{"a long lease", 7 * sec, 0, false, true, []time.Duration{0, wait.MaxSleep, 7*sec + wait.Grace}, 0},
		{"the deadline", time.Hour, 3 * sec, false, false, []time.Duration{0}, 0},
		{"the deadline, and a useless wake-up", time.Hour, 3 * sec, true, false, []time.Duration{0}, 1},
		{"a lease without end", 0, wait.MaxSleep + sec, false, false, []time.Duration{0, wait.MaxSleep}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			sleeping(t, func(t *testing.T, svc *service, room *wait.Room, b *bed) {
				b.late = test.late
				svc.hold("k", test.hold)
				c := newSleeper(t, svc, room, 0, b)
				c.base = time.Now()
				if test.timeout > 0 {
					c.timeout(test.timeout)
				}
				a, err := c.acquire(t.Context())
				if a.Held != test.held || err != nil {
					t.Errorf("got %+v, %v", a, err)
				}
				if !slices.Equal(c.at, test.tries) || b.roused != test.roused {
					t.Errorf("tries at %v, want %v; %d wake-ups passed on", c.at, test.tries, b.roused)
				}
				if took := time.Since(c.base); !test.held && took != test.timeout {
					t.Errorf("took %v of %v", took, test.timeout)
				}
			})
		})
	}
}

// A wake-up is lost if the client that it woke dies. The others sleep no longer than the lease of the present holder.
func TestBlockOutlivesADeadWaiter(t *testing.T) {
	sleeping(t, func(t *testing.T, svc *service, room *wait.Room, b *bed) {
		svc.hold("k", 2*time.Second)
		c := newSleeper(t, svc, room, 0, b)
		start := time.Now()
		time.AfterFunc(time.Second, func() { svc.free("k") }) // and another client has taken the token
		c.must(t)
		if took := time.Since(start); took != 2*time.Second+wait.Grace {
			t.Errorf("took %v", took)
		}
	})
}

// A cancelled client may have been sent a wake-up: it passes that on.
func TestBlockCancelled(t *testing.T) {
	sleeping(t, func(t *testing.T, svc *service, room *wait.Room, b *bed) {
		svc.hold("k", time.Hour)
		c := newSleeper(t, svc, room, 0, b)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if a, err := c.acquire(ctx); a.Held || err != context.Canceled || b.roused != 1 {
			t.Errorf("got %+v, %v and %d wake-ups passed on", a, err, b.roused)
		}
	})
}

// A wake-up that could not be passed on is reported, however the wait has ended, and that end stays what it is.
func TestBlockPassesNothingOn(t *testing.T) {
	for _, cancelled := range []bool{true, false} {
		sleeping(t, func(t *testing.T, svc *service, room *wait.Room, b *bed) {
			svc.hold("k", time.Hour)
			b.rouse, b.late = errBroken, true
			c := newSleeper(t, svc, room, 0, b)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var want error
			if cancelled {
				time.AfterFunc(time.Second, cancel)
				want = context.Canceled
			} else {
				c.timeout(time.Second)
			}
			if a, err := c.acquire(ctx); a.Held || err != want || !errors.Is(a.Leave, errBroken) {
				t.Errorf("got %+v, %v; want %v", a, err, want)
			}
			b.rouse = nil
			if err := c.waiter.Leave(t.Context(), &c.lease); err != nil || b.roused > 0 {
				t.Errorf("later: %v, and %d wake-ups passed on", err, b.roused)
			}
		})
	}
}

// A waiter that gets the lock for less time than the others sleep makes one of them ask for the lease, because it may
// die.
func TestBlockMindsAShortLease(t *testing.T) {
	for _, test := range []struct {
		ttl    time.Duration
		roused int
	}{{time.Second, 1}, {wait.MaxSleep, 0}} {
		sleeping(t, func(t *testing.T, svc *service, room *wait.Room, b *bed) {
			svc.hold("k", time.Hour)
			brief, next := newSleeper(t, svc, room, 0, b), newSleeper(t, svc, room, 1, b)
			brief.lease.TTL = test.ttl
			var all sync.WaitGroup
			all.Go(func() { brief.must(t) }) // and dies
			synctest.Wait()
			all.Go(func() { next.must(t) })
			synctest.Wait()
			start := time.Now()
			svc.release("k")
			b.tokens <- struct{}{}
			synctest.Wait()
			if b.roused != test.roused {
				t.Errorf("%d wake-ups were passed on", b.roused)
			}
			all.Wait()
			if took := time.Since(start); took > test.ttl+wait.Grace {
				t.Errorf("the next has it after %v", took)
			}
		})
	}
}

// An error ends the acquisition as an error, never as contention.
func TestBlockErrors(t *testing.T) {
	sleeping(t, func(t *testing.T, svc *service, room *wait.Room, b *bed) {
		svc.hold("k", time.Hour)
		c := newSleeper(t, svc, room, 0, b)
		b.err = errBroken
		if a, err := c.acquire(t.Context()); a.Held || a.Unknown || !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "wait: block: ") {
			t.Errorf("got %+v, %v", a, err)
		}
		b.err = nil
		svc.asked = func(*session) error { return errBroken }
		if a, err := c.acquire(t.Context()); a.Held || !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "rest of the holder's lease") {
			t.Errorf("got %+v, %v", a, err)
		}
	})
}

func TestBlockRefuses(t *testing.T) {
	svc := newService()
	if _, err := wait.NewRoom(t.Context(), wait.Block, svc, wait.Options{}); err == nil || !strings.Contains(err.Error(), "sleep on the server") {
		t.Errorf("a service that wakes no sleepers: %v", err)
	}
	svc.traits.Blocks = true
	room := newRoom(t, wait.Block, svc, wait.Options{})
	defer closeRoom(t, room)
	if _, _, err := room.Client(&session{svc: svc}, 0); err == nil || !strings.Contains(err.Error(), "cannot sleep on the server") {
		t.Errorf("a session that cannot sleep: %v", err)
	}
	s := sleeper{&session{svc: svc}, &bed{}}
	if _, _, err := room.Client(wrapped{s}, 0); err != nil {
		t.Error(err)
	}
}
