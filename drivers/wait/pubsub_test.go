// Waiting for published releases, from the view of one client or many.

package wait_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
)

func onPubSub(t *testing.T, f func(s *stage)) {
	t.Helper()
	on(t, wait.PubSub, newService(), wait.Options{}, f)
}

// A release is published once. Whenever it happens during an acquisition, the client gets the lock without any delay
// but the server's, although it would sleep for MaxSleep if it missed the message.
func TestReleaseIsNeverSleptThrough(t *testing.T) {
	const slow = 3 * ms // from the effect of the subscription to its confirmation
	atTry := func(n int, do func(svc *service)) func(svc *service) {
		return func(svc *service) {
			svc.tried = func(s *session, _ bool) {
				if s.tries == n {
					do(svc)
				}
			}
		}
	}
	release := func(svc *service) { svc.release("k") }
	for _, test := range []struct {
		name  string
		set   func(svc *service) // makes the release happen
		tries int
		took  time.Duration
	}{
		{"before the subscription takes effect", func(svc *service) {
			svc.add = func(key string) error { svc.release(key); return nil }
		}, 2, slow},
		{"between subscription and confirmation", func(svc *service) {
			confirm := svc.confirm
			svc.confirm = func(key string) { svc.release(key); confirm(key) }
		}, 2, slow},
		{"between second try and its answer", func(svc *service) {
			atTry(2, release)(svc)
			svc.asked = func(*session) error { return errors.New("asked, although it had been woken") }
		}, 3, slow},
		{"unheard between second try and sleep", atTry(2, func(svc *service) { svc.lose("k") }), 3, slow},
		{"during the sleep", func(svc *service) {
			svc.asked = func(*session) error { time.AfterFunc(ms, func() { svc.release("k") }); return nil }
		}, 3, slow + ms},
		{"between third try and its answer", func(svc *service) {
			svc.asked = func(*session) error { svc.wake("k"); return nil } // spurious
			atTry(3, func(svc *service) { svc.asked = nil; svc.release("k") })(svc)
		}, 4, slow},
	} {
		t.Run(test.name, func(t *testing.T) {
			onPubSub(t, func(s *stage) {
				s.svc.confirm = func(string) { time.Sleep(slow) }
				test.set(s.svc)
				c := s.client("k")
				s.svc.hold("k", time.Hour)
				if c.must(); c.tries != test.tries {
					s.Errorf("%d tries, want %d", c.tries, test.tries)
				}
				s.took(test.took)
			})
		})
	}
}

// What ends a sleep without a message.
func TestSleepWithoutMessage(t *testing.T) {
	const most = wait.MaxSleep
	for _, test := range []struct {
		name                string
		hold, timeout, lost time.Duration // hold 0 never ends; lost: free without a message, and nobody can ask for the rest
		held                bool
		tries               []time.Duration
		end                 time.Duration
	}{
		{"the lease runs out", 2 * sec, 0, 0, true, []time.Duration{0, 0, 2*sec + wait.Grace}, 2*sec + wait.Grace},
		{"the deadline", time.Hour, 3 * sec, 0, false, []time.Duration{0, 0}, 3 * sec},
		{"the deadline inside the grace", sec, sec, 0, false, []time.Duration{0, 0}, sec},
		{"a long lease", most + 2*sec, 0, 0, true, []time.Duration{0, 0, most, most + 2*sec + wait.Grace}, most + 2*sec + wait.Grace},
		{"a lease without end", 0, 2*most + sec, 0, false, []time.Duration{0, 0, most, 2 * most}, 2*most + sec},
		{"it cannot ask", 0, 0, sec, true, []time.Duration{0, 0, most}, most},
	} {
		t.Run(test.name, func(t *testing.T) {
			svc := newService()
			svc.traits.Expires = test.lost == 0
			on(t, wait.PubSub, svc, wait.Options{}, func(s *stage) {
				c := s.as("k", func(inner *session) drivers.Session {
					if test.lost > 0 {
						time.AfterFunc(test.lost, func() { s.svc.lose("k") })
						return bare{inner}
					}
					return inner
				})
				svc.hold("k", test.hold)
				if test.timeout > 0 {
					c.timeout(test.timeout)
				}
				if a, err := c.acquire(s.Context()); a.Held != test.held || err != nil {
					s.Errorf("got %+v, %v", a, err)
				}
				c.triedAt(test.tries...)
				s.took(test.end)
				if want := c.tries - 2 + btoi(!test.held); c.rests != want && test.lost == 0 {
					s.Errorf("asked %d times for the rest of the lease, want once a sleep, %d", c.rests, want)
				}
			})
		})
	}
}

