// Passing a lock on, and what can happen meanwhile.

package wait_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
)

var swap = wait.Options{Handover: wait.HandoverSwap}

// slowPass makes a request to pass the lock take d, and then work as usual.
func slowPass(svc *service, d time.Duration) {
	svc.passing = func(*session, *drivers.Lease) (bool, error) { time.Sleep(d); return true, nil }
}

// A waiter whose deadline passes, or that is cancelled, while the lock is being passed to it has the lock when that is
// done: the request was made in time, and its answer came late.
func TestPassWhileGivingUp(t *testing.T) {
	for _, test := range []string{"deadline", "cancel"} {
		t.Run(test, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newService()
				svc.owned = true
				slowPass(svc, time.Second)
				room := newRoom(t, wait.Queue, svc, swap)
				defer closeRoom(t, room)
				a, b, c := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k"), newClient(t, svc, room, 2, "k")
				a.must(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test == "deadline" {
					b.timeout(1500 * time.Millisecond)
				} else {
					time.AfterFunc(1500*time.Millisecond, cancel)
				}
				start := time.Now()
				var all sync.WaitGroup
				all.Go(func() {
					held, err := b.use.Try(t.Context(), &b.lease)
					// The engine's waits end with the run, its requests do not.
					got, err := wait.After(t.Context(), held, err, b.use, stoppable{b.waiter, ctx}, &b.lease, &b.clock, nil)
					if !got.Held || err != nil || time.Since(start) != 2*time.Second || b.tries != 0 {
						t.Errorf("got %+v, %v after %v and %d tries", got, err, time.Since(start), b.tries)
					}
					svc.passing = nil
					b.free(t)
				})
				synctest.Wait()
				all.Go(func() { c.must(t) })
				time.Sleep(time.Second)
				a.free(t)
				all.Wait()
				if a.passes != 1 || b.passes != 1 {
					t.Errorf("%d and %d hand-overs", a.passes, b.passes)
				}
			})
		})
	}
}

// stoppable is the engine's waiter: a context of its own ends its waits.
type stoppable struct {
	drivers.Waiter
	ctx context.Context
}

func (s stoppable) Wait(_ context.Context, l *drivers.Lease) error { return s.Waiter.Wait(s.ctx, l) }

// Nothing is passed to a waiter whose deadline passes now, or has passed.
func TestPassSkipsWhoIsLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		svc.owned = true
		room := newRoom(t, wait.Queue, svc, swap)
		defer closeRoom(t, room)
		a, late, next := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k"), newClient(t, svc, room, 2, "k")
		a.must(t)
		late.timeout(time.Second)
		var all sync.WaitGroup
		all.Go(func() {
			// It wakes at the same instant as the holder below; whichever runs first, the answer is the same.
			if got, err := late.acquire(t.Context()); got.Held || err != nil {
				t.Errorf("got %+v, %v", got, err)
			}
		})
		synctest.Wait()
		all.Go(func() { next.must(t) })
		time.Sleep(time.Second)
		a.free(t)
		all.Wait()
		if late.tries != 0 || next.tries != 0 || a.passes != 1 {
			t.Errorf("%d and %d tries, %d hand-overs", late.tries, next.tries, a.passes)
		}
	})
}

// A waiter that the lock was passed to and that leaves without a Try gives it back, and the next in line gets it.
func TestPassToWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		svc.owned = true
		room := newRoom(t, wait.Queue, svc, swap)
		defer closeRoom(t, room)
		a, b, c := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k"), newClient(t, svc, room, 2, "k")
		a.must(t)
		var all sync.WaitGroup
		all.Go(func() {
			if err := b.waiter.Wait(t.Context(), &b.lease); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
			if err := b.waiter.Leave(t.Context(), &b.lease); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		all.Go(func() { c.must(t); c.free(t) })
		synctest.Wait()
		a.free(t)
		all.Wait()
		if b.passes != 1 || c.tries != 0 {
			t.Errorf("%d hand-overs by who left, %d tries by the next", b.passes, c.tries)
		}
	})
}

