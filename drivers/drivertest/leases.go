package drivertest

// Cases about the fields of a lease, and how long it lasts.

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lockbench/lockbench/drivers"
)

// owner requires a printable token that is set before anything is sent, so also when the attempt is refused, and that is unique:
// no other acquisition of this session (unless it is Reentrant), of another session or of another process has it.
func owner(t *T) {
	svc, other := t.open(2), t.open(2)
	first := t.client(other)
	t.clients = 0
	a, b := t.client(svc), t.client(svc)
	seen := map[string]string{}
	sessions := map[string]*client{}
	note := func(c *client, l *drivers.Lease, who string) {
		t.fatalIf(l.Owner == "", "%s: the owner is empty (trait owned)", who)
		if strings.ContainsFunc(l.Owner, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) {
			t.Fatalf("%s: the owner is %q, which cannot be printed as it is: give its bytes as hex", who, l.Owner)
		}
		before, taken := seen[l.Owner]
		t.fatalIf(taken && !(t.traits.Reentrant && sessions[l.Owner] == c), "%s has the same owner as %s", who, before)
		seen[l.Owner], sessions[l.Owner] = who, c
	}
	l := first.takes(t.key(), long)
	note(first, l, "the first acquisition in another service")
	first.release(l, true, "the client held the key")
	for range 40 {
		for _, c := range []struct {
			*client
			who string
		}{{a, "an acquisition of session 0"}, {b, "an acquisition of session 1"}} {
			c.hold(l, "the key is free")
			note(c.client, l, c.who)
			c.release(l, true, "the client held the key")
		}
	}
	a.hold(l, "the key is free")
	refused := lease(l.Key, long)
	b.refused(refused, "another client holds the key")
	note(b, refused, "a refused attempt (an unknown outcome must be releasable)")
}

// adoptedOwner chooses the owner of an acquisition: that one has it, the next one does not, and any client that knows
// it can release.
func adoptedOwner(t *T) {
	a, b := t.two()
	adopter, _ := drivers.As[drivers.Adopter](a.Session)
	var unique drivers.Owners
	for range 2 {
		l, owner := lease(t.key(), long), unique.Next()
		adopter.Adopt(owner)
		a.hold(l, "the key is free")
		t.fatalIf(l.Owner != owner, "the owner %q was adopted, and the lease has %q", owner, l.Owner)
		refused := lease(l.Key, long)
		b.refused(refused, "another client holds the key with an adopted owner")
		next := a.takes(t.key(), long)
		t.fatalIf(next.Owner == owner, "an owner that was adopted for one Try is that of the next one too")
		b.release(&drivers.Lease{Key: l.Key, Owner: owner}, true, "it knows the owner that was adopted")
		a.release(next, true, "the client held the key")
	}
}

// fence requires tokens that grow with each grant of a key, however the last one ended; without the claim they must
// not.
func fence(t *T) {
	svc := t.open(3)
	sessions := []*client{t.client(svc), t.client(svc), t.client(svc)}
	for range 2 { // two keys
		key := t.key()
		var last uint64
		grew := true
		const grants = 6
		for i := range grants {
			c := sessions[i%3]
			l := lease(key, long)
			expire := t.traits.Expires && i == grants-2
			if expire {
				l.TTL = short
			}
			if t.traits.Expires && i == grants-1 {
				t.holdWhenFree(c, l)
			} else {
				c.hold(l, "the key is free")
			}
			t.fatalIf(t.traits.Fenced && l.Fence <= last,
				"grant %d has fence %d after %d (trait fenced)", i+1, l.Fence, last)
			grew = grew && l.Fence > last
			last = l.Fence
			if !expire {
				sessions[(i+1)%3].refused(lease(key, long), "another client holds the key")
				c.release(l, true, "the client held the key")
			}
		}
		t.fatalIf(grew && !t.traits.Fenced,
			"every grant has a higher fence than the one before, up to %d (the trait fenced is not claimed)", last)
	}
}

// leaseItself checks that in-fields are only read and out-fields only written, and checks ValidUntil. Between its calls
// it moves a lease in memory, which a caller may do.
func leaseItself(t *T) {
	a, b := t.two()
	deadline := time.Now().Add(time.Hour)
	l := &drivers.Lease{Owner: "left over", Fence: 1 << 40, ValidUntil: time.Now().Add(-time.Hour)}
	for range 3 {
		key := t.key()
		l.Key, l.TTL, l.Deadline = key, long, deadline
		sent := time.Now()
		a.hold(l, "the key is free; its lease was used before, for another key")
		t.fatalIf(!l.ValidUntil.IsZero() && (l.ValidUntil.Before(sent) || l.ValidUntil.After(time.Now().Add(long))),
			"the lease ends %v after Try was sent, for a TTL of %v", l.ValidUntil.Sub(sent), long)
		b.refused(lease(key, long), "another client holds the key")
		moved := *l
		*l = drivers.Lease{Key: t.key(), Owner: "nobody"}
		l = &moved
		a.release(l, true, "the client held the key (a driver must not keep a pointer to the lease)")
		t.fatalIf(l.Key != key || l.TTL != long || !l.Deadline.Equal(deadline),
			"the in-fields of the lease were changed to %q, %v, %v", l.Key, l.TTL, l.Deadline)
	}
}

