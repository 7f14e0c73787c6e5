// Polling and back-off: exact times on fake time, and the distribution of the delays.

package wait_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
)

func TestPollTriesAtFixedInterval(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name    string
		every   time.Duration
		hold    time.Duration
		timeout time.Duration
		tries   []time.Duration
		held    bool
		end     time.Duration
	}{
		{"default", 0, 35 * ms, 0, []time.Duration{0, 10 * ms, 20 * ms, 30 * ms, 40 * ms}, true, 40 * ms},
		{"chosen", 100 * ms, 150 * ms, 0, []time.Duration{0, 100 * ms, 200 * ms}, true, 200 * ms},
		{"deadline between two tries", 10 * ms, time.Hour, 25 * ms, []time.Duration{0, 10 * ms, 20 * ms}, false, 25 * ms},
		{"deadline at a try", 10 * ms, time.Hour, 20 * ms, []time.Duration{0, 10 * ms}, false, 20 * ms},
		{"deadline before the first interval", 10 * ms, time.Hour, 3 * ms, []time.Duration{0}, false, 3 * ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newService()
				room := newRoom(t, wait.Poll, svc, wait.Options{Poll: test.every})
				defer closeRoom(t, room)
				c := newClient(t, svc, room, 0, "k")
				c.base = time.Now()
				svc.hold("k", test.hold)
				if test.timeout > 0 {
					c.timeout(test.timeout)
				}
				a, err := c.acquire(t.Context())
				if a.Held != test.held || err != nil || a.Tries != len(test.tries) {
					t.Errorf("got %+v, %v", a, err)
				}
				if !slices.Equal(c.at, test.tries) {
					t.Errorf("tries at %v, want %v", c.at, test.tries)
				}
				if took := time.Since(c.base); took != test.end {
					t.Errorf("took %v, want %v", took, test.end)
				}
			})
		})
	}
}

// Cancelling ends a sleep at once, whatever the way of waiting.
func TestCancelEndsWaiting(t *testing.T) {
	for _, kind := range []string{wait.Poll, wait.Backoff, wait.PubSub} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newService()
				room := newRoom(t, kind, svc, wait.Options{Poll: time.Hour, BackoffMin: time.Hour, BackoffMax: time.Hour})
				defer closeRoom(t, room)
				c := newClient(t, svc, room, 0, "k")
				svc.hold("k", 0)
				ctx, cancel := context.WithCancel(t.Context())
				start := time.Now()
				time.AfterFunc(7*time.Millisecond, cancel)
				a, err := c.acquire(ctx)
				if a.Held || err != context.Canceled {
					t.Errorf("got %+v, %v", a, err)
				}
				if took := time.Since(start); took != 7*time.Millisecond {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// Wait returns the context's error by itself, and not only Acquire: during a sleep, before it, and with no time left.
func TestWaitAnswersTheContext(t *testing.T) {
	for _, kind := range []string{wait.Poll, wait.Backoff, wait.PubSub} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newService()
				room := newRoom(t, kind, svc, wait.Options{Poll: time.Hour, BackoffMin: time.Hour, BackoffMax: time.Hour})
				defer closeRoom(t, room)
				c := newClient(t, svc, room, 0, "k")
				defer c.waiter.Leave(t.Context(), &c.lease)
				svc.hold("k", 0)
				if kind == wait.PubSub {
					if err := c.waiter.Wait(t.Context(), &c.lease); err != nil {
						t.Fatal(err)
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Millisecond, cancel)
				for _, when := range []string{"during the sleep", "before it"} {
					if err := c.waiter.Wait(ctx, &c.lease); err != context.Canceled {
						t.Errorf("%s: got %v", when, err)
					}
				}
				c.timeout(0)
				if err := c.waiter.Wait(ctx, &c.lease); err != context.Canceled {
					t.Errorf("with no time left: got %v", err)
				}
			})
		})
	}
}

// An acquisition after one that was woken, timed out or cancelled in the middle of a sleep sleeps its full time: no
// tick is left over in the timer that they share.
func TestSleepAfterBrokenSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.Poll, svc, wait.Options{Poll: 10 * time.Millisecond})
		defer closeRoom(t, room)
		c := newClient(t, svc, room, 0, "k")
		svc.hold("k", 0)
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond) // both at once
			c.acquire(ctx)
			cancel()
			time.Sleep(time.Second)
			c.base, c.at = time.Now(), nil
			c.timeout(15 * time.Millisecond)
			if a, err := c.acquire(t.Context()); a.Held || err != nil {
				t.Errorf("got %+v, %v", a, err)
			}
			if want := []time.Duration{0, 10 * time.Millisecond}; !slices.Equal(c.at, want) {
				t.Errorf("tries at %v, want %v", c.at, want)
			}
			c.lease.Deadline = time.Time{}
		}
	})
}

