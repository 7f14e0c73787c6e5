package mysql

import (
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// As many clients as the server accepts die one after the other and come again at once: their connections are freed,
// here and on the server, and so is what they held.
func TestCrashAtTheLimit(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a server without a free connection: make test-all")
	}
	cfg := config(servertest.MySQL(t, servers.MySQLOptions{Conns: 30}), nil)
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
