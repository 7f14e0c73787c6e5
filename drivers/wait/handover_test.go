// Passing a lock on, what can happen meanwhile, and the turns of several processes that do so within themselves.

package wait_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
)

var swap = wait.Options{Handover: wait.HandoverSwap}

// trio runs a test of three clients, the first of which holds the lock. A request to pass it on takes that long.
func trio(t *testing.T, slow time.Duration, f func(s *stage, a, b, c *client)) {
	t.Helper()
	onLine(t, swap, func(s *stage) {
		line := s.line(3)
		line[0].must()
		s.svc.passing = func(from *session, _ *drivers.Lease) (bool, error) {
			if from == line[0].session {
				time.Sleep(slow)
			}
			return true, nil
		}
		f(s, line[0], line[1], line[2])
	})
}

// stoppable is the engine's waiter: a context of its own ends its waits.
type stoppable struct {
	drivers.Waiter
	ctx context.Context
}

func (s stoppable) Wait(_ context.Context, l *drivers.Lease) error { return s.Waiter.Wait(s.ctx, l) }

// A waiter whose deadline passes, or that is cancelled, while the lock is being passed to it has the lock when that is
// done: the request was made in time, and its answer came late. The lease counts from when it was asked for, which its new
// holder learns from ValidUntil.
func TestPassWhileGivingUp(t *testing.T) {
	for _, deadline := range []bool{true, false} {
		trio(t, sec, func(s *stage, a, b, c *client) {
			ctx, cancel := context.WithTimeout(s.Context(), 1500*ms)
			defer cancel()
			if deadline {
				b.timeout(1500 * ms)
				ctx = s.Context()
			}
			b.waiter = stoppable{b.waiter, ctx}
			s.then(func() {
				b.must()
				if s.took(2 * sec); b.tries != 0 || !b.lease.ValidUntil.Equal(s.start.Add(sec+b.lease.TTL)) {
					s.Errorf("%d tries; the lease is valid until %v", b.tries, b.lease.ValidUntil)
				}
				b.free()
			})
			s.then(c.must)
			time.Sleep(sec)
			a.free()
			s.all.Wait()
			if a.passes != 1 || b.passes != 1 {
				s.Errorf("%d and %d hand-overs", a.passes, b.passes)
			}
		})
	}
}

// A waiter that the lock was passed to and that leaves without a Try gives it back, and the next in line gets it. One that
// dies is a dead holder, even before it has noticed the grant.
func TestPassToWhoLeaves(t *testing.T) {
	for _, dies := range []bool{false, true} {
		trio(t, 0, func(s *stage, a, b, c *client) {
			b.ask(false, 0)
			s.then(func() {
				if err := b.waiter.Wait(s.Context(), &b.lease); err != nil {
					s.Error(err)
				}
				time.Sleep(sec)
				if dies {
					b.die()
				} else if err := b.waiter.Leave(s.Context(), &b.lease); err != nil {
					s.Error(err)
				}
			})
			s.then(c.must)
			a.free()
			want := sec
			if dies {
				want = 7 * sec
				time.Sleep(want)
				s.svc.release("k") // another client, long before the lease ends
			}
			s.all.Wait()
			if s.took(want); b.passes != btoi(!dies) || (c.tries == 0) == dies {
				s.Errorf("dies %v: %d hand-overs by who left, %d tries by the next", dies, b.passes, c.tries)
			}
		})
	}
}

