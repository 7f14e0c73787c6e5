package exec

import (
	"os"
	"strconv"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// adapterOf returns a driver through the protocol, in a process of its own.
func adapterOf(t testing.TB, driver string) drivers.Driver {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d, err := drivers.Start("exec:" + strconv.Quote(self) + " " + Argument + " " + driver)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestConformance holds a lock to its claims through the protocol: another process neither helps nor harms.
func TestConformance(t *testing.T) {
	for _, tt := range []struct{ driver, lock string }{
		{"rueidis", "fenced"}, {"rueidis", "redisson"}, {"redislock", "library"},
	} {
		if testing.Short() && tt.lock != "fenced" {
			continue
		}
		t.Run(tt.driver+"/"+tt.lock, func(t *testing.T) {
			cfg := drivers.Config{Lock: tt.lock, Addrs: []string{servertest.Redis(t, servers.Options{}).URL()}}
			drivertest.Run(t, drivertest.Setup{Driver: adapterOf(t, tt.driver), Config: cfg})
		})
	}
}
