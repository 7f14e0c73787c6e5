package mysql

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
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
			if tt.server == statements && !svc.(*service).about.maria() {
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

// A server that takes no writes refuses the designs that write, and the nearest limit of connections is told by its
// name.
func TestReadOnlyAndLimited(t *testing.T) {
	t.Parallel()
	server := servertest.MySQL(t, servers.Options{Settings: map[string]string{"read_only": "1", "max_user_connections": "8"}})
	for _, lock := range []string{rowLock.Name, uniqueRow.Name} {
		_, err := Driver.Open(t.Context(), drivers.Config{Lock: lock, Addrs: []string{server.URL()}, Prefix: "test:"})
		if drivers.ClassOf(err) != drivers.ClassReadOnly || !strings.Contains(err.Error(), "the server has read_only") {
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
