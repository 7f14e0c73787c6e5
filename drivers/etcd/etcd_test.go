package etcd

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	e := servertest.Etcd(t, 1, servers.Options{Durability: servers.Relaxed})
	drivertest.Through(t, e.URLs()...).Run(t, drivertest.Setup{
		Driver: driver{},
		Config: drivers.Config{
			// On a machine that stalls for longer than the TTL a holder loses its lease.
			Lock: "lease", TTL: 5 * time.Second, IOTimeout: 2 * time.Second,
		},
		SessionTimeout: 6 * time.Second, // the lease, and the second in which etcd looks for expired ones
	})
}
