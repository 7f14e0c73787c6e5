package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// The server, or its administrator, ends the connection of a live holder: the lock is free at once, and the holder
// learns of that when it releases. The second time its own socket tells it.
func TestConnectionEndedUnderHolder(t *testing.T) {
	forDesigns(t, func(t *testing.T, lock string) {
		address := server(t)
		s := open(t, drivers.Config{Lock: lock, Addrs: []string{address}})
		a, b := newSession(t, s), newSession(t, s)
		for range 2 {
			mine, theirs, another := &drivers.Lease{Key: "k"}, &drivers.Lease{Key: "k"}, &drivers.Lease{Key: "other"}
			mustTry(t, a, mine, true)
			mustTry(t, b, theirs, false)
			terminate(t, address, a)
			testwait.Until(t, "the next one is granted the key", func() bool {
				held, err := b.Try(t.Context(), theirs)
				return held && err == nil
			})
			mustRelease(t, a, mine, false)
			mustTry(t, a, &drivers.Lease{Key: "k"}, false)
			mustTry(t, a, another, true)
			mustRelease(t, a, another, true)
			mustRelease(t, b, theirs, true)
		}
		old, fresh := &drivers.Lease{Key: "k"}, &drivers.Lease{Key: "k"}
		mustTry(t, a, old, true)
		terminate(t, address, a)
		testwait.Until(t, "the same one is granted the key anew", func() bool {
			held, err := a.Try(t.Context(), fresh)
			return held && err == nil && fresh.Owner != old.Owner
		})
		mustRelease(t, a, old, false)
		mustTry(t, b, &drivers.Lease{Key: "k"}, false)
		mustRelease(t, a, fresh, true)
	})
}

// A server that is killed loses its locks. Meanwhile calls fail, and work again by themselves when it is back, although
// it comes back without what was made there.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("servers go down and come back: make test-all")
	}
	p := servertest.Postgres(t, servers.Options{TCP: true, Conns: 5})
	forDesigns(t, func(t *testing.T, lock string) {
		s := open(t, drivers.Config{Lock: lock, Addrs: []string{p.URL()}, IOTimeout: 5 * time.Second})
		a, b := newSession(t, s), newSession(t, s)
		held := &drivers.Lease{Key: "k"}
		mustTry(t, a, held, true)
		waiting := &drivers.Lease{Key: "k"}
		mustTry(t, b, waiting, false)
		waited := make(chan error)
		go func() { waited <- b.Wait(t.Context(), waiting) }()
		testwait.Until(t, "the waiter waits", func() bool {
			return waits(t, p.URL())
		})
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := <-waited; err == nil || drivers.NoEffect(err) {
			t.Errorf("Wait answered %v when the server died", err)
		}
		for range 2 {
			if owned, _ := a.Release(t.Context(), held); owned { // the server may have said that it goes
				t.Error("Release answered true without a server")
			}
			if granted, err := b.Try(t.Context(), waiting); granted || !drivers.NoEffect(err) || drivers.ClassOf(err) != drivers.ClassConnect {
				t.Errorf("Try answered %v, %v without a server", granted, err)
			}
		}
		if err := p.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.table != "" {
			ask(t, p.URL(), "DROP TABLE "+s.table)
		}
		mustTry(t, b, waiting, true)
		mustRelease(t, a, held, false)
		mustRelease(t, b, waiting, true)
		if err := b.Leave(t.Context(), waiting); err != nil {
			t.Error(err)
		}
		mustTry(t, a, held, true)
		mustRelease(t, a, held, true)
	})
	t.Run("connections", func(t *testing.T) { tooManySessions(t, p.URL()) })
}

// tooManySessions opens sessions until the server accepts no more, which the error must explain.
func tooManySessions(t *testing.T, address string) {
	s := open(t, drivers.Config{Lock: "advisory", Addrs: []string{address}})
	limit := s.Traits().MaxSessions
	if limit < 5 || limit > 11 {
		t.Fatalf("MaxSessions is %d of a server with 15 connections, 3 of them reserved", limit)
	}
	for id := range 15 {
		one, err := s.Session(t.Context(), id)
		if err == nil {
			defer one.(*session).Close()
			continue
		}
		if id < limit { // the tests' user may have the reserved ones as well
			t.Errorf("session %d of %d: %v", id+1, limit, err)
		}
		if !strings.Contains(err.Error(), "max_connections") || drivers.ClassOf(err) != drivers.ClassLimit {
			t.Errorf("the error does not help: %v", err)
		}
		return
	}
	t.Error("a server with 15 connections takes 15 sessions beside the service's own")
}

// A wait that is cancelled does not cost the connection.
func TestCancelledWaitKeepsConnection(t *testing.T) {
	forDesigns(t, func(t *testing.T, lock string) {
		address := server(t)
		s := open(t, drivers.Config{Lock: lock, Addrs: []string{address}})
		a, b := newSession(t, s), newSession(t, s)
		mustTry(t, a, &drivers.Lease{Key: "k"}, true)
		before := b.idle
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			waited := make(chan error)
			go func() { waited <- b.Wait(ctx, &drivers.Lease{Key: "k"}) }()
			testwait.Until(t, "the waiter waits", func() bool { return waits(t, address) })
			cancel()
			if err := <-waited; err != context.Canceled {
				t.Errorf("Wait answered %v", err)
			}
		}
		if b.idle != before || before == nil {
			t.Error("cancelled waits have cost the connection")
		}
	})
}

// Two clients hold what the other one waits for: the server detects that and refuses one of them, which is an answer
// like any refusal. That client keeps what it holds.
func TestDeadlock(t *testing.T) {
	s := open(t, drivers.Config{Lock: "advisory", Addrs: []string{server(t)}})
	sessions := []*session{newSession(t, s), newSession(t, s)}
	keys, held := []string{"k0", "k1"}, make([]*drivers.Lease, 2)
	for i, key := range keys {
		held[i] = &drivers.Lease{Key: key}
		mustTry(t, sessions[i], held[i], true)
	}
	type end struct {
		who int
		err error
	}
	ends := make(chan end, 2)
	for i, w := range sessions {
		go func() {
			ends <- end{i, w.Wait(context.WithoutCancel(t.Context()), &drivers.Lease{Key: keys[1-i]})}
		}()
	}
	victim := <-ends
	if victim.err != nil {
		t.Errorf("Wait of the victim: %v", victim.err)
	}
	mustTry(t, sessions[victim.who], &drivers.Lease{Key: keys[1-victim.who]}, false)
	mustRelease(t, sessions[victim.who], held[victim.who], true)
	if other := <-ends; other.err != nil {
		t.Errorf("Wait of the other one: %v", other.err)
	}
	mustTry(t, sessions[1-victim.who], &drivers.Lease{Key: keys[victim.who]}, true)
}
