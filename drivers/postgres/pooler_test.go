package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// pooled is a server and the pooler before it.
type pooled struct {
	*servers.Server
	server *servers.Postgres
}

func (p pooled) Close() error { return errors.Join(p.Server.Close(), p.server.Close()) }

var sharedPooler = servertest.Share(func(ctx context.Context) (pooled, error) {
	if _, err := servers.FindPgBouncer(); err != nil {
		return pooled{}, err
	}
	server, err := servers.StartPostgres(ctx, servers.Options{TCP: true, Conns: 150})
	if err != nil {
		return pooled{}, err
	}
	pooler, err := servers.StartPgBouncer(ctx, server)
	if err != nil {
		return pooled{}, errors.Join(err, server.Close())
	}
	return pooled{pooler, server}, nil
})

// A pooler is refused with a hint, unless the address says that nothing is to be prepared.
func TestPoolerHint(t *testing.T) {
	address := sharedPooler.Get(t).URL()
	for _, ttl := range []time.Duration{0, time.Second} { // with one the driver asks for keep-alive, which the pooler rejects
		_, err := driver{}.Open(t.Context(), drivers.Config{Addrs: []string{address}, TTL: ttl})
		if err == nil || !strings.Contains(err.Error(), "PgBouncer") || !strings.Contains(err.Error(), "add pgbouncer=true") {
			t.Errorf("TTL %v: Open answered %v", ttl, err)
		}
	}
	_, err := driver{}.Open(t.Context(), drivers.Config{Addrs: []string{address + "?default_query_exec_mode=simple_protocol"}})
	if err == nil || !strings.Contains(err.Error(), "give exec") {
		t.Errorf("another mode: %v", err)
	}
}

// What a session of the server holds belongs to all clients of a pooler.
func TestAdvisoryBehindPooler(t *testing.T) {
	if testing.Short() {
		t.Skip("a pooler: make test-all")
	}
	s := open(t, drivers.Config{Lock: "advisory", Addrs: []string{sharedPooler.Get(t).URL() + "?default_query_exec_mode=exec"}, TTL: time.Second})
	a, b := newSession(t, s), newSession(t, s)
	first, second := &drivers.Lease{Key: "k"}, &drivers.Lease{Key: "k"}
	mustTry(t, a, first, true)
	mustTry(t, b, second, true)
	mustRelease(t, b, second, true)
	mustRelease(t, a, first, true)
}

// Inspect tells that a pooler lends connections, and not of one that keeps them for a session, nor without one.
func TestLendingIsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("a pooler: make test-all")
	}
	p := sharedPooler.Get(t)
	for _, tt := range []struct{ address, database, mode string }{
		{p.URL(), "postgres", drivers.Lent}, {p.URL(), "sessions", "standalone"}, {p.server.URL(), "postgres", "standalone"},
	} {
		s := open(t, drivers.Config{Lock: "advisory", Addrs: []string{tt.address + "?pgbouncer=true"}, Database: tt.database})
		if about, _, err := s.Inspect(t.Context()); err != nil || about.Mode != tt.mode {
			t.Errorf("%s, %s: the mode is %q, %v; want %q", tt.address, tt.database, about.Mode, err, tt.mode)
		}
	}
}

// A pooler of sessions lets in more clients than it has connections for.
func TestPoolerHasNoConnection(t *testing.T) {
	if testing.Short() {
		t.Skip("a request has to time out: make test-all")
	}
	s := open(t, drivers.Config{
		Lock: "advisory", Addrs: []string{sharedPooler.Get(t).URL() + "?pgbouncer=true"}, Database: "sessions", IOTimeout: time.Second,
	})
	newSession(t, s)
	if _, err := s.Session(t.Context(), 1); drivers.ClassOf(err) != drivers.ClassLimit || !strings.Contains(err.Error(), "pool_size") {
		t.Errorf("a third connection: %v", err)
	}
}

// A transaction keeps its connection, and so does what says that the table is in use.
func TestRowLockBehindPooler(t *testing.T) {
	if testing.Short() {
		t.Skip("a pooler: make test-all")
	}
	p := sharedPooler.Get(t)
	cfg := drivers.Config{Lock: "row-lock", Addrs: []string{p.URL() + "?pgbouncer=true&schema=public"}, Prefix: "pooled:"}
	first, second := open(t, cfg), open(t, cfg)
	a, b := newSession(t, first), newSession(t, second)
	l := &drivers.Lease{Key: "k"}
	mustTry(t, a, l, true)
	mustTry(t, b, &drivers.Lease{Key: "k"}, false)
	if states := ask(t, p.server.URL(), "SELECT state FROM pg_stat_activity WHERE state LIKE '%aborted%'"); len(states) > 0 {
		t.Errorf("a refusal keeps %d connections of the pooler", len(states))
	}
	mustRelease(t, a, l, true)
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	mustTry(t, b, l, true)
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if got := ask(t, p.server.URL(), `SELECT to_regclass('"pooled:rows"')`); got[0] != "" {
		t.Errorf("the table %s stays", got[0])
	}
}

func TestConformanceBehindPooler(t *testing.T) {
	t.Parallel() // the servers of the pooler are its own
	if testing.Short() {
		t.Skip("a pooler: make test-all")
	}
	addr, proxies := behind(t, sharedPooler.Get(t).URL())
	proxies.Run(t, drivertest.Setup{
		Driver: driver{},
		Config: drivers.Config{Lock: "row-lock", Addrs: []string{addr + "?default_query_exec_mode=exec"}, IOTimeout: 2 * time.Second},
	})
}
