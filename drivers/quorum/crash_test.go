package quorum_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// TestCrash makes a client die that a majority has granted two keys, while the last node is so slow that it has only
// received the first request. It must not receive the second one, nothing is released anywhere, and the service still
// works.
func TestCrash(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(3)
		c := start(t, f, drivers.Config{})
		dead, other := c.client(), c.client()
		f.each("c", func(n *fake) { n.delay["try"] = nodeTimeout / 5 })
		for _, key := range []string{"1", "2"} {
			held, err := dead.Try(t.Context(), &drivers.Lease{Key: key, TTL: ttl})
			must(t, "Try", held, err, true)
		}
		synctest.Wait()
		dead.(drivers.Crasher).Crash()
		time.Sleep(nodeTimeout)
		for name, n := range f.nodes {
			owners, releases := 2, n.took("release")
			if name == "c" {
				owners = 1
			}
			if n.owners() != owners || releases != 0 {
				t.Errorf("node %s holds %d keys after %d releases; want %d after none", name, n.owners(), releases, owners)
			}
		}
		f.each("c", func(n *fake) { n.delay["try"] = 0 })
		held, err := other.Try(t.Context(), &drivers.Lease{Key: "2", TTL: ttl})
		must(t, "Try of a dead client's key", held, err, false)
		time.Sleep(ttl)
		held, err = other.Try(t.Context(), &drivers.Lease{Key: "2", TTL: ttl})
		must(t, "Try after the lease of a dead client", held, err, true)
		if held, err := dead.Try(t.Context(), &drivers.Lease{Key: "3", TTL: ttl}); held || err == nil {
			t.Errorf("Try of a dead client = %v, %v", held, err)
		}
	})
}

// TestProbe probes only the first node, whatever happens to the others, and uses no other one instead.
func TestProbe(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(3)
		f.each("a", func(n *fake) { n.down = refused })
		if err := start(t, f, drivers.Config{}).Service.(drivers.Prober).Probe(t.Context()); drivers.ClassOf(err) != drivers.ClassConnect {
			t.Errorf("the first node has not been there, and Probe says %v", err)
		}
		f.each("a", func(n *fake) { n.down = nil })
		c := start(t, f, drivers.Config{})
		f.each("bc", func(n *fake) { n.down = refused })
		if err := c.Service.(drivers.Prober).Probe(t.Context()); err != nil {
			t.Errorf("the first node is there, and Probe says %v", err)
		}
	})
}
