package drivertest

// Cases about holders that die.

import (
	"context"
	"fmt"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// crash ends a session as the death of its process would. One that is no Crasher is dropped without a word.
func (c *client) crash() {
	if crasher, ok := drivers.As[drivers.Crasher](c.Session); ok {
		crasher.Crash()
	}
}

// crash has a holder die. Its key comes free as the traits say and neither before nor after; all else that was held
// stays held, and a new client with the number of the dead one is somebody else.
//
// Under Traits.Session a service that ends a session with its connection cannot be told from one that was told of the
// end, so that there only the others are compared with the time that they have to take.
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
	reborn := t.numbered(svc, 0)
	reborn.cycle(t.key())
	next := lease(l.Key, long)
	from, until := t.mourning()
	if until == 0 {
		other.refused(next, "its holder has died, and the design claims neither Expires nor Session")
		reborn.refused(next, "its holder has died, and this client only has its number")
		other.release(kept, true, "the client held the key; only another client has died")
		return
	}
	heir, third := other, reborn
	t.eventuallyIn(until, "the key of a dead holder did not come free", func() bool {
		heir, third = third, heir
		return heir.tries(next)
	})
	if after := time.Since(sent); after < from {
		t.Fatalf("another client was granted the key %v after a holder who has died had asked for it; "+
			"it has to stay taken for %v", after, from)
	}
	if t.crasher && t.traits.Session {
		t.unusable(dead, l)
		third.refused(lease(l.Key, long), "another client holds the key; only a dead holder has released it")
	}
	heir.release(next, true, "the client was granted the key after the death of its last holder")
	other.release(kept, true, "the client held the key; only another client has died")
}

// mourning returns how long the key of a holder that has died has to stay taken from the grant on, and when it has to have come
// free. Clients give signs of life several times in a session's time-out, so that most of it is left after the last one.
// Neither is known of a hold that lasts for ever.
func (t *T) mourning() (from, until time.Duration) {
	switch {
	case t.traits.Expires:
		return short / 2, short + slack // the case "expiry" looks closer
	case t.traits.Session:
		return t.SessionTimeout / 3, t.silence() + slack
	}
	return 0, 0
}

// unusable calls a session that has crashed and that its holds belong to: it must neither hold nor free anything any more.
func (t *T) unusable(dead *client, held *drivers.Lease) {
	if !t.within(slack, func(ctx context.Context) {
		l := lease(t.key(), long)
		if granted, _ := dead.Try(ctx, l); granted {
			t.Fatalf("Try was granted to a session that has crashed")
		}
		if owned, _ := dead.Release(ctx, held); owned {
			t.Fatalf("Release by a session that has crashed answered true")
		}
	}) {
		t.Fatalf("calls on a session that has crashed have not returned after %v", slack)
	}
}

// crashes is how many holders die one after the other; more than the goroutines that their sessions may share.
const crashes = 32

// crashesLeaveNothing has many holders die while the service stays open, and looks for goroutines of theirs.
func crashesLeaveNothing(t *T) {
	const label = "drivertest-crash"
	svc := t.open(2)
	t.client(svc).cycle(t.key()) // begins what sessions share
	pprof.Do(t.ctx, pprof.Labels(label, t.prefix), func(context.Context) {
		for range crashes {
			c := t.numbered(svc, 1)
			c.hold(lease(t.key(), long), "the key is free")
			c.crash()
			c.closed = true // it need not be
		}
	})
	var left []string
	count := 0
	for start := time.Now(); time.Since(start) < slack; time.Sleep(5 * time.Millisecond) {
		if left, count = labelled(label, t.prefix); count < crashes {
			return
		}
	}
	t.Errorf("of %d sessions that have crashed %d goroutines are left:\n%s", crashes, count, strings.Join(left, "\n"))
}

// labelled returns the stacks of the goroutines with a profiler label, which they inherit from the one that starts them; and
// how many goroutines those are.
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
