// Rare changes of a client's state, each alone.

package wait_test

import (
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/wait"
)

// ask tries once, and expects that answer after so many tries at the server in all.
func (c *client) ask(t *testing.T, want bool, tries int) {
	t.Helper()
	if held, err := c.use.Try(t.Context(), &c.lease); held != want || err != nil || c.tries != tries {
		t.Errorf("Try = %v, %v after %d tries at the server; want %v after %d", held, err, c.tries, want, tries)
	}
}

// A client that its own room has refused finds nobody in line when it waits: it registers, and tries.
func TestQueueWaitsWhereNobodyIs(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		room := newRoom(t, wait.Queue, svc, o)
		defer closeRoom(t, room)
		holder, next := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k")
		holder.must(t)
		next.ask(t, false, 0)
		holder.free(t)
		start := time.Now()
		if err := next.waiter.Wait(t.Context(), &next.lease); err != nil || time.Since(start) > 0 {
			t.Errorf("Wait = %v after %v", err, time.Since(start))
		}
		next.ask(t, true, 1)
		if log := svc.noted(); len(log) != 2 {
			t.Errorf("the server was asked for %v", log)
		}
		next.free(t)
	})
}

// A client that does not wait tries again and again, and keeps no place.
func TestQueueWithoutWaiting(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		room := newRoom(t, wait.Queue, svc, o)
		defer closeRoom(t, room)
		hasty, other := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k")
		svc.hold("k", time.Hour)
		hasty.ask(t, false, 1)
		hasty.ask(t, false, 2)
		svc.free("k")
		other.ask(t, true, 1)
		hasty.ask(t, false, 2) // refused by the room
		other.free(t)
		hasty.ask(t, true, 3)
		hasty.free(t)
	})
}

// A holder whose lease has run out tries again and gets a new one, which those in line watch; if another client has taken
// its place by then, they watch that one's.
func TestQueueHolderTriesAgain(t *testing.T) {
	for _, taken := range []bool{false, true} {
		forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
			const lease = time.Second
			room := newRoom(t, wait.Queue, svc, o)
			defer closeRoom(t, room)
			late, heir, third := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k"), newClient(t, svc, room, 2, "k")
			late.lease.TTL = lease
			late.must(t)
			time.Sleep(2 * lease)
			start := time.Now()
			var all sync.WaitGroup
			if taken {
				heir.lease.TTL = lease / 2
				heir.must(t)
				late.ask(t, false, 2)
				start = start.Add(-lease / 2)
			} else {
				late.ask(t, true, 2)
			}
			all.Go(func() { third.must(t) })
			all.Wait()
			if took := time.Since(start); took != lease+wait.Grace || third.tries != 1 {
				t.Errorf("taken %v: the next client has got the lock %v after a lease of %v, with %d tries", taken, took, lease, third.tries)
			}
			third.free(t)
		})
	}
}
