package quorum_test

import (
	"sync"
	"testing"
	"testing/synctest"

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
		try(t, holder, &l, true)
		synctest.Wait()
		f.each("ab", func(n *fake) { n.down = nil })
		for range 10 {
			try(t, waiter, &drivers.Lease{Key: "k", TTL: ttl}, false)
			synctest.Wait()
		}
		before := woken.count("k") // a node that registered late may have woken once
		if before > 1 {
			t.Errorf("10 failed attempts have woken %d times", before)
		}
		release(t, holder, &l, true)
		synctest.Wait()
		if woken.count("k") == before {
			t.Error("the release has not woken")
		}
	})
}

// TestWakesWithDeafNode: a node that has not registered the key may have been released without a word.
func TestWakesWithDeafNode(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(3)
		c, e, woken := listen(t, f)
		f.each("a", func(n *fake) { n.delay["add"] = 2 * nodeTimeout })
		if err := e.Add(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		f.each("c", func(n *fake) { n.down = refused }) // the holder has a and b, and only b announces the release
		s, l := c.client(), drivers.Lease{Key: "k", TTL: ttl}
		try(t, s, &l, true)
		release(t, s, &l, true)
		synctest.Wait()
		if woken.count("k") == 0 {
			t.Error("the release has not woken")
		}
		f.each("b", func(n *fake) { n.delay["add"] = 2 * nodeTimeout })
		if err := e.Add(t.Context(), "other"); err == nil {
			t.Error("a key that one of three nodes has registered is added")
		}
	})
}
