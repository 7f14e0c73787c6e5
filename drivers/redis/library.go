// What the drivers of whole lock libraries (redsync, redislock, rueidislock) have in common with the designs here:
// where the servers are, and everything that is not a lock.
package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Beside is the part of a lock library's service that has nothing to do with its locks. It talks to the servers over a
// connection of its own to each, so that nothing of it is in the library's way.
type Beside struct {
	nodes []bystander
	names func(key string) []string
}

// bystander is what a service of this package can do for any lock.
type bystander interface {
	drivers.Service
	drivers.Pinger
	drivers.Cleaner
	drivers.Inspector
	drivers.Prober
	drivers.Sender
}

// OpenBeside greets the server of each address with the client library of d, so that whatever is wrong with an
// address is said in the same words as elsewhere. It returns the Options with which the library's own clients are set
// up, one for each address. names are the keys on the server that the library makes of the name of a lock; nil means
// that one alone.
func OpenBeside(ctx context.Context, d Driver, cfg drivers.Config, names func(key string) []string) (*Beside, []Options, error) {
	if names == nil {
		names = func(key string) []string { return []string{key} }
	}
	b := &Beside{names: names}
	var options []Options
	for _, addr := range cfg.Addrs {
		c := cfg
		c.Addrs, c.Topology, c.Lock = []string{addr}, drivers.TopologySingle, setNX.Name
		c.Clients, c.Conns, c.Wakes, c.Pipelining, c.FlushDelay, c.Params = 1, 1, false, "", 0, nil
		svc, err := Driver{Dial: func(ctx context.Context, o Options) (Conn, error) {
			own := o // what Open has made of the address holds for the library's clients too
			own.Clients, own.Conns, own.Pipelining, own.FlushDelay = cfg.Clients, cfg.Conns, cfg.Pipelining, cfg.FlushDelay
			options = append(options, own)
			return d.Dial(ctx, o)
		}}.Open(ctx, c)
		if err != nil {
			return nil, nil, errors.Join(err, b.Close())
		}
		b.nodes = append(b.nodes, svc.(bystander))
	}
	return b, options, nil
}

// Ping implements drivers.Pinger. The nodes of a run are alike, so that the first one stands for all.
func (b *Beside) Ping(ctx context.Context) error { return b.nodes[0].Ping(ctx) }

// Probe implements drivers.Prober. The nodes of a run are alike, so that the first one stands for all.
func (b *Beside) Probe(ctx context.Context) error { return b.nodes[0].Probe(ctx) }

// wake has a broken connection replaced: it lies idle while the library works, and the first request after an outage
// would fail.
func (b *Beside) wake(ctx context.Context) {
	for _, n := range b.nodes {
		n.Ping(ctx)
	}
}

// Clean implements drivers.Cleaner, on every node.
func (b *Beside) Clean(ctx context.Context, keys []string) error {
	b.wake(ctx)
	var all []string
	for _, key := range keys {
		all = append(all, b.names(key)...)
	}
	var errs []error
	for _, n := range b.nodes {
		errs = append(errs, n.Clean(ctx, all))
	}
	return errors.Join(errs...)
}

// Inspect implements drivers.Inspector: the first node describes all, and what they have spent is summed.
func (b *Beside) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	b.wake(ctx)
	server, total, err := b.nodes[0].Inspect(ctx)
	if err != nil {
		return server, total, err
	}
	for _, n := range b.nodes[1:] {
		_, usage, err := n.Inspect(ctx)
		if err != nil {
			return server, total, err
		}
		total = total.Plus(usage)
	}
	return server, total, nil
}

// Close gives the connections back.
func (b *Beside) Close() error {
	var errs []error
	for _, n := range b.nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}

// Fail says what a lock library attempted when err happened, and gives it a class. A client library's own errors have
// to be translated before.
func Fail(op string, err error) error {
	return &drivers.Error{Class: classOf(err), Op: op, Err: err}
}

// Patience returns ctx until l.Deadline, for a library's own way of waiting. over says that the deadline has passed; only then
// is there nothing to cancel.
func Patience(ctx context.Context, l *drivers.Lease) (limited context.Context, cancel context.CancelFunc, over bool) {
	switch {
	case l.Deadline.IsZero():
		return ctx, func() {}, false
	case !time.Now().Before(l.Deadline):
		return nil, nil, true
	}
	limited, cancel = context.WithDeadline(ctx, l.Deadline)
	return limited, cancel, false
}

// WholeMillis rounds a lease up to the server's unit, where libraries cut fractions off: a lock that expired before
// its TTL would be a broken promise.
func WholeMillis(ttl time.Duration) (time.Duration, error) {
	if ttl < time.Millisecond {
		return 0, fmt.Errorf("a TTL of %v is too short: Redis expires keys after 1ms at the earliest", ttl)
	}
	return (ttl + time.Millisecond - 1).Truncate(time.Millisecond), nil
}
