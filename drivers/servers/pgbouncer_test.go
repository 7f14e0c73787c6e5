package servers

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// startPgBouncerTest starts a pooler, and a server behind it, that end with the test.
func startPgBouncerTest(t *testing.T, size int) (*PgBouncer, *Postgres) {
	t.Helper()
	need(t, FindPgBouncer)
	p := startPostgresTest(t, PostgresOptions{TCP: true})
	b := started(t, FindPgBouncer, func(ctx context.Context) (*PgBouncer, error) {
		return StartPgBouncer(ctx, PgBouncerOptions{Postgres: p, PoolSize: size})
	})
	return b, p
}

// named is a client of a database that has told its name.
func named(t *testing.T, address, database, name string) *sqlConn {
	t.Helper()
	c, err := dialSQL(t.Context(), address, database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	answer(t, c, "SET application_name = "+quoteSQL(name))
	return c
}

// answer returns the only value of the answer to a statement; empty without rows.
func answer(t *testing.T, c *sqlConn, statement string) string {
	t.Helper()
	rows, err := c.ask(statement)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 {
		return ""
	}
	return rows[0][0]
}

// A connection is lent for a transaction, and its advisory locks with it: the last one that came back first, from a pool
// of the database's own. Without a pooler each client has its own.
func TestPgBouncerLends(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a pooler under load: make test-all")
	}
	b, p := startPgBouncerTest(t, 2)
	if err := p.CreateDatabase(t.Context(), "lent"); err != nil {
		t.Fatal(err)
	}
	const pid = "SELECT pg_backend_pid()"
	first, second := named(t, b.URL(), "lent", "first"), named(t, b.URL(), "lent", "it's second")
	served := answer(t, first, "SELECT pg_backend_pid() FROM pg_advisory_lock(1)")
	number, _ := strconv.Atoi(served)
	if clients, err := p.Clients(t.Context(), "lent"); err != nil || len(clients) != 1 || clients[number] != "first" {
		t.Errorf("the server has processes %v, %v; want %s for the first client", clients, err, served)
	}
	if got := answer(t, second, pid); got != served {
		t.Errorf("the second client is served by %s, and the first one was by %s", got, served)
	}
	if clients, err := p.Clients(t.Context(), "lent"); err != nil || len(clients) != 1 || clients[number] != "it's second" {
		t.Errorf("the server has processes %v, %v; want %s for the second client", clients, err, served)
	}
	if got := answer(t, second, "SELECT pg_try_advisory_lock(1)"); got != "t" {
		t.Errorf("the second client's attempt at the lock of the first one: %q", got)
	}

	lent, end, err := b.Begin(t.Context(), "lent")
	if err != nil || lent != number {
		t.Fatalf("the transaction is served by %d, %v; want %s", lent, err, served)
	}
	defer end()
	if got := answer(t, first, pid); got == served {
		t.Errorf("%s serves two clients at once", got)
	}
	if got := answer(t, first, "SELECT pg_advisory_unlock(1)"); got != "f" {
		t.Errorf("another process lets the lock go: %q", got)
	}
	if holders, err := p.AdvisoryHolders(t.Context(), "lent"); err != nil || !slices.Equal(holders, []int{number}) {
		t.Errorf("processes %v hold the lock, %v; want %s", holders, err, served)
	}
	if holders, err := p.AdvisoryHolders(t.Context(), "postgres"); err != nil || len(holders) != 0 {
		t.Errorf("processes %v hold a lock of another database, %v", holders, err)
	}

	straight, endStraight, err := p.Begin(t.Context(), "lent")
	if err != nil {
		t.Fatal(err)
	}
	defer endStraight()
	clients, err := p.Clients(t.Context(), "lent")
	if err != nil || len(clients) != 3 || clients[straight] != "" {
		t.Errorf("%d serves a client of the server, which has processes %v, %v", straight, clients, err)
	}
	if err := p.DropDatabase(t.Context(), "lent"); err != nil {
		t.Error(err)
	}
	if clients, err := p.Clients(t.Context(), "lent"); err != nil || len(clients) != 0 {
		t.Errorf("processes %v of a dropped database are left, %v", slices.Collect(maps.Keys(clients)), err)
	}
}

func TestPgBouncerLifecycle(t *testing.T) {
	t.Parallel()
	b, _ := startPgBouncerTest(t, 0)
	c, err := dialSQL(t.Context(), b.URL(), "postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	if got, err := c.ask("SELECT 1"); err == nil {
		t.Errorf("it answers %q after Kill", got)
	}
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := askSQL(t.Context(), b.URL(), "postgres", "SELECT 1"); err != nil || got[0][0] != "1" {
		t.Errorf("after the restart it says %q, %v", got, err)
	}
	dir := b.dir.path
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || b.PID() != 0 {
		t.Errorf("its directory or its process %d is left: %v", b.PID(), err)
	}
}

func TestPgBouncerStartFails(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a pooler that does not start: make test-all")
	}
	need(t, FindPgBouncer)
	tcp, unix := startPostgresTest(t, PostgresOptions{TCP: true}), startPostgresTest(t, PostgresOptions{})
	for _, tt := range []struct {
		name string
		o    PgBouncerOptions
		want string
	}{
		{"no binary", PgBouncerOptions{Binary: "/nonexistent/pgbouncer", Postgres: tcp}, "/nonexistent/pgbouncer"},
		{"another program", PgBouncerOptions{Binary: "false", Postgres: tcp}, "exited"},
		{"no port", PgBouncerOptions{Postgres: unix}, "PostgresOptions.TCP"},
		{"no pool", PgBouncerOptions{Postgres: tcp, PoolSize: -1}, "-1 connections"},
	} {
		b, err := StartPgBouncer(t.Context(), tt.o)
		if err == nil {
			t.Errorf("%s: it started", tt.name)
			_ = b.Close()
		} else if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %q does not say %q", tt.name, err, tt.want)
		}
	}
}

// If another process takes the port between the choice and the start, another port is chosen: another pooler that
// answers there is not taken for it.
func TestPgBouncerTakesAnotherPort(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a port that is taken: make test-all")
	}
	other, p := startPgBouncerTest(t, 0)
	reserve, calls := reserveTaken(other.ports[0].number, 1)
	at, err := unprivileged("pgbouncer", "")
	if err != nil {
		t.Fatal(err)
	}
	binary, err := FindPgBouncer()
	if err != nil {
		t.Fatal(err)
	}
	b, err := startTaken(t.Context(), at, reserve, func(process *process) (*PgBouncer, error) {
		return setUpPgBouncer(process, binary, PgBouncerOptions{Postgres: p})
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if *calls != 2 {
		t.Errorf("%d ports were tried, want 2", *calls)
	}
}

func TestFindPgBouncer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	swap(t, &pgbouncerProgram.dirs, onPath)
	if _, err := FindPgBouncer(); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "install the package pgbouncer") {
		t.Errorf("without any pooler: %v", err)
	}
}
