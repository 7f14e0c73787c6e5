package drivertest

// Cases about sessions with their own way of waiting.

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// waitTime is how long waiters in these cases wait. It exceeds slack, so that one that only gets its turn at the
// deadline has waited too long.
const waitTime = 2 * slack

// waitAfterRelease frees the key between the failed attempt and the wait. A waiter that only then begins to listen, and
// sleeps, has missed that.
func waitAfterRelease(t *T) {
	holder, w := t.two()
	for range 3 {
		held := holder.takes(t.key(), long)
		l := lease(held.Key, long)
		l.Deadline = time.Now().Add(waitTime)
		w.lineUp(l)
		holder.release(held, true, "the client held the key")
		got := false
		if !t.within(slack, func(ctx context.Context) {
			err := w.waiter.Wait(ctx, l)
			t.errorIf(err != nil && ctx.Err() == nil, "Wait: %v", err)
			got = w.acquire(ctx, l)
		}) || !got {
			t.Fatalf("a client that began to wait just after the release has not been granted the key within %v", slack)
		}
		w.release(l, true, "the client held the key")
	}
}

// waitDeadline makes the waiter's deadline pass while the key is held, and before the wait begins.
func waitDeadline(t *T) {
	holder, w := t.two()
	held := holder.takes(t.key(), long)
	for _, wait := range []time.Duration{short, -short} {
		l := lease(held.Key, long)
		l.Deadline = time.Now().Add(wait)
		if !t.within(max(wait, 0)+slack, func(ctx context.Context) {
			t.fatalIf(w.acquire(ctx, l), "Try was granted although another client holds the key")
		}) {
			t.Fatalf("Wait has exceeded a deadline %v from the start by %v", wait, slack)
		}
	}
}

func waitContext(t *T) {
	holder, w := t.two()
	held := holder.takes(t.key(), long)
	l := lease(held.Key, long)
	l.Deadline = time.Now().Add(waitTime)
	w.lineUp(l)
	outer, cancel := context.WithCancel(t.ctx)
	defer cancel()
	t.ends(slack, "Wait has not returned %v after its context was cancelled", func(context.Context) {
		var err error
		for last := false; err == nil && !last; {
			last = outer.Err() != nil // a wake-up may have come first, but only once
			if err = w.waiter.Wait(outer, l); err == nil && w.try(l) {
				t.Fatalf("Try was granted although another client holds the key")
			}
		}
		t.errorIf(!errors.Is(err, context.Canceled),
			"Wait returned %v after its context was cancelled; want context.Canceled", err)
	}, func() {
		time.Sleep(settleTime)
		cancel()
	})
	w.leave(l)
	holder.release(held, true, "the client held the key; the only waiter had left when its context was cancelled")
}

// waitForDead makes the holder die while another client waits: nothing announces the end of a lease, and the end of a
// session wakes as well as a release.
func waitForDead(t *T) {
	holder, w := t.two()
	if t.traits.Expires {
		held := holder.takes(t.key(), short)
		w.getsThrough(short+slack, "the waiter has not been granted the key %v after a lease of "+short.String()+" began",
			lease(held.Key, long))
		return
	}
	held := holder.takes(t.key(), long)
	w.getsThrough(slack, "the waiter has not been granted the key %v after its holder's session was closed (trait session)",
		lease(held.Key, long), func() {
			time.Sleep(settleTime)
			holder.close()
		})
}

// leave makes a waiter leave: it must not block others, nor be granted the key afterwards.
func leave(t *T) {
	holder, w, other := t.three()
	held := holder.takes(t.key(), long)
	l := lease(held.Key, long)
	l.Deadline = time.Now().Add(short)
	if !t.within(short+slack, func(ctx context.Context) { w.acquire(ctx, l) }) {
		return // "wait ends at the deadline" says so
	}
	other.refused(lease(held.Key, long), "another client holds the key; a waiter has left")
	holder.release(held, true, "the client held the key")
	next := lease(held.Key, long)
	other.hold(next, "the key was released and its only waiter had left")
	other.release(next, true, "the client held the key; the only waiter had left")
}

// leaveAfterWake leaves just when the wait has succeeded. A Wait that acquires on the server must release that.
func leaveAfterWake(t *T) {
	holder, w, other := t.three()
	held := holder.takes(t.key(), long)
	l := lease(held.Key, long)
	l.Deadline = time.Now().Add(waitTime)
	w.lineUp(l)
	var released atomic.Bool
	granted := false
	if !t.within(slack, func(ctx context.Context) {
		for !released.Load() && !granted {
			if err := w.waiter.Wait(ctx, l); err != nil {
				t.errorIf(ctx.Err() == nil, "Wait: %v", err)
				return
			}
			if !released.Load() {
				granted = w.try(l) // after a spurious return, or one that tells it to register first
			}
		}
	}, func() {
		time.Sleep(settleTime)
		released.Store(true)
		holder.release(held, true, "the client held the key")
	}) {
		return // "wait for a release" says so
	}
	if granted { // it looked just when the key became free
		w.release(l, true, "the client held the key")
	}
	w.leave(l)
	next := lease(held.Key, long)
	t.eventually("the key did not come free after its only waiter had left", func() bool { return other.try(next) })
	other.release(next, true, "the client held the key; the only waiter had left")
}

// waitForRelease makes one client wait for a key, and then many.
func waitForRelease(t *T) {
	svc := t.open(clients(crowds))
	for _, waiting := range crowds {
		t.allGetThrough(svc, waiting, func(*client) {})
	}
}

// crowds are the numbers of clients that wait for the same key.
var crowds = []int{1, 20}

// clients returns how many sessions allGetThrough opens for the crowds.
func clients(crowds []int) (n int) {
	for _, waiting := range crowds {
		n += 1 + waiting
	}
	return n
}

// allGetThrough makes clients wait for a key that each holds only for a moment. A lost wake-up leaves one asleep.
func (t *T) allGetThrough(svc drivers.Service, waiting int, equip func(*client)) {
	holder := t.client(svc)
	key := t.key()
	held := holder.takes(key, long)
	line := make([]*client, waiting)
	for i := range line {
		line[i] = t.client(svc)
		equip(line[i])
	}
	var served atomic.Int32
	limit := slack + time.Duration(waiting)*slack/20 // they are served one by one
	inTime := t.within(settleTime+limit, func(ctx context.Context) {
		var all sync.WaitGroup
		deadline := time.Now().Add(limit + slack) // a client that is only served when another one gives up is too late
		for _, c := range line {
			t.goes(&all, func() {
				l := lease(key, long)
				l.Deadline = deadline
				if c.acquire(ctx, l) {
					served.Add(1)
					time.Sleep(time.Millisecond) // so that all others are refused and wait again
					c.release(l, true, "the client held the key")
				}
			})
		}
		all.Wait()
	}, func() {
		time.Sleep(settleTime)
		holder.release(held, true, "the client held the key")
	})
	if n := int(served.Load()); !inTime || n < waiting {
		t.Fatalf("of %d waiters %d have been served within %v, although every client releases at once", waiting, n, limit)
	}
}
