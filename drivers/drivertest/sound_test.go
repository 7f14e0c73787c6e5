package drivertest

// Locks that keep the contract, each with other traits: the suite must accept them all.

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// untagged returns a lock that every client can release: SETNX or SET NX, and DEL.
func untagged(expires bool) drivers.Driver {
	return lock(altered{
		traits: func(t *drivers.Traits) { t.Owned, t.Fenced, t.Renews, t.Expires = false, false, false, expires },
		try: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			sent := drivers.Lease{Key: l.Key, TTL: l.TTL}
			if !expires {
				sent.TTL = 0
			}
			held, err := s.Session.Try(ctx, &sent)
			l.ValidUntil = time.Time{}
			if held || err != nil && !drivers.NoEffect(err) && s.holds(sent) { // a lost reply
				s.all.holders.set(l.Key, sent)
			}
			return held, err
		},
		release: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) { return s.free(ctx, l.Key) },
	})
}

// reentrant lets a session enter again, and counts how often; a broken one does not count far enough.
func reentrant(most int) drivers.Driver {
	return lock(altered{
		traits: func(t *drivers.Traits) { t.Reentrant = true },
		try: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			if mine := s.mine[l.Key]; s.count[l.Key] > 0 && s.holds(mine) {
				s.count[l.Key] = min(s.count[l.Key]+1, most)
				l.Owner, l.Fence = mine.Owner, mine.Fence
				return true, nil
			}
			held, err := s.grant(ctx, l)
			if held {
				s.count[l.Key] = 1
			}
			return held, err
		},
		release: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			if s.mine[l.Key].Owner == l.Owner && s.count[l.Key] > 0 {
				if s.count[l.Key]--; s.count[l.Key] > 0 {
					return true, nil
				}
			}
			return s.Session.Release(ctx, l)
		},
	})
}

// stalling is a lock whose short attempts stall the first time, once in each session: most of the lease goes by before
// the server gets the request, and the rest of it before the client gets the answer. Then it refuses.
func stalling() drivers.Driver {
	return trying(func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
		if l.TTL > short || s.count["stalls"] > 0 {
			return s.grant(ctx, l)
		}
		s.count["stalls"]++
		time.Sleep(l.TTL * 3 / 4)
		_, err := s.Session.Try(ctx, l)
		time.Sleep(l.TTL / 4)
		return false, err
	})
}

// straggling is a lock that refuses a key for some time after its release.
func straggling(after time.Duration) drivers.Driver {
	return lock(altered{try: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
		if time.Now().UnixNano() < int64(s.all.n.get(l.Key)) {
			s.Session.Try(ctx, &drivers.Lease{Key: "a key for an owner token", TTL: poll})
			return false, ctx.Err()
		}
		return s.grant(ctx, l)
	}, release: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
		s.all.n.set(l.Key, int(time.Now().Add(after).UnixNano()))
		return s.Session.Release(ctx, l)
	}})
}

// polling has a native wait whose returns are all spurious except the last.
func polling() drivers.Driver { return waitingBy(nil, nil) }

// waitingBy returns polling with another Wait or Leave.
func waitingBy(wait, leave waiting) drivers.Driver {
	if wait == nil {
		wait = func(_ *seat, ctx context.Context, l *drivers.Lease) error { return pause(ctx, l) }
	}
	return lock(altered{traits: claimWaits, wait: wait, leave: leave})
}

// blocking acquires on the server during Wait, like GET_LOCK; the next Try only confirms. forget breaks it: Leave does
// not release what Wait has won before the deadline.
func blocking(forget bool) drivers.Driver {
	return lock(altered{
		traits: claimWaits,
		wait: func(s *seat, ctx context.Context, l *drivers.Lease) error {
			var failed bool
			err := until(ctx, l, func() bool {
				mine := drivers.Lease{Key: l.Key, TTL: l.TTL}
				held, err := s.grant(ctx, &mine)
				if held {
					s.count[l.Key] = 1
				}
				failed = err != nil
				return held || failed
			})
			if failed {
				return ctx.Err()
			}
			return err
		},
		leave: func(s *seat, ctx context.Context, l *drivers.Lease) error {
			has, mine := s.count[l.Key] > 0, s.mine[l.Key]
			s.count[l.Key] = 0
			if has && !(forget && !over(l)) {
				_, err := s.Session.Release(ctx, &mine)
				return err
			}
			return nil
		},
		try: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			if s.count[l.Key] > 0 {
				s.count[l.Key] = 0
				l.Owner, l.Fence = s.mine[l.Key].Owner, s.mine[l.Key].Fence
				return true, nil
			}
			return s.Session.Try(ctx, l)
		},
	})
}

