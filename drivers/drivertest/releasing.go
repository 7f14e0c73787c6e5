package drivertest

// Cases about who may release a key.

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// releaseOfNothing releases keys that are not held: nothing is removed, and that is not an error.
func releaseOfNothing(t *T) {
	svc := t.open(2)
	a, b := t.client(svc), t.client(svc)
	l := lease(t.key(), long)
	a.release(l, false, "the key was never held")
	a.hold(l, "the key is free")
	a.release(l, true, "the client held the key")
	a.release(l, false, "the client had released the key already")
	b.release(lease(l.Key, long), false, "the key is not held")
	b.hold(lease(l.Key, long), "the key is free, having been released more often than held")
}

// releaseByOther makes a client release what another one holds. If the design does not claim Owned, the lock must
// really be gone.
func releaseByOther(t *T) {
	svc := t.open(3)
	holder, nonHolder, third := t.client(svc), t.client(svc), t.client(svc)
	key := t.key()
	l := lease(key, long)
	holder.hold(l, "the key is free")

	tried := lease(key, long) // the classic mistake: unlock in a finally block although the lock was not acquired
	nonHolder.refused(tried, "another client holds the key")
	if !t.traits.Owned {
		nonHolder.release(tried, true, "the design lets every client release (Traits.Owned is understated)")
		third.hold(lease(key, long), "another client has released the key (Traits.Owned is understated)")
		return
	}
	nonHolder.release(tried, false, "another client holds the key (Traits.Owned)")
	third.refused(lease(key, long), "only a client that does not hold the key has released it (Traits.Owned)")
	nonHolder.release(lease(key, long), false, "another client holds the key and this one never tried (Traits.Owned)")
	third.refused(lease(key, long), "only a client that does not hold the key has released it (Traits.Owned)")

	holder.release(l, true, "the client held the key")
	next := lease(key, long)
	third.hold(next, "the key was released")
	holder.release(l, false, "the client had released its lease; the key is the next holder's now (Traits.Owned)")
	nonHolder.refused(lease(key, long), "only a former holder has released the key (Traits.Owned)")
	third.release(next, true, "the client held the key")
}

// lateRelease makes a holder release after its lease has ended and the key has been granted again: to another client,
// and to the same one.
func lateRelease(t *T) {
	svc := t.open(3)
	a, b, third := t.client(svc), t.client(svc), t.client(svc)
	for _, next := range []struct {
		client *client
		who    string
	}{{b, "another client"}, {a, "a later acquisition of the same client"}} {
		if next.client == a && t.traits.Reentrant {
			continue // that would be the same hold, entered again
		}
		key := t.key()
		old, fresh := lease(key, short), lease(key, long)
		a.hold(old, "the key is free")
		t.holdWhenFree(next.client, fresh)
		if !t.traits.Owned {
			// Another client shows that a design is not Owned. A late holder may still know by its own clock that it is
			// late.
			owned, err := a.Release(t.ctx, old)
			switch {
			case err != nil:
				t.Fatalf("Release: %v", err)
			case owned:
				third.hold(lease(key, long), "a late release has said that it freed the key")
			default:
				third.refused(lease(key, long), "a late release has said that it freed nothing; "+next.who+" holds the key")
			}
			continue
		}
		a.release(old, false, "the lease had ended, and "+next.who+" holds the key (Traits.Owned)")
		third.refused(lease(key, long), next.who+" than the one that has released late holds the key (Traits.Owned)")
		next.client.release(fresh, true, "its client held the key; only a late release of an earlier lease came between")
	}

	if t.traits.Owned {
		l := lease(t.key(), short)
		a.hold(l, "the key is free")
		time.Sleep(2 * short)
		a.release(l, false, "the lease had ended, though the key was not taken since (Traits.Owned)")
	}
}

// holdWhenFree tries until the present lease has ended.
func (t *T) holdWhenFree(c *client, l *drivers.Lease) {
	t.eventually("a lease of "+short.String()+" did not end", func() bool { return c.tries(l) })
}
