package cli

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

// TestForeignCommands has another client begin to send commands to the server when the load has begun: what a lock costs
// the server is not known then, and it is where nobody else is.
func TestForeignCommands(t *testing.T) {
	addrs := []string{servertest.Redis(t, servers.RedisOptions{}).URL()}
	for _, driver := range []string{"go-redis", "rueidis"} {
		d, err := drivers.Lookup(driver)
		if err != nil {
			t.Fatal(err)
		}
		stranger, err := d.Open(t.Context(), drivers.Config{Lock: "set-nx", Addrs: addrs})
		if err != nil {
			t.Fatal(err)
		}
		defer stranger.Close()
		session, err := stranger.Session(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, disturbed := range []bool{false, true} {
			p := spec.Plan{Driver: driver, Lock: "set-nx", Wait: "backoff",
				Load: spec.Load{Clients: 4, Hold: 10 * time.Millisecond, TTL: time.Minute, Timeout: time.Minute}}
			var strange atomic.Int64
			begun, stop, stopped := false, make(chan struct{}), make(chan struct{})
			r := watched(t, p, addrs, func(s workloads.Snapshot, _ bool) bool {
				if !disturbed {
					return s.Acquired > 50
				}
				if !begun {
					begun = true
					go func() {
						defer close(stopped)
						for {
							select {
							case <-stop:
								return
							default:
								session.Try(t.Context(), &drivers.Lease{Key: "lockbench:stranger:" + strings.Repeat("k", 4096), TTL: time.Minute})
								strange.Add(1)
							}
						}
					}()
				}
				return s.Acquired > 50 && strange.Load() > s.Acquired/10 // each has the bytes of a dozen locks
			})
			close(stop)
			if begun {
				<-stopped
			}
			said := strings.Contains(strings.Join(r.Warnings, "\n"), "other clients sent")
			if c := r.Cost; said != disturbed || (c.Commands < 0 || c.BytesIn < 0 || c.BytesOut < 0) != disturbed {
				t.Errorf("%s, disturbed %v: costs %+v, warnings %q", driver, disturbed, c, r.Warnings)
			}
		}
	}
}
