package drivertest

// Cases about who may hold a key, and who may release it.

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// exclusion makes three sessions try and release two keys in one long walk, and compares each answer with a lock table.
// Only holders release here, and holders do not try. Contention is not an error, however often it occurs, and no reason to wait.
func exclusion(t *T) {
	svc := t.open(3)
	sessions := []*client{t.client(svc), t.client(svc), t.client(svc)}
	if !t.traits.Exclusive {
		key := t.key()
		sessions[0].hold(lease(key, long), "the key is free")
		sessions[1].hold(lease(key, long), "the trait exclusive is not claimed")
		return
	}
	random := rand.New(rand.NewPCG(1, 2))
	w := newWalk(t, sessions, [2]string{t.key(), t.key()})
	for range 500 {
		w.step(random.IntN(3), random.IntN(2))
	}
	w.finish()
}

// walk compares the lock under test with a table that is correct by construction.
type walk struct {
	t        *T
	sessions []*client
	keys     [2]string
	leases   [3][2]*drivers.Lease
	holder   [2]int
	history  []string
}

const noSession = -1

func newWalk(t *T, sessions []*client, keys [2]string) *walk {
	w := &walk{t: t, sessions: sessions, keys: keys, holder: [2]int{noSession, noSession}}
	for s := range w.leases {
		for k := range w.leases[s] {
			w.leases[s][k] = lease(w.keys[k], long)
		}
	}
	return w
}

// step makes a session release the key if it holds it, and try it otherwise.
func (w *walk) step(session, key int) {
	s, l := w.sessions[session], w.leases[session][key]
	if w.holder[key] == session {
		w.history = append(w.history, fmt.Sprintf("%d releases %d", session, key))
		s.release(l, true, "it held the key; so far: "+w.story())
		w.holder[key] = noSession
		return
	}
	w.history = append(w.history, fmt.Sprintf("%d tries %d", session, key))
	held, free := s.try(l), w.holder[key] == noSession
	switch {
	case held && !free:
		w.t.Fatalf("Try was granted although session %d holds the key; so far: %s", w.holder[key], w.story())
	case !held && free:
		w.t.Fatalf("Try was refused although the key is free; so far: %s", w.story())
	case held:
		w.holder[key] = session
	default:
		s.leave(l)
	}
}

// finish releases what is held, because designs without a Cleaner would leave it behind.
func (w *walk) finish() {
	for key, session := range w.holder {
		if session != noSession {
			w.step(session, key)
		}
	}
}

func (w *walk) story() string { return strings.Join(w.history[max(0, len(w.history)-8):], ", ") }

// concurrency makes clients contend for two keys, with a counter per key to detect overlaps.
func concurrency(t *T) {
	const clients, rounds = 8, 20
	svc := t.open(clients)
	keys := [2]string{t.key(), t.key()}
	var inside [2]atomic.Int32
	var all sync.WaitGroup
	for i := range clients {
		c, k := t.client(svc), i%2
		t.goes(&all, func() {
			l := lease(keys[k], long)
			for range rounds {
				for !c.try(l) {
					c.leave(l)
					if t.failed() || t.ctx.Err() != nil {
						return
					}
					time.Sleep(100 * time.Microsecond)
				}
				n := inside[k].Add(1)
				t.fatalIf(n > 1, "%d clients hold the key at once", n)
				runtime.Gosched()
				inside[k].Add(-1)
				c.release(l, true, "the client held the key")
			}
		})
	}
	all.Wait()
}

// independentKeys holds keys with names that careless drivers confuse, one after the other.
func independentKeys(t *T) {
	a, b := t.two()
	stem := strings.Repeat("long-", 20)
	var held []*drivers.Lease
	for _, ending := range []string{
		"key", "KEY", "key ", " key", "key:", "key:1", "key1", "key/1", "kéy", "ke'y", "k{e}y", "k%65y", stem + "1", stem + "2",
	} {
		l := lease(t.named(ending), long)
		a.hold(l, fmt.Sprintf("%q is free, only keys of other names are held", ending))
		a.release(l, true, "its only client held it")
		b.hold(l, "it has just been released")
		b.release(l, true, "its only client held it")
		a.hold(l, "it has just been released")
		held = append(held, l)
	}
	for i, l := range held { // a release must not affect other keys
		a.release(l, true, "the client held the key")
		for _, other := range held[i+1:] {
			b.refused(lease(other.Key, long), "another client still holds the key; a key of another name was released")
		}
	}
}

