package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

// A foreign table stays as it is. A table of lockbench is shared by all services of the same prefix, and each of them
// drops it when nobody holds a lock.
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

	cfg := drivers.Config{Lock: "row-lock", Addrs: []string{address}, Prefix: "'\"" + strings.Repeat("äö", 20) + "'"}
	first, second := open(t, cfg), open(t, cfg)
	a, b := newSession(t, first), newSession(t, second)
	l := &drivers.Lease{Key: "k"}
	mustTry(t, a, l, true)
	mustTry(t, b, &drivers.Lease{Key: "k"}, false)
	mustRelease(t, a, l, true)
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	mustTry(t, b, l, true) // the table went with the first service, and comes again
	name := strings.ReplaceAll(second.table, "'", "''")
	if got := ask(t, address, "SELECT to_regclass('"+name+"')"); got[0] == "" {
		t.Error("there is no table")
	}
	if err := second.Close(); err != nil { // although a session of it holds a lock
		t.Error(err)
	}
	if got := ask(t, address, "SELECT to_regclass('"+name+"')"); got[0] != "" {
		t.Errorf("the table %s stays", got[0])
	}
}

// A user without privileges works in a database of its own, and gets a helpful error elsewhere. It may end its own
// connections, and sees enough of others to count them.
func TestPlainUser(t *testing.T) {
	address := server(t)
	ask(t, address, "CREATE ROLE plain LOGIN")
	ask(t, address, "CREATE DATABASE theirs OWNER plain")
	t.Cleanup(func() {
		ask(t, address, "DROP DATABASE theirs WITH (FORCE)")
		ask(t, address, "DROP ROLE plain")
	})
	ask(t, address, "REVOKE CREATE ON SCHEMA public FROM public") // the default from version 15 on
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
		one, l := newSession(t, s), &drivers.Lease{Key: "k"}
		mustTry(t, one, l, true)
		mustRelease(t, one, l, true)
	}
}

// The names of a run's keys must not collide.
func TestKeysDiffer(t *testing.T) {
	seen := make(map[int64]string, 400_000)
	for _, form := range []string{"lockbench:%d", "lockbench:Zk3vb0c9q1:%d", "%d", "lock:{%d}:x"} {
		for i := range 100_000 {
			name := fmt.Sprintf(form, i)
			if other, taken := seen[keyOf(name)]; taken {
				t.Fatalf("%q and %q have the same key", name, other)
			}
			seen[keyOf(name)] = name
		}
	}
	if got := uint64(keyOf("a")); got != 0xaf63dc4c8601ec8c {
		t.Errorf("the key of a is %x, not what FNV-1a has", got)
	}
}
