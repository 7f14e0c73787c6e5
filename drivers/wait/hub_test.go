// Which keys the hub keeps subscribed, and which it drops.

package wait_test

import (
	"fmt"
	"math/rand/v2"
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

// visit makes c wait for key, get it and release it, so that the key is subscribed to and then idle.
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
	c.svc.free(key)
}

// A contended key is subscribed to once; of many keys, those that have been idle for longest go.
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
		c.visit(t, "hot") // so 0 is the longest idle
		synctest.Wait()
		if log := svc.noted(); !slices.Equal(log, want) {
			t.Fatalf("%d idle keys asked the server for %v", idle, log[len(log)-3:])
		}

		for i := range 3 {
			c.visit(t, fmt.Sprint("new", i))
			synctest.Wait()
			want = append(want, fmt.Sprint("add new", i), fmt.Sprint("remove ", i))
		}
		c.visit(t, "0") // this was dropped
		synctest.Wait()
		want = append(want, "add 0", "remove 3")
		if log := svc.noted(); !slices.Equal(log, want) {
			t.Errorf("four more keys asked for %v", log[len(log)-8:])
		}
		svc.mu.Lock()
		defer svc.mu.Unlock()
		if len(svc.subs) != idle || !svc.subs["hot"] {
			t.Errorf("%d keys are subscribed to, hot: %v", len(svc.subs), svc.subs["hot"])
		}
	})
}

// A key with waiters is never dropped, however many others come and go, and though one of its own waiters has gone.
func TestBusyKeyStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		svc.hold("busy", 0)
		waiting, visitor := newClient(t, svc, room, 0, "busy"), newClient(t, svc, room, 1, "busy")
		var all sync.WaitGroup
		start := time.Now()
		all.Go(func() {
			if a, err := waiting.acquire(t.Context()); !a.Held || err != nil {
				t.Errorf("got %+v, %v", a, err)
			}
		})
		synctest.Wait()
		visitor.timeout(time.Millisecond)
		if a, err := visitor.acquire(t.Context()); a.Held || a.Tries != 2 || err != nil {
			t.Errorf("got %+v, %v", a, err)
		}
		visitor.lease.Deadline = time.Time{}
		for i := range idle + 10 {
			visitor.visit(t, fmt.Sprint(i))
		}
		time.Sleep(time.Second)
		svc.release("busy")
		all.Wait()
		if took := time.Since(start); took != time.Second+time.Millisecond {
			t.Errorf("took %v", took)
		}
		if slices.Contains(svc.noted(), "remove busy") {
			t.Error("the busy key was dropped in between")
		}
	})
}

// A key whose waiters all gave up before the subscription was confirmed is idle from then on, and dropped in its turn.
func TestGivenUpKeyIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		c := newClient(t, svc, room, 0, "given up")
		svc.hold("given up", 0)
		svc.confirm = func(string) { time.Sleep(time.Second) }
		c.timeout(time.Millisecond)
		if a, err := c.acquire(t.Context()); a.Held || a.Tries != 1 || err != nil {
			t.Errorf("got %+v, %v", a, err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		svc.confirm = nil
		c.lease.Deadline = time.Time{}
		for i := range idle {
			c.visit(t, fmt.Sprint(i))
		}
		synctest.Wait()
		if log := svc.noted(); log[len(log)-1] != "remove given up" {
			t.Errorf("the server was asked for %v last", log[len(log)-1])
		}
	})
}

// fill makes as many idle keys as possible, k the longest idle of them.
func (c *client) fill(t *testing.T) {
	t.Helper()
	c.visit(t, "k")
	for i := range idle - 1 {
		c.visit(t, fmt.Sprint(i))
	}
}

// A client that wants a key that is just being dropped gets a new subscription, made after the old one is gone.
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
		synctest.Wait() // the request is on its way

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

// A client that joins a key that is being dropped and gives up before it is gone leaves nothing behind.
func TestJoinWhileDroppedAndGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		c := newClient(t, svc, room, 0, "")
		c.fill(t)
		svc.remove = func(string) { time.Sleep(time.Second) }
		c.visit(t, "one too many")
		synctest.Wait()
		before := len(svc.noted())
		c.lease.Key = "k"
		svc.hold("k", 0)
		c.timeout(time.Millisecond)
		if a, err := c.acquire(t.Context()); a.Held || a.Tries != 1 || err != nil {
			t.Errorf("got %+v, %v", a, err)
		}
		time.Sleep(2 * time.Second)
		if log := svc.noted()[before:]; len(log) != 0 {
			t.Errorf("the server was asked for %v", log)
		}
		svc.mu.Lock()
		defer svc.mu.Unlock()
		if svc.subs["k"] {
			t.Error("still subscribed")
		}
	})
}

// Many clients at many keys, with slow subscriptions that come and go: none sleeps through a release.
func TestComingAndGoing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			clients = 32
			rounds  = 150
			keys    = 2 * idle
			ms      = time.Millisecond
		)
		svc := newService()
		svc.add = func(string) error { time.Sleep(rand.N(2 * ms)); return nil }
		svc.confirm = func(string) { time.Sleep(rand.N(2 * ms)) }
		svc.remove = func(string) { time.Sleep(rand.N(5 * ms)) }
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		newClient(t, svc, room, clients, "").fill(t)
		var all sync.WaitGroup
		for id := range clients {
			c := newClient(t, svc, room, id, "")
			all.Go(func() {
				for range rounds {
					key := fmt.Sprint(rand.N(keys))
					if svc.seize(key) {
						time.AfterFunc(rand.N(10*ms), func() { svc.release(key) })
					}
					c.lease.Key = key
					start := time.Now()
					a, err := c.acquire(t.Context())
					if took := time.Since(start); !a.Held || err != nil || took >= wait.MaxSleep {
						t.Errorf("client %d: got %+v, %v after %v", id, a, err, took)
					}
					c.Release(t.Context(), &c.lease)
				}
			})
		}
		all.Wait()
		removed := 0
		for _, what := range svc.noted() {
			removed += btoi(strings.HasPrefix(what, "remove"))
		}
		if removed < rounds {
			t.Errorf("only %d subscriptions were dropped: the test shows nothing", removed)
		}
	})
}
