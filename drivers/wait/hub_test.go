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

// idle is how many keys without waiters the hub keeps subscribed.
const idle = 1024

// visit makes c wait for key and get it, so that the key is subscribed to and then idle.
func (c *client) visit(t *testing.T, key string) {
	t.Helper()
	c.lease.Key = key
	c.tries = 0
	c.svc.hold(key, time.Hour)
	c.svc.tried = func(s *session, won bool) {
		if s.tries == 1 {
			s.svc.free(key)
		}
	}
	if a, err := c.acquire(t.Context()); !a.Held || a.Tries != 2 || err != nil {
		t.Fatalf("%s: got %+v, %v", key, a, err)
	}
	c.svc.tried = nil
}

// A key that is fought over is subscribed to once; of many keys, those that have been idle for longest go.
func TestIdleKeysStayForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		c := newClient(t, svc, room, 0, "")
		for range 100 {
			c.visit(t, "hot")
		}
		want := []string{"listen", "add hot"}
		if log := svc.noted(); !slices.Equal(log, want) {
			t.Fatalf("a hot key asked the server for %v", log)
		}

		for i := range idle - 1 {
			c.visit(t, fmt.Sprint(i))
			want = append(want, fmt.Sprint("add ", i))
		}
		c.visit(t, "hot") // and so 0 is the longest idle
		synctest.Wait()
		if log := svc.noted(); !slices.Equal(log, want) {
			t.Fatalf("%d idle keys asked the server for %v", idle, log[len(log)-3:])
		}

		for i := range 3 {
			c.visit(t, fmt.Sprint("new", i))
			synctest.Wait()
			want = append(want, fmt.Sprint("add new", i), fmt.Sprint("remove ", i))
		}
		if log := svc.noted(); !slices.Equal(log, want) {
			t.Errorf("three more keys asked for %v", log[len(log)-6:])
		}
		svc.mu.Lock()
		defer svc.mu.Unlock()
		if len(svc.subs) != idle || !svc.subs["hot"] {
			t.Errorf("%d keys are subscribed to, hot: %v", len(svc.subs), svc.subs["hot"])
		}
	})
}

// A key with waiters is never dropped, however many others come and go.
func TestBusyKeyStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		svc.hold("busy", 0)
		waiting, visitor := newClient(t, svc, room, 0, "busy"), newClient(t, svc, room, 1, "")
		var all sync.WaitGroup
		start := time.Now()
		all.Go(func() {
			if a, err := waiting.acquire(t.Context()); !a.Held || err != nil {
				t.Errorf("got %+v, %v", a, err)
			}
		})
		synctest.Wait()
		for i := range idle + 10 {
			visitor.visit(t, fmt.Sprint(i))
		}
		time.Sleep(time.Second)
		svc.release("busy")
		all.Wait()
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// fill makes all the idle keys there may be, k the longest idle of them.
func (c *client) fill(t *testing.T) {
	t.Helper()
	c.visit(t, "k")
	for i := range idle - 1 {
		c.visit(t, fmt.Sprint(i))
	}
}

// Whoever wants a key that is just being dropped gets a new subscription, made after the old one is gone.
func TestJoinWhileDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		c := newClient(t, svc, room, 0, "")
		c.fill(t)
		before := len(svc.noted())
		svc.remove = func(string) { time.Sleep(time.Second) }
		c.visit(t, "one too many")

		start := time.Now()
		c = newClient(t, svc, room, 1, "k")
		svc.hold("k", 0)
		time.AfterFunc(time.Second+time.Millisecond, func() { svc.release("k") })
		if a, err := c.acquire(t.Context()); !a.Held || err != nil {
			t.Errorf("got %+v, %v", a, err)
		}
		if took := time.Since(start); took != time.Second+time.Millisecond {
			t.Errorf("took %v", took)
		}
		want := []string{"add one too many", "remove k", "add k"}
		if log := svc.noted()[before:]; !slices.Equal(log[:3], want) {
			t.Errorf("the server was asked for %v", log)
		}
	})
}

// Whoever joins a key that is being dropped and gives up before it is gone leaves nothing behind.
func TestJoinWhileDroppedAndGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		c := newClient(t, svc, room, 0, "")
		c.fill(t)
		svc.remove = func(string) { time.Sleep(time.Second) }
		c.visit(t, "one too many")
		before := len(svc.noted())
		c.lease.Key = "k"
		svc.hold("k", 0)
		c.patience(time.Millisecond)
		if a, err := c.acquire(t.Context()); a.Held || a.Tries != 1 || err != nil {
			t.Errorf("got %+v, %v", a, err)
		}
		time.Sleep(2 * time.Second)
		if log := svc.noted()[before:]; !slices.Equal(log, []string{"remove k"}) && len(log) != 0 {
			t.Errorf("the server was asked for %v", log)
		}
		svc.mu.Lock()
		defer svc.mu.Unlock()
		if svc.subs["k"] {
			t.Error("still subscribed")
		}
	})
}

// Those who come first to a key together share one request; if it fails, it fails for all of them and nobody else.
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

// The one whose wish caused the request may give up: those who share it do not notice.
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
		hasty.patience(20 * time.Millisecond)
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

// A confirmation that does not come makes a client ask the lock now and then; it never sleeps unconfirmed, and it
// goes on to be woken once the confirmation is there.
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

// Nothing is subscribed to for a client whose patience is over.
func TestNothingAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		c := newClient(t, svc, room, 0, "k")
		c.patience(0)
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

// Close ends the subscription and the requests under way, may be called again, and lets nobody in afterwards.
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
		closeRoom(t, room)
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

// The context of NewRoom bounds the opening only.
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
