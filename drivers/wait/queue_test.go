// Standing in a local line: its order, which client asks the server, and what ends it.

package wait_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
)

var handovers = []string{wait.HandoverRelease, wait.HandoverSwap}

// forHandovers runs a test with either way of handing over, on the bubble's clock and on a lock with owners.
func forHandovers(t *testing.T, f func(t *testing.T, svc *service, o wait.Options)) {
	for _, handover := range handovers {
		t.Run(handover, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newService()
				svc.owned = true
				f(t, svc, wait.Options{Handover: handover})
			})
		})
	}
}

// must acquires, which has to succeed.
func (c *client) must(t *testing.T) {
	t.Helper()
	if a, err := c.acquire(t.Context()); !a.Held || err != nil {
		t.Errorf("got %+v, %v", a, err)
	}
}

// free releases, which must find the lock still owned.
func (c *client) free(t *testing.T) {
	t.Helper()
	if owned, err := c.use.Release(t.Context(), &c.lease); !owned || err != nil {
		t.Errorf("Release = %v, %v", owned, err)
	}
}

// lineUp makes n clients of k that come one after the other; each records its number when it has the lock, holds it for
// that time and releases it.
func lineUp(t *testing.T, svc *service, room *wait.Room, all *sync.WaitGroup, n int, hold time.Duration) (clients []*client, order *[]int) {
	order = new([]int)
	for i := range n {
		c := newClient(t, svc, room, i, "k")
		clients = append(clients, c)
		all.Go(func() {
			c.must(t)
			*order = append(*order, i) // unguarded on purpose: the lock guards it
			time.Sleep(hold)
			c.free(t)
		})
		synctest.Wait()
	}
	return clients, order
}

func counting(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// A line is served in order of arrival, without any delay but the holds, and only its front uses the server.
func TestQueueServesInOrder(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		const n = 50
		o = o.Passes(10)
		room := newRoom(t, wait.Queue, svc, o)
		defer closeRoom(t, room)
		first := newClient(t, svc, room, 0, "k")
		first.must(t)
		var all sync.WaitGroup
		clients, order := lineUp(t, svc, room, &all, n, time.Millisecond)
		for i, c := range clients {
			if c.tries != 0 {
				t.Errorf("client %d asked the server although the lock is held in its own room", i)
			}
		}
		start := time.Now()
		first.free(t)
		all.Wait()
		if !slices.Equal(*order, counting(n)) {
			t.Errorf("served in the order %v", *order)
		}
		if took := time.Since(start); took != n*time.Millisecond {
			t.Errorf("took %v", took)
		}
		tries, releases, passes := 0, first.releases, first.passes
		for _, c := range clients {
			tries, releases, passes = tries+c.tries, releases+c.releases, passes+c.passes
		}
		switch {
		case o.Handover == wait.HandoverRelease && (tries != n || releases != n+1 || passes != 0),
			// Of 51 holds, each 11th ends with a release, and so does the last one.
			o.Handover == wait.HandoverSwap && (tries != 4 || releases != 5 || passes != n+1-5):
			t.Errorf("%d tries, %d releases, %d hand-overs", tries, releases, passes)
		}
	})
}

// The front of a line waits as in pubsub: while an outside client holds the lock, one client asks and one subscription
// is made.
func TestQueueWaitsForAStranger(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		const n = 20
		room := newRoom(t, wait.Queue, svc, o)
		defer closeRoom(t, room)
		svc.hold("k", time.Hour)
		var all sync.WaitGroup
		clients, order := lineUp(t, svc, room, &all, n, 0)
		time.Sleep(time.Second)
		synctest.Wait()
		if clients[0].tries != 2 || clients[0].rests != 1 {
			t.Errorf("the front has tried %d times and asked %d times for the lease", clients[0].tries, clients[0].rests)
		}
		for _, c := range clients[1:] {
			if c.tries+c.rests != 0 {
				t.Error("not only the front has asked the server")
			}
		}
		svc.release("k")
		all.Wait()
		if !slices.Equal(*order, counting(n)) {
			t.Errorf("served in the order %v", *order)
		}
		if log := svc.noted(); !slices.Equal(log, []string{"listen", "add k"}) {
			t.Errorf("the server was asked for %v", log)
		}
	})
}

