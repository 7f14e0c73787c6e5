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
	conns     func(clients int, pipelined bool) int
}

var libraries = map[string]library{
	"go-redis": {
		module: "github.com/redis/go-redis/v9",
		// PoolSize is 10 a processor, and the pool opens a connection when none is idle.
		conns: func(clients int, _ bool) int { return min(clients, 10*runtime.GOMAXPROCS(0)) },
	},
	"rueidis": {
		module:    "github.com/redis/rueidis",
		pipelines: true,
		conns: func(clients int, pipelined bool) int {
			if pipelined {
				return 4 // 2^PipelineMultiplex
			}
			return min(clients, 1024) // BlockingPoolSize
		},
	},
	// The lock libraries, which have one connection more for what is not a lock.
	"redsync": {
		module: "github.com/go-redsync/redsync/v4",
		conns:  func(clients int, _ bool) int { return 1 + min(clients, 10*runtime.GOMAXPROCS(0)) },
	},
	"redislock": {
		module: "github.com/bsm/redislock",
		conns:  func(clients int, _ bool) int { return 1 + min(clients, 10*runtime.GOMAXPROCS(0)) },
	},
	"rueidislock": {
		module:    "github.com/redis/rueidis",
		pipelines: true,
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
		n++ // the subscription
	}
	if d, err := drivers.Lookup(c.Driver); err == nil && drivers.ParamsOf(d) != nil {
		n *= max(1, c.Lockers) // a lock library keeps a client for each
	}
	return n
}
