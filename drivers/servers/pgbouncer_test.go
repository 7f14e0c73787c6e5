package servers

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// startPgBouncerTest starts a pooler, and a server behind it, that end with the test.
func startPgBouncerTest(t *testing.T) (*Server, *Postgres) {
	t.Helper()
	need(t, pgbouncerProgram.locate)
	p := startPostgresTest(t, Options{TCP: true})
	b := started(t, pgbouncerProgram.locate, func(ctx context.Context) (*Server, error) {
		return StartPgBouncer(ctx, p)
	})
	return b, p
}

// named is a client of a database that has told its name.
func named(t *testing.T, addr, database, name string) *pgconn.PgConn {
	t.Helper()
	c, err := dialSQL(t.Context(), addr, postgresUser, database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	answer(t, c, "SET application_name = "+quoteSQL(name))
	return c
}

// answer returns the only value of the answer to a statement; empty without rows.
func answer(t *testing.T, c *pgconn.PgConn, statement string) string {
	t.Helper()
	rows, err := askSQL(t.Context(), c, statement)
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
	b, p := startPgBouncerTest(t)
	if err := p.CreateDatabase(t.Context(), "lent"); err != nil {
		t.Fatal(err)
	}
	const pid = "SELECT pg_backend_pid()"
	first, second := named(t, b.ports[0].addr(), "lent", "first"), named(t, b.ports[0].addr(), "lent", "it's second")
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

	lent, end, err := Begin(t.Context(), b, "lent")
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

	straight, endStraight, err := Begin(t.Context(), p.Server, "lent")
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
	b, _ := startPgBouncerTest(t)
	c, err := dialSQL(t.Context(), b.ports[0].addr(), postgresUser, "postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	if got, err := askSQL(t.Context(), c, "SELECT 1"); err == nil {
		t.Errorf("it answers %q after Kill", got)
	}
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := (&Postgres{b}).ask(t.Context(), "SELECT 1"); err != nil || got[0][0] != "1" {
		t.Errorf("after the restart it says %q, %v", got, err)
	}
	checkLeft(t, b)
}
