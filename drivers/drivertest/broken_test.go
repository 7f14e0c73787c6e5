package drivertest

// The suite's own test: drivers that are broken on purpose, each of which it must reject.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/memory"
)

// TestBroken also checks that no case is superfluous: for each there must be a driver that it alone rejects.
func TestBroken(t *testing.T) {
	alone := map[string]bool{}
	for _, b := range brokenLocks {
		t.Run(b.name, func(t *testing.T) {
			found := map[string]bool{}
			for _, f := range check(t, b.driver, false) {
				found[f.Case] = true
				t.Log(f)
			}
			if !found[b.caught] {
				t.Errorf("the case %q accepts it", b.caught)
			}
			alone[b.caught] = alone[b.caught] || len(found) == 1
		})
	}
	for _, c := range cases {
		if !alone[c.name] {
			t.Errorf("no broken driver shows that the case %q is necessary", c.name)
		}
	}
}

// brokenFor is how long the window of a broken driver is open in which a call ends and is granted: longer than the
// timers of a busy machine are late.
const brokenFor = 2 * time.Millisecond

// brokenLocks are drivers with one defect each, and the cases that must find them.
var brokenLocks = []struct {
	caught string
	name   string
	driver drivers.Driver
}{
	{"design", "claims both Session and Expires", claiming(func(t *drivers.Traits) { t.Session = true })},
	{"design", "has a service and a design that differ in their claims", lock(altered{
		told: func(t *drivers.Traits, _ drivers.Config) { t.Fenced = false },
	})},
	{"unknown lock", "accepts every lock", lock(altered{open: func(cfg *drivers.Config) error {
		cfg.Lock = ""
		return nil
	}})},
	{"unknown lock", "shows the password", lock(altered{open: func(cfg *drivers.Config) error {
		if cfg.Lock == "" {
			return nil
		}
		return fmt.Errorf("cannot open %v with password %s", cfg.Lock, string(cfg.Password))
	}})},
	{"capabilities", "renews without the claim", claiming(func(t *drivers.Traits) { t.Renews = false })},
	{"capabilities", "claims Waits without a Waiter", claiming(claimWaits)},
	{"capabilities", "wakes without the claim", claiming(func(t *drivers.Traits) { t.Wakes = false })},

	{"exclusion", "excludes without the claim", claiming(func(t *drivers.Traits) { t.Exclusive = false })},
	{"exclusion", "grants everything", lock(altered{
		Driver: memory.Null{}, traits: func(t *drivers.Traits) { t.Exclusive = true },
	})},
	{"concurrency", "looks, and then takes, where no client waits", lock(altered{
		Driver: memory.Driver{},
		try: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			if !l.Deadline.IsZero() {
				return s.Session.Try(ctx, l)
			}
			if left, err := s.left(ctx, l); err != nil || left != 0 {
				s.Session.Try(ctx, l) // for its owner
				return false, err
			}
			time.Sleep(poll) // the gap in which another client looks
			if held, err := s.grant(ctx, l); held || err != nil {
				return held, err
			}
			l.Owner = s.all.holders.get(l.Key).Owner // both write their names; the later one wins
			return true, nil
		},
	})},
	{"independent keys", "ignores the case of keys", lock(altered{
		try: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			f := folded(l)
			held, err := s.Session.Try(ctx, f)
			l.Owner, l.Fence, l.ValidUntil = f.Owner, f.Fence, f.ValidUntil
			return held, err
		},
		release: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			return s.Session.Release(ctx, folded(l))
		},
	})},
	{"independent keys", "releases longer keys too",
		releasing(func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			for key, other := range s.mine {
				if strings.HasPrefix(key, l.Key) && key != l.Key {
					s.Session.Release(ctx, &other)
				}
			}
			return s.Session.Release(ctx, l)
		})},
	{"another process", "is alone in its process", addressed{faulty()}},
	{"re-entry", "claims Reentrant falsely", claiming(func(t *drivers.Traits) { t.Reentrant = true })},
	{"re-entry", "lets its holder in again without the claim", lock(altered{
		Driver: reentrant(9), traits: func(t *drivers.Traits) { t.Reentrant = false },
	})},
	{"re-entry", "counts to two", reentrant(2)},
	{"order", "claims Fair falsely and polls", lock(altered{
		Driver: polling(), traits: func(t *drivers.Traits) { t.Fair = true },
	})},
	{"order", "claims Fair without a Waiter", claiming(func(t *drivers.Traits) { t.Fair = true })},
	{"order", "is fair without the claim", lock(altered{
		Driver: queueing(true, nil), traits: func(t *drivers.Traits) { t.Fair = false },
	})},

	{"release by others", "says that it released what was free",
		releasing(func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			left, err := s.left(ctx, l)
			owned, failed := s.Session.Release(ctx, l)
			return owned || err == nil && left == 0 && l.Owner == "", failed
		})},
	{"release by others", "refuses other clients without the claim",
		claiming(func(t *drivers.Traits) { t.Owned = false })},
	{"release by others", "forgets the owner after a refused attempt", lock(altered{
		try: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.grant(ctx, l)
			if !held && err == nil {
				s.count[l.Owner] = 1
			}
			return held, err
		},
		release: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			if s.count[l.Owner] > 0 {
				return s.free(ctx, l.Key)
			}
			return s.Session.Release(ctx, l)
		},
	})},
	{"late release", "says that it released what had ended",
		releasing(func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			owned, err := s.Session.Release(ctx, l)
			mine := s.mine[l.Key]
			return owned || err == nil && mine.Owner == l.Owner && !mine.ValidUntil.IsZero() && !time.Now().Before(mine.ValidUntil), err
		})},

	{"owner", "numbers its owners in each process", lock(altered{
		try: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			if s.count["adopted"] == 0 {
				s.count[""]++
				capability[drivers.Adopter](s.Session).Adopt(fmt.Sprint(s.id, "-", s.count[""]))
			}
			s.count["adopted"] = 0
			return s.grant(ctx, l)
		},
		adopt: func(s *seat, owner string) {
			s.count["adopted"] = 1
			capability[drivers.Adopter](s.Session).Adopt(owner)
		},
	})},
	{"owner", "sets the owner only after success", trying(func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
		held, err := s.grant(ctx, l)
		if !held {
			l.Owner = ""
		}
		return held, err
	})},
	{"adopted owner", "has its own idea of the owner that it is told", lock(altered{adopt: func(*seat, string) {}})},
	{"fence", "fences without the claim", claiming(func(t *drivers.Traits) { t.Fenced = false })},
	{"fence", "begins its fence anew after an expiry", trying(func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
		last := s.all.holders.get(l.Key)
		held, err := s.grant(ctx, l)
		if !held {
			return held, err
		}
		if !last.ValidUntil.IsZero() && !time.Now().Before(last.ValidUntil) {
			s.all.n.set(l.Key, int(l.Fence)-1)
		}
		l.Fence -= uint64(s.all.n.get(l.Key))
		return held, err
	})},
	{"lease", "keeps a pointer to the lease", keepsPointer()},
	{"lease", "rounds the caller's TTL", trying(func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
		held, err := s.grant(ctx, l)
		l.TTL = l.TTL.Truncate(7 * time.Second)
		return held, err
	})},
	{"lease", "leaves an old ValidUntil", trying(func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
		old := l.ValidUntil
		held, err := s.grant(ctx, l)
		l.ValidUntil = old
		return held, err
	})},
	{"expiry", "expires without the claim", claiming(func(t *drivers.Traits) { t.Expires = false })},
	{"expiry", "expires early", trying(func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
		asked := l.TTL
		l.TTL = asked.Truncate(150 * time.Millisecond)
		held, err := s.grant(ctx, l)
		l.TTL = asked
		return held, err
	})},
	{"expiry after release", "expires what was released",
		releasing(func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			if key := l.Key; l.TTL > 0 { // otherwise it is of a client that only knows the owner, and has no timer
				time.AfterFunc(l.TTL, func() { s.free(context.Background(), key) }) // that should have been stopped here
			}
			return s.Session.Release(ctx, l)
		})},
	{"renewal", "renews for too short", lock(altered{renew: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
		return s.extend(ctx, *l, l.TTL*4/5)
	}})},
	{"renewal", "draws a new fence with each renewal",
		lock(altered{renew: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			l.Fence++
			return s.extend(ctx, *l, l.TTL)
		}})},
	{"renewal of a lost lease", "brings a lost lease back but says that it is lost",
		lock(altered{renew: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			owned, err := s.extend(ctx, *l, l.TTL)
			if !owned && err == nil {
				s.grant(ctx, l)
			}
			return owned, err
		}})},
	{"renewal of a lost lease", "renews for any holder of the key",
		lock(altered{renew: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			owned, err := s.extend(ctx, *l, l.TTL)
			if !owned && err == nil {
				s.extend(ctx, s.all.holders.get(l.Key), l.TTL)
			}
			return owned, err
		}})},
	{"remaining", "answers the asker's own TTL",
		lock(altered{remaining: func(s *seat, ctx context.Context, l *drivers.Lease) (time.Duration, error) {
			left, err := s.left(ctx, l)
			if left > 0 {
				left = l.TTL
			}
			return left, err
		}})},

	{"session ends", "ends its holds with a cut without the claim", lock(altered{
		Driver: newBound(func(b *bound) { b.keepClosed = true }), traits: func(t *drivers.Traits) { t.Session = false },
	})},
	{"session ends", "claims Session and keeps what is no longer held", newBound(func(b *bound) { b.keepHolds = true })},
	{"closed session", "claims Session and keeps what was closed", newBound(func(b *bound) { b.keepClosed = true })},
	{"closed session", "claims Session and closes its service only", newSharing(func(b *bound) { b.keepClosed = true })},
	{"wait for a dead holder", "waits for a release only, and not for the end of a session",
		onRelease(newBound(nil), false, false)},
	{"crash", "is kept alive after it has crashed", newBound(func(b *bound) { b.afterCrash = func(*boundSession) {} })},
	{"crash", "tells the service when it crashes", newBound(func(b *bound) { b.afterCrash = (*boundSession).end })},

	{"wait for a release", "looks again in some seconds only",
		waitingBy(func(s *seat, ctx context.Context, l *drivers.Lease) error {
			left, err := s.left(ctx, l)
			if err != nil || left == 0 {
				return ctx.Err()
			}
			wait := min(left, slack+2*time.Second, max(0, time.Until(l.Deadline)))
			return until(ctx, &drivers.Lease{Deadline: time.Now().Add(wait)}, func() bool { return false })
		}, nil)},
	{"wait after a release", "begins to listen after the release", onRelease(faulty(), true, true)},
	{"wait ends at the deadline", "waits beyond the deadline",
		waitingBy(func(s *seat, ctx context.Context, l *drivers.Lease) error {
			return until(ctx, &drivers.Lease{}, func() bool {
				left, err := s.left(ctx, l)
				return err == nil && left == 0
			})
		}, nil)},
	{"wait ends with its context", "ignores the context",
		waitingBy(func(_ *seat, ctx context.Context, l *drivers.Lease) error {
			return pause(context.WithoutCancel(ctx), l)
		}, nil)},
	{"wait for a dead holder", "waits for a release only", onRelease(faulty(), false, false)},
	{"leave", "leaves a moment after the deadline",
		queueing(false, func(s *seat, ctx context.Context, l *drivers.Lease) error {
			if over(l) {
				time.AfterFunc(poll, func() { _ = leaveQueue(s, ctx, l) })
				return nil
			}
			return leaveQueue(s, ctx, l)
		})},
	{"leave after a wake-up", "keeps what Wait has acquired", blocking(true)},
	{"wait ends at a release", "takes what a wait was granted at its end for refused",
		waitingBy(func(s *seat, ctx context.Context, l *drivers.Lease) error {
			err := pause(ctx, l)
			if err != nil || over(l) {
				time.Sleep(brokenFor)
				_, _ = s.grant(context.WithoutCancel(ctx), &drivers.Lease{Key: l.Key, TTL: l.TTL})
			}
			return err
		}, nil)},

	{"wake-up", "hears eight keys", listening(func(l drivers.Listener) listener {
		var n atomic.Int32
		return listener{l, func(ctx context.Context, key string) error {
			if n.Add(1) > 8 {
				return nil
			}
			return l.Add(ctx, key)
		}, nil}
	})},
	{"wake-up", "wakes the newest listener alone", serving(func(s *shop) {
		var newest atomic.Int64
		listen := s.listen
		s.listen = func(ctx context.Context, wake func(string)) (drivers.Listener, error) {
			me := newest.Add(1)
			return listen(ctx, func(key string) {
				if me == newest.Load() {
					wake(key)
				}
			})
		}
	})},
	{"listener removes", "removes nothing", listening(func(l drivers.Listener) listener {
		return listener{l, nil, func(context.Context, string) error { return nil }}
	})},
	{"listener removes", "cannot add again", listening(func(l drivers.Listener) listener {
		var added table[bool]
		return listener{l, func(ctx context.Context, key string) error {
			if added.set(key, true) {
				return nil
			}
			return l.Add(ctx, key)
		}, nil}
	})},
	{"capabilities", "wakes though it was opened without", lock(altered{
		open: func(cfg *drivers.Config) error {
			cfg.Wakes = true
			return nil
		},
		told: func(t *drivers.Traits, cfg drivers.Config) { t.Wakes = cfg.Wakes },
	})},
	{"wait by listening", "hears ten releases of a key", hearing(func(n int, _ string) bool { return n < 10 })},
	{"blocks", "claims to sleep and cannot", claiming(func(t *drivers.Traits) { t.Blocks = true })},
	{"blocks", "wakes two", sleeping(2, doze)},
	{"cancelled block", "sleeps on when cancelled",
		sleeping(1, func(s *seat, ctx context.Context, l *drivers.Lease, d time.Duration) (bool, error) {
			return doze(s, context.WithoutCancel(ctx), l, d)
		})},

	{"cancelled", "calls a cancelled attempt contention", failing(drivers.ClassCanceled, func(*drivers.Lease, error) error { return nil })},
	{"cancelled", "does not look at the context", trying(func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
		return s.grant(context.WithoutCancel(ctx), l)
	})},
	{"attempt ends at a release", "takes what an attempt was granted at its end for refused",
		trying(func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.grant(ctx, l)
			if held && ctx.Done() != nil {
				if time.Sleep(brokenFor); ctx.Err() != nil {
					return false, &drivers.Error{Class: drivers.ClassServer, Op: "try", Err: ctx.Err()}
				}
			}
			return held, err
		})},
	{"cut", "calls an outage contention", failing(drivers.ClassConnect, func(*drivers.Lease, error) error { return nil })},
	{"cut", "never comes back", trying(func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
		held, err := s.grant(ctx, l)
		if s.count["down"] > 0 || err != nil && drivers.ClassOf(err) == drivers.ClassConnect {
			s.count["down"] = 1
			return false, &drivers.Error{Class: drivers.ClassConnect, Op: "try", Err: errors.New("down")}
		}
		return held, err
	})},
	{"wait over a cut", "sleeps through its wait once it was cut off", lock(altered{
		traits: claimWaits,
		try:    lostOnce,
		wait: func(s *seat, ctx context.Context, l *drivers.Lease) error {
			if s.count["lost"] == 0 {
				return pause(ctx, l)
			}
			return until(ctx, l, func() bool { return false })
		},
	})},
	{"listener after a cut", "does not tell that messages may be lost",
		hearing(func(_ int, key string) bool { return key != "" })},
	{"cut", "answers a probe from memory", serving(func(s *shop) {
		known, probe := false, s.probe
		s.probe = func(ctx context.Context) error {
			err := probe(ctx)
			if err != nil && (!known || ctx.Err() != nil) {
				return err
			}
			known = true
			return nil
		}
	})},
	{"reply after a limit", "calls the end of its patience an error",
		trying(func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			start := time.Now()
			held, err := s.grant(ctx, l)
			if time.Since(start) > l.TTL {
				return false, os.ErrDeadlineExceeded
			}
			return held, err
		})},
	{"lost reply", "forgets the owner when it fails", failing(drivers.ClassClosed, func(l *drivers.Lease, err error) error {
		l.Owner = ""
		return err
	})},
	{"lost reply", "says that a lost reply is a refusal", failing(drivers.ClassClosed, func(_ *drivers.Lease, err error) error {
		return &drivers.Error{Class: drivers.ClassServer, Op: "try", Err: err}
	})},

	{"clean", "cleans the first hundred keys", serving(func(s *shop) {
		clean := s.clean
		s.clean = func(ctx context.Context, keys []string) error { return clean(ctx, keys[:min(len(keys), 100)]) }
	})},
	{"probe", "pings no server", serving(func(s *shop) { s.ping = func(context.Context) error { return nil } })},
	{"probe", "probes whatever its context says", serving(func(s *shop) {
		probe := s.probe
		s.probe = func(ctx context.Context) error { return probe(context.WithoutCancel(ctx)) }
	})},
	{"inspect", "is another server each time", serving(func(s *shop) {
		run, inspect := 0, s.inspect
		s.inspect = func(ctx context.Context) (drivers.Server, drivers.Usage, error) {
			run++
			server, usage, err := inspect(ctx)
			server.RunID = fmt.Sprint(run)
			return server, usage, err
		}
	})},
	{"inspect", "counts no commands", serving(func(s *shop) {
		inspect := s.inspect
		s.inspect = func(ctx context.Context) (drivers.Server, drivers.Usage, error) {
			server, usage, err := inspect(ctx)
			usage.Commands = 5
			return server, usage, err
		}
	})},
	{"traffic", "counts half of its round trips", counting(true)},
	{"crowd", "opens sixty sessions", serving(func(s *shop) {
		session := s.session
		s.session = func(ctx context.Context, id int) (drivers.Session, error) {
			if id >= 60 {
				return nil, errors.New("too many sessions")
			}
			return session(ctx, id)
		}
	})},
	{"crowd", "makes heavy sessions", lock(altered{wrap: func(s drivers.Session, _ int) drivers.Session {
		return heavy{s, make([]byte, 221<<10)}
	}})},
	{"close", "goes on after Close", serving(func(s *shop) { s.end = func() error { return nil } })},
	{"goroutines", "leaves a goroutine behind with each session", serving(func(s *shop) {
		closed, session, end := make(chan struct{}), s.session, s.end
		s.session = func(ctx context.Context, id int) (drivers.Session, error) {
			go func() { <-closed }()
			return session(ctx, id)
		}
		s.end = func() error {
			close(closed)
			return end()
		}
	})},
	{"goroutines", "leaks a goroutine", serving(func(s *shop) {
		end := s.end
		s.end = func() error {
			go time.Sleep(time.Hour)
			return end()
		}
	})},
}

