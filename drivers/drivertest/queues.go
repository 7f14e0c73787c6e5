package drivertest

// A case about the order in which waiters are served.

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// persists is tries of a client whose connection may be broken.
func (c *client) persists(l *drivers.Lease) bool {
	held, err := c.Try(c.t.ctx, l)
	if err == nil && !held && c.waiter != nil {
		_ = c.waiter.Leave(c.t.ctx, l) // best effort
	}
	return err == nil && held
}

// order makes clients queue for a key and compares the order of the grants with that of the arrivals. For a design that
// is not Fair, only a line that would form in Try can be excluded: there the last client must be able to go first.
func order(t *T) {
	const queue = 6
	svc := t.open(1 + queue)
	holder := t.client(svc)
	key := t.key()
	held := holder.takes(key, long)
	clients := make([]*client, queue)
	for i := range clients {
		clients[i] = t.client(svc)
	}
	if t.traits.Fair {
		t.fatalIf(clients[0].waiter == nil, "the trait fair is true but the session cannot wait")
		t.arriveInOrder(holder, clients, held)
		return
	}
	first, last := lease(key, long), lease(key, long)
	clients[0].lineUp(first)
	clients[1].lineUp(last)
	holder.release(held, true, "the client held the key")
	clients[1].hold(last, "the key is free and the design does not claim Fair")
	clients[1].release(last, true, "the client held the key")
	clients[0].leave(first)
	clients[1].leave(last)
}

// arriveInOrder makes clients arrive one well after the other. How long that must be can only be guessed, because a
// machine may stall: a wrong order is checked again with longer pauses. A design without any order does not pass by
// that: it would have to hit one of 720.
func (t *T) arriveInOrder(holder *client, clients []*client, held *drivers.Lease) {
	const attempts = 3
	pause := settleTime
	for attempt := 1; ; attempt++ {
		wrong := t.arriveAndWait(holder, clients, held, pause)
		if wrong == "" || t.failed() {
			return
		}
		t.fatalIf(attempt == attempts, "%s (trait fair)", wrong)
		pause *= 4
		held = holder.takes(t.key(), long)
	}
}

// arriveAndWait makes the clients wait for the holder's key, and then releases that. It returns what was wrong with the
// order in which they were served.
func (t *T) arriveAndWait(holder *client, clients []*client, held *drivers.Lease, pause time.Duration) (wrong string) {
	var mu sync.Mutex
	var served []int
	var all sync.WaitGroup
	for i, c := range clients {
		t.goes(&all, func() {
			l := lease(held.Key, long)
			l.Deadline = time.Now().Add(2 * slack)
			if !c.acquire(t.ctx, l) {
				t.Errorf("client %d was never served", i)
				return
			}
			mu.Lock()
			served = append(served, i)
			mu.Unlock()
			c.release(l, true, "the client held the key")
		})
		time.Sleep(pause)
	}
	holder.release(held, true, "the client held the key")
	barge := lease(held.Key, long)
	if holder.try(barge) { // it was not asked to stand in line
		mu.Lock()
		n := len(served)
		mu.Unlock()
		if n < len(clients) {
			wrong = fmt.Sprintf("the client that had just released went before %d who were waiting", len(clients)-n)
		}
		holder.release(barge, true, "the client held the key")
	} else {
		holder.leave(barge)
	}
	all.Wait()
	if wrong == "" && !slices.IsSorted(served) {
		wrong = fmt.Sprintf("clients were served in the order %v, not in that of their arrival", served)
	}
	return wrong
}

// acquire is the loop of every user of a Waiter. It reports whether the key was granted before the deadline.
func (c *client) acquire(ctx context.Context, l *drivers.Lease) bool {
	defer c.leave(l)
	for {
		if c.try(l) {
			return true
		}
		if !time.Now().Before(l.Deadline) {
			return false
		}
		if err := c.waiter.Wait(ctx, l); err != nil {
			if ctx.Err() == nil { // otherwise the wait took too long, which is reported elsewhere
				c.t.Errorf("Wait: %v", err)
			}
			return false
		}
	}
}
