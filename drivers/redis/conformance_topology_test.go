// Every design over every library, on servers that appear as one, against the contract.
package redis_test

import (
	"sync"
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
			cfg.IOTimeout = 2 * time.Second
			var all sync.WaitGroup
			slots := make(chan struct{}, 4) // as in TestConformance
			for _, name := range []string{"go-redis", "rueidis"} {
				d, err := drivers.Lookup(name)
				if err != nil {
					t.Fatal(err)
				}
				for _, cell := range topologyCells(d) {
					own := cfg
					own.Lock, own.Release = cell.Lock, cell.Release
					all.Go(func() {
						slots <- struct{}{}
						defer func() { <-slots }()
						t.Run(name+"/"+cell.name, func(t *testing.T) {
							driver := d
							if own.Topology != "" || own.Release != "" {
								driver = awake{d}
							}
							drivertest.Run(t, drivertest.Setup{Driver: driver, Config: own})
						})
					})
				}
			}
			all.Wait()
		})
	}
}

// topologyCells are all designs, and the release that needs a connection to the right node.
func topologyCells(d drivers.Driver) []cell {
	list := []cell{{"set-nx by watch", drivers.Config{Lock: "set-nx", Release: drivers.ReleaseWatch}}}
	for _, design := range d.Designs() {
		list = append(list, cell{design.Name, drivers.Config{Lock: design.Name}})
	}
	return list
}
