// Redlock over real servers, some of which are stopped or killed.
package quorum_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/quorum"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// realNodes are redis-servers.
type realNodes []*servers.Redis

func startNodes(t testing.TB, n int) (nodes realNodes) {
	for range n {
		nodes = append(nodes, servertest.Redis(t, servers.RedisOptions{}))
	}
	return nodes
}

func (nodes realNodes) urls() (list []string) {
	for _, n := range nodes {
		list = append(list, n.URL())
	}
	return list
}

func (nodes realNodes) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	for _, n := range nodes {
		if err := n.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
}

func (nodes realNodes) kill(t testing.TB) {
	t.Helper()
	for _, n := range nodes {
		if err := n.Kill(); err != nil {
			t.Fatal(err)
		}
	}
}

func openRedis(t testing.TB, driver string, cfg drivers.Config) drivers.Service {
	t.Helper()
	node, err := drivers.Lookup(driver)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Lock = "set-nx"
	return drivertest.Open(t, quorum.Driver{Node: node}, cfg)
}

func forBoth(t *testing.T, test func(t *testing.T, driver string)) {
	for _, driver := range []string{"go-redis", "rueidis"} {
		t.Run(driver, func(t *testing.T) { test(t, driver) })
	}
}

// TestStoppedNodes stops two servers of five, then a third one. Requests to them end with the node time-out, however
// the client library handles deadlines, and not with the much longer I/O time-out. When they go on, late replies must
// not be taken for those of other requests.
func TestStoppedNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("servers go down and come back: make test-all")
	}
	forBoth(t, func(t *testing.T, driver string) {
		nodes := startNodes(t, five)
		s := openRedis(t, driver, drivers.Config{Addrs: nodes.urls(), IOTimeout: time.Minute, NodeTimeout: 2 * time.Second})
		const clients = 16
		var sessions [clients]drivers.Session
		for i := range sessions {
			var err error
			if sessions[i], err = s.Session(t.Context(), i); err != nil {
				t.Fatal(err)
			}
		}
		cycles := func(n int, check func(held bool, err error)) time.Duration {
			start := time.Now()
			var all sync.WaitGroup
			for i, a := range sessions {
				all.Go(func() {
					for j := range n {
						l := drivers.Lease{Key: fmt.Sprint("k", i, ":", j), TTL: time.Minute}
						held, err := a.Try(context.Background(), &l)
						check(held, err)
						if held {
							owned, err := a.Release(context.Background(), &l)
							check(owned, err)
						}
					}
				})
			}
			all.Wait()
			return time.Since(start)
		}
		works := func(held bool, err error) {
			if !held || err != nil {
				t.Errorf("%v, %v, want true", held, err)
			}
		}
		cycles(20, works)
		nodes[:2].signal(t, syscall.SIGSTOP)
		if d := cycles(20, works); d > 30*time.Second {
			t.Errorf("20 locks took %v with 2 of 5 nodes stopped", d)
		}
		nodes[2:3].signal(t, syscall.SIGSTOP)
		var late atomic.Int32
		if d := cycles(2, func(held bool, err error) {
			switch class := drivers.ClassOf(err); {
			case held || class != drivers.ClassTimeout && class != drivers.ClassConnect: // it was not sent: the last one failed
				t.Errorf("%v, %v (%s), want class timeout or connect", held, err, class)
			case class == drivers.ClassTimeout:
				late.Add(1)
			}
		}); d > 30*time.Second {
			t.Errorf("2 attempts took %v with 3 of 5 nodes stopped", d)
		}
		if n := late.Load(); n < clients { // the first of each was sent
			t.Errorf("%d attempts ended by the time-out, want one of each of %d clients at least", n, clients)
		}
		nodes[:3].signal(t, syscall.SIGCONT)
		nodes[3:].kill(t)
		for deadline := time.Now().Add(30 * time.Second); ; { // on the three that had been stopped
			l := drivers.Lease{Key: "again", TTL: time.Minute}
			if held, err := sessions[0].Try(context.Background(), &l); held && err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the nodes that were stopped do not come back")
			}
		}
	})
}

// TestDeadNodes kills two servers of five, and then a third one.
func TestDeadNodes(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		nodes := startNodes(t, five)
		s := openRedis(t, driver, drivers.Config{Addrs: nodes.urls(), NodeTimeout: time.Second})
		a, err := s.Session(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		l := drivers.Lease{Key: "k", TTL: time.Minute}
		nodes[:2].kill(t)
		for range 5 {
			held, err := a.Try(t.Context(), &l)
			must(t, "Try at 3 of 5", held, err, true)
			owned, err := a.Release(t.Context(), &l)
			must(t, "Release at 3 of 5", owned, err, true)
		}
		nodes[2:3].kill(t)
		// The first attempts use connections that break meanwhile: a client library has a few, and may not have noticed
		// yet that the server is gone.
		refused := false
		for attempt := 0; attempt < 100 && !refused; attempt++ {
			held, err := a.Try(t.Context(), &l)
			if held || err == nil {
				t.Fatalf("Try at 2 of 5 = %v, %v", held, err)
			}
			refused = drivers.NoEffect(err)
		}
		if !refused {
			t.Error("no attempt at 2 of 5 is of class connect")
		}
		if _, _, err := s.(drivers.Inspector).Inspect(t.Context()); err == nil {
			t.Error("Inspect answers for 2 of 5")
		}
	})
}

// TestSameServer names one server in two ways.
func TestSameServer(t *testing.T) {
	nodes := startNodes(t, 2)
	node, _ := drivers.Lookup("go-redis")
	addrs := append(nodes.urls(), nodes[0].URL()+"?db=1")
	if s, err := (quorum.Driver{Node: node}).Open(t.Context(), drivers.Config{Lock: "set-nx", Addrs: addrs}); err == nil {
		s.Close()
		t.Error("one server has two votes")
	}
}

// BenchmarkCycle is an acquisition and its release, on five nodes and on one.
func BenchmarkCycle(b *testing.B) {
	for _, driver := range []string{"go-redis", "rueidis"} {
		for _, n := range []int{5, 1} {
			b.Run(fmt.Sprintf("%s/nodes=%d", driver, n), func(b *testing.B) {
				s := openRedis(b, driver, drivers.Config{Addrs: startNodes(b, n).urls(), NodeTimeout: time.Second})
				a, err := s.Session(b.Context(), 0)
				if err != nil {
					b.Fatal(err)
				}
				l := drivers.Lease{Key: "k", TTL: time.Minute}
				b.ReportAllocs()
				for b.Loop() {
					if held, err := a.Try(context.Background(), &l); !held || err != nil {
						b.Fatal(held, err)
					}
					if owned, err := a.Release(context.Background(), &l); !owned || err != nil {
						b.Fatal(owned, err)
					}
				}
			})
		}
	}
}
