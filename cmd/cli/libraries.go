// What lockbench has to know of the client libraries beforehand: their modules, and how many connections they will
// open.

package cli

import (
	"runtime"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
)

// library is the client library of a driver that talks to a server.
type library struct {
	module    string // its Go module
	pipelines bool   // it shares connections between goroutines unless told otherwise
	multiplex bool   // whatever it is told: many requests are under way on each connection
	locks     bool   // it is a lock library: its locks are its own, and a process keeps one client of it

	topologies []drivers.Topology                    // besides the single server
	conns      func(c spec.Plan, pipelined bool) int // of its own choice; nil: one a client
	pins       func(lock string) bool                // each client needs a connection of its own, and -conns is void
	shares     func(c spec.Plan) bool                // its clients hold their locks together, and none can die alone
}

var everyTopology = []drivers.Topology{
	drivers.TopologyRedlock, drivers.TopologyReplicated, drivers.TopologySentinel, drivers.TopologyCluster,
}

var libraries = map[string]library{
	"go-redis": {
		module:     "github.com/redis/go-redis/v9",
		topologies: everyTopology,
		conns:      goRedisPool,
	},
	"rueidis": {
		module:     "github.com/redis/rueidis",
		pipelines:  true,
		topologies: everyTopology,
		conns: func(c spec.Plan, pipelined bool) int {
			if pipelined {
				return 4 // 2^PipelineMultiplex
			}
			return min(c.Clients, 1024) // BlockingPoolSize
		},
	},
	// The lock libraries, which have one connection more for what is not a lock.
	"redsync": {
		module:     "github.com/go-redsync/redsync/v4",
		locks:      true,
		topologies: []drivers.Topology{drivers.TopologyRedlock},
		conns:      func(c spec.Plan, _ bool) int { return 1 + goRedisPool(c, false) },
	},
	"redislock": {
		module: "github.com/bsm/redislock",
		locks:  true,
		conns:  func(c spec.Plan, _ bool) int { return 1 + goRedisPool(c, false) },
	},
	"rueidislock": {
		module:    "github.com/redis/rueidis",
		pipelines: true,
		multiplex: true,
		locks:     true,
		conns:     func(spec.Plan, bool) int { return 1 + 1 }, // PipelineMultiplex -1, which the library insists on
		shares:    func(spec.Plan) bool { return true },       // one Locker renews for them all
	},

	// The other services. Where sessions hold a lock, each client has a connection of its own, as it would in a process
	// of its own.
	"zookeeper": {
		module:     "github.com/go-zookeeper/zk",
		multiplex:  true,
		topologies: []drivers.Topology{drivers.TopologyEnsemble},
		shares:     func(c spec.Plan) bool { return c.Conns > 0 }, // -conns are its sessions
	},
	"etcd": {
		module:     "go.etcd.io/etcd/client/v3",
		multiplex:  true, // HTTP/2
		topologies: []drivers.Topology{drivers.TopologyEnsemble},
		conns:      func(spec.Plan, bool) int { return 1 },
	},
	"mysql": {
		module: "github.com/go-sql-driver/mysql",
		pins:   func(lock string) bool { return lock != "unique-row" },
		conns:  func(c spec.Plan, _ bool) int { return min(c.Clients, 32) }, // of its pool; see drivers/mysql
	},
	"postgres": {
		module: "github.com/jackc/pgx/v5",
		pins:   func(string) bool { return true },
	},
}

func (l library) pinned(lock string) bool { return l.pins != nil && l.pins(lock) }

func (l library) shared(c spec.Plan) bool { return l.shares != nil && l.shares(c) }

// goRedisPool is PoolSize: 10 a processor, and the pool opens a connection when none is idle.
func goRedisPool(c spec.Plan, _ bool) int { return min(c.Clients, 10*runtime.GOMAXPROCS(0)) }

// pipelined reports whether the clients of a cell share connections.
func pipelined(c spec.Plan) bool {
	return c.Pipelining == string(drivers.PipeliningAuto) || c.Pipelining == "" && libraries[c.Driver].pipelines
}

// pool is how many connections the clients of a cell share of which each request takes one for as long as it lasts (of a
// cluster, on all its nodes together); 0 if they share them otherwise, or each has its own.
func pool(c spec.Plan) int {
	lib := libraries[c.Driver]
	if inProcessDriver(c.Driver) || lib.multiplex || lib.pinned(c.Lock) || pipelined(c) {
		return 0
	}
	n := c.Conns
	if n == 0 && lib.conns != nil {
		n = lib.conns(c, false)
		if lib.locks {
			n-- // the one for what is not a lock
		}
	}
	if lib.locks {
		n *= max(1, c.Lockers)
	}
	if c.Topology == string(drivers.TopologyCluster) {
		n *= max(1, c.Nodes)
	}
	if n >= c.Clients {
		return 0
	}
	return n
}

// connections is how many connections a cell will open to a server at most, as far as is known beforehand: to each node of
// redlock, of a cluster or of an ensemble.
func connections(c spec.Plan) int {
	if inProcessDriver(c.Driver) {
		return 0
	}
	lib, n := libraries[c.Driver], c.Conns
	switch {
	case lib.pinned(c.Lock):
		n = c.Clients
	case n > 0:
	case lib.conns == nil:
		n = c.Clients
	default:
		n = lib.conns(c, pipelined(c))
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
	if c.Probe > 0 {
		n++ // the neighbour's
	}
	return n
}
