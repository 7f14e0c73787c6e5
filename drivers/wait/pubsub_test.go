// Waiting for published releases, from the view of one client or many.

package wait_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers/wait"
)

// A release is published once. Whenever it happens during an acquisition, the client gets the lock without any delay
// but the server's, although it would sleep for MaxSleep if it missed the message.
func TestReleaseIsNeverSleptThrough(t *testing.T) {
	const slow = 3 * time.Millisecond // from the effect of the subscription to its confirmation
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
		{"between confirmation and second try", func(svc *service) {
			confirm := svc.confirm
			svc.confirm = func(key string) { confirm(key); svc.release(key) }
		}, 2, slow},
		{"between second try and its answer", func(svc *service) {
			svc.tried = func(s *session, won bool) {
				if s.tries == 2 {
					svc.release("k")
				}
			}
			svc.asked = func(*session) error { return errors.New("asked, although it had been woken") }
		}, 3, slow},
		{"unheard between second try and sleep", func(svc *service) {
			svc.tried = func(s *session, won bool) {
				if s.tries == 2 {
					svc.free("k")
				}
			}
		}, 3, slow},
		{"between second try and sleep", func(svc *service) {
			svc.asked = func(s *session) error { svc.release("k"); return nil }
		}, 3, slow},
		{"during the sleep", func(svc *service) {
			svc.asked = func(s *session) error {
				time.AfterFunc(time.Millisecond, func() { svc.release("k") })
				return nil
			}
		}, 3, slow + time.Millisecond},
		{"between third try and its answer", func(svc *service) {
			svc.asked = func(s *session) error { svc.wake("k"); return nil } // spurious
			svc.tried = func(s *session, won bool) {
				if s.tries == 3 {
					svc.asked = nil
					svc.release("k")
				}
			}
		}, 4, slow},
		{"by an outside client that takes it first", func(svc *service) {
			svc.tried = func(s *session, won bool) {
				switch s.tries {
				case 2:
					svc.release("k")
					svc.hold("k", time.Hour)
				case 3:
					svc.release("k")
				}
			}
		}, 4, slow},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newService()
				svc.confirm = func(string) { time.Sleep(slow) }
				test.set(svc)
				room := newRoom(t, wait.PubSub, svc, wait.Options{})
				defer closeRoom(t, room)
				c := newClient(t, svc, room, 0, "k")
				svc.hold("k", time.Hour)
				start := time.Now()
				a, err := c.acquire(t.Context())
				if !a.Held || err != nil {
					t.Fatalf("got %+v, %v", a, err)
				}
				if a.Tries != test.tries {
					t.Errorf("%d tries, want %d", a.Tries, test.tries)
				}
				if took := time.Since(start); took != test.took {
					t.Errorf("took %v, want %v", took, test.took)
				}
			})
		})
	}
}

// What ends a sleep without a message.
func TestSleepWithoutMessage(t *testing.T) {
	const sec = time.Second
	for _, test := range []struct {
		name    string
		hold    time.Duration // the holder's lease; 0 never ends
		timeout time.Duration
		held    bool
		tries   []time.Duration
		end     time.Duration
	}{
		{"the lease runs out", 2 * sec, 0, true, []time.Duration{0, 0, 2*sec + wait.Grace}, 2*sec + wait.Grace},
		{"the deadline", time.Hour, 3 * sec, false, []time.Duration{0, 0}, 3 * sec},
		{"the deadline before the lease", 2 * sec, sec, false, []time.Duration{0, 0}, sec},
		{"the deadline inside the grace", sec, sec, false, []time.Duration{0, 0}, sec},
		{"the lease before the deadline", sec, 2 * sec, true, []time.Duration{0, 0, sec + wait.Grace}, sec + wait.Grace},
		{"a long lease", wait.MaxSleep + 2*sec, 0, true,
			[]time.Duration{0, 0, wait.MaxSleep, wait.MaxSleep + 2*sec + wait.Grace}, wait.MaxSleep + 2*sec + wait.Grace},
		{"a lease without end", 0, 2*wait.MaxSleep + sec, false,
			[]time.Duration{0, 0, wait.MaxSleep, 2 * wait.MaxSleep}, 2*wait.MaxSleep + sec},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newService()
				room := newRoom(t, wait.PubSub, svc, wait.Options{})
				defer closeRoom(t, room)
				c := newClient(t, svc, room, 0, "k")
				c.base = time.Now()
				svc.hold("k", test.hold)
				if test.timeout > 0 {
					c.timeout(test.timeout)
				}
				a, err := c.acquire(t.Context())
				if a.Held != test.held || err != nil {
					t.Errorf("got %+v, %v", a, err)
				}
				if !slices.Equal(c.at, test.tries) {
					t.Errorf("tries at %v, want %v", c.at, test.tries)
				}
				if took := time.Since(c.base); took != test.end {
					t.Errorf("took %v, want %v", took, test.end)
				}
				if want := a.Tries - 2 + btoi(!test.held); c.rests != want {
					t.Errorf("asked %d times for the rest of the lease, want once a sleep, %d", c.rests, want)
				}
			})
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A session that cannot tell the rest works where leases do not end; the sleep is still bounded.
func TestSleepWithoutRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		svc.traits.Expires = false
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		c := newClient(t, svc, room, 0, "k")
		var err error
		if _, c.waiter, err = room.Client(bare{c.session}, 0); err != nil {
			t.Fatal(err)
		}
		c.base = time.Now()
		svc.hold("k", 0)
		time.AfterFunc(time.Second, func() { svc.free("k") }) // and the message is lost
		if a, err := c.acquire(t.Context()); !a.Held || err != nil {
			t.Errorf("got %+v, %v", a, err)
		}
		if want := []time.Duration{0, 0, wait.MaxSleep}; !slices.Equal(c.at, want) {
			t.Errorf("tries at %v, want %v", c.at, want)
		}
	})
}

