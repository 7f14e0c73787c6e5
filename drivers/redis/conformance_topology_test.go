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
				for _, cell := range topologyCells(cfg.Topology) {
					t.Run(name+"/"+cell.Lock+string(cell.Release), func(t *testing.T) {
						cfg.Lock, cfg.Release = cell.Lock, cell.Release
						driver := d
						if cfg.Topology != "" {
							driver = awake{d}
						}
						drivertest.Run(t, drivertest.Setup{Driver: driver, Config: cfg})
					})
				}
			}
		})
	}
}

// topologyCells are the designs to run: more where keys have to share a slot and publications go elsewhere.
func topologyCells(topology drivers.Topology) []drivers.Config {
	cells := []drivers.Config{{Lock: "set-nx"}, {Lock: "setnx"}}
	if topology == drivers.TopologyCluster {
		cells = append(cells, drivers.Config{Lock: "set-nx", Release: drivers.ReleaseWatch},
			drivers.Config{Lock: "redisson"}, drivers.Config{Lock: "fenced"}, drivers.Config{Lock: "fair"})
	}
	return cells
}
