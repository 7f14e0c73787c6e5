package drivertest

// Cases in which the answer does not arrive.

import (
	"context"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// mustFail checks that an error is an error: neither a grant nor a refusal.
func (t *T) mustFail(what string, answer bool, err error) {
	switch {
	case err == nil:
		t.Fatalf("%s returned %v and no error, although it cannot have heard an answer", what, answer)
	case answer:
		t.Fatalf("%s returned true together with an error", what)
	}
}

// afterUnknown does what every caller does after an error that leaves the outcome unknown: it releases, best effort.
// Then the key must be free.
func (t *T) afterUnknown(c, other *client, l *drivers.Lease, err error) {
	if !drivers.NoEffect(err) {
		if _, err := c.Release(t.ctx, l); err != nil {
			t.Fatalf("Release of an unknown outcome: %v", err)
		}
	}
	next := lease(l.Key, long)
	const why = "the only attempt before had failed, and was released if its outcome was unknown"
	if t.traits.Session && t.SessionTimeout == 0 { // the hold may have lost its connection, and servers notice that later
		t.eventually("Try was refused although "+why, func() bool { return other.tries(next) })
	} else {
		other.hold(next, why)
	}
	other.release(next, true, "the client held the key")
}

// recovered waits until requests succeed again: many in a row, on many keys, because every broken connection of a pool
// may fail one request before it is replaced. A client that waits twice as long after each attempt to connect, as kazoo
// does, may make its next one only as long after the outage as that has lasted.
func (t *T) recovered(clients ...*client) {
	keys := make([]string, 32)
	for i := range keys {
		keys[i] = t.key()
	}
	through := func() bool {
		for _, key := range keys {
			for _, c := range clients {
				l := lease(key, long)
				_, err := c.Try(t.ctx, l)
				if err == nil {
					_, err = c.Release(t.ctx, l) // it may use another connection
				}
				if err != nil {
					return false
				}
			}
		}
		return true
	}
	const pause = 5 * time.Millisecond
	for start := time.Now(); !through(); time.Sleep(pause) {
		t.fatalIf(time.Since(start) > 4*slack || t.ctx.Err() != nil, "requests did not get through again within %v", 4*slack)
	}
	time.Sleep(pause) // a majority of nodes has answered: the others, which have failed and are not waited for, may be behind
}

func cancelled(t *T) {
	c, other := t.two()
	ended, cancel := context.WithCancel(t.ctx)
	cancel()
	expired, cancelExpired := context.WithDeadline(t.ctx, time.Now().Add(-time.Second))
	defer cancelExpired()
	for _, over := range []struct {
		ctx   context.Context
		class drivers.Class
	}{{ended, drivers.ClassCanceled}, {expired, drivers.ClassTimeout}} {
		var err error
		l := lease(t.key(), long)
		prompt := func(what string, f func(ctx context.Context) (bool, error)) {
			var answer bool
			t.fatalIf(!t.within(slack, func(context.Context) { answer, err = f(over.ctx) }),
				"%s took more than %v with a context that was over", what, slack)
			t.mustFail(what+" with a context that is over", answer, err)
			if class := drivers.ClassOf(err); class != over.class {
				t.Fatalf("%s returned %q, which is of class %q; want %q", what, err, class, over.class)
			}
		}
		prompt("Try", func(ctx context.Context) (bool, error) { return c.Try(ctx, l) })
		t.afterUnknown(c, other, l, err)
		c.hold(l, "the key is free")
		prompt("Release", func(ctx context.Context) (bool, error) { return c.Release(ctx, l) })
		t.afterUnknown(c, other, l, err)
	}
}

// cutOff takes the service away and gives it back. Meanwhile every request fails, and takes no longer than any may.
func cutOff(t *T) {
	svc := t.open(2)
	c, other := t.client(svc), t.client(svc)
	prober, probes := drivers.As[drivers.Prober](svc)
	held, tried := c.takes(t.key(), long), lease(t.key(), long)
	other.cycle(t.key())
	if probes {
		t.must("Probe", prober.Probe(t.ctx))
	}
	restore := t.Cut()
	func() {
		defer restore()
		for range 2 { // on the broken connection, and without one
			answer, err := c.Try(t.ctx, tried)
			t.mustFail("Try without a connection", answer, err)
			answer, err = c.Release(t.ctx, held)
			if err != nil || answer || !t.traits.Session { // otherwise it knows that it has lost what its session held
				t.mustFail("Release without a connection", answer, err)
			}
			answer, err = other.Try(t.ctx, lease(held.Key, long))
			t.mustFail("Try without a connection, of a held key", answer, err)
			if probes {
				t.ends(t.Config.IO()+slack, "Probe has not failed %v after the connection was cut", func(ctx context.Context) {
					t.fatalIf(prober.Probe(ctx) == nil, "Probe has no error without a connection")
				})
			}
		}
	}()
	t.recovered(c, other)
	if probes {
		t.eventually("Probe did not get through again", func() bool {
			ctx, cancel := context.WithTimeout(t.ctx, time.Second)
			defer cancel()
			return prober.Probe(ctx) == nil
		})
	}
	if _, err := c.Release(t.ctx, held); err != nil { // its outcome is as unknown as that of the attempt
		t.Fatalf("Release after the connection was restored: %v", err)
	}
	t.afterUnknown(c, other, held, nil)
	t.afterUnknown(c, other, tried, nil)
}

// listenerAfterCut breaks a listener's connection. It must report that it may have missed something, and go on.
func listenerAfterCut(t *T) {
	svc := t.open(1)
	c, e := t.client(svc), t.listen(svc)
	key := t.key()
	e.add(key)
	c.cycle(key)
	e.hears(key, "a release")
	t.Cut()()
	e.hears("", `the connection broke: wake("") must tell that messages may be lost`)
	t.recovered(c)
	e.take(key)
	c.cycle(key)
	e.hears(key, "a release, the connection having been restored")
}

// lostReply loses the answer to an attempt that succeeds on the server. Only an Owner that was set before anything was
// sent can release that.
func lostReply(t *T) {
	svc := t.open(2)
	c := t.client(svc)
	if remote(t.known) { // with its own connection: a client that has to make one meanwhile has sent nothing
		svc = t.open(1)
	}
	other := t.client(svc)
	c.cycle(t.key()) // makes the connection
	l, held := lease(t.key(), long), other.takes(t.key(), long)
	patient, cancel := context.WithTimeout(t.ctx, slack)
	defer cancel()
	var err error
	restore := t.Mute()
	func() {
		defer restore()
		var both sync.WaitGroup // each takes as long as the driver waits for a reply
		defer both.Wait()
		t.goes(&both, func() {
			answer, err := other.Release(patient, held)
			t.mustFail("Release without a reply", answer, err)
		})
		var answer bool
		answer, err = c.Try(patient, l)
		t.mustFail("Try without a reply", answer, err)
		t.fatalIf(drivers.NoEffect(err), "Try had effect but says that it had none: %v", err)
		t.fatalIf(t.traits.Owned && l.Owner == "", "Try has set no owner before it failed")
	}()
	t.recovered(c, other)
	t.afterUnknown(c, other, l, err)
	t.afterUnknown(other, c, held, nil)
}

// waitOverCut cuts a waiter off for a moment, after which the holder releases. What the waiter had registered is lost,
// or blocks the waiter itself; when its wait has failed it starts again, like every caller.
func waitOverCut(t *T) {
	holder, w, other := t.three()
	held := holder.takes(t.key(), long)
	l := lease(held.Key, time.Second) // a place that was not withdrawn may be kept this long
	got := false
	limit := waitTime + t.SessionTimeout
	if !t.within(limit+slack, func(ctx context.Context) { got = w.persist(ctx, l, limit) }, func() {
		time.Sleep(settleTime)
		restore := t.Cut()
		time.Sleep(settleTime)
		restore()
		time.Sleep(settleTime) // it may wait again
		holder.releases(held, "Release of what was held before a cut went on to fail")
	}) || !got {
		t.Fatalf("a waiter that was cut off for a moment has not been granted the key %v after its holder was heard again", limit)
	}
	w.releases(l, "Release went on to fail after a cut")
	t.recovered(other)
	t.eventuallyIn(limit, "the key did not come free after a waiter, who was cut off, was granted it and released it",
		func() bool { return other.tries(lease(held.Key, long)) })
}

// persist acquires like a client that goes on after errors. It reports whether the key was granted.
func (c *client) persist(ctx context.Context, l *drivers.Lease, limit time.Duration) bool {
	for end := time.Now().Add(limit); time.Now().Before(end) && ctx.Err() == nil; {
		l.Deadline = end
		held, err := c.Try(ctx, l)
		for err == nil && !held && time.Now().Before(end) {
			if err = c.waiter.Wait(ctx, l); err == nil {
				held, err = c.Try(ctx, l)
			}
		}
		_ = c.waiter.Leave(ctx, l) // the server may not be reachable
		if late := !time.Now().Before(end); held && !late {
			return true
		}
		if held || err != nil && !drivers.NoEffect(err) {
			_, _ = c.Release(ctx, l)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// replyAfterLimit holds replies back until the TTL or the deadline has passed, by which drivers and their libraries bound
// what they do. The end of their patience is a refusal: the server has answered, so nothing is unknown.
func replyAfterLimit(t *T) {
	holder, c, other := t.three()
	held := holder.takes(t.key(), long)
	c.refused(lease(held.Key, long), "another client holds the key") // makes the connection
	t.stalled(func(context.Context) {
		if got, err := c.Try(context.WithoutCancel(t.ctx), lease(held.Key, short)); got || err != nil {
			t.Errorf("Try of a held key, answered after its TTL of %v, returned %v, %v; want false and no error", short, got, err)
		}
	})
	if c.waiter == nil {
		return
	}
	t.stalled(func(ctx context.Context) {
		l := lease(held.Key, short)
		if err := c.waiter.Wait(ctx, l); err != nil && ctx.Err() == nil {
			t.Errorf("Wait for a held key, answered after a TTL of %v, returned %v; want no error", short, err)
		}
		c.leave(l)
	})
	untilDeadline := func(key string) {
		t.stalled(func(ctx context.Context) {
			l := lease(held.Key, long)
			l.Deadline = time.Now().Add(short)
			if err := c.waiter.Wait(ctx, l); err != nil && ctx.Err() == nil {
				t.Errorf("Wait for a %s key, answered after the deadline, returned %v; want no error", key, err)
			}
			c.leave(l)
		})
	}
	untilDeadline("held")
	holder.release(held, true, "the client held the key")
	untilDeadline("free")
	next := lease(held.Key, long)
	t.eventually("the key did not come free after its only waiter had left", func() bool { return other.try(next) })
	other.release(next, true, "the client held the key")
}

// stalled calls f and holds replies back for longer than short. Then it cancels the context of f, which has no deadline, as
// in a run.
func (t *T) stalled(f func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.ctx))
	defer cancel()
	restore := t.Stall()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.guard(func() { f(ctx) })
	}()
	select {
	case <-time.After(short + short/2):
	case <-done:
	}
	restore()
	cancel()
	select {
	case <-done:
	case <-time.After(slack):
		t.Fatalf("a call has not returned %v after its answer came", slack)
	}
}
