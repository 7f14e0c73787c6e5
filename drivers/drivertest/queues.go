package drivertest

// Cases about clients that wait behind, or as, one that gives up, dies or loses its session.

import (
	"context"
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
	key := t.key()
	held, l, next := lease(key, long), lease(key, short), lease(key, long) // the dead one may be handed the lock for a lease
	holder.hold(held, "the key is free")
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
		if got.Load() {
			t.Errorf("Try was granted although another client holds the key; one that waited longer %s", does)
		}
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
		if held {
			t.Errorf("Try was granted although another client holds the key")
		}
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
	svc := t.open(3)
	holder, w, other := t.client(svc), t.client(svc), t.client(svc)
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
		t.eventually("neither a waiter nor another client was granted the key after its holder's session had ended (Traits.Session)", func() bool {
			held = other.persists(next)
			return held || got.Load()
		})
		if !held {
			t.recovered(other)
			held = other.tries(next)
		} else {
			time.Sleep(settleTime)
		}
		if held && got.Load() {
			t.Errorf("Try was granted to a waiter, whose session had ended, and to another client at once")
		}
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
	if err == nil && !held {
		_ = c.waiter.Leave(c.t.ctx, l) // best effort
	}
	return err == nil && held
}

// leaveOverCut lets a client give up its wait while it has no connection, and then go on with other keys.
func leaveOverCut(t *T) {
	svc := t.open(3)
	holder, w, other := t.client(svc), t.client(svc), t.client(svc)
	key := t.key()
	held, l := lease(key, long), lease(key, time.Second) // a place that was not withdrawn may be kept this long
	holder.hold(held, "the key is free")
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
		if _, err := w.Release(t.ctx, l); err != nil {
			t.Fatalf("Release of an unknown outcome: %v", err)
		}
	}
	t.eventually("Release fails after the connection was restored", func() bool { // a library may have tried it over the cut already
		_, err := holder.Release(t.ctx, held)
		return err == nil
	})
	t.eventually("the key did not come free after its only waiter had left without a connection, and has gone on with others",
		func() bool { return other.tries(lease(key, long)) })
}
