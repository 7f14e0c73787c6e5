// Requests to subscribe: which clients share them, what ends them, and which need none.

package wait_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers/wait"
)

// Clients that come first to a key together share one request; if it fails, it fails for all of them and no others.
func TestFirstWaitersShareOneRequest(t *testing.T) {
	for _, failure := range []error{nil, errBroken} {
		t.Run(fmt.Sprint(failure), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newService()
				svc.add = func(string) error { time.Sleep(time.Second); return failure }
				room := newRoom(t, wait.PubSub, svc, wait.Options{})
				defer closeRoom(t, room)
				svc.hold("k", 0)
				time.AfterFunc(2*time.Second, func() { svc.release("k") })
				var all sync.WaitGroup
				start := time.Now()
				for i := range 20 {
					c := newClient(t, svc, room, i, "k")
					c.lease.TTL = time.Nanosecond
					all.Go(func() {
						a, err := c.acquire(t.Context())
						if a.Held != (failure == nil) || !errors.Is(err, failure) {
							t.Errorf("got %+v, %v", a, err)
						}
						if took := time.Since(start); failure != nil && took != time.Second {
							t.Errorf("failed after %v", took)
						}
						c.Release(t.Context(), &c.lease)
					})
				}
				all.Wait()
				if log := svc.noted(); !slices.Equal(log, []string{"listen", "add k"}) {
					t.Errorf("the server was asked for %v", log)
				}
			})
		})
	}
}

// The client that caused the request may give up: those that share it do not notice.
func TestRequestOutlivesItsFirstWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		svc.add = func(string) error { time.Sleep(time.Second); return nil }
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		svc.hold("k", 0)
		time.AfterFunc(2*time.Second, func() { svc.release("k") })
		start := time.Now()
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		first, hasty, patient := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k"), newClient(t, svc, room, 2, "k")
		all.Go(func() {
			if a, err := first.acquire(ctx); a.Held || err != context.Canceled || time.Since(start) != 10*time.Millisecond {
				t.Errorf("first: got %+v, %v after %v", a, err, time.Since(start))
			}
		})
		synctest.Wait()
		hasty.timeout(20 * time.Millisecond)
		all.Go(func() {
			if a, err := hasty.acquire(t.Context()); a.Held || a.Tries != 1 || err != nil || time.Since(start) != 20*time.Millisecond {
				t.Errorf("hasty: got %+v, %v after %v", a, err, time.Since(start))
			}
		})
		all.Go(func() {
			if a, err := patient.acquire(t.Context()); !a.Held || err != nil || time.Since(start) != 2*time.Second {
				t.Errorf("patient: got %+v, %v after %v", a, err, time.Since(start))
			}
		})
		time.Sleep(10 * time.Millisecond)
		cancel()
		all.Wait()
	})
}

// Without a confirmation a client asks the lock now and then; it never sleeps unconfirmed, and is woken as usual once
// the confirmation has come.
func TestConfirmationMayTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		svc.add = func(string) error { time.Sleep(2*wait.MaxSleep + time.Second); return nil }
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		c := newClient(t, svc, room, 0, "k")
		c.base = time.Now()
		svc.hold("k", 0)
		time.AfterFunc(2*wait.MaxSleep+2*time.Second, func() { svc.release("k") })
		if a, err := c.acquire(t.Context()); !a.Held || err != nil {
			t.Errorf("got %+v, %v", a, err)
		}
		want := []time.Duration{0, wait.MaxSleep, 2 * wait.MaxSleep, 2*wait.MaxSleep + time.Second, 2*wait.MaxSleep + 2*time.Second}
		if !slices.Equal(c.at, want) || c.rests != 1 {
			t.Errorf("tries at %v, want %v; %d sleeps", c.at, want, c.rests)
		}
	})
}

// Nothing is subscribed to for a client whose deadline has passed.
func TestNothingAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		c := newClient(t, svc, room, 0, "k")
		c.timeout(0)
		if err := c.waiter.Wait(t.Context(), &c.lease); err != nil {
			t.Error(err)
		}
		if err := c.waiter.Leave(t.Context(), &c.lease); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if log := svc.noted(); !slices.Equal(log, []string{"listen"}) {
			t.Errorf("the server was asked for %v", log)
		}
	})
}

