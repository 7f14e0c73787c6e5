// Making clients: of one server, of those that sentinels or a cluster name, and for the drivers of lock libraries that send their
// own commands through go-redis.
package goredis

import (
	"context"
	"errors"
	"fmt"
	"net"
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
	case o.FlushDelay != 0:
		return nil, errors.New("a flush delay needs pipelining, which the library does not do: drop it")
	case o.Pipelining != drivers.PipeliningDefault && o.Pipelining != drivers.PipeliningOff:
		return nil, fmt.Errorf("pipelining %q is not possible: the library sends one command at a time on a connection", o.Pipelining)
	}
	return goredis.NewClient(poolOptions(o)), nil
}

// Translate gives the library's own errors their class.
func Translate(err error) error { return translate(err) }

// newClient returns the client for one server, or for the one that sentinels name.
func newClient(o redis.Options, options *goredis.Options) *goredis.Client {
	if o.Topology != drivers.TopologySentinel {
		return goredis.NewClient(options)
	}
	failover := &goredis.FailoverOptions{
		MasterName:    o.Master,
		SentinelAddrs: addrs(o),
		Dialer:        dialer(o),
		Username:      options.Username,
		Password:      options.Password,
		DB:            options.DB,

		MaxRetries:            options.MaxRetries,
		DialerRetries:         options.DialerRetries,
		ContextTimeoutEnabled: options.ContextTimeoutEnabled,
		DialTimeout:           options.DialTimeout,
		ReadTimeout:           options.ReadTimeout,
		WriteTimeout:          options.WriteTimeout,
		PoolTimeout:           options.PoolTimeout,
		PoolSize:              options.PoolSize,
		MinIdleConns:          options.MinIdleConns,
		PipelinePoolSize:      options.PipelinePoolSize,
		DisableIdentity:       options.DisableIdentity,
	}
	if o.SentinelAuth {
		failover.SentinelUsername, failover.SentinelPassword = options.Username, options.Password
	}
	return goredis.NewFailoverClient(failover)
}

// redirects is how often a command may be sent on to another node. That is not a retry: MOVED and ASK mean that it was
// not executed.
const redirects = 3

// dialCluster opens a client for a cluster, with a pool for each node.
func dialCluster(o redis.Options) (redis.Conn, error) {
	if o.Pipelining == drivers.PipeliningAuto {
		return nil, errors.New("go-redis sends pipelines of a cluster again when a connection breaks, and a repeated release may free the next holder's lock: turn pipelining off, or take rueidis")
	}
	if o.FlushDelay != 0 {
		return nil, errors.New("a flush delay needs pipelining, which go-redis does not do in a cluster: drop it")
	}
	if o.Retries != 0 {
		return nil, errors.New("retries are not possible in a cluster, where each command is sent once: drop them")
	}
	options := poolOptions(o)
	client := goredis.NewClusterClient(&goredis.ClusterOptions{
		Addrs:    addrs(o),
		Dialer:   dialer(o),
		Username: options.Username,
		Password: options.Password,

		MaxRedirects:             redirects,
		MaxRetries:               options.MaxRetries,
		DialerRetries:            options.DialerRetries,
		ContextTimeoutEnabled:    options.ContextTimeoutEnabled,
		DialTimeout:              options.DialTimeout,
		ReadTimeout:              options.ReadTimeout,
		WriteTimeout:             options.WriteTimeout,
		PoolTimeout:              options.PoolTimeout,
		PoolSize:                 options.PoolSize,
		MinIdleConns:             options.MinIdleConns,
		DisableIdentity:          options.DisableIdentity,
		MaintNotificationsConfig: options.MaintNotificationsConfig,
		DisableRoutingPolicies:   true, // a command goes to the node of its key, or to any one
	})
	return &conn{client: client, io: o.IO(), cluster: true}, nil
}

// once is a command that is not sent again. The cluster client uses its number of redirections for retries too,
// whatever MaxRetries says, and would repeat a command whose connection broke.
type once struct{ *goredis.Cmd }

func (once) NoRetry() bool { return true }

func addrs(o redis.Options) []string {
	list := make([]string, len(o.Targets))
	for i, t := range o.Targets {
		list[i] = t.Addr()
	}
	return list
}

// dialer dials the address that a server names.
func dialer(o redis.Options) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (net.Conn, error) { return o.DialTo(ctx, addr) }
}
