// Both designs against the contract, on a real server and on an ensemble.
package zookeeper_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	_ "github.com/lockbench/lockbench/drivers/zookeeper"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sessionTime is the time-out of sessions here: long enough for a machine that stalls, short enough to be waited for.
const sessionTime = 4 * time.Second

func zookeeper(t *testing.T) drivers.Driver {
	t.Helper()
	d, err := drivers.Lookup("zookeeper")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// proxied is the address of a server behind a proxy that can break the connections.
func proxied(t *testing.T, z *servers.ZooKeeper) *fault.Proxy {
	t.Helper()
	proxy, err := fault.NewProxy(strings.TrimPrefix(z.URL(), "zookeeper://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	return proxy
}

func TestConformance(t *testing.T) {
	server := servertest.ZooKeeper(t, 1, servers.ZooKeeperOptions{})
	for _, design := range []string{"sequential", "herd"} {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			proxy := proxied(t, server.Nodes[0])
			drivertest.Run(t, drivertest.Setup{
				Driver: zookeeper(t),
				Config: drivers.Config{Lock: design, Addrs: []string{proxy.Addr()}, TTL: sessionTime, IOTimeout: time.Second},
				Cut:    proxy.Outage, Mute: proxy.Mute,
			})
		})
	}
}
