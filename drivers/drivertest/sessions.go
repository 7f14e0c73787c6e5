package drivertest

// Cases about holders that die, and about holds that end with their holder's session (Traits.Session) and that do not.

import (
	"context"
	"fmt"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
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
	a, b, c := t.three()
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
	l := a.takes(t.key(), long)
	next, third := lease(l.Key, long), lease(l.Key, long)
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
	// It was cut off, too, and a client whose pauses double may not ask again for as long as that lasted.
	t.eventuallyIn(t.silence()+slack, "the key did not come free after its holder was cut off for "+t.silence().String()+" (trait session)",
		func() bool { return b.persists(next) })
	t.eventually("Release after the end of a session went on to fail", func() bool {
		owned, err := a.Release(t.ctx, l)
		t.fatalIf(owned, "Release returned true although the session had ended that held the key (trait session)")
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
		t.eventuallyIn(t.SessionTimeout+slack, "the key did not come free after its holder's service was closed (trait session)",
			func() bool { return other.tries(next) })
		return
	}
	a, b := t.two()
	a.hold(lease(key, long), "the key is free")
	a.close()
	if !t.traits.Session {
		b.refused(next, "its holder has closed its session without a release, and the design does not claim Session")
		return
	}
	t.eventually("the key did not come free after its holder's session was closed (trait session)",
		func() bool { return b.tries(next) })
	b.release(next, true, "the client held the key")
}

// closeHolding opens a service, holds the key, and closes the service.
func (t *T) closeHolding(key string) {
	cfg := t.Config
	cfg.Clients, cfg.Wakes = 1, true
	svc := t.openOnly(cfg)
	held, err := t.session(svc, 0).Try(t.ctx, lease(key, long))
	t.errorIf(!held, "Try of a free key returned %v, %v", held, err)
	t.must("Close", svc.Close())
}

// crash ends a session like the death of its process. One that is not a Crasher is dropped.
func (c *client) crash() {
	if crasher, ok := drivers.As[drivers.Crasher](c.Session); ok {
		crasher.Crash()
	}
}

// crash makes a holder die. Its key must become free as the traits say, not earlier or later. Everything else that was
// held must stay held, and a new client with the dead one's number is a different client.
//
// Under Traits.Session, a service that ends a session with its connection cannot be told from one that was told of the
// end, so only the others are compared with the time that they have to take.
func crash(t *T) {
	svc := t.open(2)
	dead, other := t.client(svc), t.client(svc)
	kept, l := lease(t.key(), long), lease(t.key(), long)
	if t.traits.Expires {
		l.TTL = short
	}
	other.hold(kept, "the key is free")
	sent := time.Now()
	dead.hold(l, "the key is free")
	dead.crash()
	if t.crasher && t.traits.Session {
		t.unusable(dead, l)
	}
	sameID := t.numbered(svc, 0)
	sameID.cycle(t.key())
	next := lease(l.Key, long)
	from, until := t.freeTimes()
	if until == 0 {
		other.refused(next, "its holder has died, and the design claims neither Expires nor Session")
		sameID.refused(next, "its holder has died, and this client only has its number")
		other.release(kept, true, "the client held the key; only another client has died")
		return
	}
	successor, third := other, sameID
	t.eventuallyIn(until, "the key of a dead holder did not come free", func() bool {
		successor, third = third, successor
		return successor.tries(next)
	})
	if after := time.Since(sent); after < from {
		t.Fatalf("another client was granted the key %v after a holder who has died had asked for it; "+
			"it has to stay taken for %v", after, from)
	}
	if t.crasher && t.traits.Session {
		t.unusable(dead, l)
		third.refused(lease(l.Key, long), "another client holds the key; only a dead holder has released it")
	}
	successor.release(next, true, "the client was granted the key after the death of its last holder")
	other.release(kept, true, "the client held the key; only another client has died")
}

// freeTimes returns how long the key of a dead holder must stay taken after the grant, and when it must be free.
// Clients give signs of life several times per session time-out, so most of it is left after the last one. Both are 0
// for a hold that lasts for ever.
func (t *T) freeTimes() (from, until time.Duration) {
	switch {
	case t.traits.Expires:
		return short / 2, short + slack // the case "expiry" is more precise
	case t.traits.Session:
		return t.SessionTimeout / 3, t.silence() + slack
	}
	return 0, 0
}

// unusable checks that a crashed session, which its holds belong to, can neither hold nor free anything.
func (t *T) unusable(dead *client, held *drivers.Lease) {
	t.ends(slack, "calls on a session that has crashed have not returned after %v", func(ctx context.Context) {
		l := lease(t.key(), long)
		granted, _ := dead.Try(ctx, l)
		t.fatalIf(granted, "Try was granted to a session that has crashed")
		owned, _ := dead.Release(ctx, held)
		t.fatalIf(owned, "Release by a session that has crashed returned true")
	})
}

// labelled returns the stacks of the goroutines with a profiler label, which goroutines inherit, and their number.
func labelled(label, value string) (stacks []string, goroutines int) {
	mark := fmt.Sprintf("# labels: {%q:%q}", label, value)
	var profile strings.Builder
	pprof.Lookup("goroutine").WriteTo(&profile, 1)
	for _, stack := range strings.Split(profile.String(), "\n\n") {
		if !strings.Contains(stack, mark) {
			continue
		}
		stacks = append(stacks, stack)
		count, _, _ := strings.Cut(stack, " @")
		n, _ := strconv.Atoi(count[strings.LastIndexByte(count, '\n')+1:])
		goroutines += max(n, 1)
	}
	return stacks, goroutines
}