// folded returns a key as a service that ignores case sees it.
func folded(l *drivers.Lease) *drivers.Lease {
	copied := *l
	if stem, ok := strings.CutSuffix(l.Key, "KEY"); ok {
		copied.Key = stem + "key"
	}
	return &copied
}

func keepsPointer() drivers.Driver {
	var kept table[*drivers.Lease]
	return lock(altered{
		try: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.grant(ctx, l)
			if held {
				kept.set(l.Owner, l)
			}
			return held, err
		},
		release: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			if k := kept.get(l.Owner); k != nil {
				l = k
			}
			return s.Session.Release(ctx, l)
		},
	})
}

// failing changes the errors of a class.
func failing(class drivers.Class, change func(l *drivers.Lease, err error) error) drivers.Driver {
	changed := func(l *drivers.Lease, answer bool, err error) (bool, error) {
		if err != nil && drivers.ClassOf(err) == class {
			err = change(l, err)
		}
		return answer, err
	}
	return lock(altered{try: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
		held, err := s.grant(ctx, l)
		return changed(l, held, err)
	}, release: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
		owned, err := s.Session.Release(ctx, l)
		return changed(l, owned, err)
	}})
}

// lostOnce notes that a session was without a connection.
func lostOnce(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
	held, err := s.grant(ctx, l)
	if err != nil && drivers.ClassOf(err) == drivers.ClassConnect {
		s.count["lost"] = 1
	}
	return held, err
}