// Two rooms share a lock: neither may keep it for more than the maximum of hand-overs while the other wants it.
func TestQueueGivesOtherRoomsATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, most = 40, 4
		svc := newService()
		svc.owned = true
		o := wait.Options{Handover: wait.HandoverSwap}.Passes(most)
		svc.asked = func(*session) error { time.Sleep(time.Microsecond); return nil } // a round trip
		svc.tried = func(*session, bool) { time.Sleep(time.Microsecond) }
		var turns []int // by room, unguarded on purpose
		var all sync.WaitGroup
		var wakes [2]func(string)
		var rooms [2]*wait.Room
		for number := range rooms {
			rooms[number] = newRoom(t, wait.Queue, svc, o)
			defer closeRoom(t, rooms[number])
			wakes[number] = svc.wake
		}
		svc.wake = func(key string) { wakes[0](key); wakes[1](key) }
		for number, room := range rooms {
			for i := range n {
				c := newClient(t, svc, room, i, "k")
				all.Go(func() {
					c.must(t)
					turns = append(turns, number)
					time.Sleep(time.Millisecond)
					c.free(t)
				})
			}
		}
		all.Wait()
		if len(turns) != 2*n {
			t.Fatalf("%d turns of %d", len(turns), 2*n)
		}
		run := 0
		for i, number := range turns {
			if run++; i > 0 && turns[i-1] != number {
				run = 1
			}
			if run > most+1 && slices.Contains(turns[i:], 1-number) {
				t.Fatalf("room %d had the lock %d times in a row while the other wanted it: %v", number, run, turns)
			}
		}
	})
}

// A holder that dies keeps a line waiting for as long as its lease lasts, and what it does later is harmless.
func TestQueueOutlivesADeadHolder(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		const lease = 2 * time.Second
		room := newRoom(t, wait.Queue, svc, o)
		defer closeRoom(t, room)
		dead := newClient(t, svc, room, 100, "k")
		dead.lease.TTL = lease
		dead.must(t)
		start := time.Now()
		var all sync.WaitGroup
		_, order := lineUp(t, svc, room, &all, 5, time.Second)
		synctest.Wait()
		time.Sleep(lease + wait.Grace + time.Millisecond)
		synctest.Wait()
		if len(*order) != 1 {
			t.Fatalf("served %v when the lease had ended", *order)
		}
		if owned, err := dead.use.Release(t.Context(), &dead.lease); owned || err != nil || dead.passes != 0 { // late
			t.Errorf("a late release: %v, %v, %d hand-overs", owned, err, dead.passes)
		}
		all.Wait()
		if took := time.Since(start); !slices.Equal(*order, counting(5)) || took != lease+wait.Grace+5*time.Second {
			t.Errorf("served %v in %v", *order, took)
		}
	})
}

// The lease of the holder may end sooner than that of the one before: the head, asleep since then, must watch it.
func TestQueueMindsAShorterLease(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		room := newRoom(t, wait.Queue, svc, o)
		defer closeRoom(t, room)
		first, brief, last := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k"), newClient(t, svc, room, 2, "k")
		brief.lease.TTL = time.Second
		first.must(t)
		var all sync.WaitGroup
		all.Go(func() { brief.must(t) }) // and dies
		synctest.Wait()
		all.Go(func() { last.must(t) })
		synctest.Wait()
		start := time.Now()
		first.free(t)
		all.Wait()
		if took := time.Since(start); took != time.Second+wait.Grace {
			t.Errorf("took %v", took)
		}
	})
}

// The head of a line watches the holder's lease. If it gives up, the next one does, and the others sleep.
func TestQueueNextHeadWatches(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		const sec = time.Second
		room := newRoom(t, wait.Queue, svc, o)
		defer closeRoom(t, room)
		dead, leaving, next, last := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k"),
			newClient(t, svc, room, 2, "k"), newClient(t, svc, room, 3, "k")
		dead.lease.TTL = sec
		svc.hold("k", sec) // so that the next two arrive before there is a lease to watch
		start := time.Now()
		var all sync.WaitGroup
		all.Go(func() { dead.must(t) })
		synctest.Wait()
		leaving.timeout(3 * sec / 2)
		all.Go(func() { leaving.acquire(t.Context()) })
		synctest.Wait()
		all.Go(func() { next.must(t); next.free(t) })
		time.Sleep(7 * sec / 4)
		all.Go(func() { last.must(t); last.free(t) })
		all.Wait()
		if took := time.Since(start); took != 2*sec+2*wait.Grace {
			t.Errorf("took %v", took)
		}
	})
}

