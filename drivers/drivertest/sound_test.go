package drivertest

// Locks that keep the contract, each with other traits: the suite must accept them all. Like the broken ones, they are
// altered memory.

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// faulty returns memory that can be cut off and muted.
func faulty() drivers.Driver { return fault.NewDriver(memory.Driver{}) }

// untagged returns a lock that every client can release: SETNX or SET NX, and DEL.
func untagged(expires bool) drivers.Driver {
	return altered{
		Driver: faulty(),
		traits: func(t *drivers.Traits) { t.Owned, t.Fenced, t.Renews, t.Expires = false, false, false, expires },
		session: func() func(drivers.Session, int) drivers.Session {
			var owners table[string]
			return func(s drivers.Session, _ int) drivers.Session {
				return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					sent := drivers.Lease{Key: l.Key, TTL: l.TTL}
					if !expires {
						sent.TTL = 0
					}
					held, err := s.Try(ctx, &sent)
					l.ValidUntil = time.Time{}
					if held || err != nil && !drivers.NoEffect(err) {
						if r := capability[drivers.Renewer](s); held || owns(r, sent) {
							owners.set(l.Key, sent.Owner)
						}
					}
					return held, err
				}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					return s.Release(ctx, &drivers.Lease{Key: l.Key, Owner: owners.get(l.Key)})
				}}
			}
		},
	}
}

// owns looks behind a lost reply.
func owns(r drivers.Renewer, l drivers.Lease) bool {
	owned, err := r.Renew(context.Background(), &l)
	return owned && err == nil
}

// holds are the session's holds, by key.
type holds map[string]*hold

type hold struct {
	drivers.Lease
	count int
	first *drivers.Lease
}

// reentrant lets a session enter again. outermost breaks it: the lease that came in first is taken for the last one
// out.
func reentrant(outermost bool) drivers.Driver {
	return reentrantBy(func() func(int) holds { return func(int) holds { return holds{} } }, outermost)
}

// reentrantBy returns reentrant with other initial holds.
func reentrantBy(of func() func(id int) holds, outermost bool) drivers.Driver {
	return altered{
		Driver: faulty(),
		traits: func(t *drivers.Traits) { t.Reentrant = true },
		session: func() func(drivers.Session, int) drivers.Session {
			holdsOf := of()
			return func(s drivers.Session, id int) drivers.Session {
				holds := holdsOf(id)
				return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					h := holds[l.Key]
					if h != nil && h.count > 0 && owns(capability[drivers.Renewer](s), h.Lease) {
						h.count++
						l.Owner, l.Fence = h.Owner, h.Fence
						return true, nil
					}
					held, err := s.Try(ctx, l)
					if held {
						holds[l.Key] = &hold{*l, 1, l}
					}
					return held, err
				}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					if h := holds[l.Key]; h != nil && h.Owner == l.Owner && h.count > 0 {
						if h.count--; h.count > 0 && !(outermost && h.first == l) {
							return true, nil
						}
					}
					return s.Release(ctx, l)
				}}
			}
		},
	}
}

// poll is the pause of the native waits here; time is fake.
const poll = time.Millisecond

// pause sleeps for a poll, or until the deadline or the end of the context.
func pause(ctx context.Context, l *drivers.Lease) error {
	wait := poll
	if !l.Deadline.IsZero() {
		wait = min(wait, time.Until(l.Deadline))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stalling is a driver whose short attempts stall the first time, once in each session: most of the lease goes by before
// the server gets the request, and the rest of it before the client gets the answer. Then it refuses.
func stalling() drivers.Driver {
	return altered{Driver: faulty(), session: func() func(drivers.Session, int) drivers.Session {
		return func(s drivers.Session, _ int) drivers.Session {
			stalled := false
			return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
				if stalled || l.TTL > short {
					return s.Try(ctx, l)
				}
				stalled = true
				time.Sleep(l.TTL * 3 / 4)
				_, err := s.Try(ctx, l)
				time.Sleep(l.TTL / 4)
				return false, err
			}, nil}
		}
	}}
}

