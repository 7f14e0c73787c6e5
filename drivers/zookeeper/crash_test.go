// Clients that die, and probes.
package zookeeper_test

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
)

// It is not parallel, so it has ended before TestWatches begins.
func TestDying(t *testing.T) {
	z := counted.Get(t)
	t.Run("probe", func(t *testing.T) { probeLeavesNothing(t, z) }) // while no other test makes nodes
	t.Run("who can die", func(t *testing.T) { whoCanDie(t, z) })
}

// A client with its own session with the service can die alone, one that shares it cannot; it can do everything else.
func whoCanDie(t *testing.T, z *servers.Group[*servers.Server]) {
	for _, d := range zookeeper(t).Designs() {
		for _, conns := range []int{0, 2} {
			s := client(t, open(t, drivers.Config{Lock: d.Name, Addrs: z.URLs(), Conns: conns, Clients: 4}), 0)
			if _, ok := drivers.As[drivers.Crasher](s); ok != (conns == 0) {
				t.Errorf("%s: with %d shared sessions, that one of its clients is a Crasher is %v", d.Name, conns, ok)
			}
			_, waits := drivers.As[drivers.Waiter](s)
			_, adopts := drivers.As[drivers.Adopter](s)
			_, closes := drivers.As[interface{ Close() error }](s)
			if !waits || !adopts || !closes {
				t.Errorf("%s: with %d shared sessions: Waiter %v, Adopter %v, Closer %v", d.Name, conns, waits, adopts, closes)
			}
		}
	}
}

// A probe makes no node.
func probeLeavesNothing(t *testing.T, z *servers.Group[*servers.Server]) {
	conn := raw(t, z.Nodes[0])
	nodes := func() []string {
		t.Helper()
		names, _, err := conn.Children("/")
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	svc := open(t, drivers.Config{Lock: "sequential", Addrs: z.URLs()})
	before := nodes()
	for range 3 {
		if err := svc.(drivers.Prober).Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range nodes() {
		if !slices.Contains(before, node) { // the server may remove the empty container of an earlier test meanwhile
			t.Errorf("a probe makes the node %q", node)
		}
	}
}
