package mysql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

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
	return drivertest.SessionOf[drivers.Session](t, svc, 0)
}

func lease(key string) *drivers.Lease { return &drivers.Lease{Key: key, TTL: 5 * 60e9} }

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

// inside returns the service within what Open returns.
func inside(svc drivers.Service) *service {
	if r, ok := svc.(rowService); ok {
		return r.service
	}
	return svc.(*service)
}

// admin runs a statement on a connection of the service's own, and returns the number of rows.
func admin(t *testing.T, svc drivers.Service, query string, args ...any) (n int) {
	t.Helper()
	rows, err := inside(svc).own.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		n++
	}
	return n
}

// tables returns how many tables of locks there are.
func tables(t *testing.T, svc drivers.Service) int {
	t.Helper()
	return admin(t, svc, "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE()")
}

// One server is enough for the tests that do not harm it.
func TestOnServer(t *testing.T) {
	t.Parallel()
	cfg := drivers.Config{Addrs: []string{servertest.MySQL(t, servers.Options{Conns: 123}).URL()}}
	for name, test := range map[string]func(*testing.T, drivers.Config){
		"cancelled open":    cancelledOpen,
		"table":             table,
		"shared table":      sharedTable,
		"long names":        longNames,
		"first row":         firstRow,
		"fairness":          fairness,
		"inspect":           inspect,
		"cancelled wait":    cancelledWait,
		"connection killed": connectionKilled,
		"deadlock":          deadlock,
	} {
		t.Run(name, func(t *testing.T) { test(t, cfg) })
	}
}

// Open ends while the server makes the table, which a statement under way delays. It leaves no table.
func cancelledOpen(t *testing.T, cfg drivers.Config) {
	cfg.Lock = "get-lock"
	svc := open(t, cfg)
	other, err := inside(svc).dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slow := tableName("test:", "row-lock")
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = other.wait(t.Context(), lease(""), "CREATE TABLE `"+slow+"` AS SELECT SLEEP(?)", 1000)
	}()
	waiting := func(state string) func() bool {
		return func() bool {
			return admin(t, svc, "SELECT 1 FROM information_schema.processlist WHERE info LIKE 'CREATE TABLE%' AND state LIKE ?", state) > 0
		}
	}
	testwait.Until(t, "the other statement has not begun", waiting("User sleep"))
	ctx, cancel := context.WithCancel(t.Context())
	opened := make(chan error, 1)
	go func() {
		cfg.Lock, cfg.Prefix = "row-lock", "test:"
		_, err := Driver.Open(ctx, cfg)
		opened <- err
	}()
	testwait.Until(t, "CREATE TABLE has not begun", waiting("Waiting for table metadata lock"))
	cancel()
	admin(t, svc, fmt.Sprint("KILL QUERY ", other.id))
	<-over
	if err := <-opened; !errors.Is(err, context.Canceled) {
		t.Errorf("Open returned %v; want context.Canceled", err)
	}
	if n := tables(t, svc); n > 0 {
		t.Errorf("%d tables are left", n)
	}
}

// Services with the same prefix use one table, and the last one to close drops it, even if the connection by which they
// know of each other was cut.
func sharedTable(t *testing.T, cfg drivers.Config) {
	cfg.Lock = "get-lock"
	watcher := open(t, cfg)
	for _, lock := range []string{"unique-row", "row-lock"} {
		cfg.Lock = lock
		first, second, third := open(t, cfg), open(t, cfg), open(t, cfg)
		a, b := sessionOf(t, first), sessionOf(t, second)
		held := holding(t, b, "k")
		if held, err := a.Try(t.Context(), lease("k")); held || err != nil {
			t.Errorf("%s: Try of what another service holds: %v, %v", lock, held, err)
		}
		s := inside(second)
		var id int64
		if err := s.keeper.conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		admin(t, watcher, fmt.Sprint("KILL ", id))
		testwait.Until(t, "the connection is gone", func() bool { return !alive(s.keeper.conn) })
		if c, err := s.sessions.Conn(t.Context()); err != nil { // like every session that was cut as well
			t.Fatal(err)
		} else if err = c.Close(); err != nil {
			t.Error(err)
		}
		for i, svc := range []drivers.Service{first, third} {
			if err := svc.Close(); err != nil {
				t.Error(err)
			}
			if n := tables(t, watcher); n != 1 {
				t.Fatalf("%s: %d tables after %d of 3 services have closed; want 1", lock, n, i+1)
			}
		}
		release(t, b, held, true)
		if err := second.Close(); err != nil {
			t.Error(err)
		}
		if n := tables(t, watcher); n != 0 {
			t.Errorf("%s: %d tables are left", lock, n)
		}
	}
}

