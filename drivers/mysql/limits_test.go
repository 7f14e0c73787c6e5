package mysql

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// A wait ends with an error at a limit of the user, as it would in an application, and leaves no lock behind. At its
// own deadline it ends without one, as it does where the limit is none of the lock's.
func TestWaitEndsAtUserLimit(t *testing.T) {
	t.Parallel()
	statements := servertest.MySQL(t, servers.Options{Settings: map[string]string{"loose-max_statement_time": "0.5"}})
	rows := servertest.MySQL(t, servers.Options{Settings: map[string]string{"innodb_lock_wait_timeout": "1"}})
	for _, tt := range []struct {
		lock, setting string
		server        *servers.Server
	}{
		{getLock.Name, "max_statement_time (500ms)", statements}, {rowLock.Name, "max_statement_time (500ms)", statements},
		{rowLock.Name, "innodb_lock_wait_timeout (1s)", rows}, {getLock.Name, "", rows},
	} {
		t.Run(tt.lock+" "+tt.setting, func(t *testing.T) {
			svc := open(t, drivers.Config{Lock: tt.lock, Addrs: []string{tt.server.URL()}})
			if tt.server == statements && !maria(svc.(*service).about) {
				t.Skip("max_statement_time is MariaDB's")
			}
			holder, waiter := sessionOf(t, svc), sessionOf(t, svc)
			l := holding(t, holder, "k")
			theirs := lease("k")
			for _, deadline := range []time.Duration{100 * time.Millisecond, 2 * time.Second} {
				theirs.Deadline = time.Now().Add(deadline)
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // for a driver that waits on
				err := waiter.(drivers.Waiter).Wait(ctx, theirs)
				cancel()
				fails := tt.setting != "" && deadline > time.Second
				if !fails && err != nil || fails && (drivers.ClassOf(err) != drivers.ClassEnded || !strings.Contains(err.Error(), tt.setting)) {
					t.Errorf("deadline after %v: %v", deadline, err)
				}
			}
			if err := waiter.(drivers.Waiter).Leave(t.Context(), theirs); err != nil {
				t.Error(err)
			}
			release(t, holder, l, true)
			release(t, holder, holding(t, holder, "k"), true)
		})
	}
}

// The server ends the connection of a holder by a limit of its own, and the session says so.
func TestEnded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("connections have to be used within a second: make test-all")
	}
	server := servertest.MySQL(t, servers.Options{Settings: map[string]string{"wait_timeout": "1"}})
	idle := servertest.MySQL(t, servers.Options{Settings: map[string]string{"loose-idle_transaction_timeout": "1"}})
	for _, tt := range []struct {
		lock, setting string
		server        *servers.Server
	}{
		{getLock.Name, "wait_timeout", server}, {rowLock.Name, "wait_timeout", server}, {rowLock.Name, "idle_transaction_timeout", idle},
	} {
		t.Run(tt.lock+" "+tt.setting, func(t *testing.T) {
			t.Parallel()
			svc := open(t, drivers.Config{Lock: tt.lock, Addrs: []string{tt.server.URL()}})
			s := sessionOf(t, svc)
			l := holding(t, s, "k")
			if err := sessionOf(t, svc).(drivers.Waiter).Wait(t.Context(), lease("k")); err != nil { // until the server has ended it
				t.Fatal(err)
			}
			release(t, s, l, false)
			if err := s.(drivers.Ender).Ended(); drivers.ClassOf(err) != drivers.ClassEnded || !strings.Contains(err.Error(), tt.setting+" (1s)") ||
				!strings.HasSuffix(err.Error(), "raise "+tt.setting+" for this user") {
				t.Errorf("it ended because of %v, want %s", err, tt.setting)
			}
		})
	}
}

