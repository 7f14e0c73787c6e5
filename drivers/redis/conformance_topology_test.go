// Every design over every library, on servers that appear as one, against the contract.
package redis_test

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// TestTopologyConformance has no proxy that could cut connections, as on a single server: these servers tell each
// other's addresses, which lead past it. What outages do is in topology_test.go.
func TestTopologyConformance(t *testing.T) {
	for _, topology := range []struct {
		name  string
		start func(t *testing.T) drivers.Config
	}{
		{"replicated", func(t *testing.T) drivers.Config {
			return drivers.Config{Addrs: servertest.Replicated(t, 1, servers.RedisOptions{}).URLs()}
		}},
		{"sentinel", func(t *testing.T) drivers.Config {
			s := servertest.Sentinel(t, 1, 3, servers.RedisOptions{})
			return drivers.Config{Topology: drivers.TopologySentinel, Master: servers.SentinelMaster, Addrs: s.URLs()}
		}},
		{"cluster", func(t *testing.T) drivers.Config {
			return drivers.Config{Topology: drivers.TopologyCluster, Addrs: servertest.Cluster(t, 3, servers.RedisOptions{}).URLs()}
		}},
	} {
		t.Run(topology.name, func(t *testing.T) {
			cfg := topology.start(t)
			cfg.IOTimeout = time.Second
			for _, name := range []string{"go-redis", "rueidis"} {
				d, err := drivers.Lookup(name)
				if err != nil {
					t.Fatal(err)
				}
				for _, lock := range []string{"set-nx", "setnx"} {
					t.Run(name+"/"+lock, func(t *testing.T) {
						cfg.Lock = lock
						drivertest.Run(t, drivertest.Setup{Driver: d, Config: cfg})
					})
				}
			}
		})
	}
}
