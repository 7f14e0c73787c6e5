// What the drivers of lock libraries (redsync, redislock, rueidislock) have in common with the designs here: where the
// servers are, and everything apart from the locks.
package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Base is the part of a lock library's service that has nothing to do with its locks. It has its own connection to each
// server, so that it does not disturb the library.
type Base struct {
	nodes []baseService
	names func(key string) []string
	owned []io.Closer
}

// base is the part of this package's service that does not depend on the lock.
type baseService interface {
	drivers.Service
	drivers.Pinger
	drivers.Cleaner
	drivers.Inspector
	drivers.Prober
	drivers.Sender
}

// OpenBase greets the server of each address with the client library of d, so that errors in addresses are reported as
// by other drivers. It returns the Options for the library's own clients, one for each address. names returns the keys
// that the library makes for the name of a lock; nil means that one alone.
func OpenBase(ctx context.Context, d Driver, cfg drivers.Config, names func(key string) []string) (*Base, []Options, error) {
	if names == nil {
		names = func(key string) []string { return []string{key} }
	}
	b := &Base{names: names}
	var options []Options
	for _, addr := range cfg.Addrs {
		c := cfg
		c.Addrs, c.Topology, c.Lock = []string{addr}, drivers.TopologySingle, setNX.Name
		c.Clients, c.Conns, c.Wakes, c.Pipelining, c.FlushDelay, c.Params = 1, 1, false, "", 0, nil
		svc, err := Driver{Dial: func(ctx context.Context, o Options) (Conn, error) {
			own := o // what Open made of the address applies to the library's clients too
			own.Clients, own.Conns, own.Pipelining, own.FlushDelay = cfg.Clients, cfg.Conns, cfg.Pipelining, cfg.FlushDelay
			options = append(options, own)
			return d.Dial(ctx, o)
		}}.Open(ctx, c)
		if err != nil {
			return nil, nil, errors.Join(err, b.Close())
		}
		b.nodes = append(b.nodes, svc.(baseService))
	}
	return b, options, nil
}

// Ping implements drivers.Pinger. The nodes of a run are alike, so the first one stands for all.
func (b *Base) Ping(ctx context.Context) error { return b.nodes[0].Ping(ctx) }

// Probe implements drivers.Prober. The nodes of a run are alike, so the first one stands for all.
func (b *Base) Probe(ctx context.Context) error { return b.nodes[0].Probe(ctx) }

// wake makes the library replace a broken connection: it is idle while locks are measured, and the first request after
// an outage would fail. go-redis gives the error of a failed dial to all requests of the next second, too.
func (b *Base) wake(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, wakeTime)
	defer cancel()
	for _, n := range b.nodes {
		for n.Ping(ctx) != nil && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(wakePause):
			}
		}
	}
}

const (
	wakeTime  = 2 * time.Second
	wakePause = 50 * time.Millisecond
)

// Clean implements drivers.Cleaner, on every node.
func (b *Base) Clean(ctx context.Context, keys []string) error {
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

// Inspect implements drivers.Inspector: of all nodes, as if they were one server.
func (b *Base) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	b.wake(ctx)
	var all clusterReport
	for _, n := range b.nodes {
		server, usage, err := n.Inspect(ctx)
		if err != nil {
			return drivers.Server{}, drivers.Usage{}, err
		}
		all.add(server, usage)
	}
	return all.server, all.usage, nil
}

// Owns makes Close close a client of the library, too.
func (b *Base) Owns(c io.Closer) { b.owned = append(b.owned, c) }

// Close closes the connections.
func (b *Base) Close() error {
	return errors.Join(drivers.CloseAll(slices.Values(b.nodes)), drivers.CloseAll(slices.Values(b.owned)))
}

// WonLease is a lease that a Wait has won, for the next Try to confirm or Leave to give back. The zero value is none.
type WonLease struct{ won drivers.Lease }

// Win keeps what was won, which has a Key.
func (p *WonLease) Win(l drivers.Lease) { p.won = l }

// Confirm returns in l what was won, if that is l's key.
func (p *WonLease) Confirm(l *drivers.Lease) bool {
	if p.won.Key != l.Key || l.Key == "" {
		return false
	}
	l.Reset()
	l.Owner, l.ValidUntil, l.Aux = p.won.Owner, p.won.ValidUntil, p.won.Aux
	p.won = drivers.Lease{}
	return true
}

// GiveBack releases what was won.
func (p *WonLease) GiveBack(ctx context.Context, s drivers.Session) error {
	won := p.won
	if p.won = (drivers.Lease{}); won.Key == "" {
		return nil
	}
	_, err := s.Release(ctx, &won)
	return err
}

// Undo releases what may or may not be held, also when ctx is done. It returns an error if that is not answered.
func Undo(ctx context.Context, s drivers.Session, l *drivers.Lease) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drivers.DefaultIOTimeout)
	defer cancel()
	_, err := s.Release(ctx, l)
	return err
}

// A library bounds its calls by limits of its own: the TTL, a share of it, the deadline that UntilDeadline gives it. Such a
// limit is patience, and its end a refusal. A request that it cut short would leave the outcome unknown. So the driver
// passes Calling(ctx) to the library, and the client below it sends each request with Caller(ctx), which has the limits of
// the caller alone.

// callerKey is the context key of the caller's context.
type callerKey struct{}

// Calling returns ctx for a call of a library.
func Calling(ctx context.Context) context.Context {
	if ctx.Done() == nil { // it has no limits, and marking it would cost an allocation
		return ctx
	}
	return context.WithValue(ctx, callerKey{}, ctx)
}

// Caller returns the context from which Calling has made ctx, or one without limits.
func Caller(ctx context.Context) context.Context {
	if caller, ok := ctx.Value(callerKey{}).(context.Context); ok {
		return caller
	}
	return context.Background()
}

// UntilDeadline returns Calling(ctx) bounded by l.Deadline, for a library's own way of waiting. over says that the deadline
// has passed; only then is there nothing to cancel.
func UntilDeadline(ctx context.Context, l *drivers.Lease) (limited context.Context, cancel context.CancelFunc, over bool) {
	ctx = Calling(ctx)
	switch {
	case l.Deadline.IsZero():
		return ctx, func() {}, false
	case !time.Now().Before(l.Deadline):
		return nil, nil, true
	}
	limited, cancel = context.WithDeadline(ctx, l.Deadline)
	return limited, cancel, false
}

// WholeMillis rounds a lease up to the server's unit, because libraries cut fractions off: a lock must not expire
// before its TTL.
func WholeMillis(ttl time.Duration) (time.Duration, error) {
	if ttl < time.Millisecond {
		return 0, fmt.Errorf("a TTL of %v is too short: Redis expires keys after 1ms at the earliest", ttl)
	}
	return (ttl + time.Millisecond - 1).Truncate(time.Millisecond), nil
}