// If the lock turns out to be lost when it is to be passed, the next client has to contend for it. A Pass without an answer
// has an unknown outcome; so has one of a driver that panics. In any case the next client must not believe that it has the
// lock, and neither owner may keep it.
func TestPassFails(t *testing.T) {
	for _, test := range []struct {
		name     string
		done     bool // it took effect
		pass     func() (bool, error)
		class    drivers.Class
		releases int // by the releaser
	}{
		{"lost", false, func() (bool, error) { return false, nil }, "", 0},
		{"without effect", false, func() (bool, error) { return true, errBroken }, drivers.ClassOther, 2},
		{"with effect", true, func() (bool, error) { return true, errBroken }, drivers.ClassOther, 2},
		{"panic", false, func() (bool, error) { panic("planted") }, drivers.ClassPanic, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			trio(t, 0, func(s *stage, a, b, _ *client) {
				s.svc.passing = func(_ *session, to *drivers.Lease) (bool, error) {
					if test.done {
						s.svc.owner["k"] = to.Owner
					}
					return test.pass()
				}
				s.then(b.must)
				owned, err := a.use.Release(s.Context(), &a.lease)
				if owned || (err == nil) != (test.class == "") || err != nil && drivers.ClassOf(err) != test.class {
					s.Errorf("Release = %v, %v", owned, err)
				}
				if err == nil {
					s.svc.release("k")
				}
				s.all.Wait()
				if b.free(); b.tries == 0 || a.releases != test.releases || time.Since(s.start) > wait.Grace {
					s.Errorf("%d tries, %d releases of the first, after %v", b.tries, a.releases, time.Since(s.start))
				}
				a.must()
				a.free()
			})
		})
	}
}

// While a Pass is slow, the releaser's lease runs out, and another client takes its place. The line must not have two
// fronts that believe each other gone.
func TestPassOutlastsTheLease(t *testing.T) {
	for _, owned := range []bool{true, false} {
		onLine(t, swap, func(s *stage) {
			a, clients := s.client("k"), s.line(2)
			a.lease.TTL = 2 * sec
			a.must()
			s.svc.passing = func(from *session, _ *drivers.Lease) (bool, error) {
				if from != a.session {
					return true, nil
				}
				if owned { // it takes effect in time, and is answered late
					s.svc.hold("k", time.Minute)
				}
				time.Sleep(3 * sec)
				return owned, nil
			}
			holders := s.lineUp(clients, 5*sec)
			if got, err := a.use.Release(s.Context(), &a.lease); got != owned || err != nil {
				s.Errorf("Release = %v, %v", got, err)
			}
			if s.all.Wait(); len(*holders) != 2 {
				s.Errorf("%d holders", len(*holders))
			}
			a.must() // and no client is in the way
			a.free()
		})
	}
}

// Many clients of two rooms use a few keys, some of them with deadlines, with requests that are slow, get lost and
// fail: a lock is never held twice, and no client waits for ever.
func TestQueueUnderTrouble(t *testing.T) {
	const clients, rounds = 24, 60
	for _, handover := range handovers {
		onLine(t, wait.Options{Handover: handover}.Passes(3), func(s *stage) {
			s.svc.passing = func(*session, *drivers.Lease) (bool, error) {
				time.Sleep(rand.N(2 * ms))
				if rand.N(20) == 0 {
					return true, errBroken
				}
				return true, nil
			}
			s.svc.releasing = func(*session, *drivers.Lease) (bool, error) { time.Sleep(rand.N(ms)); return true, nil }
			s.svc.tried = func(*session, bool) { time.Sleep(rand.N(ms)) }
			rooms := []*wait.Room{s.room, s.otherRoom()}
			defer closeRoom(s.T, rooms[1])
			defer s.all.Wait()
			holders := map[string]*sync.Mutex{"a": {}, "b": {}}
			for id := range clients {
				c := newClient(s.T, s.svc, rooms[id%2], id, "", func(inner *session) drivers.Session { return inner })
				s.all.Go(func() {
					for i := range rounds {
						c.lease.Key = []string{"a", "b"}[rand.N(2)]
						if c.lease.Deadline = (time.Time{}); id%3 == 0 {
							c.timeout(rand.N(20 * ms))
						}
						got, err := c.acquire(s.Context())
						if err != nil || !got.Held && id%3 > 0 {
							s.Errorf("client %d, round %d: %+v, %v", id, i, got, err)
						}
						if !got.Held {
							continue
						}
						if !holders[c.lease.Key].TryLock() {
							s.Errorf("client %d has %s, which another one holds", id, c.lease.Key)
							return
						}
						time.Sleep(rand.N(ms))
						holders[c.lease.Key].Unlock()
						c.use.Release(s.Context(), &c.lease)
					}
				})
			}
		})
	}
}

