// Standing in a local line: its order, which client asks the server, and what ends it.

package wait_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
)

var handovers = []string{wait.HandoverRelease, wait.HandoverSwap}

// forHandovers runs a test of a line with either way of handing over, on a lock with owners.
func forHandovers(t *testing.T, f func(s *stage)) {
	for _, handover := range handovers {
		t.Run(handover, func(t *testing.T) { onLine(t, wait.Options{Handover: handover}, f) })
	}
}

func onLine(t *testing.T, o wait.Options, f func(s *stage)) {
	t.Helper()
	svc := newService()
	svc.owned = true
	on(t, wait.Queue, svc, o, f)
}

// lineUp starts the clients one after the other. Each has its turn, holds the lock for a while and releases it; order has
// their numbers as they got it.
func (s *stage) lineUp(clients []*client, hold time.Duration) (order *[]int) {
	order = new([]int)
	for i, c := range clients {
		s.then(func() {
			c.must()
			*order = append(*order, i) // unguarded on purpose: the lock guards it
			time.Sleep(hold)
			c.free()
		})
	}
	return order
}

func (s *stage) served(order *[]int, n int) {
	s.Helper()
	if s.all.Wait(); len(*order) != n || !slices.IsSorted(*order) {
		s.Errorf("served in the order %v", *order)
	}
}

// A line is served in order of arrival, without any delay but the holds, and only its front uses the server.
func TestQueueServesInOrder(t *testing.T) {
	for _, handover := range handovers {
		onLine(t, wait.Options{Handover: handover}.Passes(10), func(s *stage) {
			const n = 50
			first, clients := s.client("k"), s.line(n)
			first.must()
			order := s.lineUp(clients, ms)
			for i, c := range clients {
				if c.tries != 0 {
					s.Errorf("client %d asked the server although the lock is held in its own room", i)
				}
			}
			first.free()
			s.served(order, n)
			s.took(n * ms)
			tries, releases, passes := 0, 0, 0
			for _, c := range append(clients, first) {
				tries, releases, passes = tries+c.tries, releases+c.releases, passes+c.passes
			}
			switch {
			case handover == wait.HandoverRelease && (tries != n+1 || releases != n+1 || passes != 0),
				// Of 51 holds, each 11th ends with a release, and so does the last one.
				handover == wait.HandoverSwap && (tries != 5 || releases != 5 || passes != n+1-5):
				s.Errorf("%d tries, %d releases, %d hand-overs", tries, releases, passes)
			}
		})
	}
}

// The front of a line waits as in pubsub: while an outside client holds the lock, one client asks and one subscription
// is made.
func TestQueueWaitsForAStranger(t *testing.T) {
	forHandovers(t, func(s *stage) {
		s.svc.hold("k", time.Hour)
		clients := s.line(5)
		order := s.lineUp(clients, 0)
		time.Sleep(sec)
		synctest.Wait()
		for i, c := range clients {
			if c.tries != 2*btoi(i == 0) || c.rests != btoi(i == 0) {
				s.Errorf("client %d has tried %d times and asked %d times for the lease", i, c.tries, c.rests)
			}
		}
		s.svc.release("k")
		s.served(order, 5)
		s.saw("listen", "add k")
	})
}

// A holder that outlives its lease keeps a line waiting for as long as that, and what it does later is harmless. The lease
// may be shorter than the one before, and the first in line that sleeps since then may give up: the next one watches it.
func TestQueueOutlivesADeadHolder(t *testing.T) {
	for before := range 3 { // the first holds it from the start, the others after a longer lease, and one gives up behind the last
		dies := before == 1
		forHandovers(t, func(s *stage) {
			const lease = 2 * sec
			first, dead, leaving := s.client("k"), s.client("k"), s.client("k")
			dead.lease.TTL = lease
			if before > 0 {
				first.must()
			}
			s.then(dead.must)
			if leaving.timeout(lease / 2); before > 1 {
				s.then(leaving.mustNot)
			}
			order := s.lineUp(s.line(3), sec)
			if before > 0 {
				first.free()
			}
			time.Sleep(lease + wait.Grace + ms)
			synctest.Wait()
			if len(*order) != 1 {
				s.Fatalf("served %v when the lease had ended", *order)
			}
			if dies {
				dead.die()
			} else if owned, err := dead.use.Release(s.Context(), &dead.lease); owned || err != nil || dead.passes != 0 {
				s.Errorf("a late release: %v, %v, %d hand-overs", owned, err, dead.passes)
			}
			s.served(order, 3)
			s.took(lease + wait.Grace + 3*sec)
		})
	}
}