// onRelease returns a lock whose waits end only at releases: those of each key are counted, and Wait sleeps until the
// count is another than at the last Try, or, if it is late, for the first time, than at the beginning of the wait. It
// may look at the end of a lease as well.
func onRelease(d drivers.Driver, late, expiry bool) drivers.Driver {
	return altered{
		Driver: d,
		traits: claimWaits,
		try: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			s.count[l.Key] = s.all.n.get(l.Key)
			return s.grant(ctx, l)
		},
		release: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			owned, err := s.Session.Release(ctx, l)
			if owned {
				s.all.n.set(l.Key, s.all.n.get(l.Key)+1) // only holders get here
			}
			return owned, err
		},
		wait: func(s *seat, ctx context.Context, l *drivers.Lease) error {
			seen := s.count[l.Key]
			if first := "waits for " + l.Key; late && s.count[first] == 0 {
				s.count[first] = 1
				seen = s.all.n.get(l.Key)
			}
			left, _ := s.left(ctx, l)
			end := time.Now().Add(left)
			return until(ctx, l, func() bool {
				return s.all.n.get(l.Key) != seen || expiry && left > 0 && !time.Now().Before(end)
			})
		},
		leave: func(s *seat, _ context.Context, l *drivers.Lease) error {
			delete(s.count, "waits for "+l.Key)
			return nil
		},
	}
}

// hearing passes on the wake-ups that pass, given the number of earlier ones of that key.
func hearing(pass func(n int, key string) bool) drivers.Driver {
	return serving(func(s *shop) {
		listen := s.listen
		s.listen = func(ctx context.Context, wake func(string)) (drivers.Listener, error) {
			var heard table[int]
			return listen(ctx, func(key string) {
				n := heard.get(key)
				heard.set(key, n+1)
				if pass(n, key) {
					wake(key)
				}
			})
		}
	})
}

// listening changes listeners.
func listening(alter func(drivers.Listener) listener) drivers.Driver {
	return serving(func(s *shop) {
		listen := s.listen
		s.listen = func(ctx context.Context, wake func(string)) (drivers.Listener, error) {
			l, err := listen(ctx, wake)
			if err != nil {
				return nil, err
			}
			return alter(l), nil
		}
	})
}

// heavy is a session with a large buffer.
type heavy struct {
	drivers.Session
	ballast []byte
}

func (h heavy) Unwrap() drivers.Session { return h.Session }
