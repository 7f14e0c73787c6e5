package drivertest

// The order in which waiters are served.

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// order has clients queue for a key and compares the order of the grants with that of the arrivals. That a design
// is not fair can be shown only where the line would form in Try: there the one who came last must be able to go
// first.
func order(t *T) {
	const queue = 4
	svc := t.open(1 + queue)
	holder := t.client(svc)
	key := t.key()
	held := lease(key, long)
	holder.hold(held, "the key is free")
	clients := make([]*client, queue)
	for i := range clients {
		clients[i] = t.client(svc)
	}
	switch {
	case t.traits.Fair && clients[0].waiter != nil:
		t.arriveAndWait(holder, clients, key, func() { holder.release(held, true, "the client held the key") })
	case t.traits.Fair:
		for _, c := range clients {
			if c.try(lease(key, long)) {
				t.Fatalf("Try was granted although another client holds the key")
			}
		}
		holder.release(held, true, "the client held the key")
		for i := range clients {
			l := lease(key, long)
			for last := queue - 1; last > i; last-- {
				if clients[last].try(l) {
					t.Fatalf("client %d was served before client %d, who came first (Traits.Fair)", last, i)
				}
			}
			clients[i].hold(l, "the client is the first in line (Traits.Fair)")
			clients[i].release(l, true, "the client held the key")
		}
	default:
		first, last := lease(key, long), lease(key, long)
		if clients[0].try(first) || clients[1].try(last) {
			t.Fatalf("Try was granted although another client holds the key")
		}
		holder.release(held, true, "the client held the key")
		clients[1].hold(last, "the key is free and the design does not claim Fair")
		clients[1].release(last, true, "the client held the key")
		clients[0].leave(first)
		clients[1].leave(last)
	}
}

// arriveAndWait sends the clients into their native wait, one well after the other. How long a request of theirs takes
// to arrive cannot be seen; the try before has just shown how long one takes on this machine at this time, though.
func (t *T) arriveAndWait(holder *client, clients []*client, key string, open func()) {
	var mu sync.Mutex
	var served []int
	var all sync.WaitGroup
	for i, c := range clients {
		tried := make(chan time.Duration, 1)
		all.Go(func() {
			t.guard(func() {
				l := lease(key, long)
				l.Deadline = time.Now().Add(2 * slack)
				began := time.Now()
				if !c.acquireOrWait(t.ctx, l, func() { tried <- time.Since(began) }) {
					t.Errorf("client %d was never served", i)
					return
				}
				mu.Lock()
				served = append(served, i)
				mu.Unlock()
				c.release(l, true, "the client held the key")
			})
		})
		select {
		case took := <-tried:
			time.Sleep(max(settle, 4*took))
		case <-time.After(slack): // it hangs in its try, or was granted the key: what comes shows it
		}
	}
	open()
	barge := lease(key, long)
	if holder.try(barge) { // nobody has asked it to stand in line
		mu.Lock()
		n := len(served)
		mu.Unlock()
		if n < len(clients) {
			t.Errorf("the client that had just released went before %d who were waiting (Traits.Fair)", len(clients)-n)
		}
		holder.release(barge, true, "the client held the key")
	} else {
		holder.leave(barge)
	}
	all.Wait()
	if !slices.IsSorted(served) {
		t.Errorf("clients were served in the order %v, not in that of their arrival (Traits.Fair)", served)
	}
}

// acquire is the loop that every user of a Waiter runs. It tells whether the key was granted before the deadline.
func (c *client) acquire(ctx context.Context, l *drivers.Lease) bool {
	return c.acquireOrWait(ctx, l, func() {})
}

// acquireOrWait is acquire, and calls waits before the first wait.
func (c *client) acquireOrWait(ctx context.Context, l *drivers.Lease, waits func()) bool {
	defer c.leave(l)
	for first := true; ; first = false {
		if c.try(l) {
			return true
		}
		if !time.Now().Before(l.Deadline) {
			return false
		}
		if first {
			waits()
		}
		if err := c.waiter.Wait(ctx, l); err != nil {
			if ctx.Err() == nil { // else the wait was ended because it lasted too long, which is told elsewhere
				c.t.Errorf("Wait: %v", err)
			}
			return false
		}
	}
}
