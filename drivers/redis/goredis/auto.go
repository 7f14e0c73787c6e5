// Sending through the library's automatic pipeliner.
package goredis

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/drivers/redis"
)

// pipeliner is the library's automatic pipeliner with two more bounds. Without them, a command waits for the batches
// before it, and each batch for a new connection if the server hangs, which adds up to several I/O time-outs; and Close
// sends what is left.
type pipeliner struct {
	auto  *goredis.AutoPipeliner
	io    time.Duration
	limit atomic.Pointer[limit]
	end   context.CancelFunc // of all connections
}

// limit is the deadline of all commands that begin within a while, because a timer for each costs too much.
type limit struct {
	ctx   context.Context
	until time.Time // later commands need a new one
}

// dialAuto opens a client that uses the automatic pipeliner. It uses the deferred calls, because the blocking ones do
// not honour a context once a command is queued.
func dialAuto(o redis.Options, options *goredis.UniversalOptions) (redis.Conn, error) {
	auto := goredis.DefaultBlockingAutoPipelineOptions()
	auto.MaxFlushDelay = o.FlushDelay
	if o.Conns > 1 {
		// Several batches at a time give up the order between clients, which no lock relies on.
		auto.MaxConcurrentBatches = o.Conns
		auto.Unordered = true
	}
	options.PipelinePoolSize = o.Conns
	options.MinIdleConns = 0 // the pipeliner has its own pool
	life, end := context.WithCancel(context.Background())
	dial := options.Dialer
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if life.Err() != nil {
			return nil, net.ErrClosed
		}
		conn, err := dial(ctx, network, addr)
		if err == nil {
			context.AfterFunc(life, func() { conn.Close() })
		}
		return conn, err
	}
	client := newClient(o, options)
	library, err := client.AsyncAutoPipelineWithOptions(auto)
	if err != nil {
		end()
		client.Close()
		return nil, err
	}
	return &conn{client: client, auto: &pipeliner{auto: library, io: o.IO(), end: end}, io: o.IO()}, nil
}

// do sends a command and waits for the reply, for one to one and a quarter I/O time-outs at most. Like that of a
// missing reply, its error leaves the outcome unknown.
func (p *pipeliner) do(ctx context.Context, cmd *goredis.Cmd) error {
	if ctx.Done() == nil {
		return p.auto.Submit(ctx, cmd).WaitContext(p.within())
	}
	bounded, cancel := context.WithTimeout(ctx, p.io)
	defer cancel()
	return p.auto.Submit(ctx, cmd).WaitContext(bounded)
}

// within returns a context for a command that begins now and has none of its own.
func (p *pipeliner) within() context.Context {
	now := time.Now()
	l := p.limit.Load()
	if l != nil && now.Before(l.until) {
		return l.ctx
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.io+p.io/4)
	fresh := &limit{ctx: ctx, until: now.Add(p.io / 4)}
	if !p.limit.CompareAndSwap(l, fresh) {
		cancel()
		return p.limit.Load().ctx
	}
	context.AfterFunc(ctx, cancel)
	return ctx
}

// close ends the connections first, so that the library sends nothing more.
func (p *pipeliner) close() error {
	p.end()
	return p.auto.Close()
}
