// The client for other packages: the drivers of lock libraries that send their own commands through go-redis.
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
	case o.FlushDelay != 0:
		return nil, errors.New("a flush delay needs pipelining, which the library does not do: drop it")
	case o.Pipelining != drivers.PipeliningDefault && o.Pipelining != drivers.PipeliningOff:
		return nil, fmt.Errorf("pipelining %q is not possible: the library sends one command at a time on a connection", o.Pipelining)
	}
	return goredis.NewClient(poolOptions(o)), nil
}

// Translate gives the library's own errors their class.
func Translate(err error) error { return translate(err) }
