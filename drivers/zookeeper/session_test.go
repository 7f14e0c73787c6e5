// Existing nodes that are not those of the present session.
package zookeeper_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// nodes returns those below a node.
func nodes(t *testing.T, conn *zk.Conn, parent string) []string {
	t.Helper()
	names, _, err := conn.Children(parent)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// ephemeral makes a node that ends with the session of conn.
func ephemeral(t *testing.T, conn *zk.Conn, node, data string) {
	t.Helper()
	if _, err := conn.Create(node, []byte(data), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
}

// A place in line belongs to the session that has taken it. When that has ended, a node of its name is no longer a
// place, even if it is the first.
func placeEndsWithItsSession(t *testing.T, z *servers.Group[*servers.Server]) {
	if testing.Short() {
		t.Skip("a connection that breaks: make test-all")
	}
	proxy := drivertest.Through(t, z.URLs()...)[0]
	const key, line = "test:line", "/test:line"
	holder := client(t, open(t, drivers.Config{Addrs: z.URLs(), Clients: 1}), 0)
	s := client(t, open(t, drivers.Config{Addrs: []string{proxy.Addr()}, Clients: 1, TTL: sessionTime}), 0)
	held, conn := hold(t, holder, key), raw(t, z.Nodes[0])
	first := nodes(t, conn, line)[0]
	l := &drivers.Lease{Key: key, TTL: long}
	w, _ := drivers.As[drivers.Waiter](s)
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() { waited <- w.Wait(ctx, l) }()
	testwait.Until(t, "it stands in line, and watches", func() bool { return watching(t, z.Nodes[0]) == 1 })
	cancel()
	if err := <-waited; err == nil {
		t.Fatal("Wait ends although the key is held")
	}
	var place string
	for _, name := range nodes(t, conn, line) {
		if name != first {
			place = name
		}
	}
	restore := proxy.Outage()
	testwait.Until(t, "the session ends", func() bool { return len(nodes(t, conn, line)) == 1 })
	ephemeral(t, conn, line+"/"+place, "")
	free(t, holder, held)
	restore()
	var granted bool
	testwait.Until(t, "requests get through again", func() (ok bool) {
		var err error
		granted, err = s.Try(t.Context(), l)
		return err == nil
	})
	if !granted { // that node is before its own, unless it has deleted it as one of its owner, whose answer was lost
		if err := conn.Delete(line+"/"+place, -1); err != nil {
			t.Fatal(err)
		}
		l = hold(t, s, key)
	}
	for _, name := range nodes(t, conn, line) {
		if _, stat, err := conn.Get(line + "/" + name); err != nil || stat.EphemeralOwner == conn.SessionID() {
			t.Errorf("what it holds is another session's node, %s, %v", name, err)
		}
	}
	free(t, s, l)
}

// Wait says that it is worth trying, and the connection breaks before the client does: then it must not be granted
// anything without an answer.
func TestGrantIsNotTakenFromABrokenConnection(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a connection that breaks: make test-all")
	}
	z := single.Get(t)
	proxy := drivertest.Through(t, z.URLs()...)[0]
	svc := open(t, drivers.Config{
		Addrs: []string{proxy.Addr()}, Clients: 2, Conns: 1, TTL: 20 * time.Second, IOTimeout: 2 * time.Second,
	})
	s, witness := client(t, svc, 0), client(t, svc, 1)
	l := &drivers.Lease{Key: "test:broken", TTL: long}
	w, _ := drivers.As[drivers.Waiter](s)
	if err := w.Wait(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	restore := proxy.Outage()
	testwait.Until(t, "the connection is gone", func() bool { return !cycles(t, witness, "test:other") })
	if held, err := s.Try(t.Context(), l); held || err == nil {
		t.Errorf("Try without a connection: %v, %v", held, err)
	}
	restore()
	testwait.Until(t, "requests get through again", func() bool { return cycles(t, witness, "test:other") })
	if held, err := s.Try(t.Context(), l); !held || err != nil {
		t.Errorf("Try, connected again, from a place that has lasted: %v, %v", held, err)
	}
	free(t, s, l)
}

// TestEnded: a holder whose session has ended knows why its hold is gone, and one whose node was deleted does not.
func TestEnded(t *testing.T) {
	t.Parallel()
	z := single.Get(t)
	proxy := drivertest.Through(t, z.URLs()...)[0]
	const key, line = "test:ended", "/test:ended"
	svc := open(t, drivers.Config{Addrs: []string{proxy.Addr()}, Clients: 1, TTL: time.Second})
	s, conn := client(t, svc, 0), raw(t, z.Nodes[0])
	ended, _ := drivers.As[drivers.Ender](s)
	l := hold(t, s, key)
	if about, _, err := svc.(drivers.Inspector).Inspect(t.Context()); err != nil || about.Session != time.Second {
		t.Errorf("sessions live for %v, %v", about.Session, err)
	}
	restore := proxy.Outage()
	testwait.Until(t, "the session ends", func() bool { return len(nodes(t, conn, line)) == 0 })
	restore()
	var owned bool
	testwait.Until(t, "the release gets through", func() bool {
		var err error
		owned, err = s.Release(t.Context(), l)
		return err == nil
	})
	if err := ended.Ended(); owned || err == nil || !strings.Contains(err.Error(), "session 0x") {
		t.Errorf("Release answered %v, and it ended because of %v, want its session", owned, err)
	}
	l = hold(t, s, key)
	for _, name := range nodes(t, conn, line) {
		if err := conn.Delete(line+"/"+name, -1); err != nil {
			t.Fatal(err)
		}
	}
	if owned, err := s.Release(t.Context(), l); owned || err != nil || ended.Ended() != nil {
		t.Errorf("its node was deleted, and Release answered %v, %v, because of %v", owned, err, ended.Ended())
	}
}