// anotherProcess opens the service twice, like two processes that contend for the same keys: they share only the server
// and the prefix. The first one goes on when the other has closed.
func anotherProcess(t *T) {
	a := t.client(t.open(1))
	key := t.key()
	l, next := a.takes(key, long), lease(key, long)
	ours := len(t.cleanups)
	b := t.client(t.open(1))
	b.refused(next, "a client of another service with the same prefix holds the key")
	a.release(l, true, "the client held the key")
	b.hold(next, "a client of another service has released the key")
	a.refused(l, "a client of another service with the same prefix holds the key")
	b.release(next, true, "the client held the key")
	for len(t.cleanups) > ours {
		last := t.cleanups[len(t.cleanups)-1]
		t.cleanups = t.cleanups[:len(t.cleanups)-1]
		last()
	}
	a.cycle(key)
}

// reentry must be refused, unless the design claims it. Then a client enters two keys in turn and leaves them with the
// outermost lease first, twice: that reveals a count that belongs to a lease or to the whole session, or is left over.
func reentry(t *T) {
	const depth = 3
	a, b := t.two()
	if !t.traits.Reentrant {
		outer := a.takes(t.key(), long)
		a.refused(lease(outer.Key, long), "its own client holds the key and the design does not claim Reentrant")
		a.release(outer, true, "the client held the key and has only failed to enter again")
		return
	}
	keys := []string{t.key(), t.key()}
	for range 2 {
		var leases [2][depth]*drivers.Lease
		for i := range depth {
			for k, key := range keys {
				leases[k][i] = lease(key, long)
				a.hold(leases[k][i], "the key is free, or the client holds it (trait reentrant)")
			}
		}
		for k, key := range keys {
			for i, l := range leases[k] {
				b.refused(lease(key, long), fmt.Sprintf("another client entered it %d times and left it %d times", depth, i))
				a.release(l, true, "the client has not left the key as often as it entered it")
			}
			a.release(leases[k][0], false, "the client has left the key as often as it entered it")
			b.cycle(key)
		}
	}
}

// releaseByOthers releases what nobody holds, which removes nothing and is no error, and then what another client holds.
// If the design does not claim Owned, that lock must really be gone.
func releaseByOthers(t *T) {
	holder, nonHolder, third := t.three()
	key := t.key()
	l := lease(key, long)
	holder.release(l, false, "the key was never held")
	holder.hold(l, "the key is free")
	holder.release(l, true, "the client held the key")
	holder.release(l, false, "the client had released the key already")
	nonHolder.release(lease(key, long), false, "the key is not held")
	holder.hold(l, "the key is free, having been released more often than held")

	tried := lease(key, long) // the classic mistake: unlock in a finally block although the lock was not acquired
	nonHolder.refused(tried, "another client holds the key")
	if !t.traits.Owned {
		nonHolder.release(tried, true, "the design lets every client release (the trait owned is not claimed)")
		third.hold(lease(key, long), "another client has released the key (the trait owned is not claimed)")
		return
	}
	nonHolder.release(tried, false, "another client holds the key (trait owned)")
	third.refused(lease(key, long), "only a client that does not hold the key has released it (trait owned)")
	nonHolder.release(lease(key, long), false, "another client holds the key and this one never tried (trait owned)")
	third.refused(lease(key, long), "only a client that does not hold the key has released it (trait owned)")

	holder.release(l, true, "the client held the key")
	next := lease(key, long)
	third.hold(next, "the key was released")
	holder.release(l, false, "the client had released its lease; the key is the next holder's now (trait owned)")
	nonHolder.refused(lease(key, long), "only a former holder has released the key (trait owned)")
	third.release(next, true, "the client held the key")
}

// lateRelease makes a holder release after its lease has ended and the key has been granted again: to another client,
// and to the same one.
func lateRelease(t *T) {
	a, b, third := t.three()
	for _, next := range []struct {
		client *client
		who    string
	}{{b, "another client"}, {a, "a later acquisition of the same client"}} {
		if next.client == a && t.traits.Reentrant {
			continue // that would be the same hold, entered again
		}
		key := t.key()
		old, fresh := a.takes(key, short), lease(key, long)
		t.holdWhenFree(next.client, fresh)
		a.release(old, false, "the lease had ended, and "+next.who+" holds the key (trait owned)")
		third.refused(lease(key, long), next.who+" than the one that has released late holds the key (trait owned)")
		next.client.release(fresh, true, "its client held the key; only a late release of an earlier lease came between")
	}

	l := a.takes(t.key(), short)
	time.Sleep(2 * short)
	a.release(l, false, "the lease had ended, though the key was not taken since (trait owned)")
}

// holdWhenFree tries until the present lease has ended.
func (t *T) holdWhenFree(c *client, l *drivers.Lease) {
	t.eventually("a lease of "+short.String()+" did not end", func() bool { return c.tries(l) })
}
