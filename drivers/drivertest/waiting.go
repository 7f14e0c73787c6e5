package drivertest

// Cases about sessions that wait in a way of their own.

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// patience is how long waiters in these cases are ready to wait. It is beyond slack, so that one who only gets his
// turn at the deadline has waited for too long.
const patience = 2 * slack

// waitForRelease is the plain case: the key comes free during the wait.
func waitForRelease(t *T) { t.waitRelease(true) }

// waitAfterRelease has the key come free between the failed attempt and the wait. A waiter that only then begins to
// listen, and sleeps, has missed it.
func waitAfterRelease(t *T) { t.waitRelease(false) }

func (t *T) waitRelease(during bool) {
	svc := t.open(2)
	holder, w := t.client(svc), t.client(svc)
	for range 3 {
		key := t.key()
		held, l := lease(key, long), lease(key, long)
		holder.hold(held, "the key is free")
		l.Deadline = time.Now().Add(patience)
		if w.try(l) {
			t.Fatalf("Try was granted although another client holds the key")
		}
		start := time.Now()
		if !during {
			holder.release(held, true, "the client held the key")
		}
		got := false
		if !t.within(slack, func(ctx context.Context) {
			got = w.waitThenAcquire(ctx, l)
		}, func() {
			if during {
				time.Sleep(settle)
				start = time.Now()
				holder.release(held, true, "the client held the key")
			}
		}) || !got {
			t.Fatalf("the waiter has not been granted the key %v after its release", time.Since(start))
		}
		w.release(l, true, "the client held the key")
	}
}

// waitThenAcquire is acquire for one whose first attempt has failed already.
func (c *client) waitThenAcquire(ctx context.Context, l *drivers.Lease) bool {
	if err := c.waiter.Wait(ctx, l); err != nil {
		c.t.Errorf("Wait: %v", err)
		c.leave(l)
		return false
	}
	return c.acquire(ctx, l)
}

// waitDeadline has the waiter's patience end while the key is held, and before the wait begins.
func waitDeadline(t *T) {
	svc := t.open(2)
	holder, w := t.client(svc), t.client(svc)
	key := t.key()
	holder.hold(lease(key, long), "the key is free")
	for _, wait := range []time.Duration{short, -short} {
		l := lease(key, long)
		l.Deadline = time.Now().Add(wait)
		if !t.within(max(wait, 0)+slack, func(ctx context.Context) {
			if w.acquire(ctx, l) {
				t.Fatalf("Try was granted although another client holds the key")
			}
		}) {
			t.Fatalf("Wait has outlasted a deadline %v from the start by %v", wait, slack)
		}
	}
}

// waitContext cancels a wait.
func waitContext(t *T) {
	svc := t.open(2)
	holder, w := t.client(svc), t.client(svc)
	key := t.key()
	held := lease(key, long)
	holder.hold(held, "the key is free")
	l := lease(key, long)
	l.Deadline = time.Now().Add(patience)
	if w.try(l) {
		t.Fatalf("Try was granted although another client holds the key")
	}
	outer, cancel := context.WithCancel(t.ctx)
	defer cancel()
	if !t.within(slack, func(context.Context) {
		var err error
		for last := false; err == nil && !last; {
			last = outer.Err() != nil // a wake-up may have come first, but only once
			if err = w.waiter.Wait(outer, l); err == nil && w.try(l) {
				t.Fatalf("Try was granted although another client holds the key")
			}
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Wait answered %v after its context was cancelled; want context.Canceled", err)
		}
	}, func() {
		time.Sleep(settle)
		cancel()
	}) {
		t.Fatalf("Wait has not returned %v after its context was cancelled", slack)
	}
	w.leave(l)
	holder.release(held, true, "the client held the key")
	holder.hold(held, "the key is free; the only waiter had left when its context was cancelled")
}