// ghostly is a driver that sends an attempt late, once: when its context has ended, its client has given it back, and so many
// holders have released since. A release of that attempt gives it back.
func ghostly(releases int) drivers.Driver {
	return altered{Driver: faulty(), session: func() func(drivers.Session, int) drivers.Session {
		var mu sync.Mutex
		var of *drivers.Lease // of the attempt
		var ghost drivers.Lease
		given, after := false, 0
		return func(s drivers.Session, _ int) drivers.Session {
			try := func(ctx context.Context, l *drivers.Lease) (bool, error) {
				mu.Lock()
				late := of == nil && ctx.Err() == nil
				if end, ends := ctx.Deadline(); late && ends && time.Until(end) < time.Second {
					of, ghost = l, drivers.Lease{Key: l.Key, TTL: l.TTL}
				} else {
					late = false
				}
				mu.Unlock()
				if !late {
					return s.Try(ctx, l)
				}
				<-ctx.Done()
				return false, ctx.Err()
			}
			release := func(ctx context.Context, l *drivers.Lease) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				if l == of {
					given = true
					return s.Release(ctx, &ghost)
				}
				owned, err := s.Release(ctx, l)
				if given && owned {
					if after++; after == releases {
						_, _ = s.Try(ctx, &ghost)
					}
				}
				return owned, err
			}
			return calls{s, try, release}
		}
	}}
}

func over(l *drivers.Lease) bool { return !l.Deadline.IsZero() && !time.Now().Before(l.Deadline) }

func claimWaits(t *drivers.Traits) { t.Waits = true }

// polling has a native wait whose returns are all spurious except the last.
func polling() drivers.Driver {
	return altered{Driver: faulty(), traits: claimWaits, session: func() func(drivers.Session, int) drivers.Session {
		return func(s drivers.Session, _ int) drivers.Session {
			return waiter{s, pause, func(context.Context, *drivers.Lease) error { return nil }}
		}
	}}
}

// blocking acquires on the server during Wait, like GET_LOCK; the next Try only confirms. forget breaks it: Leave does
// not release what Wait has won before the deadline.
func blocking(forget bool) drivers.Driver {
	return altered{Driver: faulty(), traits: claimWaits, session: func() func(drivers.Session, int) drivers.Session {
		return func(s drivers.Session, _ int) drivers.Session {
			got := map[string]drivers.Lease{}
			wait := func(ctx context.Context, l *drivers.Lease) error {
				for !over(l) {
					mine := drivers.Lease{Key: l.Key, TTL: l.TTL}
					held, err := s.Try(ctx, &mine)
					if err != nil {
						return ctx.Err()
					}
					if held {
						got[l.Key] = mine
						return nil
					}
					if err := pause(ctx, l); err != nil {
						return err
					}
				}
				return nil
			}
			leave := func(ctx context.Context, l *drivers.Lease) error {
				mine, has := got[l.Key]
				delete(got, l.Key)
				if has && !(forget && !over(l)) {
					_, err := s.Release(ctx, &mine)
					return err
				}
				return nil
			}
			try := func(ctx context.Context, l *drivers.Lease) (bool, error) {
				if mine, has := got[l.Key]; has {
					delete(got, l.Key)
					l.Owner, l.Fence = mine.Owner, mine.Fence
					return true, nil
				}
				return s.Try(ctx, l)
			}
			return waiter{calls{s, try, nil}, wait, leave}
		}
	}}
}

// line is a queue of waiters per key.
type line struct {
	mu    sync.Mutex
	queue map[string][]int // session numbers
}

// first returns the client at the head, or noSession.
func (q *line) first(key string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue[key]) == 0 {
		return noSession
	}
	return q.queue[key][0]
}

// join adds a client to the line; it reports whether that is new.
func (q *line) join(key string, id int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, waiting := range q.queue[key] {
		if waiting == id {
			return false
		}
	}
	q.queue[key] = append(q.queue[key], id)
	return true
}

func (q *line) leave(key string, id int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, waiting := range q.queue[key] {
		if waiting == id {
			q.queue[key] = append(q.queue[key][:i:i], q.queue[key][i+1:]...)
			return
		}
	}
}

// queueing serves waiters in the order in which they began to wait. With joinByTry, an attempt joins the line already.
func queueing(joinByTry bool) drivers.Driver {
	return altered{
		Driver: faulty(),
		traits: func(t *drivers.Traits) { t.Fair, t.Waits = true, true },
		session: func() func(drivers.Session, int) drivers.Session {
			q := &line{queue: map[string][]int{}}
			return func(s drivers.Session, id int) drivers.Session { return q.session(s, id, joinByTry) }
		},
	}
}

