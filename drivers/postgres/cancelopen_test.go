package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// TestCancelledOpenLeavesNothing ends Open while the server makes the table, which another transaction delays.
func TestCancelledOpenLeavesNothing(t *testing.T) {
	p := servertest.Postgres(t, servers.Options{Conns: 20})
	other, err := pgconn.Connect(t.Context(), p.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.Background())
	run := func(statement string) {
		if _, err := other.Exec(t.Context(), statement).ReadAll(); err != nil {
			t.Error(err)
		}
	}
	const prefix = "cancelled:"
	run("BEGIN; CREATE TABLE " + tableName(prefix) + " ()")
	ctx, cancel := context.WithCancel(t.Context())
	opened := make(chan error, 1)
	go func() {
		_, err := driver{}.Open(ctx, drivers.Config{Addrs: []string{p.URL()}, Lock: "row-lock", Prefix: prefix})
		opened <- err
	}()
	testwait.Until(t, "CREATE TABLE has not begun", func() bool {
		return len(ask(t, p.URL(), "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'CREATE TABLE%' AND wait_event_type = 'Lock' AND "+
			"application_name LIKE 'lockbench%'")) > 0
	})
	cancel()
	run("ROLLBACK")
	if err := <-opened; !errors.Is(err, context.Canceled) {
		t.Errorf("Open returned %v; want context.Canceled", err)
	}
	testwait.Until(t, "a connection of the service is left", func() bool {
		return len(ask(t, p.URL(), "SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'lockbench%'")) == 0
	})
	if left := ask(t, p.URL(), "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"); len(left) > 0 {
		t.Errorf("tables are left: %q", left)
	}
}