// A message wakes all waiters of its own key, and no others. After a broken connection messages may be lost, and the driver
// calls wake(""): all look at once.
func TestMessageWakesItsKeyAlone(t *testing.T) {
	onPubSub(t, func(s *stage) {
		ctx, cancel := context.WithCancel(s.Context())
		s.svc.hold("a", 0)
		s.svc.hold("b", 0)
		clients := map[string][]*client{}
		for range 5 {
			for _, key := range []string{"a", "b"} {
				c := s.client(key)
				clients[key] = append(clients[key], c)
				s.then(func() { c.acquire(ctx) })
			}
		}
		for n, woken := range []string{"a", "elsewhere", ""} {
			synctest.Wait()
			s.svc.wake(woken)
			synctest.Wait()
			for key, list := range clients {
				for _, c := range list {
					if want := 2 + btoi(key == "a") + btoi(n == 2); c.tries != want {
						s.Errorf("%d tries of %s after %q was woken", c.tries, key, woken)
					}
				}
			}
		}
		s.saw("listen", "add a", "add b")
		cancel()
	})
}

// Where several nodes vote, the waiters that one message wakes try one after the other, and further apart after each
// failure; they do not try again for what they hear meanwhile.
func TestVotersTryApart(t *testing.T) {
	const clients = 10
	on(t, wait.PubSub, voting{newService()}, wait.Options{}, func(s *stage) {
		s.svc.hold("k", time.Hour)
		line := s.line(clients)
		for _, c := range line {
			c.lease.TTL = time.Microsecond // its grant does not delay the others
			s.all.Go(c.must)
		}
		synctest.Wait()
		bound := wait.DefaultBackoffMin
		for wakes := 1; wakes <= 9; wakes++ {
			for _, c := range line {
				c.base, c.at = time.Now(), nil
			}
			if wakes == 9 {
				s.svc.lose("k")
			}
			s.svc.wake("k")
			synctest.Wait() // all of them draw their delays, and hear the next one
			s.svc.wake("k")
			time.Sleep(2 * bound)
			synctest.Wait()
			first, last, apart := time.Hour, time.Duration(0), map[time.Duration]bool{}
			for _, c := range line {
				if len(c.at) != 1 {
					s.Fatalf("wake-up %d: a client tried at %v, want one try", wakes, c.at)
				}
				apart[c.at[0]] = true
				first, last = min(first, c.at[0]), max(last, c.at[0])
			}
			if len(apart) < clients || last >= bound || last-first < bound/4 {
				s.Errorf("wake-up %d: %d clients tried at %d moments from %v to %v, want as many as clients within %v",
					wakes, clients, len(apart), first, last, bound)
			}
			bound = min(2*bound, wait.DefaultBackoffMax)
		}
	})
}

// A wake-up that is left over from one acquisition does not disturb the next.
func TestWakeupsEndWithTheAcquisition(t *testing.T) {
	onPubSub(t, func(s *stage) {
		c := s.client("k")
		s.svc.hold("k", time.Hour)
		s.svc.tried = func(inner *session, won bool) {
			switch {
			case won:
				s.svc.wake("k") // late
			case inner.tries == 2:
				s.svc.release("k")
			}
		}
		c.must()
		s.svc.wake("k")
		c.tries, c.rests = 0, 0
		s.svc.tried = nil
		c.timeout(sec)
		if c.mustNot(); c.tries != 2 || c.rests != 1 {
			s.Errorf("%d tries and %d sleeps", c.tries, c.rests)
		}
	})
}

// An error ends the acquisition as an error, never as contention, and does not affect the next one. Cancelled while it asks,
// a client reports that, and not the request that failed for it.
func TestErrorsEndTheWait(t *testing.T) {
	asking := func(svc *service, _ *bed, _ func()) { svc.asked = func(*session) error { return errBroken } }
	for _, test := range []struct {
		kind string
		set  func(svc *service, b *bed, cancel func())
		want string
	}{
		{wait.PubSub, func(svc *service, _ *bed, _ func()) { svc.add = func(string) error { return errBroken } }, "subscribe to the releases of k"},
		{wait.PubSub, asking, "wait: pubsub: ask for the rest of the holder's lease"},
		{wait.PubSub, func(svc *service, _ *bed, cancel func()) {
			svc.asked = func(*session) error { cancel(); return errBroken }
		}, "context canceled"},
		{wait.Block, func(_ *service, b *bed, _ func()) { b.err = errBroken }, "wait: block: connection reset"},
		{wait.Block, asking, "wait: block: ask for the rest of the holder's lease"},
	} {
		svc, b := newService(), &bed{}
		svc.traits.Blocks = true
		on(t, test.kind, svc, wait.Options{}, func(s *stage) {
			ctx, cancel := context.WithCancel(s.Context())
			defer cancel()
			b.tokens = make(chan struct{}, 1)
			c := s.as("k", func(inner *session) drivers.Session { return sleeper{inner, b} })
			svc.hold("k", time.Hour)
			test.set(svc, b, cancel)
			if a, err := c.acquire(ctx); a.Held || a.Unknown || err == nil || !strings.Contains(err.Error(), test.want) {
				s.Errorf("got %+v, %v; want an error with %q", a, err, test.want)
			}
			svc.add, svc.asked, b.err = nil, nil, nil
			time.AfterFunc(sec, func() { svc.release("k"); b.tokens <- struct{}{} })
			c.must()
			s.took(sec)
		})
	}
}

