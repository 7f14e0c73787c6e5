// One waiter of a key watches the end of the holder's lease for all of them.

package wait_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers/wait"
)

func TestOneKeeper(t *testing.T) {
	const sec = time.Second
	for _, test := range []struct {
		name    string
		timeout []time.Duration // of each waiter; 0 is endless
		release time.Duration   // when the holder releases; 0 is never
		rests   int64           // how often all of them ask for the rest of the lease of 2 s
		woken   time.Duration   // when those without a deadline try again
	}{
		{"the lease ends", []time.Duration{0, 0, 0, 0}, 0, 1, 2*sec + wait.Grace},
		{"a release comes first", []time.Duration{0, 0, 0, 0}, sec, 1, sec},
		{"the keeper gives up", []time.Duration{sec, 0, 0, 0}, 0, 2, 2*sec + wait.Grace},
		{"keeper after keeper gives up", []time.Duration{sec / 2, 0, 0, 3 * sec / 2, sec}, 0, 4, 2*sec + wait.Grace},
		{"another gives up", []time.Duration{0, sec, 0, 0}, 0, 1, 2*sec + wait.Grace},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newService()
				var rests, tries atomic.Int64
				svc.asked = func(*session) error { rests.Add(1); return nil }
				svc.tried = func(*session, bool) { tries.Add(1) }
				room := newRoom(t, wait.PubSub, svc, wait.Options{})
				defer closeRoom(t, room)
				svc.hold("k", 2*sec)
				start := time.Now()
				var all sync.WaitGroup
				clients := make([]*client, len(test.timeout))
				for i, timeout := range test.timeout {
					c := newClient(t, svc, room, i, "k")
					c.base = start
					if timeout > 0 {
						c.timeout(timeout)
					}
					clients[i] = c
					all.Go(func() {
						if a, err := c.acquire(t.Context()); a.Held != (timeout == 0) || err != nil {
							t.Errorf("client %d: got %+v, %v", i, a, err)
						}
						if c.lease.TTL > 0 && timeout == 0 {
							c.Release(t.Context(), &c.lease)
						}
					})
					synctest.Wait() // the first one is the first keeper, and so on
				}
				if test.release > 0 {
					time.AfterFunc(test.release, func() { svc.release("k") })
				}
				time.Sleep(test.woken - time.Millisecond)
				synctest.Wait()
				if got := rests.Load(); got != test.rests {
					t.Errorf("asked %d times for the rest of the lease, want %d", got, test.rests)
				}
				if got, want := tries.Load(), int64(2*len(clients))+test.rests-1; got != want {
					t.Errorf("%d tries so far, want %d: two each, and one by each new keeper", got, want)
				}
				all.Wait()
				for i, c := range clients {
					if test.timeout[i] == 0 && !slices.Contains(c.at, test.woken) {
						t.Errorf("client %d tried at %v, want a try at %v", i, c.at, test.woken)
					}
				}
			})
		})
	}
}
