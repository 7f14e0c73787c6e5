// Servers that die, pause and come back.
package zookeeper_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// cycles reports whether a client can acquire and release a key.
func cycles(t *testing.T, s drivers.Session, key string) bool {
	l := &drivers.Lease{Key: key, TTL: long}
	held, err := s.Try(t.Context(), l)
	if err == nil && held {
		_, err = s.Release(t.Context(), l)
	} else if err != nil {
		s.Release(t.Context(), l)
	}
	return held && err == nil
}

// refused waits until a client hears an answer for a key that another holds, and checks that it is refused. While an
// ensemble elects its leader anew, any single request may go without an answer.
func refused(t *testing.T, s drivers.Session, key string) {
	t.Helper()
	l := &drivers.Lease{Key: key, TTL: long}
	testwait.Until(t, "the held key is refused", func() bool {
		held, err := s.Try(t.Context(), l)
		if held {
			t.Fatalf("%s is held, and granted once more", key)
		}
		return err == nil
	})
}

// fails checks that requests end, with an error that says that no answer arrived.
func fails(t *testing.T, s drivers.Session, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	l := &drivers.Lease{Key: key, TTL: long}
	held, err := s.Try(ctx, l)
	if held || err == nil || ctx.Err() != nil {
		t.Errorf("Try without a server: %v, %v", held, err)
	}
	if owned, err := s.Release(ctx, l); owned || err == nil || ctx.Err() != nil {
		t.Errorf("Release without a server: %v, %v", owned, err)
	}
}

// An ensemble goes on without a minority, and not without a majority.
func TestEnsembleLosesMembers(t *testing.T) {
	t.Parallel()
	z := servertest.ZooKeeper(t, 3, servers.Options{})
	const clients = 6
	svc := open(t, drivers.Config{
		Addrs: z.URLs(), Topology: drivers.TopologyEnsemble, Clients: clients,
		IOTimeout: 2 * time.Second, TTL: 30 * time.Second,
	})
	var list []drivers.Session
	for i := range clients {
		list = append(list, client(t, svc, i))
	}
	inspector, _ := drivers.As[drivers.Inspector](svc)
	server, usage, err := inspector.Inspect(t.Context())
	if err != nil || server.Name != "zookeeper" || server.Mode != "ensemble" || server.Replicas != 2 ||
		usage.Commands <= 0 || usage.CPU >= 0 ||
		!strings.HasPrefix(server.Version, "3.") || strings.Contains(server.Version, ",") {
		t.Errorf("an ensemble: %+v, %+v, %v", server, usage, err)
	}
	l := hold(t, list[0], "test:held")
	for _, dead := range []int{0, 1, 2} {
		if err := z.Nodes[dead].Kill(); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, "the others have agreed on a leader", func() bool {
			server, usage, err = inspector.Inspect(t.Context())
			return err == nil && server.Version != ""
		})
		if usage.Commands >= 0 {
			t.Errorf("without a member: %+v, %+v", server, usage)
		}
		for _, s := range list {
			testwait.Until(t, "two members serve", func() bool { return cycles(t, s, "test:minority") })
			refused(t, s, "test:held")
		}
		if err := z.Nodes[dead].Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	testwait.Until(t, "the holder releases", func() bool {
		owned, err := list[0].Release(t.Context(), l)
		if err == nil && !owned {
			t.Fatal("the hold is lost, and a majority has always been there")
		}
		return err == nil
	})
	for _, dead := range []int{0, 1} {
		if err := z.Nodes[dead].Kill(); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for _, s := range list {
		all.Go(func() { fails(t, s, "test:majority") })
	}
	all.Wait()
	if err := z.Nodes[0].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		testwait.Until(t, "two members serve again", func() bool { return cycles(t, s, "test:majority") })
	}
}

// A client with its own session with the service can die alone, one that shares it cannot; it can do everything else.
func TestWhoCanDie(t *testing.T) {
	t.Parallel()
	z := single.Get(t)
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

// A client that shares a session with the service closes only its own nodes; the others' holds last.
func TestSharedSessionCloses(t *testing.T) {
	t.Parallel()
	z := single.Get(t)
	for _, design := range []string{"sequential", "herd"} {
		svc := open(t, drivers.Config{Lock: design, Addrs: z.URLs(), Clients: 3, Conns: 1})
		a, b, c := client(t, svc, 0), client(t, svc, 1), client(t, svc, 2)
		hold(t, a, "test:a:"+design)
		held := hold(t, b, "test:b:"+design)
		if err := a.(interface{ Close() error }).Close(); err != nil {
			t.Fatal(err)
		}
		free(t, c, hold(t, c, "test:a:"+design))
		if held, err := c.Try(t.Context(), &drivers.Lease{Key: "test:b:" + design, TTL: long}); held || err != nil {
			t.Errorf("%s: what another client of the session holds: %v, %v", design, held, err)
		}
		free(t, b, held)
	}
}

// Wait ends when the service is closed.
func waitEndsWithTheService(t *testing.T, z *servers.Group[*servers.Server]) {
	for _, design := range []string{"sequential", "herd"} {
		svc := open(t, drivers.Config{Lock: design, Addrs: z.URLs(), Clients: 2})
		a, b := client(t, svc, 0), client(t, svc, 1)
		hold(t, a, "test:held:"+design)
		waited := make(chan error)
		go func() {
			w, _ := drivers.As[drivers.Waiter](b)
			var err error
			for err == nil {
				err = w.Wait(context.Background(), &drivers.Lease{Key: "test:held:" + design, TTL: long})
			}
			waited <- err
		}()
		testwait.Until(t, "the waiter waits", func() bool { return watching(t, z.Nodes[0]) == 1 })
		if err := svc.Close(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-waited:
			if drivers.ClassOf(err) != drivers.ClassClosed || errors.Is(err, context.Canceled) {
				t.Errorf("%s: Wait on a closed service: %v", design, err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: Wait outlasts the service", design)
		}
	}
}