// After a broken connection messages may be lost, and the driver calls wake(""): all waiters look at once.
func TestReconnectionWakesEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		var all sync.WaitGroup
		for i, key := range []string{"a", "a", "b", "c"} {
			c := newClient(t, svc, room, i, key)
			c.lease.TTL = time.Millisecond
			svc.hold(key, time.Hour)
			all.Go(func() {
				if a, err := c.acquire(t.Context()); !a.Held || err != nil {
					t.Errorf("got %+v, %v", a, err)
				}
			})
		}
		start := time.Now()
		time.Sleep(time.Second)
		for _, key := range []string{"a", "b", "c"} {
			svc.free(key) // unheard
		}
		svc.wake("")
		all.Wait()
		if took := time.Since(start); took > time.Second+10*time.Millisecond { // the second "a" waits for the first
			t.Errorf("took %v", took)
		}
	})
}

// A message wakes all waiters of its own key, and no others.
func TestMessageWakesItsKeyAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		ctx, cancel := context.WithCancel(t.Context())
		svc.hold("a", 0)
		svc.hold("b", 0)
		var as, bs []*client
		var all sync.WaitGroup
		for i := range 10 {
			a, b := newClient(t, svc, room, i, "a"), newClient(t, svc, room, i, "b")
			as, bs = append(as, a), append(bs, b)
			all.Go(func() { a.acquire(ctx) })
			all.Go(func() { b.acquire(ctx) })
		}
		synctest.Wait()
		svc.wake("a")
		svc.wake("elsewhere")
		synctest.Wait()
		for i := range as {
			if as[i].tries != 3 || bs[i].tries != 2 {
				t.Errorf("client %d: %d tries of the key that was woken and %d of the other", i, as[i].tries, bs[i].tries)
			}
		}
		cancel()
		all.Wait()
	})
}

// Where several nodes vote, the waiters that one message wakes try one after the other, and further apart after each
// failure; they do not try again for what they hear meanwhile.
func TestVotersTryApart(t *testing.T) {
	const clients = 10
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.PubSub, voting{svc}, wait.Options{})
		defer closeRoom(t, room)
		ctx, cancel := context.WithCancel(t.Context())
		svc.hold("k", time.Hour)
		var line []*client
		var all sync.WaitGroup
		for i := range clients {
			c := newClient(t, svc, room, i, "k")
			c.lease.TTL = time.Microsecond // its grant does not delay the others
			line = append(line, c)
			all.Go(func() {
				if a, err := c.acquire(ctx); (!a.Held || err != nil) && ctx.Err() == nil {
					t.Errorf("got %+v, %v", a, err)
				}
			})
		}
		synctest.Wait()
		bound := wait.DefaultBackoffMin
		for wakes := 1; wakes <= 9; wakes++ {
			for _, c := range line {
				c.base, c.at = time.Now(), nil
			}
			if wakes == 9 {
				svc.free("k")
			}
			svc.wake("k")
			synctest.Wait() // all of them draw their delays, and hear the next one
			svc.wake("k")
			time.Sleep(2 * bound)
			synctest.Wait()
			var first, last time.Duration = time.Hour, 0
			apart := map[time.Duration]bool{}
			for _, c := range line {
				if len(c.at) != 1 {
					t.Errorf("wake-up %d: a client tried at %v, want one try", wakes, c.at)
					continue
				}
				apart[c.at[0]] = true
				first, last = min(first, c.at[0]), max(last, c.at[0])
			}
			if len(apart) < clients || first < 0 || last >= bound || last-first < bound/4 {
				t.Errorf("wake-up %d: %d clients tried at %d moments from %v to %v, want as many as clients within %v",
					wakes, clients, len(apart), first, last, bound)
			}
			bound = min(2*bound, wait.DefaultBackoffMax)
		}
		cancel()
		all.Wait()
	})
}