// If the lock turns out to be lost when it is to be passed, the releaser has lost it; the next client has to contend
// for it.
func TestPassOfALostLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		svc.owned = true
		room := newRoom(t, wait.Queue, svc, swap)
		defer closeRoom(t, room)
		a, b := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k")
		a.must(t)
		start := time.Now()
		var all sync.WaitGroup
		all.Go(func() {
			b.must(t)
			if took := time.Since(start); took != time.Second || b.tries == 0 {
				t.Errorf("got it after %v and %d tries", took, b.tries)
			}
		})
		synctest.Wait()
		svc.mu.Lock()
		svc.owner["k"] = "another client"
		svc.mu.Unlock()
		if owned, err := a.use.Release(t.Context(), &a.lease); owned || err != nil {
			t.Errorf("Release = %v, %v", owned, err)
		}
		time.Sleep(time.Second)
		svc.release("k")
		all.Wait()
	})
}

// A Pass without an answer has an unknown outcome. In any case the next client must not believe that it has the lock,
// and neither owner may keep it.
func TestPassUnheard(t *testing.T) {
	for _, test := range []struct {
		name string
		done bool // it took effect
	}{{"without effect", false}, {"with effect", true}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newService()
				svc.owned = true
				svc.passing = func(_ *session, to *drivers.Lease) (bool, error) {
					if test.done {
						svc.mu.Lock()
						svc.owner["k"] = to.Owner
						svc.mu.Unlock()
					}
					return true, errBroken
				}
				room := newRoom(t, wait.Queue, svc, swap)
				defer closeRoom(t, room)
				a, b := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k")
				a.must(t)
				var all sync.WaitGroup
				start := time.Now()
				all.Go(func() {
					b.must(t)
					if b.tries == 0 || time.Since(start) > wait.Grace {
						t.Errorf("got it after %v and %d tries", time.Since(start), b.tries)
					}
					b.free(t)
				})
				synctest.Wait()
				if owned, err := a.use.Release(t.Context(), &a.lease); owned || err != errBroken {
					t.Errorf("Release = %v, %v", owned, err)
				}
				all.Wait()
				if a.releases != 2 {
					t.Errorf("%d owners were released", a.releases)
				}
				svc.passing = nil
				a.must(t)
				a.free(t)
			})
		})
	}
}

// A driver that panics while it passes a lock on has given no answer either: the next client does not wait for one.
func TestPassPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		svc.owned = true
		svc.passing = func(*session, *drivers.Lease) (bool, error) { panic("planted") }
		room := newRoom(t, wait.Queue, svc, swap)
		defer closeRoom(t, room)
		a, b := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k")
		a.must(t)
		var all sync.WaitGroup
		all.Go(func() { b.must(t) })
		synctest.Wait()
		if owned, err := a.use.Release(t.Context(), &a.lease); owned || drivers.ClassOf(err) != drivers.ClassPanic {
			t.Errorf("Release = %v, %v", owned, err)
		}
		all.Wait()
	})
}

// A lock that is passed on is valid for a lease from when that was asked for, which its new holder learns from ValidUntil.
func TestPassTellsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		svc.owned = true
		slowPass(svc, time.Second)
		room := newRoom(t, wait.Queue, svc, swap)
		defer closeRoom(t, room)
		a, b := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k")
		a.must(t)
		var all sync.WaitGroup
		all.Go(func() { b.must(t) })
		time.Sleep(time.Second)
		want := time.Now().Add(b.lease.TTL)
		a.free(t)
		all.Wait()
		if !b.lease.ValidUntil.Equal(want) {
			t.Errorf("valid until %v, want %v", b.lease.ValidUntil, want)
		}
	})
}