// The table of a run is gone after it, even with rows in it; and a run goes on when its table, or a row, disappears.
func table(t *testing.T, cfg drivers.Config) {
	cfg.Lock = "get-lock"
	watcher := open(t, cfg)
	for _, lock := range []string{"unique-row", "row-lock"} {
		cfg.Lock = lock
		svc := open(t, cfg)
		a, b := sessionOf(t, svc), sessionOf(t, svc)
		for _, loss := range []string{"DELETE FROM `%`", "DROP TABLE `%`"} {
			release(t, a, holding(t, a, "k"), true)
			discard(inside(svc).keeper.conn) // it keeps the table from being dropped
			admin(t, svc, inside(svc).onTable(loss))
			l := holding(t, b, "k")
			if held, err := a.Try(t.Context(), lease("k")); held || err != nil {
				t.Errorf("%s: Try of a key that is held, after %s: %v, %v", lock, loss, held, err)
			}
			release(t, b, l, true)
		}
		holding(t, a, "left")
		if n := tables(t, watcher); n != 1 {
			t.Errorf("%s: %d tables; want 1", lock, n)
		}
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
		if n := tables(t, watcher); n != 0 {
			t.Errorf("%s: %d tables are left", lock, n)
		}
	}
}

// Errors that keep a run from starting say how to correct them, and contain no secret.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	const password, secret = "right-horse", "wrong-horse"
	server := servertest.MySQL(t, servers.Options{TCP: true, Password: password})
	good := drivers.Config{Addrs: []string{server.URL()}, Password: password}
	if err := open(t, good).Close(); err != nil {
		t.Error(err)
	}
	for name, tt := range map[string]struct {
		change func(*drivers.Config)
		class  drivers.Class
		want   string
	}{
		"password":   {func(c *drivers.Config) { c.Password = secret }, drivers.ClassAuth, "check user and password"},
		"user":       {func(c *drivers.Config) { c.Username = "nobody" }, drivers.ClassAuth, "check user and password"},
		"database":   {func(c *drivers.Config) { c.Database = "mysql" }, drivers.ClassAuth, "grant CREATE"},
		"no tables":  {func(c *drivers.Config) { c.Database = "information_schema" }, drivers.ClassAuth, "grant CREATE"},
		"unknown":    {func(c *drivers.Config) { c.Database = "nothing" }, drivers.ClassAuth, "or name another"},
		"no address": {func(c *drivers.Config) { c.Addrs = nil }, drivers.ClassOther, "exactly one"},
		"nobody":     {func(c *drivers.Config) { c.Addrs = []string{"127.0.0.1:1/"} }, drivers.ClassOther, "write host:port"},
		"no server":  {func(c *drivers.Config) { c.Addrs = []string{"mysql://127.0.0.1:1/db"} }, drivers.ClassConnect, "is a server there?"},
		"tls":        {func(c *drivers.Config) { c.TLS = &tls.Config{} }, drivers.ClassConnect, "have the server offer it"},
		"topology":   {func(c *drivers.Config) { c.Topology = drivers.TopologyCluster }, drivers.ClassOther, "give single"},
		"release":    {func(c *drivers.Config) { c.Release = drivers.ReleaseLua }, drivers.ClassOther, "drop it"},
		"parameter":  {func(c *drivers.Config) { c.Params = map[string]string{"x": "1"} }, drivers.ClassOther, `unknown parameter "x"`},
		"no database": {func(c *drivers.Config) {
			c.Addrs = []string{strings.TrimSuffix(server.URL(), "/"+servers.MySQLDatabase)}
		}, drivers.ClassOther, "there is no database"},
	} {
		cfg := good
		tt.change(&cfg)
		_, err := Driver.Open(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), tt.want) || drivers.ClassOf(err) != tt.class {
			t.Errorf("%s: %v of class %q; want %q of class %q", name, err, drivers.ClassOf(err), tt.want, tt.class)
		}
		if err != nil && (strings.Contains(err.Error(), password) || strings.Contains(err.Error(), secret)) {
			t.Errorf("%s: the error has the password", name)
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "mysql: ") || strings.HasPrefix(err.Error(), "mysql: mysql: ")) {
			t.Errorf("%s: it does not say once whose error it is: %v", name, err)
		}
	}
}

