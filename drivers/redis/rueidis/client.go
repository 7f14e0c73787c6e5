// The client's settings for other packages: the driver of the lock library that comes with rueidis.
package rueidis

import (
	"context"
	"net"

	"github.com/redis/rueidis"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
)

// Driver is the driver registered as "rueidis".
var Driver = redis.Driver{Dial: Dial, Client: drivers.Library{
	Module:     Module,
	Pipelines:  true,
	Pipelining: []drivers.Pipelining{drivers.PipeliningAuto, drivers.PipeliningOff, drivers.PipeliningBatch},
	Topologies: redis.Topologies,
	Conns: func(clients int, pipelined bool) int {
		if pipelined {
			return 4 // 2^PipelineMultiplex
		}
		return min(clients, 1024) // BlockingPoolSize
	},
}}

// Module is the client library's Go module.
const Module = "github.com/redis/rueidis"

// ClientOption returns the settings of a client for the designs: no retries, no client-side cache, deadlines honoured.
// Close its connections after the client, whose own Close may leave some.
func ClientOption(o redis.Options) (rueidis.ClientOption, *Connections, error) {
	option, err := clientOption(o)
	dial := o.DialTo
	if option.ForceSingleClient {
		dial = func(ctx context.Context, _ string) (net.Conn, error) { return o.Dial(ctx) }
	}
	connections := &Connections{open: map[*connection]struct{}{}}
	option.DialCtxFn = connections.owning(dial)
	return option, connections, err
}

// Translate gives the library's own errors their class.
func Translate(err error) error { return translate(err) }