// Newcomers find out that a holder is dead as well, when the line is empty. A holder whose lease has run out tries again and
// gets a new one, which those in line watch; if another client has taken its place by then, they watch that one's.
func TestQueueAfterADeadHolder(t *testing.T) {
	for _, taken := range []bool{false, true} {
		forHandovers(t, func(s *stage) {
			late, heir, third := s.client("k"), s.client("k"), s.client("k")
			late.lease.TTL, heir.lease.TTL = sec, sec/2
			late.must()
			heir.ask(false, 0)
			time.Sleep(2 * sec)
			end := 3*sec + wait.Grace
			if taken {
				heir.ask(true, 1)
				late.ask(false, 2)
				end -= sec / 2
			} else {
				late.ask(true, 2)
			}
			third.must()
			if s.took(end); third.tries != 1 {
				s.Errorf("taken %v: %d tries", taken, third.tries)
			}
			third.free()
		})
	}
}

// A client that gives up leaves the line at its deadline or when its context ends, and does not hold up those behind
// it, wherever in the line it is.
func TestQueueGivingUp(t *testing.T) {
	for _, outside := range []bool{false, true} {
		forHandovers(t, func(s *stage) {
			holder := s.client("k")
			holder.lease.TTL = time.Hour
			free := holder.free
			if outside {
				s.svc.hold("k", time.Hour)
				free = func() { s.svc.release("k") }
			} else {
				holder.must()
			}
			ctx, cancel := context.WithCancel(s.Context())
			for i, c := range s.line(6) {
				s.then(func() {
					switch i % 3 {
					case 0:
						c.timeout(2 * sec)
						c.mustNot()
					case 1:
						if a, err := c.acquire(ctx); a.Held || err != context.Canceled {
							s.Errorf("got %+v, %v", a, err)
						}
					case 2:
						c.must()
						c.free()
					}
					s.took(time.Duration(2+i%3) * sec)
				})
			}
			time.Sleep(3 * sec)
			cancel()
			time.Sleep(sec)
			free()
		})
	}
}

// A client whose first try the server refuses has been first, and stays before those that came while it asked.
func TestQueueRefusedFrontStaysFirst(t *testing.T) {
	forHandovers(t, func(s *stage) {
		s.svc.hold("k", time.Hour)
		s.svc.tried = func(_ *session, won bool) {
			if !won {
				time.Sleep(sec) // the others come now
			}
		}
		order := s.lineUp(s.line(4), 0)
		time.Sleep(10 * sec)
		s.svc.release("k")
		s.all.Wait()
		// Client 1 got the turn when 0 was refused, and 0 comes next.
		if !slices.Equal(*order, []int{1, 0, 2, 3}) {
			s.Errorf("served in the order %v", *order)
		}
	})
}

// Close wakes those that stand in line, and lets none join.
func TestQueueClose(t *testing.T) {
	forHandovers(t, func(s *stage) {
		s.client("k").must()
		closed := func() {
			if a, err := s.client("k").acquire(s.Context()); a.Held || err == nil || !strings.Contains(err.Error(), "closed") {
				s.Errorf("got %+v, %v", a, err)
			}
			s.took(0)
		}
		s.then(closed)
		s.then(closed)
		closeRoom(s.T, s.room)
		s.all.Wait()
		closed()
	})
}