// Newcomers detect a dead holder as well, when the line is empty.
func TestQueueNewcomerAfterADeadHolder(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		room := newRoom(t, wait.Queue, svc, o)
		defer closeRoom(t, room)
		dead, next := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k")
		dead.lease.TTL = time.Second
		dead.must(t)
		if held, err := next.use.Try(t.Context(), &next.lease); held || err != nil || next.tries != 0 {
			t.Errorf("Try = %v, %v after %d tries at the server", held, err, next.tries)
		}
		time.Sleep(time.Second + wait.Grace)
		if held, err := next.use.Try(t.Context(), &next.lease); !held || err != nil {
			t.Errorf("Try = %v, %v", held, err)
		}
		next.free(t)
	})
}

// A client that gives up leaves the line at its deadline or when its context ends, and does not hold up those behind
// it, wherever in the line it is.
func TestQueueGivingUp(t *testing.T) {
	for _, test := range []struct {
		name string
		held time.Duration // by a client of the room; otherwise by an outside client
	}{{"in line", time.Hour}, {"at the front", 0}} {
		t.Run(test.name, func(t *testing.T) {
			forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
				room := newRoom(t, wait.Queue, svc, o)
				defer closeRoom(t, room)
				holder := newClient(t, svc, room, 0, "k")
				if test.held > 0 {
					holder.lease.TTL = test.held
					holder.must(t)
				} else {
					svc.hold("k", time.Hour)
				}
				start := time.Now()
				var all sync.WaitGroup
				ctx, cancel := context.WithCancel(t.Context())
				for i := range 6 {
					c := newClient(t, svc, room, i, "k")
					all.Go(func() {
						switch i % 3 {
						case 0:
							c.timeout(2 * time.Second)
							if a, err := c.acquire(t.Context()); a.Held || err != nil || time.Since(start) != 2*time.Second {
								t.Errorf("client %d: got %+v, %v after %v", i, a, err, time.Since(start))
							}
						case 1:
							if a, err := c.acquire(ctx); a.Held || err != context.Canceled || time.Since(start) != 3*time.Second {
								t.Errorf("client %d: got %+v, %v after %v", i, a, err, time.Since(start))
							}
						case 2:
							c.must(t)
							if time.Since(start) != 4*time.Second {
								t.Errorf("client %d: got it after %v", i, time.Since(start))
							}
							c.free(t)
						}
					})
					synctest.Wait()
				}
				time.Sleep(3 * time.Second)
				cancel()
				time.Sleep(time.Second)
				if test.held > 0 {
					holder.free(t)
				} else {
					svc.release("k")
				}
				all.Wait()
			})
		})
	}
}

// A client whose first try the server refuses has been first, and stays before those that came while it asked.
func TestQueueRefusedFrontStaysFirst(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		room := newRoom(t, wait.Queue, svc, o)
		defer closeRoom(t, room)
		svc.hold("k", time.Hour)
		svc.tried = func(s *session, won bool) {
			if !won {
				time.Sleep(time.Second) // the others come now
			}
		}
		var all sync.WaitGroup
		_, order := lineUp(t, svc, room, &all, 4, 0)
		time.Sleep(10 * time.Second)
		svc.release("k")
		all.Wait()
		// Client 1 got the turn when 0 was refused, and 0 comes next.
		if !slices.Equal(*order, []int{1, 0, 2, 3}) {
			t.Errorf("served in the order %v", *order)
		}
	})
}

// Close wakes those that stand in line, and lets none join.
func TestQueueClose(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		room := newRoom(t, wait.Queue, svc, o)
		newClient(t, svc, room, 0, "k").must(t)
		var all sync.WaitGroup
		start := time.Now()
		for i := range 3 {
			c := newClient(t, svc, room, i, "k")
			all.Go(func() {
				if a, err := c.acquire(t.Context()); a.Held || err == nil || !strings.Contains(err.Error(), "closed") {
					t.Errorf("got %+v, %v", a, err)
				}
			})
		}
		synctest.Wait()
		closeRoom(t, room)
		all.Wait()
		if took := time.Since(start); took != 0 {
			t.Errorf("told after %v", took)
		}
		if a, err := newClient(t, svc, room, 0, "k").acquire(t.Context()); a.Held || err == nil {
			t.Errorf("after Close got %+v, %v", a, err)
		}
	})
}

