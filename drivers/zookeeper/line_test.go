// What waiting costs and what it leaves behind.
package zookeeper_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

const long = time.Minute

// open opens a service that ends with the test.
func open(t *testing.T, cfg drivers.Config) drivers.Service {
	t.Helper()
	if cfg.Prefix == "" {
		cfg.Prefix = "test:"
	}
	if cfg.IOTimeout == 0 { // tests of time-outs set one: others must not fail because the machine stalls
		cfg.IOTimeout = 20 * time.Second
	}
	return drivertest.Open(t, zookeeper(t), cfg)
}

func client(t *testing.T, svc drivers.Service, id int) drivers.Session {
	t.Helper()
	return drivertest.SessionOf[drivers.Session](t, svc, id)
}

// hold acquires a key, which must be free. It tries until it hears an answer.
func hold(t *testing.T, s drivers.Session, key string) *drivers.Lease {
	t.Helper()
	l := &drivers.Lease{Key: key, TTL: long}
	testwait.Until(t, "an attempt is answered", func() bool {
		held, err := s.Try(t.Context(), l)
		if drivers.ClassOf(err) == drivers.ClassTimeout { // of an ensemble that has just formed, or a machine that stands still
			s.Release(t.Context(), l)
			return false
		}
		if !held || err != nil {
			t.Fatalf("Try of a free key: %v, %v", held, err)
		}
		return true
	})
	return l
}

// free releases a lease that is held.
func free(t *testing.T, s drivers.Session, l *drivers.Lease) {
	t.Helper()
	if owned, err := s.Release(t.Context(), l); !owned || err != nil {
		t.Fatalf("Release of a held key: %v, %v", owned, err)
	}
}

func traffic(t *testing.T, svc drivers.Service) drivers.Traffic {
	t.Helper()
	counter, ok := drivers.As[drivers.Counter](svc)
	if !ok {
		t.Fatal("the service counts nothing")
	}
	return counter.Traffic()
}

// acquire is the loop of every user of a Waiter.
func acquire(ctx context.Context, s drivers.Session, l *drivers.Lease) (held bool, err error) {
	w, _ := drivers.As[drivers.Waiter](s)
	defer w.Leave(context.WithoutCancel(ctx), l)
	for {
		if held, err = s.Try(ctx, l); held || err != nil {
			return held, err
		}
		if !l.Deadline.IsZero() && !time.Now().Before(l.Deadline) {
			return false, nil
		}
		if err := w.Wait(ctx, l); err != nil {
			return false, err
		}
	}
}

// TestWatches runs the tests that count the server's watches, one after the other, with a server of their own.
func TestWatches(t *testing.T) {
	t.Parallel()
	z := counted.Get(t)
	for name, test := range map[string]func(*testing.T, *servers.Group[*servers.Server]){
		"notices": notices, "long line": longLine, "wait ends with the service": waitEndsWithTheService,
		"place ends with its session": placeEndsWithItsSession,
	} {
		t.Run(name, func(t *testing.T) { test(t, z) })
	}
}

// An uncontended pair takes two round trips with either design: nothing is asked that an answer has told.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	z := single.Get(t)
	for _, design := range []string{"sequential", "herd"} {
		svc := open(t, drivers.Config{Lock: design, Addrs: z.URLs(), Clients: 1})
		s := client(t, svc, 0)
		key := "test:trips:" + design
		free(t, s, hold(t, s, key)) // sequential makes the key's container
		const pairs = 10
		before := traffic(t, svc)
		for range pairs {
			free(t, s, hold(t, s, key))
		}
		if n := traffic(t, svc).RoundTrips - before.RoundTrips; n != 2*pairs {
			t.Errorf("%s: %d pairs took %d round trips, want 2 each", design, pairs, n)
		}
	}
}

// A release wakes only the next in line with sequential, and all waiters with herd.
func notices(t *testing.T, z *servers.Group[*servers.Server]) {
	const waiters = 12
	notices := map[string]int64{}
	for _, design := range []string{"sequential", "herd"} {
		svc := open(t, drivers.Config{Lock: design, Addrs: z.URLs(), Clients: 1 + waiters})
		holder := client(t, svc, 0)
		key := "test:notices:" + design
		held := hold(t, holder, key)
		watches := watching(t, z.Nodes[0])
		var all sync.WaitGroup
		for i := range waiters {
			s := client(t, svc, 1+i)
			all.Go(func() {
				l := &drivers.Lease{Key: key, TTL: long}
				if held, err := acquire(t.Context(), s, l); !held || err != nil {
					t.Errorf("%s: acquire: %v, %v", design, held, err)
					return
				}
				if owned, err := s.Release(t.Context(), l); !owned || err != nil {
					t.Errorf("%s: Release: %v, %v", design, owned, err)
				}
			})
			// One after the other: the node of a refused attempt might be right before another's place.
			testwait.Until(t, "it is asleep", func() bool { return watching(t, z.Nodes[0]) > watches+i })
		}
		free(t, holder, held)
		all.Wait()
		notices[design] = traffic(t, svc).Notices
	}
	if notices["sequential"] != waiters {
		t.Errorf("sequential: %d grants after a wait took %d notices, want one each", waiters, notices["sequential"])
	}
	if notices["herd"] < 2*waiters {
		t.Errorf("herd: %d grants after a wait took %d notices, and every release ought to wake all", waiters,
			notices["herd"])
	}
}