// delays makes client id fail n+1 tries and returns the n delays between them.
func delays(t *testing.T, svc *service, room *wait.Room, id, n int) []time.Duration {
	t.Helper()
	c := newClient(t, svc, room, id, "k")
	return c.delays(t, n)
}

func (c *client) delays(t *testing.T, n int) []time.Duration {
	t.Helper()
	svc := c.svc
	svc.hold("k", 0)
	defer svc.free("k")
	c.base, c.at, c.tries = time.Now(), nil, 0
	svc.tried = func(s *session, _ bool) {
		if s.tries == n {
			svc.free("k")
		}
	}
	if a, err := c.acquire(t.Context()); !a.Held || err != nil || a.Tries != n+1 {
		t.Fatalf("got %+v, %v", a, err)
	}
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = c.at[i+1] - c.at[i]
	}
	return out
}

// Full jitter: the delay before try n+2 is uniform in [0, min(max, min·2ⁿ)), over clients and over time. The seed is
// fixed, so the outcome is always the same; the bound of χ² with 15 degrees of freedom is for p = 0.0001.
func TestBackoffIsFullJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			clients = 4000
			steps   = 7
			cells   = 16
			chi2    = 44.3
		)
		svc := newService()
		room := newRoom(t, wait.Backoff, svc, wait.Options{BackoffMin: time.Millisecond, BackoffMax: 20 * time.Millisecond, Seed: 1})
		defer closeRoom(t, room)
		var counts [steps][cells]int
		for id := range clients {
			for n, d := range delays(t, svc, room, id, steps) {
				bound := min(20*time.Millisecond, time.Millisecond<<n)
				if d < 0 || d >= bound {
					t.Fatalf("client %d: delay %d is %v, not in [0, %v)", id, n, d, bound)
				}
				counts[n][int(d)*cells/int(bound)]++
			}
		}
		for n := range counts {
			x := 0.0
			for _, count := range counts[n] {
				x += math.Pow(float64(count)-clients/cells, 2) / (clients / cells)
			}
			if x > chi2 {
				t.Errorf("delay %d: χ² is %.1f, above %v: %v", n, x, chi2, counts[n])
			}
		}
	})
}

func TestBackoffIsReproducible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		draw := func(seed uint64, id int) []time.Duration {
			room := newRoom(t, wait.Backoff, svc, wait.Options{Seed: seed})
			defer closeRoom(t, room)
			return delays(t, svc, room, id, 10)
		}
		first := draw(1, 1)
		if again := draw(1, 1); !slices.Equal(first, again) {
			t.Errorf("the same client drew %v and then %v", first, again)
		}
		if other := draw(1, 2); slices.Equal(first, other) {
			t.Error("two clients draw the same delays")
		}
		if other := draw(2, 1); slices.Equal(first, other) {
			t.Error("two seeds give the same delays")
		}
	})
}

// Each acquisition starts from the least delay, whatever the last one reached.
func TestBackoffStartsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.Backoff, svc, wait.Options{BackoffMin: time.Millisecond, BackoffMax: time.Hour})
		defer closeRoom(t, room)
		c := newClient(t, svc, room, 0, "k")
		for range 20 {
			for n, d := range c.delays(t, 15) {
				if bound := time.Millisecond << n; d >= bound {
					t.Fatalf("delay %d is %v, not below %v", n, d, bound)
				}
			}
		}
	})
}