// While a Pass is slow, the releaser's lease runs out, and another client takes its place. The line must not have two
// fronts that believe each other gone.
func TestPassOutlastsTheLease(t *testing.T) {
	for _, owned := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			svc := newService()
			svc.owned = true
			room := newRoom(t, wait.Queue, svc, swap)
			defer closeRoom(t, room)
			a, b, c := newClient(t, svc, room, 0, "k"), newClient(t, svc, room, 1, "k"), newClient(t, svc, room, 2, "k")
			a.lease.TTL = 2 * time.Second
			a.must(t)
			svc.passing = func(s *session, _ *drivers.Lease) (bool, error) {
				if s != a.session {
					return true, nil
				}
				if owned { // it takes effect in time, and is answered late
					svc.mu.Lock()
					svc.held["k"] = time.Now().Add(time.Minute)
					svc.mu.Unlock()
				}
				time.Sleep(3 * time.Second)
				return owned, nil
			}
			var all sync.WaitGroup
			holders := 0 // unguarded on purpose
			for _, client := range []*client{b, c} {
				all.Go(func() {
					client.must(t)
					holders++
					time.Sleep(5 * time.Second)
					if owned, err := client.use.Release(t.Context(), &client.lease); !owned || err != nil {
						t.Errorf("Release = %v, %v", owned, err)
					}
				})
				synctest.Wait()
			}
			if got, err := a.use.Release(t.Context(), &a.lease); got != owned || err != nil {
				t.Errorf("Release = %v, %v", got, err)
			}
			all.Wait()
			if holders != 2 {
				t.Errorf("%d holders", holders)
			}
			a.must(t) // and no client is in the way
			a.free(t)
		})
	}
}

// Many clients of two rooms use a few keys, some of them with deadlines, with requests that are slow, get lost and
// fail: a lock is never held twice, and no client waits for ever.
func TestQueueUnderTrouble(t *testing.T) {
	for _, handover := range handovers {
		t.Run(handover, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const (
					clients = 24
					rounds  = 200
					ms      = time.Millisecond
				)
				svc := newService()
				svc.owned = true
				fate := func() (bool, error) {
					time.Sleep(rand.N(2 * ms))
					if rand.N(20) == 0 {
						return true, errBroken
					}
					return true, nil
				}
				svc.passing = func(*session, *drivers.Lease) (bool, error) { return fate() }
				svc.releasing = func(*session, *drivers.Lease) (bool, error) { time.Sleep(rand.N(ms)); return true, nil }
				svc.tried = func(*session, bool) { time.Sleep(rand.N(ms)) }
				var wakes [2]func(string)
				rooms := make([]*wait.Room, 2)
				for i := range rooms {
					rooms[i] = newRoom(t, wait.Queue, svc, wait.Options{Handover: handover}.Passes(3))
					defer closeRoom(t, rooms[i])
					wakes[i] = svc.wake
				}
				svc.wake = func(key string) { wakes[0](key); wakes[1](key) }
				keys := []string{"a", "b"}
				var mu sync.Mutex
				holder := map[string]int{}
				var all sync.WaitGroup
				granted := 0
				for id := range clients {
					c := newClient(t, svc, rooms[id%2], id, "")
					all.Go(func() {
						for range rounds {
							c.lease.Key = keys[rand.N(len(keys))]
							if c.lease.Deadline = (time.Time{}); id%3 == 0 {
								c.timeout(rand.N(20 * ms))
							}
							got, err := c.acquire(t.Context())
							if err != nil {
								t.Errorf("client %d: %v", id, err)
							}
							if !got.Held {
								continue
							}
							mu.Lock()
							granted++
							if other, held := holder[c.lease.Key]; held {
								t.Errorf("client %d has %s, which client %d holds", id, c.lease.Key, other)
							}
							holder[c.lease.Key] = id
							mu.Unlock()
							time.Sleep(rand.N(ms))
							mu.Lock()
							delete(holder, c.lease.Key)
							mu.Unlock()
							c.use.Release(t.Context(), &c.lease)
						}
					})
				}
				all.Wait()
				if granted < clients*rounds*2/3 {
					t.Errorf("%d grants", granted)
				}
			})
		})
	}
}

// A client whose turn comes after the maximum of hand-overs lets others go first, but does not sleep on a free lock, even
// if its leases do not end and nobody can be asked for them.
func TestYieldOfAnEndlessLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newService()
		room := newRoom(t, wait.Queue, endless{svc, svc}, wait.Options{Handover: wait.HandoverSwap}.Passes(1))
		defer closeRoom(t, room)
		start := time.Now()
		var all sync.WaitGroup
		for id := range 3 {
			c := newClient(t, svc, room, id, "k")
			var err error
			if c.use, c.waiter, err = room.Client(lasting{c.session, c.session}, id); err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				c.must(t)
				time.Sleep(time.Second)
				c.free(t)
			})
			synctest.Wait()
		}
		all.Wait()
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
