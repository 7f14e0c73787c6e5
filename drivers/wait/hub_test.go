// Which keys the hub keeps subscribed, and which it drops.

package wait_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// idle is how many keys without waiters the hub keeps subscribed.
const idle = 1024

// visit makes c wait for each key, get it and release it, so that the key is subscribed to and then idle.
func (c *client) visit(keys ...string) {
	c.t.Helper()
	c.lease.Deadline = time.Time{}
	for _, key := range keys {
		c.lease.Key, c.tries = key, 0
		c.svc.hold(key, time.Hour)
		c.svc.tried = func(s *session, _ bool) {
			if s.tries == 1 {
				s.svc.lose(key)
			}
		}
		if c.must(); c.tries != 2 {
			c.t.Fatalf("%s: %d tries", key, c.tries)
		}
		c.svc.tried = nil
		c.svc.lose(key)
	}
}

func numbers(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint(i))
	}
	return list
}

// A contended key is subscribed to once; of many keys, those that have been idle for longest go.
func TestIdleKeysStayForAWhile(t *testing.T) {
	onPubSub(t, func(s *stage) {
		c := s.client("")
		c.visit("hot", "hot", "hot")
		c.visit(numbers(idle - 1)...)
		c.visit("hot") // so 0 is the longest idle
		want := []string{"listen", "add hot"}
		for i := range idle - 1 {
			want = append(want, fmt.Sprint("add ", i))
		}
		s.saw(want...)
		for i := range 3 {
			c.visit(fmt.Sprint("new", i))
			synctest.Wait()
			want = append(want, fmt.Sprint("add new", i), fmt.Sprint("remove ", i))
		}
		c.visit("0") // this was dropped
		s.saw(append(want, "add 0", "remove 3")...)
		if len(s.svc.subs) != idle || !s.svc.subs["hot"] {
			s.Errorf("%d keys are subscribed to, hot: %v", len(s.svc.subs), s.svc.subs["hot"])
		}
	})
}

// A key with waiters is never dropped, however many others come and go, and though one of its own waiters has gone. After
// Close nothing is dropped any more.
func TestBusyKeyStays(t *testing.T) {
	onPubSub(t, func(s *stage) {
		waiting, visitor := s.client("busy"), s.client("busy")
		visitor.visit("busy")
		s.svc.hold("busy", 0)
		s.then(waiting.must)
		visitor.timeout(ms)
		visitor.mustNot()
		visitor.visit(numbers(idle + 10)...)
		time.Sleep(sec)
		if n := strings.Count(fmt.Sprint(s.svc.noted()), "remove"); n != 10 {
			s.Errorf("%d of 10 keys too many were dropped", n)
		}
		s.svc.release("busy")
		s.all.Wait()
		s.took(sec + ms)
		if slices.Contains(s.svc.noted(), "remove busy") {
			s.Error("the busy key was dropped in between")
		}
		last := s.client("last")
		s.svc.hold("last", 0)
		if err := last.waiter.Wait(s.Context(), &last.lease); err != nil {
			s.Error(err)
		}
		synctest.Wait()
		closeRoom(s.T, s.room)
		last.waiter.Leave(s.Context(), &last.lease)
		synctest.Wait()
		if log := s.svc.noted(); log[len(log)-1] != "close" {
			s.Errorf("after Close the server was asked for %v", log[len(log)-1])
		}
	})
}

// A key whose waiters all gave up before the subscription was confirmed is idle from then on, and dropped in its turn.
func TestGivenUpKeyIsDropped(t *testing.T) {
	onPubSub(t, func(s *stage) {
		c := s.client("given up")
		s.svc.hold("given up", 0)
		s.svc.confirm = func(string) { time.Sleep(sec) }
		c.timeout(ms)
		c.mustNot()
		time.Sleep(sec)
		synctest.Wait()
		s.svc.confirm = nil
		c.visit(numbers(idle)...)
		synctest.Wait()
		if log := s.svc.noted(); c.tries > 2 || log[len(log)-1] != "remove given up" {
			s.Errorf("the server was asked for %v last", log[len(log)-1])
		}
	})
}

// A client that wants a key that is just being dropped gets a new subscription, made after the old one is gone. If it gives up
// before, it leaves nothing behind.
func TestJoinWhileDropped(t *testing.T) {
	for _, gives := range []bool{false, true} {
		onPubSub(t, func(s *stage) {
			c := s.client("")
			c.visit("k")
			c.visit(numbers(idle - 1)...)
			before := len(s.svc.noted())
			s.svc.remove = func(string) { time.Sleep(sec) }
			c.visit("one too many")
			synctest.Wait() // the request is on its way
			want := []string{"add one too many", "remove k"}
			c = s.client("k")
			s.svc.hold("k", 0)
			if gives {
				c.timeout(ms)
				c.mustNot()
				time.Sleep(2 * sec)
			} else {
				time.AfterFunc(sec+ms, func() { s.svc.release("k") })
				c.must()
				s.took(sec + ms)
				want = append(want, "add k")
			}
			if log := s.svc.noted()[before:]; !slices.Equal(log[:min(len(log), 3)], want) || s.svc.subs["k"] == gives {
				s.Errorf("the server was asked for %v; still subscribed: %v", log, s.svc.subs["k"])
			}
		})
	}
}