// The bound neither overflows nor exceeds the greatest delay, however long it doubles.
func TestBackoffBoundStops(t *testing.T) {
	for _, test := range []struct{ min, max time.Duration }{
		{1, 1},
		{3, 10},
		{1, math.MaxInt64},
		{math.MaxInt64/2 + 1, math.MaxInt64},
	} {
		synctest.Test(t, func(t *testing.T) {
			svc := newService()
			room := newRoom(t, wait.Backoff, svc, wait.Options{BackoffMin: test.min, BackoffMax: test.max})
			defer closeRoom(t, room)
			_, w, err := room.Client(&session{}, 0)
			if err != nil {
				t.Fatal(err)
			}
			longest := time.Duration(0)
			for range 200 {
				start := time.Now()
				l := drivers.Lease{Deadline: start.Add(time.Hour)}
				if err := w.Wait(t.Context(), &l); err != nil {
					t.Fatal(err)
				}
				d := time.Since(start)
				if d < 0 || d > min(time.Hour, test.max) {
					t.Fatalf("min %v, max %v: slept %v", test.min, test.max, d)
				}
				longest = max(longest, d)
			}
			if longest < min(time.Hour, test.max)/2 {
				t.Errorf("min %v, max %v: slept %v at the most", test.min, test.max, longest)
			}
		})
	}
}

// No delay exceeds the deadline, and only the deadline cuts one short.
func TestBackoffKeepsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.Backoff, svc, wait.Options{BackoffMin: time.Second, BackoffMax: time.Minute})
		defer closeRoom(t, room)
		svc.hold("k", 0)
		for id := range 100 {
			c := newClient(t, svc, room, id, "k")
			c.base = time.Now()
			timeout := time.Duration(id) * 100 * time.Millisecond
			c.timeout(timeout)
			a, err := c.acquire(t.Context())
			if a.Held || err != nil {
				t.Errorf("got %+v, %v", a, err)
			}
			if took := time.Since(c.base); took != timeout {
				t.Errorf("took %v of %v", took, timeout)
			}
			if last := c.at[len(c.at)-1]; last >= timeout && timeout > 0 {
				t.Errorf("tried at %v, past the deadline %v", last, timeout)
			}
		}
	})
}

// Waiting by the clock allocates nothing once the timer exists.
func TestSleepAllocatesNothing(t *testing.T) {
	for _, kind := range []string{wait.Poll, wait.Backoff} {
		svc := newService()
		room := newRoom(t, kind, svc, wait.Options{
			Poll: time.Microsecond, BackoffMin: time.Microsecond, BackoffMax: 2 * time.Microsecond,
		})
		c := newClient(t, svc, room, 0, "k")
		s := &scripted{answers: []bool{false, false, false, true}}
		l := drivers.Lease{Key: "k", Deadline: time.Now().Add(time.Hour)}
		ctx := t.Context()
		if n := testing.AllocsPerRun(50, func() {
			s.tries = 0
			if a, err := acquire(ctx, s, c.waiter, &l, &c.clock); !a.Held || a.Waits != 3 || err != nil {
				t.Fatal(a, err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", kind, n)
		}
		closeRoom(t, room)
	}
}

// inLine is a session whose refused tries stand in line on the server until Leave.
type inLine struct {
	drivers.Session
	leaves int
}

func (s *inLine) Unwrap() drivers.Session { return s.Session }
func (s *inLine) Wait(context.Context, *drivers.Lease) error {
	panic("a polling client comes back by itself")
}
func (s *inLine) Leave(_ context.Context, l *drivers.Lease) error { s.leaves++; return nil }

// A client that polls and gives up tells the server, if its tries stood in line there: otherwise the server would hand
// it the lock.
func TestPollingLeavesTheLine(t *testing.T) {
	const ms = time.Millisecond
	for _, kind := range []string{wait.Poll, wait.Backoff} {
		for _, test := range []struct {
			fair    bool
			timeout time.Duration
			want    int
		}{{true, 25 * ms, 1}, {true, 0, 1}, {false, 25 * ms, 0}} {
			synctest.Test(t, func(t *testing.T) {
				svc := newService()
				svc.traits.Fair = test.fair
				room := newRoom(t, kind, svc, wait.Options{})
				defer closeRoom(t, room)
				s := &inLine{Session: &session{svc: svc}}
				_, w, err := room.Client(s, 0)
				if err != nil {
					t.Fatal(err)
				}
				svc.hold("k", time.Hour)
				clock := drivers.NewClock()
				l := &drivers.Lease{Key: "k", TTL: time.Minute, Deadline: time.Now().Add(test.timeout)}
				held, err := s.Try(t.Context(), l)
				if a, err := wait.After(t.Context(), held, err, s, w, l, &clock, nil); a.Held || err != nil {
					t.Fatalf("%+v, %v", a, err)
				}
				if s.leaves != test.want {
					t.Errorf("%s, fair %t, timeout %v: it has left %d times, want %d", kind, test.fair, test.timeout, s.leaves, test.want)
				}
			})
		}
	}
}