// expiry requires the key of a dead holder to become free after its TTL and not before, although another client keeps
// asking; without the claim the key must stay taken.
func expiry(t *T) {
	dead, other := t.two()
	sent := time.Now()
	l := dead.takes(t.key(), short)
	if !t.traits.Expires {
		time.Sleep(max(2*short, t.SessionTimeout*3/2)) // a live session is kept alive (Traits.Session)
		other.refused(lease(l.Key, short), "its holder has not released it and the design does not claim Expires")
		dead.release(l, true, "the client held the key")
		return
	}
	t.holdWhenFree(other, lease(l.Key, short))
	if after := time.Since(sent); after < short-early {
		t.Fatalf("another client was granted the key %v after the holder had asked for %v", after, short)
	}
}

// expiryAfterRelease looks for a lease that still ends after it was released, and takes the next one with it.
func expiryAfterRelease(t *T) {
	a, b := t.two()
	var key string
	for owned := false; !owned; { // repeat if the machine has stalled until the lease was over
		key = t.key()
		sent := time.Now()
		first := a.takes(key, short)
		var err error
		if owned, err = a.Release(t.ctx, first); err != nil || !owned && time.Since(sent) < short-early {
			t.Fatalf("Release returned %v, %v although the client held the key", owned, err)
		}
	}
	second := lease(key, long)
	b.hold(second, "the key was released")
	time.Sleep(2 * short)
	a.refused(lease(key, long), "another client holds it for a minute; only the lease of an earlier holder has ended")
	b.release(second, true, "the client held the key")
}

// renewal must extend a lease to the full TTL from then, as often as requested, and no further.
func renewal(t *T) {
	a, b := t.two()
	renewer, ok := drivers.As[drivers.Renewer](a.Session)
	if !ok {
		return // "capabilities" says so
	}
	const renewals, runs = 4, 10
	for range runs { // repeat if the machine stalls
		sent := time.Now()
		l := a.takes(t.key(), short)
		renewed := 0
		for ; renewed < renewals; renewed++ {
			time.Sleep(short / 2)
			before, kept := time.Now(), *l
			owned, err := renewer.Renew(t.ctx, l)
			t.must("Renew", err)
			t.fatalIf(l.Key != kept.Key || l.TTL != kept.TTL || l.Owner != kept.Owner || l.Fence != kept.Fence,
				"Renew made %+v of %+v; when it ends is all that it may change", *l, kept)
			if !owned {
				if since := time.Since(sent); since < short-early {
					t.Fatalf("Renew returned false %v after the lease began or was renewed, for %v", since, short)
				}
				break
			}
			sent = before
		}
		t.holdWhenFree(b, lease(l.Key, long))
		if after := time.Since(sent); after < short-early {
			t.Fatalf("another client was granted the key %v after it was renewed for %v", after, short)
		}
		if renewed == renewals {
			return
		}
	}
	t.Fatalf("a lease of %v was never renewed %d times, each after half of it", short, renewals)
}

// renewalOfLost must return false, restore nothing, and not touch the next holder's lease.
func renewalOfLost(t *T) {
	a, b, third := t.three()
	renewer, ok := drivers.As[drivers.Renewer](a.Session)
	if !ok {
		return // "capabilities" says so
	}
	lost := func(l *drivers.Lease, why string) {
		owned, err := renewer.Renew(t.ctx, l)
		t.must("Renew", err)
		t.fatalIf(owned, "Renew returned true although %s", why)
	}
	released := a.takes(t.key(), long)
	a.release(released, true, "the client held the key")
	lost(released, "the lease was released")
	b.hold(lease(released.Key, long), "it was released; only a renewal came after that")

	expired := a.takes(t.key(), short)
	// An attempt would hide the problem: a lease that is over and has no successor yet.
	time.Sleep(2 * short)
	lost(expired, "the lease has ended")
	next := lease(expired.Key, short)
	b.hold(next, "the last lease has ended; only a renewal came after that")
	expired.TTL = long
	lost(expired, "another client holds the key")
	t.holdWhenFree(third, lease(expired.Key, long)) // a's renewal has not extended b's lease
}

func remaining(t *T) {
	a, b, third := t.three()
	remainer, _ := drivers.As[drivers.Remainer](b.Session)
	key := t.key()
	fresh, _ := drivers.As[drivers.Remainer](third.Session)
	if left, err := fresh.Remaining(t.ctx, lease(key, long)); err != nil || left != 0 {
		t.Fatalf("Remaining returned %v, %v for a free key; want 0", left, err)
	}
	sent := time.Now()
	a.takes(key, long)
	refused := lease(key, short)
	b.refused(refused, "another client holds the key")
	left, err := remainer.Remaining(t.ctx, refused)
	switch {
	case err != nil:
		t.Fatalf("Remaining: %v", err)
	case !t.traits.Expires && left >= 0:
		t.Fatalf("Remaining returned %v although the design does not claim Expires; want a negative duration", left)
	case t.traits.Expires && (left > long+early || left < long-time.Since(sent)-early):
		t.Fatalf("Remaining returned %v about %v after the key was granted for %v", left, time.Since(sent), long)
	}
}
