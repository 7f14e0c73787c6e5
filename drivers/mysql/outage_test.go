package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// Two clients hold what the other one waits for: the server detects that and refuses one of them, which is an answer
// like any refusal. That client keeps what it holds.
func deadlock(t *testing.T, cfg drivers.Config) {
	cfg.Lock = "get-lock"
	svc := open(t, cfg)
	sessions := []drivers.Session{sessionOf(t, svc), sessionOf(t, svc)}
	keys := []string{"k0", "k1"}
	var held []*drivers.Lease
	for i, s := range sessions {
		held = append(held, holding(t, s, keys[i]))
	}
	type end struct {
		who int
		err error
	}
	ends := make(chan end, 2)
	for i, s := range sessions {
		go func() { ends <- end{i, s.(drivers.Waiter).Wait(context.Background(), lease(keys[1-i]))} }()
	}
	victim := <-ends
	if victim.err != nil {
		t.Errorf("Wait of the victim: %v", victim.err)
	}
	if held, err := sessions[victim.who].Try(t.Context(), lease(keys[1-victim.who])); held || err != nil {
		t.Errorf("Try of the victim: %v, %v", held, err)
	}
	release(t, sessions[victim.who], held[victim.who], true)
	other := <-ends
	if other.err != nil {
		t.Errorf("Wait of the other one: %v", other.err)
	}
	release(t, sessions[other.who], holding(t, sessions[other.who], keys[victim.who]), true)
	release(t, sessions[other.who], held[other.who], true)
}

// If the holder's connection is killed, a lock that belongs to it goes to the next client, and its former holder learns
// of that without an error; a row survives.
func connectionKilled(t *testing.T, cfg drivers.Config) {
	for _, d := range Driver.Designs() {
		t.Run(d.Name, func(t *testing.T) {
			cfg.Lock = d.Name
			svc := open(t, cfg)
			a, b := sessionOf(t, svc), sessionOf(t, svc)
			l, next := holding(t, a, "k"), lease("k")
			admin(t, svc, "SELECT 1") // makes the connection
			if !d.Traits.Session {
				const others = "SELECT 1 FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND command = 'Sleep'"
				admin(t, svc, "BEGIN NOT ATOMIC FOR c IN ("+strings.Replace(others, "1", "id", 1)+") DO KILL c.id; END FOR; END")
				testwait.Until(t, "the connections are gone", func() bool { return admin(t, svc, others) == 0 })
				if held, err := b.Try(t.Context(), next); held || err != nil {
					t.Errorf("Try of a row whose holder has only lost a connection: %v, %v", held, err)
				}
				release(t, a, l, true)
				return
			}
			for _, c := range connsOf(a) {
				admin(t, svc, fmt.Sprint("KILL ", c.id))
			}
			testwait.Until(t, "the key of a killed connection comes free", func() bool {
				held, err := b.Try(t.Context(), next)
				if err != nil {
					t.Fatal(err)
				}
				return held
			})
			release(t, a, l, false)
			release(t, b, next, true)
			release(t, a, holding(t, a, "k"), true)
		})
	}
}

// connsOf returns the connections on which a session holds locks.
func connsOf(s drivers.Session) (list []*conn) {
	switch l := s.(*pinned).locker.(type) {
	case *nameLocker:
		return []*conn{l.conn}
	case *rowLocker:
		for _, c := range l.held {
			list = append(list, c)
		}
	}
	return list
}

