package postgres

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// A wait ends with an error at a limit of the user, as it would in an application, and leaves no lock behind. At its
// own deadline it ends without one.
func TestWaitEndsAtUserLimit(t *testing.T) {
	address := server(t)
	forDesigns(t, func(t *testing.T, lock string) {
		for _, setting := range []string{"statement_timeout", "lock_timeout"} {
			cfg := drivers.Config{Lock: lock, Addrs: []string{address}, Prefix: "limit:" + lock + ":"}
			unlimited := open(t, cfg)
			cfg.Addrs[0] = withOptions(t, address, "-c "+setting+"=80")
			holder, waiter := newSession(t, unlimited), newSession(t, open(t, cfg))
			l, theirs := &drivers.Lease{Key: "k"}, &drivers.Lease{Key: "k"}
			mustTry(t, holder, l, true)
			mustTry(t, waiter, theirs, false)
			for deadline, fails := range map[time.Duration]bool{0: true, time.Hour: true, 20 * time.Millisecond: false} {
				if theirs.Deadline = time.Now().Add(deadline); deadline == 0 {
					theirs.Deadline = time.Time{}
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // for a driver that waits on
				err := waiter.Wait(ctx, theirs)
				cancel()
				if !fails && err == nil {
					continue
				}
				if !fails || drivers.ClassOf(err) != drivers.ClassEnded || !strings.Contains(err.Error(), setting+" (80ms)") {
					t.Errorf("%s, deadline after %v: %v", setting, deadline, err)
				}
			}
			if err := waiter.Leave(t.Context(), theirs); err != nil {
				t.Error(err)
			}
			mustRelease(t, holder, l, true)
			mustTry(t, holder, l, true)
			mustRelease(t, holder, l, true)
		}
	})
}

// A statement that is canceled on request says nothing of a limit.
func TestWaitCanceledOnRequest(t *testing.T) {
	address := server(t)
	s := open(t, drivers.Config{Lock: "row-lock", Addrs: []string{address}})
	holder, waiter := newSession(t, s), newSession(t, s)
	mustTry(t, holder, &drivers.Lease{Key: "k"}, true)
	failed := make(chan error)
	go func() { failed <- waiter.Wait(context.Background(), &drivers.Lease{Key: "k"}) }()
	cancel := "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE 'lockbench %'"
	testwait.Until(t, "the waiter is canceled", func() bool { return len(ask(t, address, cancel)) > 0 })
	if err := <-failed; err == nil || drivers.ClassOf(err) == drivers.ClassEnded {
		t.Errorf("Wait answered %v", err)
	}
}

func TestReadOnlyByDefault(t *testing.T) {
	address := withOptions(t, server(t), "-c default_transaction_read_only=on")
	_, err := driver{}.Open(t.Context(), drivers.Config{Lock: "row-lock", Addrs: []string{address}})
	if drivers.ClassOf(err) != drivers.ClassReadOnly || !strings.Contains(err.Error(), "default_transaction_read_only is on") {
		t.Errorf("row-lock: %v", err)
	}
	one := newSession(t, open(t, drivers.Config{Lock: "advisory", Addrs: []string{address}}))
	mustTry(t, one, &drivers.Lease{Key: "k"}, true) // it writes nothing
}

// The nearest of the limits of connections is the one that is told.
func TestConnectionLimits(t *testing.T) {
	address := server(t)
	ask(t, address, "CREATE ROLE narrow LOGIN CONNECTION LIMIT 4")
	ask(t, address, "CREATE ROLE wide LOGIN")
	ask(t, address, "CREATE DATABASE small CONNECTION LIMIT 3")
	t.Cleanup(func() {
		ask(t, address, "DROP DATABASE small WITH (FORCE)")
		ask(t, address, "DROP ROLE narrow")
		ask(t, address, "DROP ROLE wide")
	})
	for _, tt := range []struct {
		user, database, limit string
		most                  int
	}{
		{"narrow", "postgres", "the CONNECTION LIMIT of the role", 4},
		{"wide", "small", "the CONNECTION LIMIT of the database", 3},
		{"wide", "postgres", "max_connections", 160},
		{"postgres", "small", "max_connections", 160}, // a superuser
	} {
		s := open(t, drivers.Config{Lock: "advisory", Addrs: []string{address}, Username: tt.user, Database: tt.database})
		about, _, err := s.Inspect(t.Context())
		if err != nil || about.ClientLimit != tt.limit || about.MaxClients != tt.most {
			t.Errorf("%s in %s: %q of %d, %v; want %q of %d", tt.user, tt.database, about.ClientLimit, about.MaxClients, err, tt.limit, tt.most)
		}
		if tt.most == 160 {
			continue
		}
		if got := s.Traits().MaxSessions; got != tt.most-1 {
			t.Errorf("%s in %s: room for %d sessions beside the service's connection, of %d", tt.user, tt.database, got, tt.most)
		}
		for range tt.most - 1 {
			newSession(t, s)
		}
		if _, err := s.Session(t.Context(), 0); drivers.ClassOf(err) != drivers.ClassLimit ||
			!strings.Contains(err.Error(), strings.TrimPrefix(tt.limit, "the ")) {
			t.Errorf("%s in %s: one more session: %v", tt.user, tt.database, err)
		}
	}
}

// TestStandBy: a stand-by is told as that, and not as a primary that is set to take no writes.
func TestStandBy(t *testing.T) {
	t.Parallel()
	s := servertest.Postgres(t, servers.Options{Settings: map[string]string{"wal_level": "replica"}})
	c, err := pgconn.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	// It recovers from the last checkpoint, which initdb made with another wal_level.
	rows, err := c.Exec(t.Context(), "CHECKPOINT; SHOW data_directory").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	signal := filepath.Join(string(rows[len(rows)-1].Rows[0][0]), "standby.signal")
	if err := errors.Join(c.Close(t.Context()), os.WriteFile(signal, nil, 0o600), s.Kill(), s.Restart(t.Context())); err != nil {
		t.Fatal(err)
	}
	_, err = driver{}.Open(t.Context(), drivers.Config{Lock: "row-lock", Addrs: []string{s.URL()}})
	if drivers.ClassOf(err) != drivers.ClassReadOnly || !strings.Contains(err.Error(), "this is a stand-by: give the address of the primary") {
		t.Errorf("class %s: %v", drivers.ClassOf(err), err)
	}
}
