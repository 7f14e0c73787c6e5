package postgres

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// open opens a service that ends with the test.
func open(t *testing.T, cfg drivers.Config) *service {
	t.Helper()
	if cfg.Prefix == "" {
		var unique drivers.Owners
		cfg.Prefix = "test:" + unique.Next() + ":"
	}
	s, err := driver{}.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(*service)
}

func newSession(t *testing.T, s *service) session {
	t.Helper()
	one, err := s.Session(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { one.(session).Close() })
	return one.(session)
}

// relay accepts connections for a target and lets between do the rest, until the test ends.
func relay(t *testing.T, target string, between func(client, server net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	var all sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				continue
			}
			mu.Lock()
			open = append(open, client, server)
			mu.Unlock()
			all.Go(func() {
				defer client.Close()
				between(client, server)
			})
		}
	})
	return l.Addr().String()
}

// ask runs a statement as somebody else and returns the first value of each row.
func ask(t *testing.T, address, statement string) []string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	c, err := pgconn.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	results, err := c.Exec(ctx, statement).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, r := range results {
		for _, row := range r.Rows {
			values = append(values, string(row[0]))
		}
	}
	return values
}

func mustTry(t *testing.T, s drivers.Session, l *drivers.Lease, want bool) {
	t.Helper()
	if held, err := s.Try(t.Context(), l); held != want || err != nil {
		t.Fatalf("Try answered %v, %v; want %v", held, err, want)
	}
}