// The server sleeps, dies and comes back. Meanwhile there are errors; afterwards everything works.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("servers go down and come back: make test-all")
	}
	server := servertest.MySQL(t, servers.Options{})
	cfg := drivers.Config{Addrs: []string{server.URL()}}
	run := func() string { // which is told by the second of its start: pauses take longer
		about, _, err := open(t, cfg).(drivers.Inspector).Inspect(t.Context())
		if err != nil || about.RunID == "" {
			t.Fatalf("Inspect: run %q, %v", about.RunID, err)
		}
		return about.RunID
	}
	first := run()
	designs := Driver.Designs()
	sessions, held := make([]drivers.Session, len(designs)), make([]*drivers.Lease, len(designs))
	for i, d := range designs {
		cfg.Lock = d.Name
		sessions[i] = sessionOf(t, open(t, cfg))
		held[i] = holding(t, sessions[i], "mine")
		pause(t, server, cfg)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	for i, s := range sessions {
		for range 2 {
			_, err := s.Try(t.Context(), lease("new"))
			if c := drivers.ClassOf(err); c != drivers.ClassConnect && c != drivers.ClassClosed {
				t.Errorf("%s: Try without a server: %v of class %q", designs[i].Name, err, c)
			}
		}
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, s := range sessions {
		// Even a relaxed server does not forget a commit when it is killed, but only when the machine dies.
		release(t, s, held[i], !designs[i].Traits.Session)
		release(t, s, holding(t, s, "k"), true)
	}
	if last := run(); first == last {
		t.Errorf("Inspect says run %q before a restart and after", first)
	}
}

// pause makes the server sleep during a request, whose outcome is unknown. What it grants when it wakes up, although the
// client has hung up, comes free: with the connection, or when its lease ends.
func pause(t *testing.T, server *servers.Server, cfg drivers.Config) {
	cfg.IOTimeout = time.Second
	svc := open(t, cfg)
	a, b := sessionOf(t, svc), sessionOf(t, svc)
	release(t, a, holding(t, a, "k"), true)
	if err := server.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	l, next := &drivers.Lease{Key: "paused", TTL: time.Second}, lease("paused")
	held, err := a.Try(t.Context(), l)
	if held || drivers.ClassOf(err) != drivers.ClassTimeout || drivers.NoEffect(err) {
		t.Errorf("Try on a server that sleeps: %v, %v of class %q", held, err, drivers.ClassOf(err))
	}
	if err := server.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the key is free", func() bool {
		_, _ = a.Release(t.Context(), l)
		if held, failed := b.Try(t.Context(), next); held && failed == nil {
			return true
		} else if failed != nil {
			_, _ = b.Release(t.Context(), next)
		}
		return false
	})
	release(t, b, next, true)
}

// A client whose wait is ended leaves nothing on the server, and keeps its other holds.
func cancelledWait(t *testing.T, cfg drivers.Config) {
	for _, lock := range []string{"row-lock", "get-lock"} {
		t.Run(lock, func(t *testing.T) {
			cfg.Lock = lock
			svc, watcher := open(t, cfg), open(t, cfg)
			a, b := sessionOf(t, svc), sessionOf(t, svc)
			l, kept := holding(t, a, "k"), holding(t, b, "kept")
			waits := func() int {
				return admin(t, watcher, "SELECT 1 FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND command = 'Query'")
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			w := b.(drivers.Waiter)
			go func() { ended <- w.Wait(ctx, lease("k")) }()
			testwait.Until(t, "a statement waits", func() bool { return waits() == 1 })
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("Wait: %v", err)
			}
			if err := w.Leave(t.Context(), lease("k")); err != nil {
				t.Error(err)
			}
			testwait.Until(t, "no statement waits", func() bool { return waits() == 0 })
			release(t, b, kept, true)
			release(t, a, l, true)
			release(t, b, holding(t, b, "k"), true)

			// The end of the service ends a wait as well.
			holding(t, a, "k")
			go func() { ended <- w.Wait(context.Background(), lease("k")) }()
			testwait.Until(t, "a statement waits", func() bool { return waits() == 1 })
			if err := svc.Close(); err != nil {
				t.Error(err)
			}
			if err := <-ended; err == nil || !strings.Contains(err.Error(), "closed") {
				t.Errorf("Wait on a service that was closed: %v", err)
			}
		})
	}
}