// Leave may be called without any Wait, and twice.
func TestLeaveWithoutWait(t *testing.T) {
	for _, kind := range []string{wait.Poll, wait.Backoff, wait.PubSub} {
		svc := newService()
		room := newRoom(t, kind, svc, wait.Options{})
		c := newClient(t, svc, room, 0, "k")
		for range 2 {
			if err := c.waiter.Leave(t.Context(), &c.lease); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
		closeRoom(t, room)
	}
}

// Close ends the subscription and the requests under way, may be called again, and lets no client in afterwards.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		svc.confirm = func(string) { time.Sleep(time.Second) } // after that the fake sees that the context has ended
		svc.hold("k", 0)
		c := newClient(t, svc, room, 0, "k")
		var all sync.WaitGroup
		all.Go(func() {
			if a, err := c.acquire(t.Context()); a.Held || !errors.Is(err, context.Canceled) || t.Context().Err() != nil {
				t.Errorf("got %+v, %v", a, err)
			}
		})
		synctest.Wait()
		start := time.Now()
		closeRoom(t, room)
		if took := time.Since(start); took != time.Second {
			t.Errorf("closed after %v, not after the request under way", took)
		}
		all.Wait()
		closeRoom(t, room)
		if a, err := c.acquire(t.Context()); a.Held || err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("after Close got %+v, %v", a, err)
		}
		if log := svc.noted(); !slices.Equal(log, []string{"listen", "add k", "close"}) {
			t.Errorf("the server was asked for %v", log)
		}
	})
}

// A client that leaves after Close sends nothing any more.
func TestLeaveAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		c := newClient(t, svc, room, 0, "")
		late := newClient(t, svc, room, 1, "late")
		svc.hold("late", 0)
		if err := late.waiter.Wait(t.Context(), &late.lease); err != nil {
			t.Fatal(err)
		}
		c.fill(t)
		closeRoom(t, room)
		if err := late.waiter.Leave(t.Context(), &late.lease); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if log := svc.noted(); log[len(log)-1] != "close" {
			t.Errorf("after Close the server was asked for %v", log[len(log)-1])
		}
	})
}

// The context of NewRoom bounds only the opening.
func TestRoomOutlivesItsOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		ctx, cancel := context.WithCancel(t.Context())
		room, err := wait.NewRoom(ctx, wait.PubSub, svc, wait.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer closeRoom(t, room)
		cancel()
		newClient(t, svc, room, 0, "").visit(t, "k")
	})
}

// An acquisition that does not wait leaves the hub alone.
func TestUncontendedAsksNothing(t *testing.T) {
	svc := newService()
	room := newRoom(t, wait.PubSub, svc, wait.Options{})
	c := newClient(t, svc, room, 0, "k")
	c.timeout(time.Hour)
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		svc.free("k")
		if a, err := c.acquire(ctx); !a.Held || a.Waits != 0 || err != nil {
			t.Fatal(a, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if log := svc.noted(); !slices.Equal(log, []string{"listen"}) {
		t.Errorf("the server was asked for %v", log)
	}
	closeRoom(t, room)
}

// Waiting for a key that is subscribed to already allocates nothing either.
func TestSubscribedWaitAllocatesNothing(t *testing.T) {
	svc := newService()
	room := newRoom(t, wait.PubSub, svc, wait.Options{})
	c := newClient(t, svc, room, 0, "k")
	svc.tried = func(s *session, won bool) {
		if s.tries == 2 {
			svc.release("k")
		}
	}
	ctx := t.Context()
	cycle := func() {
		svc.hold("k", time.Hour)
		c.tries = 0
		if a, err := c.acquire(ctx); !a.Held || a.Waits != 2 || err != nil {
			t.Fatal(a, err)
		}
	}
	if n := testing.AllocsPerRun(100, cycle); n != 0 {
		t.Errorf("%v allocations", n)
	}
	closeRoom(t, room)
}