// sleeping returns a lock whose clients can sleep. A release leaves a token for one that sleeps, or broken, several.
func sleeping(tokens int, block func(*seat, context.Context, *drivers.Lease, time.Duration) (bool, error)) drivers.Driver {
	return lock(altered{
		traits: func(t *drivers.Traits) { t.Blocks = true },
		release: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			owned, err := s.Session.Release(ctx, l)
			if owned {
				s.all.n.set(l.Key, tokens)
			}
			return owned, err
		},
		block: block,
	})
}

// doze is the correct Block.
func doze(s *seat, ctx context.Context, l *drivers.Lease, d time.Duration) (woken bool, err error) {
	err = until(ctx, &drivers.Lease{Deadline: time.Now().Add(d)}, func() bool {
		n := s.all.n.set(l.Key, 0)
		if n > 1 {
			s.all.n.set(l.Key, n-1)
		}
		woken = n > 0
		return woken
	})
	return woken, err
}

// first reports whether a session may take a key: nobody waits for it, or the session has waited longest.
func (q *shared) first(key string, id int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue[key]) == 0 || q.queue[key][0] == id
}

// join adds a session to those that wait; it reports whether that is new.
func (q *shared) join(key string, id int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if slices.Contains(q.queue[key], id) {
		return false
	}
	q.queue[key] = append(q.queue[key], id)
	return true
}

func (q *shared) leave(key string, id int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue[key] = slices.DeleteFunc(q.queue[key], func(waits int) bool { return waits == id })
}

// queueing serves waiters in the order in which they began to wait, or to try.
func queueing(byTry bool, leave waiting) drivers.Driver {
	d := altered{
		traits: func(t *drivers.Traits) { t.Fair, t.Waits = true, true },
		try: func(s *seat, ctx context.Context, l *drivers.Lease) (held bool, err error) {
			if s.all.first(l.Key, s.id) {
				held, err = s.grant(ctx, l)
			} else {
				probe := drivers.Lease{Key: "a key for an owner token " + l.Key, TTL: poll}
				_, err = s.Session.Try(ctx, &probe)
				l.Owner = probe.Owner
			}
			if held {
				s.all.leave(l.Key, s.id)
			} else if byTry && err == nil {
				s.all.join(l.Key, s.id)
			}
			return held, err
		},
		wait: func(s *seat, ctx context.Context, l *drivers.Lease) (err error) {
			if s.all.join(l.Key, s.id) {
				return ctx.Err()
			}
			return until(ctx, l, func() bool {
				left, err := s.left(ctx, l)
				return err == nil && left == 0 && s.all.first(l.Key, s.id)
			})
		},
		leave: leave,
	}
	if leave == nil {
		d.leave = leaveQueue
	}
	return lock(d)
}

func leaveQueue(s *seat, _ context.Context, l *drivers.Lease) error {
	s.all.leave(l.Key, s.id)
	return nil
}

// check runs the suite in fake time, with the faults that the driver under the alterations has.
func check(t *testing.T, d drivers.Driver, straggles bool) (failures []Failure) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := Setup{Driver: d, Straggles: straggles, crowd: 100}
		for inner := d; inner != nil; {
			switch x := inner.(type) {
			case altered:
				inner = x.Driver
				continue
			case addressed:
				inner = x.Driver
				continue
			case *fault.Driver:
				s.Cut, s.Mute, s.Stall = x.Outage, x.Mute, x.Stall
			case interface {
				Outage() (restore func())
				Mute() (restore func())
			}:
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
		{"re-entrant", reentrant(9)},
		{"polling", polling()},
		{"stalling", stalling()},
		{"blocking", blocking(false)},
		{"sleeping", sleeping(1, doze)},
		{"bound to a session", newBound(nil)},
		{"bound to a service", newSharing(nil)},
		{"bound to a session and waiting", lock(altered{Driver: newBound(nil), traits: claimWaits,
			wait: func(_ *seat, ctx context.Context, l *drivers.Lease) error { return pause(ctx, l) }})},
		{"counting", counting(false)},
		{"fair", queueing(false, nil)},
		{"fair by try", queueing(true, nil)},
		{"behind an address", addressed{newSharing(nil)}},
	} {
		t.Run(sound.name, func(t *testing.T) {
			for _, f := range check(t, sound.driver, false) {
				t.Error(f)
			}
		})
	}
}

// TestStraggles: a key that is refused for a moment after its release passes only where the Setup says so.
func TestStraggles(t *testing.T) {
	for _, straggles := range []bool{false, true} {
		failures := check(t, straggling(5*time.Millisecond), straggles)
		fails := slices.ContainsFunc(failures, func(f Failure) bool { return f.Case == "fence" })
		if fails == straggles {
			t.Errorf("Straggles %t: failures %v", straggles, failures)
		}
	}
}
