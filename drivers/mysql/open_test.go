package mysql

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// A foreign table with the name that a run would use is left alone, with its content.
func foreignTable(t *testing.T, cfg drivers.Config) {
	cfg.Lock = "get-lock"
	svc := open(t, cfg)
	admin(t, svc, "CREATE TABLE lb_taken (k VARBINARY(255) NOT NULL PRIMARY KEY)")
	admin(t, svc, "INSERT INTO lb_taken VALUES ('theirs')")
	taken := driver{tableName: func(string, string) string { return "lb_taken" }}
	for _, lock := range []string{"unique-row", "row-lock"} {
		cfg.Lock = lock
		if _, err := taken.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "lb_taken") {
			t.Errorf("%s: Open over a foreign table: %v", lock, err)
		}
	}
	if n := admin(t, svc, "SELECT * FROM lb_taken"); n != 1 {
		t.Errorf("the foreign table has %d rows, of 1", n)
	}
	admin(t, svc, "DROP TABLE lb_taken")
}

// Services with the same prefix use one table, and the last one to close drops it, even if the connection by which they
// know of each other was cut.
func sharedTable(t *testing.T, cfg drivers.Config) {
	cfg.Lock = "get-lock"
	watcher := open(t, cfg)
	const tables = "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE()"
	for _, lock := range []string{"unique-row", "row-lock"} {
		cfg.Lock = lock
		first, second, third := open(t, cfg), open(t, cfg), open(t, cfg)
		a, b := sessionOf(t, first), sessionOf(t, second)
		held := holding(t, b, "k")
		if held, err := a.Try(t.Context(), lease("k")); held || err != nil {
			t.Errorf("%s: Try of what another service holds: %v, %v", lock, held, err)
		}
		in, _ := base(b)
		cut := in.svc.keeper.conn
		admin(t, watcher, "KILL ?", cut.id)
		testwait.Until(t, "the connection is gone", func() bool { return !cut.alive() })
		if c, err := in.svc.dial(t.Context(), forStatements); err != nil { // like every session that was cut as well
			t.Fatal(err)
		} else {
			c.close()
		}
		for i, svc := range []drivers.Service{first, third} {
			if err := svc.Close(); err != nil {
				t.Error(err)
			}
			if n := admin(t, watcher, tables); n != 1 {
				t.Fatalf("%s: %d tables after %d of 3 services have closed; want 1", lock, n, i+1)
			}
		}
		release(t, b, held, true)
		if err := second.Close(); err != nil {
			t.Error(err)
		}
		if n := admin(t, watcher, tables); n != 0 {
			t.Errorf("%s: %d tables are left", lock, n)
		}
		if _, err := in.svc.dial(t.Context(), forStatements); err == nil || admin(t, watcher, tables) != 0 {
			t.Errorf("%s: a service that is closed connects (%v) or has made its table again", lock, err)
		}
	}
}

// The table of a run is gone after it, even with rows in it; and a run goes on when its table, or a row, disappears.
func table(t *testing.T, cfg drivers.Config) {
	cfg.Lock = "get-lock"
	watcher := open(t, cfg)
	const tables = "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE()"
	for _, lock := range []string{"unique-row", "row-lock"} {
		cfg.Lock = lock
		svc := open(t, cfg)
		a, b := sessionOf(t, svc), sessionOf(t, svc)
		release(t, a, holding(t, a, "k"), true)
		in, _ := base(a)
		if lock == "row-lock" {
			admin(t, svc, in.svc.onTable("DELETE FROM `%`"))
			l := holding(t, a, "k")
			if held, err := b.Try(t.Context(), lease("k")); held || err != nil {
				t.Errorf("Try of a key whose row was made again: %v, %v", held, err)
			}
			release(t, a, l, true)
			a.(*txSession).idle.close() // their transactions have seen the table, and would delay the next statement
			b.(*txSession).idle.close()
		}
		admin(t, svc, in.svc.onTable("DROP TABLE `%`"))
		release(t, a, lease("k"), false)
		l := holding(t, b, "k")
		if held, err := a.Try(t.Context(), lease("k")); held || err != nil {
			t.Errorf("%s: Try of a key that is held in a table that was made again: %v, %v", lock, held, err)
		}
		release(t, b, l, true)
		holding(t, a, "left")
		if n := admin(t, watcher, tables); n != 1 {
			t.Errorf("%s: %d tables; want 1", lock, n)
		}
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
		if n := admin(t, watcher, tables); n != 0 {
			t.Errorf("%s: %d tables are left", lock, n)
		}
	}
}

// More sessions than the server accepts: the error says how many it accepts, and the existing ones work.
func TestTooManySessions(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a server without a free connection: make test-all")
	}
	server := servertest.MySQL(t, servers.Options{Conns: 20})
	cfg := config(server, nil)
	for _, lock := range []string{"row-lock", "get-lock"} {
		cfg.Lock = lock
		svc := open(t, cfg)
		if n := svc.Traits().MaxSessions; n < 1 || n > 20-reserved {
			t.Errorf("%s: MaxSessions %d on a server of 20 connections", lock, n)
		}
		var err error
		var list []drivers.Session
		for err == nil && len(list) < 30 {
			var s drivers.Session
			if s, err = svc.Session(t.Context(), len(list)); err == nil {
				list = append(list, s)
			}
		}
		if drivers.ClassOf(err) != drivers.ClassLimit || !strings.Contains(err.Error(), "raise max_connections (20)") {
			t.Errorf("%s: session %d: %v", lock, len(list), err)
		}
		release(t, list[0], holding(t, list[0], "k"), true)
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	}
	cfg.Lock = "unique-row" // unique-row shares them
	cfg.Conns, cfg.Clients = 3, 100
	svc := open(t, cfg)
	for range 100 {
		s := sessionOf(t, svc)
		release(t, s, holding(t, s, "k"), true)
	}
	if n := svc.Traits().MaxSessions; n != 0 {
		t.Errorf("unique-row: MaxSessions %d", n)
	}
	if err := svc.Close(); err != nil {
		t.Error(err)
	}
	t.Run("crash", func(t *testing.T) { crashAtTheLimit(t, config(server, nil)) })
}