func mustRelease(t *testing.T, s drivers.Session, l *drivers.Lease, want bool) {
	t.Helper()
	if owned, err := s.Release(t.Context(), l); owned != want || err != nil {
		t.Fatalf("Release answered %v, %v; want %v", owned, err, want)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

// forDesigns runs a test for each design.
func forDesigns(t *testing.T, f func(t *testing.T, lock string)) {
	for _, d := range designs {
		t.Run(d.Name, func(t *testing.T) { f(t, d.Name) })
	}
}

// backends are the names of the connections of a service, its own included, as the server knows them.
func backends(t *testing.T, address string, s *service) []string {
	return ask(t, address, "SELECT application_name FROM pg_stat_activity WHERE application_name LIKE 'lockbench "+s.token+" %'")
}

// The server, or its administrator, ends the connection of a holder that lives on: the lock is the next one's at once,
// and the holder, who does not know, hears of it when he releases. A second time he is told by his own socket.
func TestConnectionEndedUnderHolder(t *testing.T) {
	forDesigns(t, func(t *testing.T, lock string) {
		address := server(t)
		s := open(t, drivers.Config{Lock: lock, Addrs: []string{address}})
		a, b := newSession(t, s), newSession(t, s)
		for range 2 {
			mine, theirs, another := &drivers.Lease{Key: "k"}, &drivers.Lease{Key: "k"}, &drivers.Lease{Key: "other"}
			mustTry(t, a, mine, true)
			mustTry(t, b, theirs, false)
			ask(t, address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '"+nameOf(a)+"'")
			eventually(t, "the next one is granted the key", func() bool {
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
		ask(t, address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '"+nameOf(a)+"'")
		eventually(t, "the same one is granted the key anew", func() bool {
			held, err := a.Try(t.Context(), fresh)
			return held && err == nil && fresh.Owner != old.Owner
		})
		mustRelease(t, a, old, false)
		mustTry(t, b, &drivers.Lease{Key: "k"}, false)
		mustRelease(t, a, fresh, true)
		if left := backends(t, address, s); len(left) != 3 {
			t.Errorf("of two sessions and the service there are the connections %q", left)
		}
	})
}

// A client whose reply is lost gives its connection up. The server may not hear of that for hours, and what it has
// granted meanwhile must not stay.
func TestServerDoesNotHearOfTheEnd(t *testing.T) {
	forDesigns(t, func(t *testing.T, lock string) {
		address := server(t)
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		var mute atomic.Bool
		u.Host = relay(t, u.Host, func(client, server net.Conn) {
			go io.Copy(server, client) // which does not pass an end on
			buf := make([]byte, 4096)
			for {
				n, err := server.Read(buf)
				if err != nil {
					return
				}
				if !mute.Load() {
					client.Write(buf[:n])
				}
			}
		})
		cfg := drivers.Config{Lock: lock, Addrs: []string{u.String()}, Prefix: "deaf:" + lock + ":", IOTimeout: 5 * time.Second}
		far := open(t, cfg)
		cfg.Addrs = []string{address}
		other := newSession(t, open(t, cfg))
		one := newSession(t, far)
		first := &drivers.Lease{Key: "k"}
		for _, reconnects := range []bool{false, true} { // first by the release, then before
			mustTry(t, one, first, true) // there is a connection, and the row
			mustRelease(t, one, first, true)
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error)
			l := &drivers.Lease{Key: "k"}
			mute.Store(true)
			go func() {
				_, err := one.Try(ctx, l)
				failed <- err
			}()
			eventually(t, "the key is granted", func() bool {
				return len(ask(t, address, "SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.mode = 'ExclusiveLock' "+
					"AND l.locktype IN ('advisory', 'transactionid') AND a.application_name LIKE 'lockbench "+far.token+" %'")) > 0
			})
			cancel()
			if err := <-failed; drivers.ClassOf(err) != drivers.ClassCanceled || drivers.Refused(err) {
				t.Errorf("Try answered %v, and no reply arrived", err)
			}
			mute.Store(false)
			mustTry(t, other, first, false) // the server has heard nothing
			if reconnects {
				another := &drivers.Lease{Key: "another"}
				mustTry(t, one, another, true)
				mustRelease(t, one, another, true)
			}
			mustRelease(t, one, l, false)
			mustTry(t, other, first, true)
			mustRelease(t, other, first, true)
		}
	})
}

// A server that is killed takes its locks along. Meanwhile calls fail, and go on by themselves when it is back, though
// it comes back without what was made there.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	p := servertest.Postgres(t, servers.PostgresOptions{TCP: true, Conns: 5})
	for _, empty := range []bool{false, true} {
		forDesigns(t, func(t *testing.T, lock string) {
			s := open(t, drivers.Config{Lock: lock, Addrs: []string{p.URL()}, IOTimeout: 5 * time.Second})
			a, b := newSession(t, s), newSession(t, s)
			held := &drivers.Lease{Key: "k"}
			mustTry(t, a, held, true)
			waiting := &drivers.Lease{Key: "k"}
			mustTry(t, b, waiting, false)
			waited := make(chan error)
			go func() { waited <- b.Wait(t.Context(), waiting) }()
			eventually(t, "the waiter waits", func() bool {
				return len(ask(t, p.URL(), "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'")) > 0
			})
			if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := <-waited; err == nil || drivers.Refused(err) {
				t.Errorf("Wait answered %v when the server died", err)
			}
			for range 2 {
				if owned, err := a.Release(t.Context(), held); owned || err == nil {
					t.Errorf("Release answered %v, %v without a server", owned, err)
				}
				if granted, err := b.Try(t.Context(), waiting); granted || !drivers.Refused(err) || drivers.ClassOf(err) != drivers.ClassConnect {
					t.Errorf("Try answered %v, %v without a server", granted, err)
				}
			}
			if err := p.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if empty && s.table != "" {
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
	}
	t.Run("connections", func(t *testing.T) { tooManySessions(t, p.URL()) })
}

// tooManySessions opens sessions until the server takes no more, which it has to say in words that help.
func tooManySessions(t *testing.T, address string) {
	s := open(t, drivers.Config{Lock: "advisory", Addrs: []string{address}})
	limit := s.Traits().MaxSessions
	if limit < 5 || limit > 11 {
		t.Fatalf("MaxSessions is %d of a server with 15 connections, 3 of them reserved", limit)
	}
	for id := range limit + 4 {
		one, err := s.Session(t.Context(), id)
		if err == nil {
			defer one.(session).Close()
			continue
		}
		if id < limit { // the tests' user may have the reserved ones as well
			t.Errorf("session %d of %d: %v", id+1, limit, err)
		}
		if !strings.Contains(err.Error(), "max_connections") || drivers.ClassOf(err) != drivers.ClassConnect {
			t.Errorf("the error does not help: %v", err)
		}
		return
	}
	t.Errorf("a server with 15 connections takes %d sessions", limit+4)
}

// Waits that are cancelled, time out and succeed just then leave nothing behind: no lock, no transaction, no connection.
func TestStormOfWaits(t *testing.T) {
	forDesigns(t, func(t *testing.T, lock string) {
		t.Parallel()
		address := server(t)
		s := open(t, drivers.Config{Lock: lock, Addrs: []string{address}})
		const waiters, rounds = 12, 25
		done := make(chan struct{})
		var holding, waiting sync.WaitGroup
		holder := newSession(t, s)
		holding.Go(func() { // hands the key over often, so that grants and cancels meet
			for l := (&drivers.Lease{Key: "k"}); ; {
				select {
				case <-done:
					return
				default:
				}
				if held, err := holder.Try(t.Context(), l); err != nil {
					t.Error(err)
					return
				} else if held {
					time.Sleep(200 * time.Microsecond)
					if owned, err := holder.Release(t.Context(), l); !owned || err != nil {
						t.Errorf("Release answered %v, %v", owned, err)
						return
					}
				}
			}
		})
		granted, gaveUp := 0, 0
		var mu sync.Mutex
		for w := range waiters {
			one := newSession(t, s)
			waiting.Go(func() {
				for round := range rounds {
					l := &drivers.Lease{Key: "k"}
					ctx, cancel := context.WithCancel(t.Context())
					after := time.Duration(w*rounds+round) * 17 % 5000 * time.Microsecond
					if round%2 == 0 {
						time.AfterFunc(after, cancel)
					} else {
						l.Deadline = time.Now().Add(after)
					}
					err := one.Wait(ctx, l)
					if err != nil && ctx.Err() == nil {
						t.Errorf("Wait: %v", err)
					}
					if err == nil && round%3 == 0 {
						if held, err := one.Try(t.Context(), l); err != nil {
							t.Error(err)
						} else if held {
							if owned, err := one.Release(t.Context(), l); !owned || err != nil {
								t.Errorf("Release answered %v, %v", owned, err)
							}
						}
					}
					mu.Lock()
					if err == nil {
						granted++
					} else {
						gaveUp++
					}
					mu.Unlock()
					if err := one.Leave(t.Context(), l); err != nil {
						t.Errorf("Leave: %v", err)
					}
					cancel()
				}
			})
		}
		waiting.Wait()
		close(done)
		holding.Wait()
		if granted == 0 || gaveUp == 0 {
			t.Errorf("%d waits came to an end and %d were cancelled: nothing was tested", granted, gaveUp)
		}
		mustTry(t, holder, &drivers.Lease{Key: "k"}, true)
		left := ask(t, address, `SELECT a.application_name || ' ' || l.locktype || ' ' || l.mode FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE a.application_name LIKE 'lockbench `+s.token+` %' AND (l.mode = 'ExclusiveLock' OR NOT l.granted) AND l.locktype <> 'virtualxid'`)
		if len(left) != 1 || !strings.HasPrefix(left[0], nameOf(holder)+" ") {
			t.Errorf("the holder is %s, and these locks are left: %q", nameOf(holder), left)
		}
		if names := backends(t, address, s); len(names) != waiters+2 {
			t.Errorf("%d sessions and the service have %d connections", waiters+1, len(names))
		}
	})
}

// nameOf is the connection with which a session holds the key k.
func nameOf(s session) string {
	switch s := s.(type) {
	case *advisory:
		return s.conn.name
	case *rowLock:
		return s.holds["k"].conn.name
	}
	panic(fmt.Sprintf("%T", s))
}

// A wait that is cancelled does not cost the connection.
func TestCancelledWaitKeepsConnection(t *testing.T) {
	forDesigns(t, func(t *testing.T, lock string) {
		address := server(t)
		s := open(t, drivers.Config{Lock: lock, Addrs: []string{address}})
		a, b := newSession(t, s), newSession(t, s)
		mustTry(t, a, &drivers.Lease{Key: "k"}, true)
		before := s.dialed.Load()
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			waited := make(chan error)
			go func() { waited <- b.Wait(ctx, &drivers.Lease{Key: "k"}) }()
			eventually(t, "the waiter waits", func() bool {
				return len(ask(t, address, "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "+
					"application_name LIKE 'lockbench "+s.token+" %'")) > 0
			})
			cancel()
			if err := <-waited; err != context.Canceled {
				t.Errorf("Wait answered %v", err)
			}
		}
		mustTry(t, b, &drivers.Lease{Key: "other"}, true)
		if n := s.dialed.Load() - before; n != 0 {
			t.Errorf("three cancelled waits have cost %d connections", n)
		}
	})
}

// A table that lockbench has not made stays as it is. One that it has made is shared by all services of the same
// prefix, and the last of them takes it away.
func TestTable(t *testing.T) {
	address := server(t)
	ask(t, address, `CREATE TABLE "mine:rows" AS SELECT 42 AS answer`)
	t.Cleanup(func() { ask(t, address, `DROP TABLE "mine:rows"`) })
	_, err := driver{}.Open(t.Context(), drivers.Config{Lock: "row-lock", Addrs: []string{address}, Prefix: "mine:"})
	if err == nil || !strings.Contains(err.Error(), "lockbench has not made") {
		t.Errorf("Open answered %v", err)
	}
	if got := ask(t, address, `SELECT answer FROM "mine:rows"`); len(got) != 1 || got[0] != "42" {
		t.Errorf("the user's table has %q", got)
	}

	cfg := drivers.Config{Lock: "row-lock", Addrs: []string{address}, Prefix: strings.Repeat("äö'\"", 20)}
	first, second := open(t, cfg), open(t, cfg)
	a, b := newSession(t, first), newSession(t, second)
	l := &drivers.Lease{Key: "k"}
	mustTry(t, a, l, true)
	mustTry(t, b, &drivers.Lease{Key: "k"}, false)
	mustRelease(t, a, l, true)
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	mustTry(t, b, l, true)
	name := strings.ReplaceAll(second.table, "'", "''")
	if got := ask(t, address, "SELECT to_regclass('"+name+"')"); got[0] == "" {
		t.Error("the table went with the first service, another having come later")
	}
	if err := second.Close(); err != nil { // though a session of it holds a lock
		t.Error(err)
	}
	if got := ask(t, address, "SELECT to_regclass('"+name+"')"); got[0] != "" {
		t.Errorf("the table %s stays", got[0])
	}
}

// A user without privileges works in a database of his own, and is told what he lacks elsewhere. He may end connections
// of his own, and sees enough of the others' to count them.
func TestPlainUser(t *testing.T) {
	address := server(t)
	ask(t, address, "CREATE ROLE plain LOGIN")
	ask(t, address, "CREATE DATABASE theirs OWNER plain")
	t.Cleanup(func() {
		ask(t, address, "DROP DATABASE theirs WITH (FORCE)")
		ask(t, address, "DROP ROLE plain")
	})
	ask(t, address, "REVOKE CREATE ON SCHEMA public FROM public") // as it is from version 15 on
	cfg := drivers.Config{Lock: "row-lock", Addrs: []string{address}, Username: "plain"}
	if _, err := (driver{}).Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "GRANT CREATE") || drivers.ClassOf(err) != drivers.ClassAuth {
		t.Errorf("row-lock without the right to make a table: %v", err)
	}
	for _, cfg := range []drivers.Config{
		{Lock: "advisory", Addrs: []string{address}, Username: "plain"},
		{Lock: "row-lock", Addrs: []string{address}, Username: "plain", Database: "theirs"},
	} {
		s := open(t, cfg)
		if limit := s.Traits().MaxSessions; limit < 10 || limit > 160-3-1 {
			t.Errorf("%s: MaxSessions is %d of a server with 160 connections, 3 of them reserved", cfg.Lock, limit)
		}
		one := newSession(t, s)
		for range 2 {
			l := &drivers.Lease{Key: "k"}
			mustTry(t, one, l, true)
			switch one := one.(type) { // the next Try has to end the connection that holds the key
			case *advisory:
				one.lose()
			case *rowLock:
				one.giveUp(one.holds["k"].conn)
			}
			mustTry(t, one, l, true)
			mustRelease(t, one, l, true)
		}
	}
}

// The keys of a run must not meet by the way in which names are made.
func TestKeysDiffer(t *testing.T) {
	seen := make(map[uint64]string, 400_000)
	for _, form := range []string{"lockbench:%d", "lockbench:Zk3vb0c9q1:%d", "%d", "lock:{%d}:x"} {
		for i := range 100_000 {
			name := fmt.Sprintf(form, i)
			if other, taken := seen[keyOf(name)]; taken {
				t.Fatalf("%q and %q have the same key", name, other)
			}
			seen[keyOf(name)] = name
		}
	}
	if got := keyOf("a"); got != 0xaf63dc4c8601ec8c {
		t.Errorf("the key of a is %x, not what FNV-1a has", got)
	}
}

// What a session has exchanged is counted once, also after it has gone.
func TestTraffic(t *testing.T) {
	forDesigns(t, func(t *testing.T, lock string) {
		s := open(t, drivers.Config{Lock: lock, Addrs: []string{server(t)}})
		one := newSession(t, s)
		l := &drivers.Lease{Key: "k"}
		mustTry(t, one, l, true) // which makes the row
		mustRelease(t, one, l, true)
		before := s.Traffic()
		for range 5 {
			mustTry(t, one, l, true)
			mustRelease(t, one, l, true)
		}
		if n := s.Traffic().RoundTrips - before.RoundTrips; n != 10 {
			t.Errorf("5 acquisitions and releases took %d round trips; want 10", n)
		}
		open := s.Traffic()
		one.Close()
		if closed := s.Traffic(); closed != open {
			t.Errorf("%+v became %+v when the session was closed", open, closed)
		}
	})
}