// Keys that differ only where a name is cut, or only in case, are different locks.
func longNames(t *testing.T, cfg drivers.Config) {
	long := strings.Repeat("long-name-", 20)
	for _, d := range Driver.Designs() {
		cfg.Lock = d.Name
		svc := open(t, cfg)
		a, b := sessionOf(t, svc), sessionOf(t, svc)
		for _, pair := range [][2]string{
			{long + "1", long + "2"}, {long + long + "1", long + long + "2"}, {"Key", "key"}, {"k\xff", "k\xfe"},
		} {
			l := holding(t, a, pair[0])
			if held, err := b.Try(t.Context(), lease(pair[0])); held || err != nil {
				t.Errorf("%s: Try of %q: %v, %v", d.Name, pair[0], held, err)
			}
			release(t, b, holding(t, b, pair[1]), true)
			release(t, a, l, true)
		}
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 300)
	for key, plain := range map[string]bool{
		"lb:1/a-b.c": true, "a_b": true, long[:64]: true, long[:65]: false, "Key": false, "a#b": false, long: false,
	} {
		if got := lockName(key); (got == key) != plain || len(got) > maxLockName {
			t.Errorf("the lock of %q is %q", key, got)
		}
		if got := string(rowName(key)); (got == key) != (len(key) <= 255) || len(got) > maxRowName {
			t.Errorf("the row of %q is %q", key, got)
		}
	}
	for prefix, want := range map[string]string{
		"lockbench:Run-1:": "lb_lockbench_run_1_", "": "lb__", long: "lb_" + long[:44] + "_", "é`; --": "lb__",
	} {
		name := tableName(prefix, "row-lock")
		if !strings.HasPrefix(name, want) || len(name) != len(want)+16 ||
			name == tableName(prefix, "unique-row") || name == tableName(prefix+"x", "row-lock") {
			t.Errorf("a table for %q: %q", prefix, name)
		}
	}
}

// The service tells what the server has on disk, and counts.
func inspect(t *testing.T, cfg drivers.Config) {
	for lock, want := range map[string]string{"unique-row": "fsync each second", "row-lock": "none", "get-lock": "none"} {
		cfg.Lock = lock
		about, usage, err := open(t, cfg).(drivers.Inspector).Inspect(t.Context())
		if err != nil || about.Persistence != want || about.MaxClients != 123 || about.Connected < 1 || about.Version == "" {
			t.Errorf("%s: %+v, %v; want persistence %q", lock, about, err, want)
		}
		if usage.CPU >= 0 || usage.Commands <= 0 || usage.BytesIn <= 0 || usage.BytesOut <= 0 {
			t.Errorf("%+v", usage)
		}
	}
	for _, tt := range []struct{ flush, binlog, sync, want string }{
		{"1", "ON", "1", "fsync each commit"}, {"1", "ON", "0", "fsync each commit, binlog not"}, {"0", "OFF", "0", "fsync each second"},
	} {
		about := map[string]string{"innodb_flush_log_at_trx_commit": tt.flush, "log_bin": tt.binlog, "sync_binlog": tt.sync}
		if got := (&service{kind: uniqueRow}).persistence(about); got != tt.want {
			t.Errorf("%v: %q", about, got)
		}
	}
}

// Many sessions race for the first row of a key. One inserts it, and what the others get, even a deadlock, is not an
// error.
func firstRow(t *testing.T, cfg drivers.Config) {
	const clients, keys = 16, 60
	cfg.Clients, cfg.Conns = clients, clients
	svc := open(t, cfg)
	var won [keys]atomic.Int32
	var start, all sync.WaitGroup
	start.Add(clients)
	for range clients {
		s := sessionOf(t, svc)
		all.Go(func() {
			start.Done()
			start.Wait()
			for i := range keys {
				l := lease(fmt.Sprint("key", i))
				held, err := s.Try(t.Context(), l)
				if err != nil || held && l.Fence != 1 {
					t.Errorf("Try: %v, %v, fence %d", held, err, l.Fence)
				}
				if held {
					won[i].Add(1)
				}
			}
		})
	}
	all.Wait()
	for i := range won {
		if n := won[i].Load(); n != 1 {
			t.Errorf("key %d was granted %d times", i, n)
		}
	}
}

// A client that polls has no place in the server's queue.
func fairness(t *testing.T, cfg drivers.Config) {
	cfg.Lock = "get-lock"
	for _, polls := range []bool{false, true} {
		cfg.Polls = polls
		if got := open(t, cfg).Traits().Fair; got == polls {
			t.Errorf("Polls %v: Fair %v", polls, got)
		}
	}
}

// A server without the right certificate is rejected.
func TestTLS(t *testing.T) {
	t.Parallel()
	server := servertest.MySQL(t, servers.Options{TLS: true})
	cfg := drivers.Config{Addrs: []string{server.URL()}}
	_, err := Driver.Open(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "(-tls-ca)") || drivers.ClassOf(err) != drivers.ClassConnect {
		t.Errorf("an unknown CA: %v", err)
	}
	text, err := os.ReadFile(server.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	cfg.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
	cfg.TLS.RootCAs.AppendCertsFromPEM(text)
	for _, lock := range []string{"unique-row", "get-lock"} {
		cfg.Lock = lock
		s := sessionOf(t, open(t, cfg))
		release(t, s, holding(t, s, "k"), true)
	}
	cfg.TLS.ServerName = "elsewhere.example"
	if _, err := Driver.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "(-tls-server-name)") {
		t.Errorf("a certificate for another name: %v", err)
	}
	for _, mode := range []string{"ssl-mode=REQUIRED", "sslaccept=accept_invalid_certs"} {
		s := sessionOf(t, open(t, drivers.Config{Addrs: []string{strings.Replace(server.URL(), "tls=true", mode, 1)}}))
		release(t, s, holding(t, s, "k"), true)
	}
}