// waitForExpiry has the holder die: nobody announces the end of a lease.
func waitForExpiry(t *T) {
	svc := t.open(2)
	dead, w := t.client(svc), t.client(svc)
	key := t.key()
	dead.hold(lease(key, short), "the key is free")
	l := lease(key, long)
	l.Deadline = time.Now().Add(patience)
	got := false
	if !t.within(short+slack, func(ctx context.Context) { got = w.acquire(ctx, l) }) || !got {
		t.Fatalf("the waiter has not been granted the key %v after a lease of %v began", short+slack, short)
	}
}

// leave has a waiter give up: it must not stand in the way of others, nor be granted the key after it went.
func leave(t *T) {
	svc := t.open(3)
	holder, w, other := t.client(svc), t.client(svc), t.client(svc)
	key := t.key()
	held := lease(key, long)
	holder.hold(held, "the key is free")
	l := lease(key, long)
	l.Deadline = time.Now().Add(short)
	if !t.within(short+slack, func(ctx context.Context) { w.acquire(ctx, l) }) {
		return // "wait ends at the deadline" says so
	}
	other.refused(lease(key, long), "another client holds the key; a waiter has left")
	holder.release(held, true, "the client held the key")
	next := lease(key, long)
	other.hold(next, "the key was released and its only waiter had left")
	other.release(next, true, "the client held the key; the only waiter had left")
}

// leaveAfterWake gives up just when the wait has succeeded. A Wait that acquires on the server has to give that back.
func leaveAfterWake(t *T) {
	svc := t.open(3)
	holder, w, other := t.client(svc), t.client(svc), t.client(svc)
	key := t.key()
	held, l := lease(key, long), lease(key, long)
	holder.hold(held, "the key is free")
	l.Deadline = time.Now().Add(patience)
	if w.try(l) {
		t.Fatalf("Try was granted although another client holds the key")
	}
	var released atomic.Bool
	granted := false
	if !t.within(slack, func(ctx context.Context) {
		for !released.Load() && !granted {
			if err := w.waiter.Wait(ctx, l); err != nil {
				t.Fatalf("Wait: %v", err)
			}
			if !released.Load() {
				granted = w.try(l) // after a spurious return, or one that tells it to register first
			}
		}
	}, func() {
		time.Sleep(settle)
		released.Store(true)
		holder.release(held, true, "the client held the key")
	}) {
		return // "wait for a release" says so
	}
	if granted { // it looked just when the key came free
		w.release(l, true, "the client held the key")
	}
	w.leave(l)
	next := lease(key, long)
	t.eventually("the key did not come free after its only waiter had left", func() bool { return other.try(next) })
	other.release(next, true, "the client held the key; the only waiter had left")
}

// leaveAsHolder checks that Leave, which follows every wait, does not give up what the wait was for; and that it does
// no harm where there was no wait.
func leaveAsHolder(t *T) {
	svc := t.open(2)
	a, b := t.client(svc), t.client(svc)
	l := lease(t.key(), long)
	a.leave(l)
	a.hold(l, "the key is free")
	a.leave(l)
	b.refused(lease(l.Key, long), "another client holds the key, having called Leave after it was granted")
	a.release(l, true, "the client held the key")
}

// waiting is how many clients wait for the same key.
const waiting = 20

// manyWaiters crowds one key with clients that wait in their own way.
func manyWaiters(t *T) { t.everybodyGetsThrough(t.open(1+waiting), func(*client) {}) }

// everybodyGetsThrough has clients wait for a key that each holds only for a moment. A lost wake-up leaves one asleep.
func (t *T) everybodyGetsThrough(svc drivers.Service, equip func(*client)) {
	holder := t.client(svc)
	key := t.key()
	held := lease(key, long)
	holder.hold(held, "the key is free")
	var all sync.WaitGroup
	deadline := time.Now().Add(patience)
	for range waiting {
		c := t.client(svc)
		equip(c)
		all.Go(func() {
			t.guard(func() {
				l := lease(key, long)
				l.Deadline = deadline
				if !c.acquire(t.ctx, l) {
					t.Fatalf("a waiter was not served in %v, although everybody released at once", patience)
				}
				c.release(l, true, "the client held the key")
			})
		})
	}
	time.Sleep(settle)
	holder.release(held, true, "the client held the key")
	all.Wait()
}
