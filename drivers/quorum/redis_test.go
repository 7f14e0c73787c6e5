// Redlock over real servers, some of which are stopped or killed.
package quorum_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/quorum"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// realNodes are redis-servers.
type realNodes []*servers.Redis

func startNodes(t testing.TB, n int) (nodes realNodes) {
	for range n {
		nodes = append(nodes, servertest.Redis(t, servers.Options{}))
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
	return drivertest.Open(t, quorum.Driver{Node: node.(quorum.Node)}, cfg)
}

// TestNodesFail stops or kills two servers of five, then a third one. Requests to them end with the node time-out, however
// the client library handles deadlines, and not with the much longer I/O time-out. When stopped servers go on, late
// replies must not be taken for those of other requests.
func TestNodesFail(t *testing.T) {
	for _, driver := range []string{"go-redis", "rueidis"} {
		for _, stops := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stops %t", driver, stops), func(t *testing.T) {
				if stops && testing.Short() {
					t.Skip("servers go down and come back: make test-all")
				}
				nodesFail(t, driver, stops)
			})
		}
	}
}

func nodesFail(t *testing.T, driver string, stops bool) {
	nodes := startNodes(t, five)
	fail := func(nodes realNodes) {
		if stops {
			nodes.signal(t, syscall.SIGSTOP)
		} else {
			nodes.kill(t)
		}
	}
	s := openRedis(t, driver, drivers.Config{Addrs: nodes.urls(), IOTimeout: time.Minute, NodeTimeout: time.Second})
	a, err := s.Session(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	begin, l := time.Now(), drivers.Lease{Key: "k", TTL: time.Minute}
	fail(nodes[:2])
	for range 20 {
		try(t, a, &l, true)
		release(t, a, &l, true)
	}
	fail(nodes[2:3])
	// The first attempts at a server that is gone use connections that break meanwhile: a client library has a few, and may
	// not have noticed yet.
	want := drivers.ClassConnect
	if stops {
		want = drivers.ClassTimeout
	}
	for class := drivers.Class(""); class != want; class = drivers.ClassOf(err) {
		var held bool
		if held, err = a.Try(t.Context(), &l); held || err == nil {
			t.Fatalf("Try at 2 of 5 = %v, %v", held, err)
		}
	}
	if took := time.Since(begin); took > 40*time.Second {
		t.Errorf("with nodes that have failed it took %v", took)
	}
	if !stops {
		return
	}
	nodes[:3].signal(t, syscall.SIGCONT)
	nodes[3:].kill(t)
	testwait.Until(t, "the nodes that were stopped come back", func() bool {
		held, err := a.Try(t.Context(), &drivers.Lease{Key: "again", TTL: time.Minute})
		return held && err == nil
	})
}

// TestSameServer names one server in two ways.
func TestSameServer(t *testing.T) {
	nodes := startNodes(t, 2)
	node, _ := drivers.Lookup("go-redis")
	addrs := append(nodes.urls(), nodes[0].URL()+"?db=1")
	if s, err := (quorum.Driver{Node: node.(quorum.Node)}).Open(t.Context(), drivers.Config{Lock: "set-nx", Addrs: addrs}); err == nil {
		s.Close()
		t.Error("one server has two votes")
	}
}
