// Polling and back-off: exact times on fake time, and the distribution of the delays.

package wait_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

func TestPollTriesAtFixedInterval(t *testing.T) {
	for _, test := range []struct {
		every, hold, timeout time.Duration
		end                  time.Duration
		tries                []time.Duration
	}{
		{0, 35 * ms, 0, 40 * ms, []time.Duration{0, 10 * ms, 20 * ms, 30 * ms, 40 * ms}},
		{100 * ms, 150 * ms, 0, 200 * ms, []time.Duration{0, 100 * ms, 200 * ms}},
		{10 * ms, time.Hour, 25 * ms, 25 * ms, []time.Duration{0, 10 * ms, 20 * ms}},
		{10 * ms, time.Hour, 20 * ms, 20 * ms, []time.Duration{0, 10 * ms}}, // the deadline is at a try
		{10 * ms, time.Hour, 3 * ms, 3 * ms, []time.Duration{0}},
	} {
		on(t, wait.Poll, newService(), wait.Options{Poll: test.every}, func(s *stage) {
			c := s.client("k")
			s.svc.hold("k", test.hold)
			if test.timeout > 0 {
				c.timeout(test.timeout)
			}
			if a, err := c.acquire(s.Context()); a.Held != (test.timeout == 0) || err != nil || a.Tries != len(test.tries) {
				s.Errorf("got %+v, %v", a, err)
			}
			c.triedAt(test.tries...)
			s.took(test.end)
		})
	}
}

// Cancelling ends a sleep at once, whatever the way of waiting. Wait returns the context's error by itself: during a sleep,
// before it, and with no time left.
func TestCancelEndsWaiting(t *testing.T) {
	hour := wait.Options{Poll: time.Hour, BackoffMin: time.Hour, BackoffMax: time.Hour}
	for _, kind := range []string{wait.Poll, wait.Backoff, wait.PubSub, wait.Queue} {
		on(t, kind, newService(), hour, func(s *stage) {
			c := s.client("k")
			s.svc.hold("k", 0)
			ctx, cancel := context.WithCancel(s.Context())
			time.AfterFunc(7*ms, cancel)
			if a, err := c.acquire(ctx); a.Held || err != context.Canceled {
				s.Errorf("%s: got %+v, %v", kind, a, err)
			}
			s.took(7 * ms)
			if err := c.waiter.Wait(ctx, &c.lease); err != context.Canceled {
				s.Errorf("%s: Wait of a cancelled client = %v", kind, err)
			}
			c.timeout(0)
			if err := c.waiter.Wait(ctx, &c.lease); err != context.Canceled {
				s.Errorf("%s: with no time left it is %v", kind, err)
			}
			c.waiter.Leave(s.Context(), &c.lease)
		})
	}
}

// delays makes c fail n+1 tries and returns the n delays between them.
func (c *client) delays(n int) []time.Duration {
	svc := c.svc
	svc.hold("k", 0)
	defer svc.lose("k")
	c.base, c.at, c.tries = time.Now(), nil, 0
	svc.tried = func(s *session, _ bool) {
		if s.tries == n {
			svc.lose("k")
		}
	}
	c.must()
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = c.at[i+1] - c.at[i]
	}
	return out
}

// Full jitter: the delay before try n+2 is uniform in [0, min(max, min·2ⁿ)), over clients and over time, and anew in each
// acquisition. The seed is fixed, so the outcome is always the same; the bound of χ² with 15 degrees of freedom is for
// p = 0.0001.
func TestBackoffIsFullJitter(t *testing.T) {
	const (
		clients = 2000
		steps   = 7
		cells   = 16
		chi2    = 44.3
	)
	o := wait.Options{BackoffMin: ms, BackoffMax: 20 * ms, Seed: 1}
	on(t, wait.Backoff, newService(), o, func(s *stage) {
		var counts [steps][cells]int
		for id := range clients {
			c := s.client("k")
			for range 2 {
				for n, d := range c.delays(steps) {
					bound := min(20*ms, ms<<n)
					if d < 0 || d >= bound {
						s.Fatalf("client %d: delay %d is %v, not in [0, %v)", id, n, d, bound)
					}
					counts[n][int(d)*cells/int(bound)]++
				}
			}
		}
		for n := range counts {
			x := 0.0
			for _, count := range counts[n] {
				x += math.Pow(float64(count)-2*clients/cells, 2) / (2 * clients / cells)
			}
			if x > chi2 {
				s.Errorf("delay %d: χ² is %.1f, above %v: %v", n, x, chi2, counts[n])
			}
		}
	})
}

func TestBackoffIsReproducible(t *testing.T) {
	draw := func(seed uint64, id int) (list []time.Duration) {
		on(t, wait.Backoff, newService(), wait.Options{Seed: seed}, func(s *stage) {
			s.clients = id
			list = s.client("k").delays(10)
		})
		return list
	}
	first := draw(1, 1)
	if again := draw(1, 1); !slices.Equal(first, again) {
		t.Errorf("the same client drew %v and then %v", first, again)
	}
	if slices.Equal(first, draw(1, 2)) || slices.Equal(first, draw(2, 1)) {
		t.Error("two clients or seeds have the same delays")
	}
}

// The bound neither overflows nor exceeds the greatest delay, however long it doubles. Only the deadline cuts a delay short.
func TestBackoffBoundStops(t *testing.T) {
	for _, test := range []struct{ least, most time.Duration }{{1, 1}, {3, 10}, {1, math.MaxInt64}, {math.MaxInt64/2 + 1, math.MaxInt64}} {
		on(t, wait.Backoff, newService(), wait.Options{BackoffMin: test.least, BackoffMax: test.most}, func(s *stage) {
			c, longest, bound := s.client("k"), time.Duration(0), min(time.Hour, test.most)
			for range 200 {
				start := time.Now()
				c.timeout(time.Hour)
				if err := c.waiter.Wait(s.Context(), &c.lease); err != nil {
					s.Fatal(err)
				}
				d := time.Since(start)
				if d < 0 || d > bound {
					s.Fatalf("%v to %v: slept %v", test.least, test.most, d)
				}
				longest = max(longest, d)
			}
			if longest < bound/2 {
				s.Errorf("%v to %v: slept %v at the most", test.least, test.most, longest)
			}
		})
	}
}

// inLine is a session whose refused tries stand in line on the server until Leave.
type inLine struct {
	drivers.Session
	leaves int
}

func (s *inLine) Wait(context.Context, *drivers.Lease) error {
	panic("a polling client comes back by itself")
}
func (s *inLine) Leave(context.Context, *drivers.Lease) error { s.leaves++; return nil }

// A client that polls and gives up tells the server, if its tries stood in line there: otherwise the server would hand
// it the lock.
func TestPollingLeavesTheLine(t *testing.T) {
	for _, kind := range []string{wait.Poll, wait.Backoff} {
		for _, fair := range []bool{true, false} {
			svc := newService()
			svc.traits.Fair = fair
			on(t, kind, svc, wait.Options{}, func(s *stage) {
				var line *inLine
				c := s.as("k", func(inner *session) drivers.Session { line = &inLine{Session: inner}; return line })
				svc.hold("k", time.Hour)
				for _, timeout := range []time.Duration{0, 25 * ms} {
					c.timeout(timeout)
					c.mustNot()
				}
				if want := 2 * btoi(fair); line.leaves != want {
					s.Errorf("%s, fair %t: it has left %d times, want %d", kind, fair, line.leaves, want)
				}
			})
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
