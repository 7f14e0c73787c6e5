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
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

func open(t *testing.T, cfg drivers.Config) drivers.Service {
	t.Helper()
	cfg.Prefix = "test:"
	return drivertest.Open(t, Driver, cfg)
}

func sessionOf(t *testing.T, svc drivers.Service) drivers.Session {
	t.Helper()
	s, err := svc.Session(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func lease(key string) *drivers.Lease { return &drivers.Lease{Key: key, TTL: time.Minute} }

func holding(t *testing.T, s drivers.Session, key string) *drivers.Lease {
	t.Helper()
	l := lease(key)
	if held, err := s.Try(t.Context(), l); !held || err != nil {
		t.Fatalf("Try of %q: %v, %v", key, held, err)
	}
	return l
}

func release(t *testing.T, s drivers.Session, l *drivers.Lease, want bool) {
	t.Helper()
	if owned, err := s.Release(t.Context(), l); owned != want || err != nil {
		t.Fatalf("Release of %q: %v, %v; want %v", l.Key, owned, err, want)
	}
}

// base returns what all sessions have in common.
func base(s drivers.Session) (*session, []*conn) {
	switch s := s.(type) {
	case *rowSession:
		return s.session, s.svc.pool.idle
	case *txSession:
		var list []*conn
		for _, c := range s.held {
			list = append(list, c)
		}
		return s.session, list
	case *nameSession:
		return s.session, []*conn{s.conn}
	}
	panic("another design")
}

// admin runs a statement on a separate connection.
func admin(t *testing.T, svc drivers.Service, query string, args ...any) (rows int) {
	t.Helper()
	s, _ := svc.(*service)
	if r, ok := svc.(rowService); ok {
		s = r.service
	}
	if err := s.controlled(t.Context(), "test", func(c *conn) error {
		list, err := c.rowsWithin(t.Context(), 0, query, args...)
		rows = len(list)
		return err
	}); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return rows
}

// One server is enough for the tests that do not harm it.
func TestOnServer(t *testing.T) {
	t.Parallel()
	cfg := config(servertest.MySQL(t, servers.Options{Conns: 123}), nil)
	for name, test := range map[string]func(*testing.T, drivers.Config){
		"foreign table":     foreignTable,
		"table":             table,
		"shared table":      sharedTable,
		"long names":        longNames,
		"first row":         firstRow,
		"fairness":          fairness,
		"inspect":           inspect,
		"cancelled wait":    cancelledWait,
		"connection killed": connectionKilled,
		"stuck statement":   stuckStatement,
		"deadlock":          deadlock,
		"statements":        statements,
	} {
		t.Run(name, func(t *testing.T) { test(t, cfg) })
	}
}

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

// A statement is sent as text once per connection, unless the server has no room for prepared ones.
func statements(t *testing.T, cfg drivers.Config) {
	cfg.Lock, cfg.Clients = "unique-row", 1
	svc := open(t, cfg)
	const stmts = "SHOW GLOBAL STATUS WHERE Variable_name = 'Prepared_stmt_count' AND Value = '%d'"
	s := sessionOf(t, svc)
	for range 3 {
		release(t, s, holding(t, s, "k"), true)
	}
	testwait.Until(t, "the server has only two statements, to take and to free", func() bool {
		return admin(t, svc, fmt.Sprintf(stmts, 2)) == 1
	})
	if err := svc.Close(); err != nil {
		t.Error(err)
	}
	svc = open(t, cfg)
	greedy, err := svc.(rowService).dial(t.Context(), forStatements)
	if err != nil {
		t.Fatal(err)
	}
	defer greedy.close()
	// Each of them has the whole time limit, however long ago the connection was made or did something else.
	if err := greedy.wire.SetDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	for n := 0; numberOf(err) != errTooManyStmts; n++ { // its limit is 16382, and only an administrator can change it
		if _, err = greedy.prepare(t.Context(), fmt.Sprintf("DO %d", n)); err != nil && numberOf(err) != errTooManyStmts {
			t.Fatal(err)
		}
	}
	s = sessionOf(t, svc)
	release(t, s, holding(t, s, "k"), true)
}

// If the holder's connection is killed, a lock that belongs to it goes to the next client, and its former holder learns
// of that without an error; a row survives.
func connectionKilled(t *testing.T, cfg drivers.Config) {
	for _, d := range Driver.Designs() {
		t.Run(d.Name, func(t *testing.T) {
			cfg.Lock = d.Name
			svc := open(t, cfg)
			a, b := sessionOf(t, svc), sessionOf(t, svc)
			l := holding(t, a, "k")
			_, conns := base(a)
			for _, c := range conns {
				admin(t, svc, "KILL ?", c.id)
			}
			if !d.Traits.Session {
				if held, err := b.Try(t.Context(), lease("k")); held || err != nil {
					t.Errorf("Try of a row whose holder has only lost a connection: %v, %v", held, err)
				}
				release(t, a, l, true)
				return
			}
			next := lease("k")
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

// The server sleeps, dies and comes back. Meanwhile there are errors; afterwards everything works.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("servers go down and come back: make test-all")
	}
	server := servertest.MySQL(t, servers.Options{})
	cfg := config(server, nil)
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

// pause makes the server sleep during a request. It reads the request when it wakes up, although the client has given
// up and hung up: what it grants then must be free when the release of the unknown outcome is answered.
func pause(t *testing.T, server *servers.Server, cfg drivers.Config) {
	cfg.IOTimeout = time.Second
	svc := open(t, cfg)
	a, b := sessionOf(t, svc), sessionOf(t, svc)
	release(t, a, holding(t, a, "k"), true)
	if err := server.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	l := lease("k")
	held, err := a.Try(t.Context(), l)
	if held || drivers.ClassOf(err) != drivers.ClassTimeout || drivers.NoEffect(err) {
		t.Errorf("Try on a server that sleeps: %v, %v of class %q", held, err, drivers.ClassOf(err))
	}
	if _, err := a.Release(t.Context(), l); err == nil {
		t.Error("Release has answered on a server that sleeps")
	}
	if err := server.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the outcome is known", func() bool {
		_, err := a.Release(t.Context(), l)
		return err == nil
	})
	release(t, b, holding(t, b, "k"), true)
}

// A statement is stuck in the server when its client gives up. It must not be granted the lock after that.
func stuckStatement(t *testing.T, cfg drivers.Config) {
	cfg.IOTimeout = time.Second
	svc := open(t, cfg)
	s := sessionOf(t, svc)
	release(t, s, holding(t, s, "k"), true)
	in := svc.(rowService).service
	blocker, err := in.dial(t.Context(), forTransactions)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blocker.row(t.Context(), in.onTable("SELECT 1 FROM `%` WHERE k = 'k' FOR UPDATE")); err != nil {
		t.Fatal(err)
	}
	l := lease("k")
	if held, err := s.Try(t.Context(), l); held || drivers.ClassOf(err) != drivers.ClassTimeout || drivers.NoEffect(err) {
		t.Fatalf("Try of a row that is locked: %v, %v; want a time-out", held, err)
	}
	id := s.(*rowSession).lost[0].id
	if owned, err := s.Release(t.Context(), l); owned || err == nil {
		// It cannot be sure: its own statement waits for the row as well.
		t.Fatalf("Release of a row that is locked: %v, %v", owned, err)
	}
	testwait.Until(t, "the connection that was given up is gone", func() bool {
		return admin(t, svc, "SELECT 1 FROM information_schema.processlist WHERE id = ?", id) == 0
	})
	blocker.close()
	release(t, s, l, false)
	release(t, s, holding(t, s, "k"), true)
}

// A client whose wait is ended leaves nothing on the server, and keeps its other holds.
func cancelledWait(t *testing.T, cfg drivers.Config) {
	for _, lock := range []string{"row-lock", "get-lock"} {
		t.Run(lock, func(t *testing.T) {
			cfg.Lock = lock
			svc := open(t, cfg)
			a, b := sessionOf(t, svc), sessionOf(t, svc)
			l, kept := holding(t, a, "k"), holding(t, b, "kept")
			const waiting = "SELECT 1 FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND command = 'Query'"
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			w := b.(drivers.Waiter)
			go func() { ended <- w.Wait(ctx, lease("k")) }()
			testwait.Until(t, "a statement waits", func() bool { return admin(t, svc, waiting) == 1 })
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("Wait: %v", err)
			}
			if err := w.Leave(t.Context(), lease("k")); err != nil {
				t.Error(err)
			}
			testwait.Until(t, "no statement waits", func() bool { return admin(t, svc, waiting) == 0 })
			release(t, b, kept, true)
			release(t, a, l, true)
			release(t, b, holding(t, b, "k"), true)

			// The end of the service ends a wait as well.
			holding(t, a, "k")
			go func() { ended <- w.Wait(context.Background(), lease("k")) }()
			testwait.Until(t, "a statement waits", func() bool { return admin(t, svc, waiting) == 1 })
			if err := svc.Close(); err != nil {
				t.Error(err)
			}
			if err := <-ended; err == nil || !strings.Contains(err.Error(), "closed") {
				t.Errorf("Wait on a service that was closed: %v", err)
			}
		})
	}
}
