// A client in line that dies: it neither hands over nor holds up those behind it.

package wait_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
)

// die crashes a client like the engine.
func (c *client) die(t *testing.T) {
	t.Helper()
	crasher, ok := drivers.As[drivers.Crasher](c.use)
	if !ok {
		t.Fatal("a client of a line is no Crasher")
	}
	crasher.Crash()
	if c.releases > 0 || c.passes > 0 {
		t.Errorf("who died has sent %d releases and %d hand-overs", c.releases, c.passes)
	}
}

// When a holder dies, only the first in line asks the server, and then waits as for another process: until the lease
// ends, or until it hears that the lock was freed. The line keeps its order, and newcomers join its end.
func TestQueueOutlivesACrash(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		const n, lease, freed = 5, time.Minute, 10 * time.Second
		for _, early := range []bool{false, true} {
			var mu sync.Mutex
			asked := map[*session]bool{}
			svc.tried = func(s *session, _ bool) { mu.Lock(); asked[s] = true; mu.Unlock() }
			room := newRoom(t, wait.Queue, svc, o)
			dead := newClient(t, svc, room, 100, "k")
			dead.lease.TTL = lease
			dead.must(t)
			start := time.Now()
			var all sync.WaitGroup
			clients, order := lineUp(t, svc, room, &all, n, time.Millisecond)
			time.Sleep(time.Second)
			dead.die(t)
			synctest.Wait()
			mu.Lock()
			for i, c := range clients {
				if asked[c.session] != (i == 0) {
					t.Errorf("that client %d of the line has asked the server when the holder had died is %v", i, i != 0)
				}
			}
			mu.Unlock()
			reborn := newClient(t, svc, room, 100, "k")
			all.Go(func() { reborn.must(t); *order = append(*order, n); reborn.free(t) })
			end := start.Add(lease + wait.Grace)
			if early {
				end = start.Add(freed)
				time.Sleep(time.Until(end))
				svc.release("k")
			}
			all.Wait()
			if !slices.Equal(*order, counting(n+1)) {
				t.Errorf("served in the order %v", *order)
			}
			if late := time.Since(end); late != n*time.Millisecond {
				t.Errorf("early %v: %d waiters of 1ms each were through %v after the lock could be had", early, n, late)
			}
			closeRoom(t, room)
		}
	})
}

// A lock without an expiry stays with its dead holder. The first in line goes on looking, and gets it when it has been
// cleaned up silently.
func TestQueueOutlivesACrashWithoutExpiry(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		svc.traits.Expires = false
		room := newRoom(t, wait.Queue, svc, o)
		defer closeRoom(t, room)
		dead := newClient(t, svc, room, 0, "k")
		dead.must(t)
		svc.hold("k", 0)
		var all sync.WaitGroup
		_, order := lineUp(t, svc, room, &all, 2, time.Millisecond)
		dead.die(t)
		time.Sleep(time.Hour)
		if len(*order) > 0 {
			t.Fatal("a lock was granted that a dead holder has")
		}
		svc.free("k")
		time.Sleep(wait.MaxSleep + 2*time.Millisecond)
		synctest.Wait()
		if !slices.Equal(*order, counting(2)) {
			t.Errorf("%v after the lock came free the waiters %v were served", wait.MaxSleep, *order)
		}
		all.Wait()
	})
}

// A client that the lock was passed to dies like any other holder, even before it has noticed the grant.
func TestCrashAfterPass(t *testing.T) {
	for _, heard := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			svc := newService()
			svc.owned = true
			room := newRoom(t, wait.Queue, svc, swap)
			defer closeRoom(t, room)
			a, b, c := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k"), newClient(t, svc, room, 2, "k")
			a.must(t)
			var all, dying sync.WaitGroup
			dying.Go(func() {
				if heard {
					b.must(t)
					return
				}
				if held, err := b.use.Try(t.Context(), &b.lease); held || err != nil {
					t.Errorf("Try = %v, %v", held, err)
				}
				if err := b.waiter.Wait(t.Context(), &b.lease); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			all.Go(func() { c.must(t) })
			synctest.Wait()
			passed := time.Now()
			a.free(t)
			dying.Wait()
			b.die(t)
			const freed = 7 * time.Second // by another client, long before the lease ends
			time.Sleep(freed)
			svc.release("k")
			all.Wait()
			if after := time.Since(passed); after != freed {
				t.Errorf("heard %v: the next client has got the lock after %v, and another client has freed it after %v", heard, after, freed)
			}
		})
	}
}

// A client that dies when its lease is over and its place was taken does not affect the line any more.
func TestCrashAfterTheLease(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		room := newRoom(t, wait.Queue, svc, o)
		defer closeRoom(t, room)
		dead, heir, third := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k"), newClient(t, svc, room, 2, "k")
		dead.lease.TTL = time.Second
		dead.must(t)
		var all sync.WaitGroup
		all.Go(func() { heir.must(t) })
		time.Sleep(2 * time.Second)
		all.Wait()
		all.Go(func() { third.must(t) })
		synctest.Wait()
		dead.die(t)
		synctest.Wait()
		if third.tries > 0 {
			t.Error("a client was sent to the server although the lock is held in its own room")
		}
		heir.free(t)
		all.Wait()
	})
}

// A client that dies while it contends leaves its turn to the next, which then watches the end of the holder's lease.
func TestCrashWhileContending(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		room := newRoom(t, wait.Queue, svc, o)
		defer closeRoom(t, room)
		const lease = 8 * time.Second
		start := time.Now()
		svc.hold("k", lease)
		dead, next := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k")
		dead.timeout(time.Second)
		if held, err := dead.use.Try(t.Context(), &dead.lease); held || err != nil {
			t.Fatalf("Try = %v, %v", held, err)
		}
		for range 2 { // it registers, and sleeps
			if err := dead.waiter.Wait(t.Context(), &dead.lease); err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		all.Go(func() { next.must(t) })
		synctest.Wait()
		dead.die(t)
		all.Wait()
		if after := time.Since(start); after != lease+wait.Grace {
			t.Errorf("the next in line has got the lock %v after it was held, for %v", after, lease)
		}
	})
}

// mortal is a session that records its end.
type mortal struct {
	*session
	crashes int
}

func (m *mortal) Crash() { m.crashes++ }

// A crash reaches the session below, whatever wraps it, in every way of waiting.
func TestCrashReachesTheSession(t *testing.T) {
	for _, kind := range wait.Kinds() {
		if kind.Native || kind.Blocks {
			continue // the session is not wrapped, as in poll
		}
		t.Run(kind.Name, func(t *testing.T) {
			svc := newService()
			room := newRoom(t, kind.Name, svc, wait.Options{})
			defer closeRoom(t, room)
			inner := &mortal{session: &session{svc: svc}}
			use, _, err := room.Client(wrapped{inner}, 0)
			if err != nil {
				t.Fatal(err)
			}
			crasher, ok := drivers.As[drivers.Crasher](use)
			if !ok {
				t.Fatal("the session cannot be crashed any more")
			}
			crasher.Crash()
			if inner.crashes != 1 {
				t.Errorf("the session has crashed %d times", inner.crashes)
			}
		})
	}
}
