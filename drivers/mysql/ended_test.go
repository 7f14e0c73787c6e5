package mysql

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// TestEnded: the server ends the connection of a holder by a limit of its own. The session keeps what it said.
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
			if owned, err := s.Release(t.Context(), l); owned || err != nil {
				t.Fatalf("Release answered %v, %v", owned, err)
			}
			if err := s.(drivers.Ender).Ended(); drivers.ClassOf(err) != drivers.ClassEnded || !strings.Contains(err.Error(), tt.setting+" (1s)") ||
				!strings.HasSuffix(err.Error(), "raise "+tt.setting+" for this user") {
				t.Errorf("it ended because of %v, want %s", err, tt.setting)
			}
		})
	}
}
