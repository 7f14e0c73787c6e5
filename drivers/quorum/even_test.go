package quorum_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/quorum"
)

// TestEvenSplit gives two clients half of an even number of nodes each: half is not a majority, so neither is granted
// the key, everything is given back, and the next client gets it.
func TestEvenSplit(t *testing.T) {
	for nodes, halves := range map[int][2]string{2: {"a", "b"}, 4: {"ab", "cd"}, 6: {"abc", "def"}} {
		in(t, func(t *testing.T) {
			f := newFakes(nodes)
			c := start(t, f, drivers.Config{})
			for _, n := range f.nodes {
				n.delay["release"] = time.Millisecond // so that a release does not meet the other client's try
			}
			for i, half := range halves {
				f.each(half, func(n *fake) { n.far[1-i] = time.Millisecond })
			}
			var tries sync.WaitGroup
			for i := range halves {
				s := c.number(i)
				tries.Go(func() {
					held, err := s.Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
					if held || err != nil {
						t.Errorf("%d nodes: client %d, which half of them granted the lock: %v, %v", nodes, i, held, err)
					}
				})
			}
			tries.Wait()
			time.Sleep(10 * time.Millisecond) // until the releases have arrived
			synctest.Wait()
			for _, v := range c.votes {
				if v.Held || v.Yes != nodes/2 || v.No != nodes/2 || !v.Split() {
					t.Errorf("%d nodes: vote %+v, want a split in halves", nodes, v)
				}
			}
			if len(c.votes) != 2 {
				t.Errorf("%d votes", len(c.votes))
			}
			for name, n := range f.nodes {
				if left, told := n.owners(), n.took("release"); left != 0 || told != 2 {
					t.Errorf("%d nodes: node %s is left with %d locks after %d releases, want none after 2", nodes, name, left, told)
				}
			}
			try(t, c.number(2), &drivers.Lease{Key: "k", TTL: ttl}, true)
			synctest.Wait()
		})
	}
}

// TestEvenFailures: an even number of nodes tolerates as many failures as the odd one below it, whether they fail
// before the service is opened, an acquisition or a release.
func TestEvenFailures(t *testing.T) {
	for nodes := 1; nodes <= 6; nodes++ {
		all, tolerated := strings.Join(names(nodes), ""), (nodes-1)/2
		for dead := range nodes {
			in(t, func(t *testing.T) {
				want := dead <= tolerated
				f := newFakes(nodes)
				c := start(t, f, drivers.Config{})
				s := c.client()
				l := drivers.Lease{Key: "k", TTL: ttl}
				down := func(is error) { f.each(all[:dead], func(n *fake) { n.down = is }) }
				down(refused)
				held, err := s.Try(t.Context(), &l)
				if held != want || (err == nil) != want || !want && drivers.ClassOf(err) != drivers.ClassConnect {
					t.Errorf("%d of %d nodes dead: Try = %v, %v", dead, nodes, held, err)
				}
				service, err := quorum.Driver{Node: f}.Open(t.Context(), drivers.Config{Addrs: names(nodes), NodeTimeout: nodeTimeout})
				if (err == nil) != want {
					t.Errorf("%d of %d nodes dead: Open = %v", dead, nodes, err)
				}
				if err == nil {
					service.Close()
				}
				down(nil)
				time.Sleep(2 * ttl) // until the nodes are asked again, and nothing is left of the first
				try(t, s, &l, true)
				synctest.Wait()
				down(refused)
				owned, err := s.Release(t.Context(), &l)
				if owned != want || (err == nil) != want {
					t.Errorf("%d of %d nodes dead: Release = %v, %v", dead, nodes, owned, err)
				}
			})
		}
	}
}