// Re-entry is handled by the session: the line goes on with the last release only.
func TestQueueReentry(t *testing.T) {
	svc := newService()
	svc.owned, svc.traits.Reentrant = true, true
	for _, handover := range handovers {
		on(t, wait.Queue, svc, wait.Options{Handover: handover}, func(s *stage) {
			c := s.client("k")
			for range 3 {
				c.must()
				svc.lose("k") // grants the next try, like a re-entrant lock
			}
			c.must()
			svc.releasing = func(*session, *drivers.Lease) (bool, error) { return false, nil }
			order := s.lineUp(s.line(2), 0)
			for range 3 {
				c.use.Release(s.Context(), &c.lease)
			}
			synctest.Wait()
			svc.releasing = nil
			if len(*order) != 0 || c.passes != 0 {
				s.Fatal("the inner release let another client in")
			}
			c.free()
			s.served(order, 2)
		})
	}
}

// A client that holds one lock may want another one: it gets that without a line.
func TestQueueTwoLocks(t *testing.T) {
	forHandovers(t, func(s *stage) {
		c := s.client("a")
		c.must()
		other := *c
		other.lease = drivers.Lease{Key: "b", TTL: time.Minute}
		s.svc.hold("b", time.Hour)
		time.AfterFunc(sec, func() { s.svc.release("b") })
		other.must()
		s.took(sec)
		other.free()
		c.free()
	})
}

// A client that its own room has refused finds nobody in line when it waits: it registers, and tries. One that does not wait
// tries again and again, and keeps no place.
func TestQueueOfNobody(t *testing.T) {
	forHandovers(t, func(s *stage) {
		holder, next := s.client("k"), s.client("k")
		holder.must()
		next.ask(false, 0)
		holder.free()
		if err := next.waiter.Wait(s.Context(), &next.lease); err != nil {
			s.Error(err)
		}
		s.took(0)
		next.ask(true, 1)
		s.saw("listen", "add k")
		next.free()
		next.waiter.Leave(s.Context(), &next.lease)

		s.svc.hold("k", time.Hour)
		next.ask(false, 2)
		next.ask(false, 3)
		s.svc.lose("k")
		holder.ask(true, 2)
		next.ask(false, 3) // refused by the room
		holder.free()
		next.ask(true, 4)
		next.free()
	})
}

// die crashes a client like the engine.
func (c *client) die() {
	c.t.Helper()
	releases, passes := c.releases, c.passes
	crasher, _ := drivers.As[drivers.Crasher](c.use)
	crasher.Crash()
	if c.releases > releases || c.passes > passes {
		c.t.Errorf("who died has sent %d releases and %d hand-overs", c.releases, c.passes)
	}
}

// When a holder dies, only the first in line asks the server, and then waits as for another process: until the lease
// ends, or until it hears that the lock was freed. The line keeps its order, and newcomers join its end.
func TestQueueOutlivesACrash(t *testing.T) {
	for _, early := range []bool{false, true} {
		forHandovers(t, func(s *stage) {
			const n, freed = 5, 10 * sec
			dead, clients := s.client("k"), s.line(n+1)
			dead.must()
			order := s.lineUp(clients[:n], ms)
			time.Sleep(sec)
			dead.die()
			synctest.Wait()
			for i, c := range clients[:n] {
				if n := c.tried(); (n > 0) != (i == 0) {
					s.Errorf("client %d of the line has asked the server %d times when the holder had died", i, n)
				}
			}
			s.then(func() { clients[n].must(); *order = append(*order, n); clients[n].free() })
			end := dead.lease.TTL + wait.Grace
			if early {
				end = freed
				time.Sleep(freed - sec)
				s.svc.release("k")
			}
			s.served(order, n+1)
			s.took(end + n*ms)
		})
	}
}

// A client that dies while it contends leaves its turn to the next, which then watches the end of the holder's lease.
func TestCrashWhileContending(t *testing.T) {
	forHandovers(t, func(s *stage) {
		s.svc.hold("k", 8*sec)
		dead, next := s.client("k"), s.client("k")
		dead.timeout(sec)
		dead.ask(false, 1)
		for range 2 { // it registers, and sleeps
			if err := dead.waiter.Wait(s.Context(), &dead.lease); err != nil {
				s.Fatal(err)
			}
		}
		s.then(next.must)
		dead.die()
		s.all.Wait()
		s.took(8*sec + wait.Grace)
	})
}