// Re-entry is handled by the session: the line goes on with the last release only.
func TestQueueReentry(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		svc.traits.Reentrant = true
		room := newRoom(t, wait.Queue, svc, o)
		defer closeRoom(t, room)
		c := newClient(t, svc, room, 0, "k")
		c.must(t)
		svc.free("k") // grants the next try, like a re-entrant lock
		c.must(t)
		svc.releasing = func(*session, *drivers.Lease) (bool, error) { return false, nil }
		var all sync.WaitGroup
		_, order := lineUp(t, svc, room, &all, 2, 0)
		c.use.Release(t.Context(), &c.lease)
		synctest.Wait()
		svc.releasing = nil
		if len(*order) != 0 || c.passes != 0 {
			t.Fatal("the inner release let another client in")
		}
		c.free(t)
		all.Wait()
	})
}

// A client that holds one lock may want another one: it gets that without a line.
func TestQueueTwoLocks(t *testing.T) {
	forHandovers(t, func(t *testing.T, svc *service, o wait.Options) {
		room := newRoom(t, wait.Queue, svc, o)
		defer closeRoom(t, room)
		c := newClient(t, svc, room, 0, "a")
		c.must(t)
		other := *c
		other.lease = drivers.Lease{Key: "b", TTL: time.Minute}
		svc.hold("b", time.Hour)
		time.AfterFunc(time.Second, func() { svc.release("b") })
		start := time.Now()
		other.must(t)
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v", took)
		}
		other.free(t)
		c.free(t)
	})
}

func TestQueueAllocatesNothing(t *testing.T) {
	for _, handover := range handovers {
		svc := newService()
		svc.owned = true
		room := newRoom(t, wait.Queue, svc, wait.Options{Handover: handover})
		c := newClient(t, svc, room, 0, "k")
		cycle := func() { c.must(t); c.free(t) }
		if n := testing.AllocsPerRun(1000, cycle); n != 0 {
			t.Errorf("%s, alone: %v allocations", handover, n)
		}
		stop := make(chan struct{})
		var all sync.WaitGroup
		for id := range 3 {
			other := newClient(t, svc, room, 1+id, "k")
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						other.must(t)
						other.free(t)
					}
				}
			})
		}
		for range 1000 {
			cycle()
		}
		if n := testing.AllocsPerRun(1000, cycle); n != 0 {
			t.Errorf("%s, in line: %v allocations", handover, n)
		}
		close(stop)
		all.Wait()
		closeRoom(t, room)
	}
}

func TestQueueRefuses(t *testing.T) {
	svc := newService()
	for _, test := range []struct {
		o    wait.Options
		want string
	}{
		{wait.Options{Handover: "throw"}, `unknown hand-over "throw"; there are release, swap`},
	} {
		if room, err := wait.NewRoom(t.Context(), wait.Queue, svc, test.o); room != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("NewRoom = %v, %v; want an error with %q", room, err, test.want)
		}
	}
	for _, handover := range handovers {
		svc.traits.Expires = false
		room := newRoom(t, wait.Queue, svc, wait.Options{Handover: handover})
		_, _, err := room.Client(bare{&session{svc: svc}}, 0)
		if want := handover == wait.HandoverSwap; (err != nil) != want {
			t.Errorf("%s: a session that cannot pass: %v", handover, err)
		}
		s, _, err := room.Client(wrapped{&session{svc: svc}}, 0)
		if err != nil {
			t.Errorf("%s: a wrapped session: %v", handover, err)
		}
		if _, ok := drivers.As[drivers.Remainer](s); !ok {
			t.Errorf("%s: a queued session hides what it wraps", handover)
		}
		closeRoom(t, room)
	}
}

// BenchmarkQueueUncontended is the cost of a line for a client that does not need it.
func BenchmarkQueueUncontended(b *testing.B) {
	for _, keys := range []int{1, 1000} {
		b.Run(fmt.Sprint(keys, " keys"), func(b *testing.B) {
			svc := newService()
			room := newRoom(b, wait.Queue, svc, wait.Options{})
			s, _, err := room.Client(null{}, 0)
			if err != nil {
				b.Fatal(err)
			}
			var names []string
			for i := range keys {
				names = append(names, fmt.Sprint("key", i))
			}
			l := drivers.Lease{TTL: time.Minute}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				l.Key = names[i%keys]
				s.Try(b.Context(), &l)
				s.Release(b.Context(), &l)
			}
			closeRoom(b, room)
		})
	}
}

// null is a session that does nothing.
type null struct{}

func (null) Try(context.Context, *drivers.Lease) (bool, error)     { return true, nil }
func (null) Release(context.Context, *drivers.Lease) (bool, error) { return true, nil }
func (null) Remaining(context.Context, *drivers.Lease) (time.Duration, error) {
	return 0, nil
}