// As many clients as the server accepts die one after the other and come again at once: their connections are freed,
// here and on the server, and so is what they held.
func crashAtTheLimit(t *testing.T, cfg drivers.Config) {
	for _, cfg.Lock = range []string{"row-lock", "get-lock"} {
		svc := open(t, cfg)
		s := svc.(*service)
		clients := make([]drivers.Session, svc.Traits().MaxSessions)
		for i := range clients {
			clients[i] = sessionOf(t, svc)
		}
		open := len(s.conns)
		for range 3 {
			for i, c := range clients {
				testwait.Until(t, "the lock of a dead client is free", func() bool {
					held, err := c.Try(t.Context(), lease("k"))
					if err != nil {
						t.Fatal(err)
					}
					return held
				})
				c.(drivers.Crasher).Crash()
				clients[i] = sessionOf(t, svc)
			}
		}
		if len(s.conns) != open {
			t.Errorf("%s: %d connections before, and %d after", cfg.Lock, open, len(s.conns))
		}
		if err := svc.Close(); err != nil {
			t.Error(err)
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
		"database":   {func(c *drivers.Config) { c.Database = "mysql" }, drivers.ClassAuth, "grant it"},
		"no tables":  {func(c *drivers.Config) { c.Database = "information_schema" }, drivers.ClassAuth, "grant CREATE"},
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
	for _, tt := range []struct{ key, lock, row string }{
		{"lb:1/a-b.c", "lb:1/a-b.c", "lb:1/a-b.c"},
		{"Key", "", "Key"},
		{"a_b", "a_b", "a_b"},
		{"a#b", "", "a#b"},
		{strings.Repeat("k", 64), strings.Repeat("k", 64), strings.Repeat("k", 64)},
		{strings.Repeat("k", 65), "", strings.Repeat("k", 65)},
		{long, "", ""},
	} {
		lock, row := lockName(tt.key), rowName(tt.key)
		hashed := hash(tt.key)
		if tt.lock != "" && lock != tt.lock || tt.lock == "" && !strings.HasSuffix(lock, hashed) || len(lock) > maxLockName {
			t.Errorf("the lock of %q is %q", tt.key, lock)
		}
		if tt.row != "" && row != tt.row || tt.row == "" && !strings.HasSuffix(row, hashed) || len(row) > maxRowName {
			t.Errorf("the row of %q is %q", tt.key, row)
		}
	}
	for prefix, want := range map[string]string{
		"lockbench:Run-1:": "lb_lockbench_run_1_", "": "lb__", long: "lb_" + strings.Repeat("x", 44) + "_", "é`; --": "lb__",
	} {
		name := newTableName(prefix, "row-lock")
		if !strings.HasPrefix(name, want) || len(name) != len(want)+16 || len(name) > maxTableName ||
			name == newTableName(prefix, "unique-row") || name == newTableName(prefix+"x", "row-lock") {
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
	s := &service{kind: uniqueRow}
	for want, a := range map[string]about{
		"fsync each commit":             {flush: 1, binlog: true, syncBinlog: 1},
		"fsync each commit, binlog not": {flush: 1, binlog: true},
		"fsync each second":             {flush: 0},
	} {
		if got := s.persistence(a); got != want {
			t.Errorf("%+v: %q", a, got)
		}
	}
}

// Errors of the server that this one does not cause, or not easily.
func TestErrors(t *testing.T) {
	c := &conn{svc: &service{}}
	for n, want := range map[uint16]drivers.Class{
		errTooManyConns: drivers.ClassLimit, errUserConns: drivers.ClassLimit, errExecutionTime: drivers.ClassEnded,
		errReadOnlyMode: drivers.ClassReadOnly, errReadOnlyTx: drivers.ClassReadOnly,
		errCommandDenied: drivers.ClassAuth, 1064: drivers.ClassServer,
	} {
		if got := drivers.ClassOf(c.failed(t.Context(), &mysql.MySQLError{Number: n})); got != want {
			t.Errorf("error %d is of class %q; want %q", n, got, want)
		}
	}
	for n, want := range map[uint16]bool{errLockWait: true, errDeadlock: true, errNowait: true, errInterrupted: false} {
		if got := contended(fail("try", &mysql.MySQLError{Number: n})); got != want {
			t.Errorf("error %d is contention: %v", n, got)
		}
	}
	if fail("try", nil) != nil {
		t.Error("no error became one")
	}
	if err := fail("try", errClosed); drivers.ClassOf(err) != drivers.ClassClosed || !errors.Is(err, errClosed) {
		t.Errorf("%v of class %q", err, drivers.ClassOf(err))
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
	svc := open(t, cfg)
	s := sessionOf(t, svc)
	release(t, s, holding(t, s, "k"), true)
	cfg.TLS.ServerName = "elsewhere.example"
	if _, err := Driver.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "(-tls-server-name)") {
		t.Errorf("a certificate for another name: %v", err)
	}
	for _, mode := range []string{"ssl-mode=REQUIRED", "sslaccept=accept_invalid_certs"} {
		s := sessionOf(t, open(t, drivers.Config{Addrs: []string{strings.Replace(server.URL(), "tls=true", mode, 1)}}))
		release(t, s, holding(t, s, "k"), true)
	}
}
