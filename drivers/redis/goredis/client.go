// Making clients: of one server, of those that sentinels or a cluster name, and for the drivers of lock libraries that send their
// own commands through go-redis.
package goredis

import (
	"errors"
	"fmt"
	"runtime"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
)

// Driver is the driver registered as "go-redis".
var Driver = redis.Driver{Dial: Dial, Client: drivers.Library{
	Module:     Module,
	Pipelining: []drivers.Pipelining{drivers.PipeliningAuto, drivers.PipeliningOff, drivers.PipeliningBatch},
	Topologies: redis.Topologies,
	Conns:      func(clients int, _ bool) int { return PoolSize(clients) },
}}

// Module is the client library's Go module.
const Module = "github.com/redis/go-redis/v9"

// PoolSize returns the number of connections that the clients open at most: 10 per processor; the pool opens one when
// none is idle.
func PoolSize(clients int) int { return min(clients, 10*runtime.GOMAXPROCS(0)) }

// NewClient makes a client with the settings of the designs: deadlines honoured, and no retries unless they are asked for.
// It connects when it is first used. A lock library sends one command at a time on a connection, so pipelining is
// rejected.
func NewClient(o redis.Options) (*goredis.Client, error) {
	switch {
	case o.Conns < 0:
		return nil, fmt.Errorf("%d connections are not possible: give 1 or more, or 0 for the library's default", o.Conns)
	case o.Pipelining != drivers.PipeliningDefault && o.Pipelining != drivers.PipeliningOff:
		return nil, fmt.Errorf("pipelining %q is not possible: the library sends one command at a time on a connection", o.Pipelining)
	}
	return goredis.NewClient(poolOptions(o).Simple()), nil
}

// Translate gives the library's own errors their class.
func Translate(err error) error { return translate(err) }

// newClient returns the client for one server, or for the one that sentinels name.
func newClient(o redis.Options, options *goredis.UniversalOptions) *goredis.Client {
	if o.Topology != drivers.TopologySentinel {
		return goredis.NewClient(options.Simple())
	}
	options.MasterName = o.Master
	options.SentinelUsername, options.SentinelPassword = o.Targets[0].Username, string(o.Targets[0].Password)
	return goredis.NewFailoverClient(options.Failover())
}

// redirects is how often a command may be sent on to another node. That is not a retry: MOVED and ASK mean that it was
// not executed.
const redirects = 3

// dialCluster opens a client for a cluster, with a pool for each node.
func dialCluster(o redis.Options) (redis.Conn, error) {
	if o.Pipelining == drivers.PipeliningAuto {
		return nil, errors.New("go-redis sends pipelines of a cluster again when a connection breaks, and a repeated release may free the next holder's lock: turn pipelining off, or take rueidis")
	}
	if o.Retries != 0 {
		return nil, errors.New("retries are not possible in a cluster, where each command is sent once: drop them")
	}
	if o.Unnamed {
		return nil, errors.New("go-redis needs the hosts of the nodes: set cluster-preferred-endpoint-type to ip, or take rueidis")
	}
	options := poolOptions(o).Cluster()
	options.MaxRedirects = redirects
	options.DisableRoutingPolicies = true // a command goes to the node of its key, or to any one
	return &conn{client: goredis.NewClusterClient(options), io: o.IO(), cluster: true}, nil
}

// once is a command that is not sent again. The cluster client uses its number of redirections for retries too,
// whatever MaxRetries says, and would repeat a command whose connection broke.
type once struct{ *goredis.Cmd }

func (once) NoRetry() bool { return true }
