// What lockbench has to know of the client libraries beforehand: which drivers have one, and how many connections it
// will open.

package main

import (
	"runtime"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

// library is a client library of a driver that talks to a server. Drivers that are not in libraries run in-process.
type library struct {
	module    string // its Go module
	pipelines bool   // it shares connections between goroutines unless told otherwise
	locks     bool   // it is a lock library: its locks are its own, and a process keeps one client of it

	topologies []drivers.Topology // besides the single server
	conns      func(clients int, pipelined bool) int
}

var everyTopology = []drivers.Topology{
	drivers.TopologyRedlock, drivers.TopologyReplicated, drivers.TopologySentinel, drivers.TopologyCluster,
}

var libraries = map[string]library{
	"go-redis": {
		module:     "github.com/redis/go-redis/v9",
		topologies: everyTopology,
		// PoolSize is 10 a processor, and the pool opens a connection when none is idle.
		conns: func(clients int, _ bool) int { return min(clients, 10*runtime.GOMAXPROCS(0)) },
	},
	"rueidis": {
		module:     "github.com/redis/rueidis",
		pipelines:  true,
		topologies: everyTopology,
		conns: func(clients int, pipelined bool) int {
			if pipelined {
				return 4 // 2^PipelineMultiplex
			}
			return min(clients, 1024) // BlockingPoolSize
		},
	},
	// The lock libraries, which have one connection more for what is not a lock.
	"redsync": {
		module:     "github.com/go-redsync/redsync/v4",
		locks:      true,
		topologies: []drivers.Topology{drivers.TopologyRedlock},
		conns:      func(clients int, _ bool) int { return 1 + min(clients, 10*runtime.GOMAXPROCS(0)) },
	},
	"redislock": {
		module: "github.com/bsm/redislock",
		locks:  true,
		conns:  func(clients int, _ bool) int { return 1 + min(clients, 10*runtime.GOMAXPROCS(0)) },
	},
	"rueidislock": {
		module:    "github.com/redis/rueidis",
		pipelines: true,
		locks:     true,
		conns:     func(int, bool) int { return 1 + 1 }, // PipelineMultiplex -1, which the library insists on
	},
}

// connections is how many connections a cell will open at most, as far as is known beforehand.
func connections(c results.Plan) int {
	lib, remote := libraries[c.Driver]
	if !remote {
		return 0
	}
	n := c.Conns
	if n == 0 {
		n = lib.conns(c.Clients, c.Pipelining == "auto" || c.Pipelining == "" && lib.pipelines)
	}
	if wakes(c) {
		n += max(c.Lockers, 1) // the subscriptions
	}
	if blocks(c) {
		n += c.Clients // each sleeps on one of its own
	}
	if lib.locks {
		n *= max(1, c.Lockers)
	}
	return n * max(1, c.Nodes) // as many for each node of redlock or of a cluster
}