// A server that takes no writes refuses the designs that write, and the nearest limit of connections is told by its
// name.
func TestReadOnlyAndLimited(t *testing.T) {
	t.Parallel()
	server := servertest.MySQL(t, servers.Options{Settings: map[string]string{"read_only": "1", "max_user_connections": "8"}})
	for _, lock := range []string{rowLock.Name, uniqueRow.Name} {
		_, err := Driver.Open(t.Context(), drivers.Config{Lock: lock, Addrs: []string{server.URL()}, Prefix: "test:"})
		if drivers.ClassOf(err) != drivers.ClassReadOnly || !strings.Contains(err.Error(), "the server has read_only") ||
			strings.Contains(err.Error(), "is left") {
			t.Errorf("%s: %v", lock, err)
		}
	}
	svc := open(t, drivers.Config{Lock: getLock.Name, Addrs: []string{server.URL()}})
	about, _, err := svc.(drivers.Inspector).Inspect(t.Context())
	if err != nil || about.ClientLimit != "max_user_connections" || about.MaxClients != 8 || about.Connected != 1 {
		t.Errorf("Inspect: %d of %d connections (%s), %v", about.Connected, about.MaxClients, about.ClientLimit, err)
	}
	if got := svc.Traits().MaxSessions; got != 8-1-reserved {
		t.Errorf("MaxSessions is %d", got)
	}
	for range 8 - 1 {
		release(t, sessionOf(t, svc), lease("k"), false)
	}
	if _, err := svc.Session(t.Context(), 8); drivers.ClassOf(err) != drivers.ClassLimit || !strings.Contains(err.Error(), "raise max_user_connections") {
		t.Errorf("one more session: %v", err)
	}
}

// More sessions than the server accepts: the error says how many it accepts, and the existing ones work. Those within
// Traits.MaxSessions die one after the other and come again at once: their connections are freed, here and on the
// server, and so is what they held.
func TestTooManySessions(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a server without a free connection: make test-all")
	}
	cfg := drivers.Config{Addrs: []string{servertest.MySQL(t, servers.Options{Conns: 20}).URL()}}
	for _, lock := range []string{"row-lock", "get-lock"} {
		cfg.Lock = lock
		svc := open(t, cfg)
		clients := make([]drivers.Session, svc.Traits().MaxSessions)
		if len(clients) < 10 || len(clients) > 20-reserved {
			t.Fatalf("%s: MaxSessions %d on a server of 20 connections", lock, len(clients))
		}
		for i := range clients {
			clients[i] = sessionOf(t, svc)
		}
		s := svc.(*service)
		pinned := len(s.conns)
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
		if len(s.conns) != pinned {
			t.Errorf("%s: %d connections before, and %d after", lock, pinned, len(s.conns))
		}
		var err error
		for more := 0; err == nil && more < 20; more++ {
			_, err = svc.Session(t.Context(), more)
		}
		if drivers.ClassOf(err) != drivers.ClassLimit || !strings.Contains(err.Error(), "raise max_connections (20)") {
			t.Errorf("%s: one session more than there is room for: %v", lock, err)
		}
		testwait.Until(t, "the lock of the last client that died is free", func() bool {
			held, err := clients[0].Try(t.Context(), lease("k"))
			return held && err == nil
		})
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	}
	cfg.Lock, cfg.Conns, cfg.Clients = "unique-row", 3, 100 // share connections
	svc := open(t, cfg)
	for range 100 {
		s := sessionOf(t, svc)
		release(t, s, holding(t, s, "k"), true)
	}
	if n := svc.Traits().MaxSessions; n != 0 {
		t.Errorf("unique-row: MaxSessions %d", n)
	}
}

// Errors of the server that this one does not cause, or not easily. Those with no effect leave the connection usable.
func TestErrors(t *testing.T) {
	s := &service{}
	for n, want := range map[uint16]drivers.Class{
		1040: drivers.ClassLimit, 1203: drivers.ClassLimit, 1226: drivers.ClassLimit, 1142: drivers.ClassAuth,
		1290: drivers.ClassReadOnly, 1792: drivers.ClassReadOnly, 1836: drivers.ClassReadOnly,
		3024: drivers.ClassEnded, 1969: drivers.ClassEnded, errLockWait: drivers.ClassEnded, 1064: drivers.ClassServer,
		1053: drivers.ClassClosed, 1159: drivers.ClassClosed, 1927: drivers.ClassClosed, 4031: drivers.ClassClosed,
		1180: drivers.ClassOther,
	} {
		if got := drivers.ClassOf(s.failed(t.Context(), time.Now(), &mysql.MySQLError{Number: n})); got != want {
			t.Errorf("error %d is of class %q; want %q", n, got, want)
		}
	}
	for n, want := range map[uint16]bool{errLockWait: true, errDeadlock: true, errNowait: true, errInterrupted: false} {
		if got := contended(fail("try", &mysql.MySQLError{Number: n})); got != want {
			t.Errorf("error %d is contention: %v", n, got)
		}
	}
}
