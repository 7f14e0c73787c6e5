package drivertest

// Cases about clients that wait behind, or as, one that gives up, dies or loses its session, and about the order in which
// waiters are served.

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// waitBehind lets one client wait before another. It gives up, and the next time dies, if a session can die alone. The other has to
// wait on until the holder releases, and is granted the key then.
func waitBehind(t *T) {
	svc := t.open(6)
	t.waitBehind(svc, "has left", func(first *client, l *drivers.Lease) { first.leave(l) })
	if t.crasher {
		t.waitBehind(svc, "has died", func(first *client, _ *drivers.Lease) {
			c, _ := drivers.As[drivers.Crasher](first.Session)
			c.Crash()
			if t.traits.Session {
				time.Sleep(t.silence())
			}
		})
	}
}

// waitBehind ends the first of two waiters.
func (t *T) waitBehind(svc drivers.Service, does string, end func(*client, *drivers.Lease)) {
	holder, first, second := t.client(svc), t.client(svc), t.client(svc)
	held := holder.takes(t.key(), long)
	l, next := lease(held.Key, short), lease(held.Key, long) // the dead one may be handed the lock for a lease
	limit := t.silence() + waitTime
	l.Deadline = time.Now().Add(2 * limit)
	next.Deadline = l.Deadline
	giveUp := t.waits(first, l)
	time.Sleep(settleTime)
	var got atomic.Bool
	if !t.within(limit, func(ctx context.Context) { got.Store(second.acquire(ctx, next)) }, func() {
		time.Sleep(settleTime)
		giveUp()
		end(first, l)
		time.Sleep(settleTime)
		t.errorIf(got.Load(), "Try was granted although another client holds the key; one that waited longer %s", does)
		holder.release(held, true, "the client held the key; of two that waited one "+does)
	}) || !got.Load() {
		t.Fatalf("a waiter has not been granted the key %v after its holder released it; one that waited longer %s", limit, does)
	}
	second.release(next, true, "the client held the key")
}

// waits makes a client wait, in the background, for a key that is held. It returns a function that cancels that and waits for its
// end, and that is called once. It reports whether the outcome of an attempt is unknown, as it may be without a connection.
func (t *T) waits(c *client, l *drivers.Lease) (giveUp func() (unknown bool)) {
	ctx, cancel := context.WithCancel(t.ctx)
	ended := make(chan error, 1)
	go func() {
		held, err := c.Try(t.ctx, l)
		for err == nil && !held && ctx.Err() == nil && c.waiter.Wait(ctx, l) == nil {
			held, err = c.Try(t.ctx, l)
		}
		t.errorIf(held, "Try was granted although another client holds the key")
		ended <- err
	}()
	return func() bool {
		cancel()
		err := <-ended
		return err != nil && !drivers.NoEffect(err)
	}
}

// waitOverSession ends the sessions of a holder and of a waiter. The waiter may be granted the key then, or another client, and not
// both. The waiter goes on after errors, like every caller.
func waitOverSession(t *T) {
	holder, w, other := t.three()
	key := t.key()
	l, next := lease(key, long), lease(key, long)
	holder.hold(lease(key, long), "the key is free")
	other.cycle(t.key())
	limit := 2*t.silence() + waitTime
	var got atomic.Bool
	if !t.within(limit, func(ctx context.Context) { got.Store(w.persist(ctx, l, limit)) }, func() {
		time.Sleep(settleTime)
		func() {
			defer t.Cut()()
			time.Sleep(t.silence())
		}()
		held := false
		t.eventually("neither a waiter nor another client was granted the key after its holder's session had ended (trait session)", func() bool {
			held = other.persists(next)
			return held || got.Load()
		})
		if !held {
			t.recovered(other)
			held = other.tries(next)
		} else {
			time.Sleep(settleTime)
		}
		t.errorIf(held && got.Load(),
			"Try was granted to a waiter, whose session had ended, and to another client at once")
		if held {
			other.release(next, true, "the client held the key")
		}
	}) || !got.Load() {
		t.Fatalf("a waiter whose session had ended has not been granted the key within %v", limit)
	}
	w.release(l, true, "the client held the key")
}

// persists is tries of a client whose connection may be broken.
func (c *client) persists(l *drivers.Lease) bool {
	held, err := c.Try(c.t.ctx, l)
	if err == nil && !held && c.waiter != nil {
		_ = c.waiter.Leave(c.t.ctx, l) // best effort
	}
	return err == nil && held
}

// leaveOverCut lets a client give up its wait while it has no connection, and then go on with other keys.
func leaveOverCut(t *T) {
	holder, w, other := t.three()
	held := holder.takes(t.key(), long)
	l := lease(held.Key, time.Second) // a place that was not withdrawn may be kept this long
	l.Deadline = time.Now().Add(waitTime)
	giveUp := t.waits(w, l)
	time.Sleep(settleTime)
	restore, unknown := t.Cut(), false
	func() {
		defer restore()
		unknown = giveUp()
		_ = w.waiter.Leave(t.ctx, l) // nobody hears it
	}()
	t.recovered(holder, w, other)
	if unknown {
		_, err := w.Release(t.ctx, l)
		t.fatalIf(err != nil, "Release of an unknown outcome: %v", err)
	}
	holder.releases(held, "Release fails after the connection was restored") // a library may have tried it over the cut already
	t.eventually("the key did not come free after its only waiter had left without a connection, and has gone on with others",
		func() bool { return other.tries(lease(held.Key, long)) })
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