// Waiters that come and go, cancelled at any moment, leave no node.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	z := single.Get(t)
	for _, conns := range []int{0, 2} {
		const clients, rounds = 8, 40
		svc := open(t, drivers.Config{Lock: "sequential", Addrs: z.URLs(), Clients: 1 + clients, Conns: conns})
		const key = "test:storm"
		holder := client(t, svc, 0)
		held := hold(t, holder, key)
		var all sync.WaitGroup
		for i := range clients {
			s := client(t, svc, 1+i)
			random := rand.New(rand.NewPCG(uint64(i), 1))
			all.Go(func() {
				for range rounds {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(3000))*time.Microsecond)
					l := &drivers.Lease{Key: key, TTL: long}
					held, err := acquire(ctx, s, l)
					cancel()
					if held {
						t.Error("a held key was granted")
					}
					if err != nil && !drivers.NoEffect(err) {
						if _, err := s.Release(t.Context(), l); err != nil {
							t.Errorf("Release of an unknown outcome: %v", err)
						}
					}
				}
			})
		}
		all.Wait()
		conn := raw(t, z.Nodes[0])
		if names, _, err := conn.Children("/" + key); err != nil || len(names) != 1 {
			t.Errorf("with %d connections: %d nodes are left, %v; want the holder's alone", conns, len(names), err)
		}
		free(t, holder, held)
		cleaner, _ := drivers.As[drivers.Cleaner](svc)
		if err := cleaner.Clean(t.Context(), []string{key, "test:never used"}); err != nil {
			t.Fatal(err)
		}
		if found, _, err := conn.Exists("/" + key); found || err != nil {
			t.Errorf("after Clean: %v, %v", found, err)
		}
	}
}

// A client that is refused is not in line: it does not get the lock in its turn, which would keep others from it.
func TestRefusedIsNotInLine(t *testing.T) {
	t.Parallel()
	z := single.Get(t)
	svc := open(t, drivers.Config{Addrs: z.URLs(), Clients: 3})
	const key = "test:refused"
	holder, refused, next := client(t, svc, 0), client(t, svc, 1), client(t, svc, 2)
	held := hold(t, holder, key)
	for range 2 { // the second time it looks before it enters
		if held, err := refused.Try(t.Context(), &drivers.Lease{Key: key, TTL: long}); held || err != nil {
			t.Fatalf("Try of a held key: %v, %v", held, err)
		}
		if names := nodes(t, raw(t, z.Nodes[0]), "/"+key); len(names) != 1 {
			t.Errorf("%d nodes are in line, want the holder's alone", len(names))
		}
	}
	free(t, holder, held)
	free(t, next, hold(t, next, key))
}

// A long line comes in a reply that is larger than the first buffer for replies, and so does its end.
func longLine(t *testing.T, z *servers.Group[*servers.Server]) {
	const key, before = "test:long", 3000
	conn := raw(t, z.Nodes[0])
	if _, err := conn.Create("/"+key, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	var last string
	for i := 0; i < before; i += 100 {
		var ops []any
		for range 100 {
			ops = append(ops, &zk.CreateRequest{
				Path: "/" + key + "/another-client-", Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeralSequential,
			})
		}
		made, err := conn.Multi(ops...)
		if err != nil {
			t.Fatal(err)
		}
		last = made[len(made)-1].String
	}
	svc := open(t, drivers.Config{Lock: "sequential", Addrs: z.URLs(), Clients: 1})
	s := client(t, svc, 0)
	watches := watching(t, z.Nodes[0])
	var all sync.WaitGroup
	l := &drivers.Lease{Key: key, TTL: long}
	all.Go(func() {
		if held, err := acquire(t.Context(), s, l); !held || err != nil {
			t.Errorf("acquire: %v, %v", held, err)
		}
	})
	testwait.Until(t, "it is asleep", func() bool { return watching(t, z.Nodes[0]) > watches })
	if err := conn.Delete(last, -1); err != nil { // it looks again, and sleeps again
		t.Fatal(err)
	}
	names, _, err := conn.Children("/" + key)
	if err != nil || len(names) != before {
		t.Fatalf("%d nodes, %v", len(names), err)
	}
	conn.Close()
	all.Wait()
	free(t, s, l)
	cleaner, _ := drivers.As[drivers.Cleaner](svc)
	if err := cleaner.Clean(t.Context(), []string{key}); err != nil { // -count=2 makes it again on the same server
		t.Error(err)
	}
}