func (q *line) session(s drivers.Session, id int, joinByTry bool) drivers.Session {
	try := func(ctx context.Context, l *drivers.Lease) (bool, error) {
		l.Owner = "" // a client that is not the first has sent nothing yet; but see below
		if head := q.first(l.Key); head != noSession && head != id {
			probe := drivers.Lease{Key: "a key that is asked for its owner token only " + l.Key, TTL: poll}
			if _, err := s.Try(ctx, &probe); err != nil {
				return false, err
			}
			l.Owner = probe.Owner
			if joinByTry {
				q.join(l.Key, id)
			}
			return false, nil
		}
		held, err := s.Try(ctx, l)
		if held {
			q.leave(l.Key, id)
		} else if joinByTry && err == nil {
			q.join(l.Key, id)
		}
		return held, err
	}
	wait := func(ctx context.Context, l *drivers.Lease) error {
		if q.join(l.Key, id) {
			return ctx.Err()
		}
		for !over(l) {
			left, err := capability[drivers.Remainer](s).Remaining(ctx, l)
			if err != nil {
				return ctx.Err()
			}
			if left == 0 && q.first(l.Key) == id {
				return nil
			}
			if err := pause(ctx, l); err != nil {
				return err
			}
		}
		return nil
	}
	leave := func(_ context.Context, l *drivers.Lease) error {
		q.leave(l.Key, id)
		return nil
	}
	if joinByTry {
		return calls{waiter{s, wait, leave}, try, nil}
	}
	return waiter{calls{s, try, nil}, wait, leave}
}

// check runs the suite in fake time. It sets Cut, Mute and Stall if the driver under the alterations has them.
func check(t *testing.T, d drivers.Driver) (failures []Failure) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := Setup{Driver: d, crowd: 100}
		for inner := d; ; {
			switch x := inner.(type) {
			case altered:
				inner = x.Driver
				continue
			case *fault.Driver:
				s.Cut, s.Mute, s.Stall = x.Outage, x.Mute, x.Stall
			case *bound:
				s.Cut, s.Mute, s.SessionTimeout = x.Outage, x.Mute, time.Second
			case addressed:
				inner = x.Driver
				continue
			case sharing:
				s.Cut, s.Mute, s.SessionTimeout = x.Outage, x.Mute, time.Second
			}
			break
		}
		failures = Check(s)
		time.Sleep(24 * time.Hour) // lets what was leaked on purpose end inside the bubble
	})
	return failures
}

func TestSound(t *testing.T) {
	for _, sound := range []struct {
		name   string
		driver drivers.Driver
	}{
		{"memory", memory.Driver{}},
		{"null", memory.Null{}},
		{"with faults", faulty()},
		{"untagged", untagged(false)},
		{"untagged with expiry", untagged(true)},
		{"re-entrant", reentrant(false)},
		{"polling", polling()},
		{"stalling", stalling()},
		{"ghostly", ghostly(1)},
		{"ghostly for longer", ghostly(2)},
		{"blocking", blocking(false)},
		{"sleeping", sleeping(1, doze)},
		{"bound to a session", newBound(nil)},
		{"bound to a service", newSharing(nil)},
		{"bound to a session and waiting", boundWaiting(false)},
		{"counting", counting(0, false, false)},
		{"fair", queueing(false)},
		{"fair by try", queueing(true)},
		{"behind an address", addressed{newSharing(nil)}},
	} {
		t.Run(sound.name, func(t *testing.T) {
			for _, f := range check(t, sound.driver) {
				t.Error(f)
			}
		})
	}
}

// TestStraggles: a key that is refused for a moment after its release passes only where the Setup says so, and one that
// is never granted again fails in either case.
func TestStraggles(t *testing.T) {
	for _, test := range []struct {
		after           time.Duration
		straggles, fits bool
	}{
		{5 * time.Millisecond, false, false},
		{5 * time.Millisecond, true, true},
		{2 * slack, true, false},
	} {
		var until table[time.Time]
		d := altered{Driver: memory.Driver{}, session: func() func(drivers.Session, int) drivers.Session {
			return func(s drivers.Session, _ int) drivers.Session {
				return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					if time.Now().Before(until.get(l.Key)) {
						return false, ctx.Err()
					}
					return s.Try(ctx, l)
				}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					until.set(l.Key, time.Now().Add(test.after))
					return s.Release(ctx, l)
				}}
			}
		}}
		synctest.Test(t, func(t *testing.T) {
			k, failure := find(t.Context(), Setup{Driver: d, Straggles: test.straggles})
			if failure != nil {
				t.Fatal(failure)
			}
			fence := cases[slices.IndexFunc(cases, func(c oneCase) bool { return c.name == "fence" })]
			failures, _ := fence.check(t.Context(), k)
			if fits := len(failures) == 0; fits != test.fits {
				t.Errorf("refused for %v after a release, Straggles %v: failures %v", test.after, test.straggles, failures)
			}
			time.Sleep(24 * time.Hour)
		})
	}
}
