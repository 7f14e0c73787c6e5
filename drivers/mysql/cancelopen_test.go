package mysql

import (
	"context"
	"errors"
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// TestCancelledOpenLeavesNothing ends Open while the server makes the table, which another statement delays.
func TestCancelledOpenLeavesNothing(t *testing.T) {
	cfg := config(servertest.MySQL(t, servers.Options{Conns: 20}), nil)
	cfg.Lock = "get-lock"
	svc := open(t, cfg)
	other, err := svc.(*service).dial(t.Context(), forControl)
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	interrupted := make(chan error, 1)
	go func() {
		_, err := other.rowWithin(context.Background(), forever, "CREATE TABLE lb_slow AS SELECT SLEEP(1000)")
		interrupted <- err
	}()
	waiting := func(what string) func() bool {
		return func() bool {
			return admin(t, svc, "SELECT 1 FROM information_schema.processlist WHERE info LIKE ? AND state LIKE ?",
				[]byte("CREATE TABLE%"), []byte(what)) > 0
		}
	}
	testwait.Until(t, "the other statement has not begun", waiting("User sleep"))
	ctx, cancel := context.WithCancel(t.Context())
	opened := make(chan error, 1)
	go func() {
		cfg.Lock = "row-lock"
		_, err := driver{tableName: func(string, string) string { return "lb_slow" }}.Open(ctx, cfg)
		opened <- err
	}()
	testwait.Until(t, "CREATE TABLE has not begun", waiting("Waiting for table metadata lock"))
	cancel()
	admin(t, svc, "KILL QUERY IS_USED_LOCK(?)", other.mark)
	<-interrupted
	if err := <-opened; !errors.Is(err, context.Canceled) {
		t.Errorf("Open returned %v; want context.Canceled", err)
	}
	testwait.Until(t, "CREATE TABLE goes on", func() bool {
		return admin(t, svc, "SELECT 1 FROM information_schema.processlist WHERE info LIKE ?", []byte("CREATE TABLE%")) == 0
	})
	if n := admin(t, svc, "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE()"); n > 0 {
		t.Errorf("%d tables are left", n)
	}
}