// One waiter of a key, the keeper, asks for the rest of the holder's lease of 2 s, for all of them.
func TestOneKeeper(t *testing.T) {
	for _, test := range []struct {
		name    string
		timeout []time.Duration // of each waiter; 0 is endless
		release time.Duration   // when the holder releases; 0 is never
		rests   int64           // how often all of them ask
		woken   time.Duration   // when those without a deadline try again
	}{
		{"the lease ends", []time.Duration{0, 0, 0, 0}, 0, 1, 2*sec + wait.Grace},
		{"a release comes first", []time.Duration{0, 0, 0, 0}, sec, 1, sec},
		{"keeper after keeper gives up", []time.Duration{sec / 2, 0, 0, 3 * sec / 2, sec}, 0, 4, 2*sec + wait.Grace},
		{"another gives up", []time.Duration{0, sec, 0, 0}, 0, 1, 2*sec + wait.Grace},
	} {
		t.Run(test.name, func(t *testing.T) {
			onPubSub(t, func(s *stage) {
				var rests, tries atomic.Int64
				s.svc.asked = func(*session) error { rests.Add(1); return nil }
				s.svc.tried = func(*session, bool) { tries.Add(1) }
				s.svc.hold("k", 2*sec)
				clients := s.line(len(test.timeout))
				for i, timeout := range test.timeout {
					c := clients[i]
					s.then(func() { // the first one is the first keeper, and so on
						if timeout > 0 {
							c.timeout(timeout)
							c.mustNot()
							return
						}
						c.must()
						c.Release(s.Context(), &c.lease)
					})
				}
				if test.release > 0 {
					time.AfterFunc(test.release, func() { s.svc.release("k") })
				}
				time.Sleep(test.woken - ms)
				synctest.Wait()
				if got, want := tries.Load(), int64(2*len(clients))+test.rests-1; rests.Load() != test.rests || got != want {
					s.Errorf("asked %d times, want %d; %d tries, want %d: two each, and one by each new keeper",
						rests.Load(), test.rests, got, want)
				}
				s.all.Wait()
				for i, c := range clients {
					if test.timeout[i] == 0 && !slices.Contains(c.at, test.woken) {
						s.Errorf("client %d tried at %v, want a try at %v", i, c.at, test.woken)
					}
				}
			})
		})
	}
}

// Clients that come first to a key together share one request. The one that caused it may give up: the others do not notice.
func TestRequestOutlivesItsFirstWaiter(t *testing.T) {
	onPubSub(t, func(s *stage) {
		s.svc.add = func(string) error { time.Sleep(sec); return nil }
		s.svc.hold("k", 0)
		time.AfterFunc(2*sec, func() { s.svc.release("k") })
		ctx, cancel := context.WithCancel(s.Context())
		time.AfterFunc(10*ms, cancel)
		first, patient := s.client("k"), s.client("k")
		s.then(func() {
			if a, err := first.acquire(ctx); a.Held || err != context.Canceled {
				s.Errorf("got %+v, %v", a, err)
			}
			s.took(10 * ms)
		})
		patient.must()
		s.took(2 * sec)
		s.saw("listen", "add k")
	})
}

// Without a confirmation a client asks the lock now and then; it never sleeps unconfirmed, and is woken as usual once
// the confirmation has come.
func TestConfirmationMayTakeLong(t *testing.T) {
	onPubSub(t, func(s *stage) {
		const most = wait.MaxSleep
		s.svc.add = func(string) error { time.Sleep(2*most + sec); return nil }
		c := s.client("k")
		s.svc.hold("k", 0)
		time.AfterFunc(2*most+2*sec, func() { s.svc.release("k") })
		c.must()
		c.triedAt(0, most, 2*most, 2*most+sec, 2*most+2*sec)
		if c.rests != 1 {
			s.Errorf("%d sleeps", c.rests)
		}
	})
}

// Close ends the subscription and the requests under way, may be called again, and lets no client in afterwards; one that
// leaves then sends nothing any more. The context of NewRoom bounds only the opening, and nothing is subscribed to for a
// client whose deadline has passed.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		ctx, cancel := context.WithCancel(t.Context())
		room, err := wait.NewRoom(ctx, wait.PubSub, svc, wait.Options{})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		s := &stage{T: t, svc: svc, room: room, start: time.Now()}
		svc.hold("k", 0)
		late := s.client("k")
		late.timeout(0)
		if err := late.waiter.Wait(t.Context(), &late.lease); err != nil {
			t.Error(err)
		}
		s.saw("listen")
		c := s.client("k")
		svc.confirm = func(string) { time.Sleep(sec) } // after that the fake sees that the context has ended
		s.then(func() {
			if a, err := c.acquire(t.Context()); a.Held || !errors.Is(err, context.Canceled) || t.Context().Err() != nil {
				t.Errorf("got %+v, %v", a, err)
			}
		})
		closeRoom(t, room)
		s.took(sec) // after the request under way
		s.all.Wait()
		closeRoom(t, room)
		if a, err := c.acquire(t.Context()); a.Held || err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("after Close got %+v, %v", a, err)
		}
		s.saw("listen", "add k", "close")
	})
}
