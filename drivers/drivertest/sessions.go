package drivertest

// Cases about holds that end with their holder's session, and about those that do not (Traits.Session).

import (
	"context"
	"time"
)

// silence returns the duration of a cut that certainly ends a session. The service may count from before the cut, and
// checks at intervals.
func (t *T) silence() time.Duration { return t.SessionTimeout*5/4 + 2*short }

// sessionEnds cuts the holder off. Under Traits.Session that frees the key, and the former holder learns so when it
// comes back, and can work on. Without the claim the hold lasts, and the holder can release it.
//
// On a machine that stalls the next holder's session may end as well, so that a third client is granted the key. That is
// tried again; a release by the former holder that frees the key does so each time.
func sessionEnds(t *T) {
	svc := t.open(3)
	a, b, c := t.client(svc), t.client(svc), t.client(svc)
	const attempts = 3
	for range attempts {
		if t.sessionEnds(a, b, c) {
			return
		}
	}
	t.Fatalf("Try was granted although another client holds the key; only a former holder has come back and released")
}

// sessionEnds reports whether the key was kept for b when a came back.
func (t *T) sessionEnds(a, b, c *client) bool {
	key := t.key()
	l, next, third := lease(key, long), lease(key, long), lease(key, long)
	a.hold(l, "the key is free")
	b.cycle(t.key())
	func() {
		defer t.Cut()()
		time.Sleep(t.silence())
	}()
	if !t.traits.Session {
		t.recovered(a, b)
		b.refused(next, "its holder was only cut off for a moment and the design does not claim Session")
		a.release(l, true, "the client held the key, was only cut off for a moment, and the design does not claim Session")
		return true
	}
	t.eventually("the key did not come free after its holder was cut off for "+t.silence().String()+" (Traits.Session)",
		func() bool {
			held, err := b.Try(t.ctx, next) // it was cut off, too
			if err == nil && !held {
				b.leave(next)
			}
			return err == nil && held
		})
	t.eventually("Release after the end of a session went on to fail", func() bool {
		owned, err := a.Release(t.ctx, l)
		if owned {
			t.Fatalf("Release returned true although the session had ended that held the key (Traits.Session)")
		}
		return err == nil
	})
	t.recovered(a, b, c)
	if c.try(third) {
		c.release(third, true, "the client held the key")
		return false
	}
	c.leave(third)
	b.release(next, true, "the client was granted the key after the cut")
	a.hold(l, "the key was released; the client has lost a session, and gets a new one")
	a.release(l, true, "the client held the key")
	return true
}

// closedSession closes the session that holds a key, or the service if a session cannot be closed.
func closedSession(t *T) {
	key := t.key()
	next := lease(key, long)
	if !t.closer {
		t.closeHolding(key)
		other := t.client(t.open(1))
		t.eventuallyIn(t.SessionTimeout+slack, "the key did not come free after its holder's service was closed (Traits.Session)",
			func() bool { return other.tries(next) })
		return
	}
	svc := t.open(2)
	a, b := t.client(svc), t.client(svc)
	a.hold(lease(key, long), "the key is free")
	a.close()
	if !t.traits.Session {
		b.refused(next, "its holder has closed its session without a release, and the design does not claim Session")
		return
	}
	t.eventually("the key did not come free after its holder's session was closed (Traits.Session)",
		func() bool { return b.tries(next) })
	b.release(next, true, "the client held the key")
}

// closeHolding opens a service, holds the key, and closes the service.
func (t *T) closeHolding(key string) {
	cfg := t.Config
	cfg.Clients, cfg.Wakes = 1, true
	svc, err := t.Driver.Open(t.ctx, cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	s, err := svc.Session(t.ctx, 0)
	if err == nil {
		var held bool
		if held, err = s.Try(t.ctx, lease(key, long)); err == nil && !held {
			t.Errorf("Try was refused although the key is free")
		}
	}
	if err != nil {
		t.Errorf("holding the key: %v", err)
	}
	if err := svc.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

// waitForSession ends the holder's session while another client waits.
func waitForSession(t *T) {
	svc := t.open(2)
	holder, w := t.client(svc), t.client(svc)
	key := t.key()
	holder.hold(lease(key, long), "the key is free")
	l := lease(key, long)
	l.Deadline = time.Now().Add(waitTime)
	got := false
	if !t.within(slack, func(ctx context.Context) { got = w.acquire(ctx, l) }, func() {
		time.Sleep(settleTime)
		holder.close()
	}) || !got {
		t.Fatalf("the waiter has not been granted the key %v after its holder's session was closed (Traits.Session)", slack)
	}
	w.release(l, true, "the client held the key")
}
