// Turns of several processes that hand a lock over within themselves.

package wait_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
)

// shared is a session that tells how many processes listen.
type shared struct {
	*session
	listeners int
	asked     *atomic.Int64
}

func (c shared) Listeners(context.Context, *drivers.Lease) (int, error) {
	c.asked.Add(1)
	time.Sleep(time.Microsecond) // a round trip
	return c.listeners, nil
}

// turnsOf runs processes with clients that acquire a lock often, and returns the process of each grant. Messages always
// reach the processes in the same order, as those of a Redis server do. It counts requests in total.
func turnsOf(t *testing.T, processes, clients, each, listeners int, o wait.Options) (grants []int, total session, counts int) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		svc := newService()
		svc.owned = true
		svc.asked = func(*session) error { time.Sleep(time.Microsecond); return nil }
		svc.tried = func(*session, bool) { time.Sleep(time.Microsecond) }
		var wakes []func(string)
		var all sync.WaitGroup
		var members []*client
		for range processes {
			room := newRoom(t, wait.Queue, svc, o)
			defer closeRoom(t, room)
			wakes = append(wakes, svc.wake)
			for id := range clients {
				c := newClient(t, svc, room, id, "k")
				var err error
				if c.use, c.waiter, err = room.Client(shared{c.session, listeners, &asked}, id); err != nil {
					t.Fatal(err)
				}
				members = append(members, c)
			}
		}
		svc.wake = func(key string) {
			for _, wake := range wakes {
				wake(key)
			}
		}
		for i, c := range members {
			all.Go(func() {
				for range each {
					c.must(t)
					grants = append(grants, i/clients) // unguarded on purpose
					time.Sleep(time.Millisecond)
					c.free(t)
				}
			})
		}
		all.Wait()
		counts = int(asked.Load())
		for _, c := range members {
			total.tries += c.tries
			total.rests += c.rests
			total.passes += c.passes
			total.releases += c.releases
		}
	})
	return grants, total, counts
}

// Processes take turns of the most hand-overs, however the messages of releases reach them, and also if others listen that
// want nothing at present.
func TestQueueTakesTurns(t *testing.T) {
	const processes, clients, each, most = 5, 8, 30, 3
	o := wait.Options{Handover: wait.HandoverSwap}.Passes(most)
	for _, test := range []struct {
		name           string
		listeners, gap int // the longest gap, in turns
	}{
		{"all want it", processes, processes},
		{"a fifth of them does", 5 * processes, 2 * processes},
	} {
		t.Run(test.name, func(t *testing.T) {
			grants, _, _ := turnsOf(t, processes, clients, each, test.listeners, o)
			// The first turns are taken before the processes know of each other, the last ones when some have finished.
			grants = grants[len(grants)/5 : len(grants)*4/5]
			last := map[int]int{}
			for i, process := range grants {
				if before, seen := last[process]; seen && i-before > test.gap*(most+1) {
					t.Fatalf("process %d waits for %d grants: %v", process, i-before, grants)
				}
				last[process] = i
			}
			if len(last) != processes {
				t.Errorf("only %d processes: %v", len(last), grants)
			}
		})
	}
}

// A process alone pays one count and one try for the most hand-overs and a release, and asks for no lease.
func TestQueueAloneAsksLittle(t *testing.T) {
	const clients, each, most = 8, 50, 3
	grants, total, asked := turnsOf(t, 1, clients, each, 1, wait.Options{Handover: wait.HandoverSwap}.Passes(most))
	n := len(grants)
	if turns := n / (most + 1); n != clients*each || total.passes != n*most/(most+1) || total.releases != turns ||
		total.tries > turns+1 || asked > turns || total.rests > 1 {
		t.Errorf("%d grants: %d hand-overs, %d releases, %d tries, %d counts, %d leases asked for",
			n, total.passes, total.releases, total.tries, asked, total.rests)
	}
}

// A client whose deadline has passed gets no turn after the most hand-overs, and one whose deadline passes just then gives
// up like any other. Whoever is next lets other processes go first in its place.
func TestQueueTurnAtTheDeadline(t *testing.T) {
	for _, test := range []struct {
		name   string
		passed bool // before the turn, and the client has not noticed; otherwise before it looks
	}{{"before the turn", true}, {"before the look", false}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newService()
				svc.owned = true
				var asked atomic.Int64
				room := newRoom(t, wait.Queue, svc, wait.Options{Handover: wait.HandoverSwap}.Passes(1))
				defer closeRoom(t, room)
				var line [4]*client
				for id := range line {
					c := newClient(t, svc, room, id, "k")
					var err error
					if c.use, c.waiter, err = room.Client(shared{c.session, 1, &asked}, id); err != nil {
						t.Fatal(err)
					}
					line[id] = c
				}
				first, second, late, next := line[0], line[1], line[2], line[3]
				first.must(t)
				var all, passing sync.WaitGroup
				passing.Go(func() { second.must(t) })
				synctest.Wait()
				late.timeout(time.Second)
				all.Go(func() {
					if a, err := late.acquire(t.Context()); a.Held || err != nil || late.tries != 0 {
						t.Errorf("got %+v, %v after %d tries", a, err, late.tries)
					}
				})
				synctest.Wait()
				all.Go(func() { next.must(t); next.free(t) })
				synctest.Wait()
				first.free(t)
				passing.Wait()
				if test.passed {
					time.Sleep(time.Second) // the client wakes up at the same instant
				} else {
					late.lease.Deadline = time.Now()
				}
				second.free(t)
				all.Wait()
				if n := asked.Load(); test.passed && n != 1 {
					t.Errorf("the processes were counted %d times", n)
				}
			})
		})
	}
}