// A wake-up that is left over from one acquisition does not disturb the next.
func TestWakeupsEndWithTheAcquisition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		c := newClient(t, svc, room, 0, "k")
		for range 3 {
			svc.hold("k", time.Hour)
			svc.tried = func(s *session, won bool) {
				switch {
				case won:
					svc.wake("k") // late
				case s.tries == 2:
					svc.release("k")
				}
			}
			c.tries = 0
			if a, err := c.acquire(t.Context()); !a.Held || a.Tries != 3 || err != nil {
				t.Fatalf("got %+v, %v", a, err)
			}
			svc.wake("k")
			svc.tried = nil
			c.rests = 0
			c.timeout(time.Second)
			if a, err := c.acquire(t.Context()); a.Held || a.Tries != 2 || err != nil || c.rests != 1 {
				t.Fatalf("got %+v, %v after %d sleeps", a, err, c.rests)
			}
			c.lease.Deadline = time.Time{}
		}
	})
}

// An error ends the acquisition as an error, never as contention.
func TestPubSubErrors(t *testing.T) {
	for _, test := range []struct {
		name string
		set  func(*service)
		want string
	}{
		{"subscribe", func(svc *service) { svc.add = func(string) error { return errBroken } }, "subscribe to the releases of k"},
		{"rest of the lease", func(svc *service) { svc.asked = func(*session) error { return errBroken } }, "rest of the holder's lease"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newService()
				test.set(svc)
				room := newRoom(t, wait.PubSub, svc, wait.Options{})
				defer closeRoom(t, room)
				c := newClient(t, svc, room, 0, "k")
				svc.hold("k", time.Hour)
				a, err := c.acquire(t.Context())
				if a.Held || !errors.Is(err, errBroken) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %+v, %v", a, err)
				}
				// The next acquisition is not affected.
				svc.add, svc.asked = nil, nil
				time.AfterFunc(time.Second, func() { svc.release("k") })
				start := time.Now()
				if a, err := c.acquire(t.Context()); !a.Held || err != nil || time.Since(start) != time.Second {
					t.Errorf("afterwards got %+v, %v in %v", a, err, time.Since(start))
				}
			})
		})
	}
}

// Cancelled while asking, it reports the cancellation and not the request that failed because of it.
func TestCancelWhileAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		ctx, cancel := context.WithCancel(t.Context())
		svc.asked = func(*session) error { cancel(); return errBroken }
		room := newRoom(t, wait.PubSub, svc, wait.Options{})
		defer closeRoom(t, room)
		c := newClient(t, svc, room, 0, "k")
		svc.hold("k", time.Hour)
		if a, err := c.acquire(ctx); a.Held || err != context.Canceled {
			t.Errorf("got %+v, %v", a, err)
		}
	})
}

// Many clients want one key, and each gets it, one at a time and without any delay but the holds of the others, over
// one subscription to one channel.
func TestHerdGetsThrough(t *testing.T) {
	for _, test := range []struct {
		clients int
		hold    time.Duration
	}{
		{1000, 0},
		{200, time.Millisecond}, // every release wakes all that are left
	} {
		t.Run(fmt.Sprint(test.clients, " ", test.hold), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newService()
				room := newRoom(t, wait.PubSub, svc, wait.Options{})
				defer closeRoom(t, room)
				svc.hold("k", 0)
				var all sync.WaitGroup
				holders := 0 // unguarded on purpose: the lock guards it
				for i := range test.clients {
					c := newClient(t, svc, room, i, "k")
					all.Go(func() {
						if a, err := c.acquire(t.Context()); !a.Held || err != nil {
							t.Errorf("client %d: got %+v, %v", i, a, err)
						}
						holders++
						time.Sleep(test.hold)
						c.Release(t.Context(), &c.lease)
					})
				}
				synctest.Wait() // all asleep
				start := time.Now()
				svc.release("k")
				all.Wait()
				if took, want := time.Since(start), time.Duration(test.clients)*test.hold; holders != test.clients || took != want {
					t.Errorf("%d of %d held it in %v, want %v", holders, test.clients, took, want)
				}
				if log := svc.noted(); !slices.Equal(log, []string{"listen", "add k"}) {
					t.Errorf("the server was asked for %v", log)
				}
			})
		})
	}
}
