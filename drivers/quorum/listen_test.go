package quorum_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// woken counts wake-ups.
type woken struct {
	mu    sync.Mutex
	times map[string]int
}

func (w *woken) wake(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.times == nil {
		w.times = map[string]int{}
	}
	w.times[key]++
}

func (w *woken) count(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.times[key]
}

// listen starts a service of f's nodes, and a listener whose wake-ups are counted.
func listen(t *testing.T, f *fakes) (*cluster, drivers.Listener, *woken) {
	t.Helper()
	c, woken := start(t, f, drivers.Config{Wakes: true}), new(woken)
	l, err := c.Service.(drivers.Subscriber).Listen(t.Context(), woken.wake)
	if err != nil {
		t.Fatal(err)
	}
	return c, l, woken
}

// TestNoEcho makes waiters try while the holder has a bare majority. What they give back must not wake them, or they
// would go on for ever; the holder's release must.
func TestNoEcho(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(5)
		c, e, woken := listen(t, f)
		if err := e.Add(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		holder, waiter := c.client(), c.client()
		f.each("ab", func(n *fake) { n.down = refused })
		l := drivers.Lease{Key: "k", TTL: ttl}
		held, err := holder.Try(t.Context(), &l)
		must(t, "Try", held, err, true)
		synctest.Wait()
		f.each("ab", func(n *fake) { n.down = nil })
		for range 10 {
			held, err := waiter.Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
			must(t, "Try", held, err, false)
			synctest.Wait()
		}
		before := woken.count("k") // a node that registered late may have woken once
		if before > 1 {
			t.Errorf("10 failed attempts have woken %d times", before)
		}
		owned, err := holder.Release(t.Context(), &l)
		must(t, "Release", owned, err, true)
		synctest.Wait()
		if woken.count("k") == before {
			t.Error("the release has not woken")
		}
	})
}

// TestWakesWithFailures has a bare majority refuse the waiter while the rest has failed. When one node of the majority
// becomes free, and the failed ones answer again, the key can be acquired: that must wake.
func TestWakesWithFailures(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(5)
		c, e, woken := listen(t, f)
		if err := e.Add(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		holder, waiter := c.client(), c.client()
		f.each("ab", func(n *fake) { n.down = refused })
		l := drivers.Lease{Key: "k", TTL: ttl}
		held, err := holder.Try(t.Context(), &l)
		must(t, "Try", held, err, true)
		held, err = waiter.Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
		must(t, "Try", held, err, false)
		synctest.Wait()
		f.each("ab", func(n *fake) { n.down = nil })
		f.each("de", func(n *fake) { n.down = refused }) // so that c alone hears of the release
		holder.Release(t.Context(), &l)
		synctest.Wait()
		if woken.count("k") == 0 {
			t.Error("the waiter sleeps although a, b and c are free")
		}
	})
}

// TestWakesWithHungNode has a waiter refused while a node hangs: the key may be free there.
func TestWakesWithHungNode(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(5)
		c, e, woken := listen(t, f)
		holder, waiter := c.client(), c.client()
		f.each("e", func(n *fake) { n.down = refused })
		l := drivers.Lease{Key: "k", TTL: ttl}
		held, err := holder.Try(t.Context(), &l)
		must(t, "Try", held, err, true)
		synctest.Wait()
		f.each("e", func(n *fake) { n.down, n.hangs = nil, true })
		held, err = waiter.Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
		must(t, "Try", held, err, false)
		time.Sleep(2 * nodeTimeout) // until e is asked again
		if err := e.Add(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		held, err = waiter.Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
		must(t, "Try", held, err, false)
		f.each("cd", func(n *fake) { n.down = refused }) // so that only a and b hear of the release
		holder.Release(t.Context(), &l)
		synctest.Wait()
		if woken.count("k") == 0 {
			t.Error("the waiter sleeps although a and b are free, and e may be")
		}
	})
}

// TestWakesWithLateNodes has two nodes register a key late: the holder has released there meanwhile, and nobody has announced it.
func TestWakesWithLateNodes(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(5)
		c, e, woken := listen(t, f)
		holder, waiter := c.client(), c.client()
		l := drivers.Lease{Key: "k", TTL: ttl}
		held, err := holder.Try(t.Context(), &l)
		must(t, "Try", held, err, true)
		synctest.Wait()
		f.each("ab", func(n *fake) { n.delay["add"] = 10 * time.Millisecond })
		if err := e.Add(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		held, err = waiter.Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
		must(t, "Try", held, err, false)
		f.each("de", func(n *fake) { n.down = refused }) // so that c alone hears of the release
		holder.Release(t.Context(), &l)
		synctest.Wait()
		if n := woken.count("k"); n != 0 {
			t.Errorf("c alone has woken %d times", n)
		}
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if woken.count("k") == 0 {
			t.Error("the waiter sleeps although a, b and c are free")
		}
	})
}

// TestRegistersInOrder removes a key and adds it again, or the other way round, while a node is slow with the first of them: in
// the end the node has registered the key if it was added last. It may have missed a release in between, so it counts as one that
// has announced it.
func TestRegistersInOrder(t *testing.T) {
	for _, added := range []bool{true, false} {
		in(t, func(t *testing.T) {
			f := newFakes(3)
			c, e, woken := listen(t, f)
			add := func() {
				if err := e.Add(t.Context(), "k"); err != nil {
					t.Fatal(err)
				}
			}
			remove := func() {
				if err := e.Remove(t.Context(), "k"); err != nil {
					t.Fatal(err)
				}
			}
			holder := c.client()
			l := drivers.Lease{Key: "k", TTL: ttl}
			held, err := holder.Try(t.Context(), &l)
			must(t, "Try", held, err, true)
			f.each("a", func(n *fake) { n.delay["add"], n.delay["remove"] = 10*time.Millisecond, 10*time.Millisecond })
			if added {
				add()
				time.Sleep(20 * time.Millisecond)
				remove()
			} else {
				add()
			}
			f.each("a", func(n *fake) { clear(n.delay) })
			if added {
				add()
			} else {
				remove()
			}
			time.Sleep(20 * time.Millisecond)
			f.each("c", func(n *fake) { n.down = refused }) // so that only a and b announce the release
			holder.Release(t.Context(), &l)
			synctest.Wait()
			if got := woken.count("k") > 0; got != added {
				t.Errorf("added last: %v, and the release has woken: %v", added, got)
			}
			if got := f.nodes["a"].registered("k"); got != added {
				t.Errorf("added last: %v, and the slow node has registered the key: %v", added, got)
			}
		})
	}
}
