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
// other's addresses, which bypass it. Outages are in topology_test.go.
func TestTopologyConformance(t *testing.T) {
	for i, topology := range []struct {
		name  string
		start func(t *testing.T) drivers.Config
	}{
		{"replicated", func(t *testing.T) drivers.Config {
			return drivers.Config{Topology: drivers.TopologyReplicated, Acks: 2, NodeTimeout: time.Second,
				Addrs: servertest.Replicated(t, 2, servers.Options{}).URLs()}
		}},
		{"sentinel", func(t *testing.T) drivers.Config {
			s := servertest.Sentinel(t, 1, 3, servers.Options{})
			return drivers.Config{Topology: drivers.TopologySentinel, Master: servers.SentinelMaster, Addrs: s.URLs()}
		}},
		{"cluster", func(t *testing.T) drivers.Config {
			return drivers.Config{Topology: drivers.TopologyCluster, Addrs: servertest.Cluster(t, 3, servers.Options{}).URLs()}
		}},
	} {
		t.Run(topology.name, func(t *testing.T) {
			cfg := topology.start(t)
			cfg.IOTimeout = 2 * time.Second
			var all sync.WaitGroup
			slots := make(chan struct{}, atOnce)
			for j, name := range []string{"go-redis", "rueidis"} {
				d, err := drivers.Lookup(name)
				if err != nil {
					t.Fatal(err)
				}
				for _, cell := range topologyCells(d, i, j) {
					own := cfg
					own.Lock = cell.Lock
					all.Go(func() {
						slots <- struct{}{}
						defer func() { <-slots }()
						t.Run(name+"/"+cell.name, func(t *testing.T) {
							driver := d
							if own.Topology != drivers.TopologyReplicated { // where clients reach the token
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

// topologies is the number of topologies besides the single server.
const topologies = 3

// topologyCells returns the cells of a library on a topology, by their numbers. The connection, which is the same below
// all designs, finds the servers: so set-nx is tested everywhere, and every other design on one topology, with one library.
func topologyCells(d drivers.Driver, topology, library int) []cell {
	list := []cell{{"set-nx", drivers.Config{Lock: "set-nx"}}}
	var others []cell
	for _, design := range d.Designs() {
		if design.Name != "set-nx" && design.Name != "fair" { // which is not replicated
			others = append(others, cell{design.Name, drivers.Config{Lock: design.Name}})
		}
	}
	for i, c := range others {
		if i%topologies == topology && i%2 == library {
			list = append(list, c)
		}
	}
	if topology > 0 {
		list = append(list, cell{"fair", drivers.Config{Lock: "fair"}})
	}
	return list
}
