package drivertest

// Broken lines of waiters.

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
)

// waitingIn returns polling with other sessions, made for each service from what its sessions share.
func waitingIn[T any](make func(shared *T, s drivers.Session) drivers.Session) drivers.Driver {
	return altered{Driver: faulty(), traits: claimWaits, session: func() func(drivers.Session, int) drivers.Session {
		shared := new(T)
		return func(s drivers.Session, _ int) drivers.Session { return make(shared, s) }
	}}
}

// entersWhenOneLeaves takes its turn when any waiter leaves that has not been granted the key.
func entersWhenOneLeaves(left *table[int], s drivers.Session) drivers.Session {
	seen := map[string]int{} // of the keys that it waits for
	return waiter{calls{Session: s, try: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		held, err := s.Try(ctx, l)
		n, waits := seen[l.Key]
		held = held || err == nil && waits && n != left.get(l.Key)
		if held {
			delete(seen, l.Key)
		}
		return held, err
	}}, func(ctx context.Context, l *drivers.Lease) error {
		if _, waits := seen[l.Key]; !waits {
			seen[l.Key] = left.get(l.Key)
		}
		return pause(ctx, l)
	}, func(_ context.Context, l *drivers.Lease) error {
		if _, waits := seen[l.Key]; waits {
			delete(seen, l.Key)
			left.set(l.Key, left.get(l.Key)+1)
		}
		return nil
	}}
}

// node is a place in a chain of waiters.
type node struct {
	before *node
	over   chan struct{} // closed when its client has had the key
}

// followsOne sleeps until the waiter before it has had the key, and does not look who is before it then.
func followsOne(last *table[*node], s drivers.Session) drivers.Session {
	mine := map[string]*node{}
	passes := func(key string) {
		if n := mine[key]; n != nil {
			close(n.over)
			delete(mine, key)
		}
	}
	return waiter{calls{Session: s, release: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		owned, err := s.Release(ctx, l)
		passes(l.Key)
		return owned, err
	}}, func(ctx context.Context, l *drivers.Lease) error {
		n := mine[l.Key]
		if n == nil {
			n = &node{over: make(chan struct{})}
			n.before = last.set(l.Key, n)
			mine[l.Key] = n
		}
		for n.before != nil && !over(l) {
			select {
			case <-n.before.over:
				n.before = nil
			default:
				if err := pause(ctx, l); err != nil {
					return err
				}
			}
		}
		return pause(ctx, l)
	}, func(_ context.Context, l *drivers.Lease) error {
		if n := mine[l.Key]; n != nil && last.get(l.Key) == n && n.before == nil {
			passes(l.Key) // nobody follows it
		}
		return nil
	}}
}

// believesItsPlace takes its turn when it is connected again after a wait that its connection has ended.
func believesItsPlace(s drivers.Session) drivers.Session {
	waits, lost := map[string]bool{}, map[string]bool{}
	return waiter{calls{Session: s, try: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		if lost[l.Key] {
			probe := &drivers.Lease{Key: "a key that shows a connection " + l.Key, TTL: poll}
			_, err := s.Try(ctx, probe)
			l.Owner = probe.Owner
			return err == nil, err
		}
		held, err := s.Try(ctx, l)
		lost[l.Key] = waits[l.Key] && err != nil && drivers.ClassOf(err) == drivers.ClassConnect
		return held, err
	}}, func(ctx context.Context, l *drivers.Lease) error {
		waits[l.Key] = true
		return pause(ctx, l)
	}, func(_ context.Context, l *drivers.Lease) error {
		delete(waits, l.Key)
		return nil
	}}
}

var brokenQueues = []broken{
	{"takes its turn when another waiter leaves", waitingIn(entersWhenOneLeaves), "wait behind another"},
	{"follows a waiter that has left", waitingIn(followsOne), "wait behind another"},
	{"takes its turn when its session ends", newBound(func(b *bound) {
		claims, wrap := b.altered.traits, b.altered.session
		b.altered.traits = func(t *drivers.Traits) { claims(t); t.Waits = true }
		b.altered.session = func() func(drivers.Session, int) drivers.Session {
			inner := wrap()
			return func(s drivers.Session, id int) drivers.Session { return believesItsPlace(inner(s, id)) }
		}
	}), "wait over the end of a session"},
	{"leaves once, whether or not that is heard", altered{
		Driver: faulty(),
		traits: func(t *drivers.Traits) { t.Fair, t.Waits = true, true },
		session: func() func(drivers.Session, int) drivers.Session {
			q := &line{queue: map[string][]int{}}
			return func(s drivers.Session, id int) drivers.Session {
				inner := q.session(s, id, false)
				w := capability[drivers.Waiter](inner)
				return waiter{inner, w.Wait, func(ctx context.Context, l *drivers.Lease) error {
					if _, err := s.Release(ctx, &drivers.Lease{Key: l.Key}); err != nil {
						return err
					}
					return w.Leave(ctx, l)
				}}
			}
		},
	}, "leave over a cut"},
}
