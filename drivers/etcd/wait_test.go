package etcd

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// queue makes a client enter the line for a key.
func queue(t *testing.T, c *session, key string) {
	t.Helper()
	p, err := c.join(t.Context(), key, "", true)
	if err != nil {
		t.Fatal(err)
	}
	c.place = p
}

// A release wakes only the next waiter, however many there are. The one behind it watches only that one.
func TestReleaseWakesTheNextAlone(t *testing.T) {
	t.Parallel()
	const waiters = 5
	s := open(t, drivers.Config{Addrs: relaxed(t, 1).URLs()})
	held := try(t, client(t, s, 0), "k", true)
	holder := client(t, s, 1)
	all := make([]*session, waiters)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	woken := make(chan int, waiters)
	for i := range all {
		c := client(t, s, i+2)
		all[i] = c
		queue(t, c, "k")
		trips := s.Traffic().RoundTrips
		waiting.Go(func() {
			if c.Wait(ctx, &drivers.Lease{Key: "k"}) == nil {
				woken <- i
			}
		})
		testwait.Until(t, "its watch is made, and the line looked at", func() bool { return s.Traffic().RoundTrips > trips })
	}
	for i, c := range all {
		if n := s.Traffic().Notices; n != int64(i) {
			t.Fatalf("after %d releases there were %d wake-ups", i, n)
		}
		release(t, holder, held, true) // by a client that knows the owner: sessions are used by one goroutine each
		if first := <-woken; first != i {
			t.Fatalf("release %d woke waiter %d", i, first)
		}
		held = try(t, c, "k", true)
	}
	release(t, holder, held, true)
	if n := keys(t, s, "k"); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// The client ahead goes before the watch on it begins, which sees only what comes later. The line is checked once more.
func TestReleaseBeforeTheWatch(t *testing.T) {
	t.Parallel()
	s := open(t, drivers.Config{Addrs: relaxed(t, 1).URLs()})
	a, b, c := client(t, s, 0), client(t, s, 1), client(t, s, 2)
	held := try(t, a, "k", true)
	queue(t, b, "k")
	queue(t, c, "k")
	if err := b.Leave(t.Context(), &drivers.Lease{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	release(t, a, held, true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Wait(ctx, &drivers.Lease{Key: "k"}); err != nil {
		t.Fatalf("Wait: %v", err)
	}
	l := try(t, c, "k", true)
	release(t, c, l, true)
}

// The client ahead goes and comes again, behind the others, with the same key: it is no longer ahead.
func TestTheOneBeforeComesAgain(t *testing.T) {
	t.Parallel()
	s := open(t, drivers.Config{Addrs: relaxed(t, 1).URLs()})
	a, b := client(t, s, 0), client(t, s, 1)
	held := try(t, a, "k", true)
	queue(t, b, "k")
	release(t, a, held, true)
	queue(t, a, "k")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := b.Wait(ctx, &drivers.Lease{Key: "k"}); err != nil {
		t.Fatalf("Wait: %v", err)
	}
	release(t, a, held, false) // the key of the same name is a place in line
	release(t, b, try(t, b, "k", true), true)
	if err := a.Wait(ctx, &drivers.Lease{Key: "k"}); err != nil {
		t.Fatalf("Wait: %v", err)
	}
}

// A client that waits for a lock that it holds itself waits until it has released that.
func TestWaitForOneself(t *testing.T) {
	t.Parallel()
	s := open(t, drivers.Config{Addrs: relaxed(t, 1).URLs()})
	a := client(t, s, 0)
	held := try(t, a, "k", true)
	queue(t, a, "k")
	if a.place.ahead == "" {
		t.Fatal("it has what it holds once more")
	}
	release(t, a, held, true)
	if err := a.Wait(t.Context(), &drivers.Lease{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	release(t, a, try(t, a, "k", true), true)
	if n := keys(t, s, "k"); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// A place in line is lost with its lease. The waiter gets a new one, behind the others.
func TestLeaseEndsInTheLine(t *testing.T) {
	t.Parallel()
	s := open(t, drivers.Config{Addrs: relaxed(t, 1).URLs(), TTL: 2 * time.Second})
	a, b, c := client(t, s, 0), client(t, s, 1), client(t, s, 2)
	held := try(t, a, "k", true)
	queue(t, b, "k")
	queue(t, c, "k")
	old := b.place.rev
	if _, err := s.conns[0].Revoke(t.Context(), b.place.grant.id); err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if err := b.Wait(t.Context(), &drivers.Lease{Key: "k"}); err != nil {
			t.Errorf("Wait: %v", err)
		}
	})
	testwait.Until(t, "it is in the line again", func() bool { return keys(t, s, "k") == 3 })
	release(t, a, held, true)
	if err := c.Wait(t.Context(), &drivers.Lease{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	release(t, c, try(t, c, "k", true), true)
	waiting.Wait()
	if l := try(t, b, "k", true); l.Fence <= uint64(old) {
		t.Errorf("fence %d after %d", l.Fence, old)
	}
}

// Waits that are cancelled at any moment, even during a request, leave no key and no watch.
func TestStormOfCancelledWaits(t *testing.T) {
	t.Parallel()
	const clients, rounds = 8, 40
	s := open(t, drivers.Config{Addrs: relaxed(t, 1).URLs()})
	holder := client(t, s, clients)
	held := try(t, holder, "k", true)
	var all sync.WaitGroup
	for i := range clients {
		c := client(t, s, i)
		all.Go(func() {
			for round := range rounds {
				ctx, cancel := context.WithCancel(t.Context())
				stop := time.AfterFunc(time.Duration(round*i)*50*time.Microsecond, cancel)
				l := &drivers.Lease{Key: "k"}
				if err := c.Wait(ctx, l); !errors.Is(err, context.Canceled) {
					t.Errorf("Wait: %v", err)
				}
				stop.Stop()
				cancel()
				if err := c.Leave(t.Context(), l); err != nil {
					t.Errorf("Leave: %v", err)
				}
			}
		})
	}
	all.Wait()
	if n := keys(t, s, "k"); n != 1 {
		t.Errorf("%d keys are left, want that of the holder", n)
	}
	testwait.Until(t, "the server has no watch", func() bool {
		return metrics(t.Context(), s.targets[0])["etcd_debugging_mvcc_watcher_total"] == 0
	})
	release(t, holder, held, true)
}

// A deadline also ends a wait while the server is silent.
func TestDeadlineOfAWaitForASilentServer(t *testing.T) {
	t.Parallel()
	e := relaxed(t, 1)
	p := drivertest.Through(t, e.URLs()...)[0]
	s := open(t, drivers.Config{Addrs: []string{p.Addr()}, IOTimeout: time.Hour, TTL: time.Minute})
	a, b := client(t, s, 0), client(t, s, 1)
	held := try(t, a, "k", true)
	queue(t, b, "k")
	release(t, a, held, true)
	restore := p.Mute()
	defer restore()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := b.Wait(ctx, &drivers.Lease{Key: "k", Deadline: time.Now().Add(100 * time.Millisecond)}); err != nil {
		t.Errorf("Wait: %v", err)
	}
}

// Closing the service ends the waits.
func TestCloseEndsWaits(t *testing.T) {
	t.Parallel()
	s := open(t, drivers.Config{Addrs: relaxed(t, 1).URLs()})
	try(t, client(t, s, 0), "k", true)
	c := client(t, s, 1)
	trips := s.Traffic().RoundTrips
	queue(t, c, "k")
	ended := make(chan error)
	go func() { ended <- c.Wait(t.Context(), &drivers.Lease{Key: "k"}) }()
	testwait.Until(t, "it waits", func() bool { return s.Traffic().RoundTrips > trips+1 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; drivers.ClassOf(err) != drivers.ClassClosed {
		t.Errorf("Wait on a service that was closed: %v", err)
	}
}