// A client whose turn comes after the maximum of hand-overs lets others go first, but does not sleep on a free lock, even
// if its leases do not end and nobody can be asked for them.
func TestYieldOfAnEndlessLock(t *testing.T) {
	svc := newService()
	on(t, wait.Queue, endless{svc, svc}, swap.Passes(1), func(s *stage) {
		var clients []*client
		for range 3 {
			clients = append(clients, s.as("k", func(inner *session) drivers.Session { return lasting{inner, inner} }))
		}
		s.served(s.lineUp(clients, sec), 3)
		s.took(3 * sec)
	})
}

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
func turnsOf(t *testing.T, processes, clients, each, listeners, most int) (grants []int, total session, counts int64) {
	onLine(t, swap.Passes(most), func(s *stage) {
		var asked atomic.Int64
		s.svc.asked = func(*session) error { time.Sleep(time.Microsecond); return nil }
		s.svc.tried = func(*session, bool) { time.Sleep(time.Microsecond) }
		var members []*client
		for number := range processes {
			room := s.room
			if number > 0 {
				room = s.otherRoom()
				defer closeRoom(s.T, room)
			}
			for id := range clients {
				members = append(members, newClient(s.T, s.svc, room, id, "k",
					func(inner *session) drivers.Session { return shared{inner, listeners, &asked} }))
			}
		}
		for i, c := range members {
			s.all.Go(func() {
				for range each {
					c.must()
					grants = append(grants, i/clients) // unguarded on purpose
					time.Sleep(ms)
					c.free()
				}
			})
		}
		s.all.Wait()
		counts = asked.Load()
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
	for listeners, gap := range map[int]int{processes: processes, 5 * processes: 2 * processes} { // the longest gap, in turns
		grants, _, _ := turnsOf(t, processes, clients, each, listeners, most)
		// The first turns are taken before the processes know of each other, the last ones when some have finished.
		grants = grants[len(grants)/5 : len(grants)*4/5]
		last := map[int]int{}
		for i, process := range grants {
			if before, seen := last[process]; seen && i-before > gap*(most+1) {
				t.Fatalf("%d listeners: process %d waits for %d grants: %v", listeners, process, i-before, grants)
			}
			last[process] = i
		}
		if len(last) != processes {
			t.Errorf("%d listeners: only %d processes: %v", listeners, len(last), grants)
		}
	}
}

// A process alone pays one count and one try for the most hand-overs and a release, and asks for no lease.
func TestQueueAloneAsksLittle(t *testing.T) {
	const clients, each, most = 8, 50, 3
	grants, total, asked := turnsOf(t, 1, clients, each, 1, most)
	n := len(grants)
	if turns := n / (most + 1); n != clients*each || total.passes != n*most/(most+1) || total.releases != turns ||
		total.tries > turns+1 || asked > int64(turns) || total.rests > 1 {
		t.Errorf("%d grants: %d hand-overs, %d releases, %d tries, %d counts, %d leases asked for",
			n, total.passes, total.releases, total.tries, asked, total.rests)
	}
}

// A client whose deadline has passed gets no turn after the most hand-overs, and one whose deadline passes just then gives
// up like any other. Whoever is next lets other processes go first in its place.
func TestQueueTurnAtTheDeadline(t *testing.T) {
	for i := range 10 { // whichever wakes up first at that instant
		passed := i > 0 // before the turn, and the client has not noticed; or before it looks
		onLine(t, swap.Passes(1), func(s *stage) {
			var asked atomic.Int64
			var line [4]*client
			for id := range line {
				line[id] = s.as("k", func(inner *session) drivers.Session { return shared{inner, 1, &asked} })
			}
			first, second, late, next := line[0], line[1], line[2], line[3]
			first.must()
			s.then(second.must)
			late.timeout(sec)
			s.then(late.mustNot)
			s.then(func() { next.must(); next.free() })
			first.free()
			synctest.Wait()
			if passed {
				time.Sleep(sec) // the client wakes up at the same instant
			} else {
				late.lease.Deadline = time.Now()
			}
			second.free()
			s.all.Wait()
			if n := asked.Load(); late.tries != 0 || passed && n != 1 {
				s.Errorf("%d tries of the client; the processes were counted %d times", late.tries, n)
			}
		})
	}
}
