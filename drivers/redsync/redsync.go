// Package redsync drives github.com/go-redsync/redsync unchanged, over go-redis, and registers it as "redsync".
//
// The lock is a key with a token on each node, held with a majority of the nodes: with one address it is a lock on one
// server, with several (topology redlock) the library's own Redlock. The library undoes each failed attempt with a
// release on every node. It waits (-wait native) by retrying after a random delay, a limited number of times.
package redsync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	redsyncpool "github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
	"github.com/lockbench/lockbench/drivers/redis/goredis"
)

func init() { drivers.Register("redsync", driver{}) }

// Library implements drivers.Described. There is one more connection, for everything that is not a lock.
func (driver) Library() drivers.Library {
	return drivers.Library{
		Module: "github.com/go-redsync/redsync/v4", Locks: true, Pipelining: []drivers.Pipelining{drivers.PipeliningOff},
		Topologies: []drivers.Topology{drivers.TopologyRedlock},
		Conns:      func(clients int, _ bool) int { return 1 + goredis.PoolSize(clients) },
	}
}

type driver struct{ redis.Addresses }

var library = drivers.Design{
	Name:   "library",
	Traits: drivers.Traits{Exclusive: true, Owned: true, Expires: true, Renews: true, Waits: true},
	Models: "github.com/go-redsync/redsync: SET key token NX PX ttl on a majority of nodes, compare-and-delete on " +
		"all, random delays",
	Wrong: "no fencing token: a holder that outlives its lease goes on beside the next; a node that " +
		"restarts empty or fails over can grant it twice; waiters poll, so that the client that has just released comes first",
	Loses: []drivers.Hazard{
		drivers.HazardOverrun, drivers.HazardHolderPauses, drivers.HazardServerClock, drivers.HazardOrphanWatchdog,
		drivers.HazardFailover, drivers.HazardRestartEmpty, drivers.HazardEviction, drivers.HazardQuorumRestart,
		drivers.HazardQuorumPause,
	},
}

// onExtend is the library with its option WithSetNXOnExtend.
var onExtend = drivers.Design{
	Name:   "set-nx-on-extend",
	Traits: library.Traits,
	Models: library.Models + "; WithSetNXOnExtend: a renewal sets the key again if it is gone",
	Wrong:  "a renewal takes a lost lock again, though others may have had it meanwhile, and says that it was never lost; " + library.Wrong,
	Loses:  append(slices.Clip(library.Loses), drivers.HazardRenewalReacquires),
}

// Designs implements drivers.Driver.
func (driver) Designs() []drivers.Design { return []drivers.Design{library, onExtend} }

// Params implements drivers.Parametrised.
func (driver) Params() []drivers.Param {
	return []drivers.Param{
		drivers.IntParam("tries", "32", 1, "attempts of one call, after which the library gives up"),
		drivers.AgainParam(),
		drivers.TimeParam("retry-delay", "0s", "delay between them; 0s is the library's own, 50 to 250 ms at random"),
		drivers.ShareParam("drift-factor", "0.01", "share of the TTL that clocks may differ by"),
		drivers.ShareParam("timeout-factor", "0.05", "share of the TTL after which an attempt counts as failed"),
		drivers.SwitchParam("fail-fast", "false", "answer with the majority, not with the last node"),
	}
}

// Open implements drivers.Driver.
func (d driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	s, err := d.open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("redsync: %w", err)
	}
	return s, nil
}

func (d driver) open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	design, params, err := drivers.Chosen(d, cfg)
	if err != nil {
		return nil, err
	}
	options, err := optionsOf(params)
	if err != nil {
		return nil, err
	}
	if design.Name == onExtend.Name {
		options = append(options, redsync.WithSetNXOnExtend())
	}
	if cfg.Topology != drivers.TopologyRedlock {
		err = cfg.OneServer()
	} else if len(cfg.Addrs) == 0 {
		err = errors.New("there are no addresses: give one for each node")
	}
	if err != nil {
		return nil, err
	}
	base, nodes, err := redis.OpenBase(ctx, goredis.Driver, cfg, nil)
	if err != nil {
		return nil, err
	}
	s := &service{
		Base: base, options: options, nodes: len(nodes), again: params.On("again"), delay: params.Time("retry-delay"),
	}
	for range max(1, cfg.Lockers) {
		var pools []redsyncredis.Pool
		for _, node := range nodes {
			client, err := goredis.NewClient(node)
			if err != nil {
				s.Close()
				return nil, err
			}
			s.Owns(client)
			pools = append(pools, pool{redsyncpool.NewPool(client), len(nodes) == 1})
		}
		s.lockers = append(s.lockers, redsync.New(pools...))
	}
	return s, nil
}

// optionsOf returns the library's options that the parameters choose.
func optionsOf(p drivers.ParamValues) ([]redsync.Option, error) {
	if p.Share("timeout-factor") == 0 {
		return nil, errors.New("parameter timeout-factor=0: gives no attempt any time: give more than 0")
	}
	return []redsync.Option{
		redsync.WithTries(p.Int("tries")), redsync.WithDriftFactor(p.Share("drift-factor")),
		redsync.WithTimeoutFactor(p.Share("timeout-factor")), redsync.WithFailFast(p.On("fail-fast")),
	}, nil
}

type service struct {
	*redis.Base
	options []redsync.Option
	nodes   int
	again   bool
	delay   time.Duration      // between attempts; 0: the library's own
	lockers []*redsync.Redsync // one per process
}

// Session implements drivers.Service.
func (s *service) Session(_ context.Context, id int) (drivers.Session, error) {
	return &session{service: s, locker: s.lockers[id%len(s.lockers)], Tally: drivers.Tally{Again: s.again}}, nil
}

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits { return library.Traits }

// Close implements drivers.Service.
func (s *service) Close() error { return fail("close", s.Base.Close()) }

func fail(op string, err error) error { return redis.Fail("redsync: "+op, goredis.Translate(err)) }

// errLate is the failure of an attempt that the library's own limits have ended.
var errLate = &drivers.Error{
	Class: drivers.ClassTimeout, Op: "attempt", Err: errors.New("no answer within timeout-factor of the TTL, or at the deadline"),
}

// pool is the library's pool of a node. A request to the only node is not cut short by the library's limits: its answer
// says whether the lock was granted. A request to one of several nodes is, because the others decide.
type pool struct {
	redsyncredis.Pool
	only bool
}

// Get implements redis.Pool.
func (p pool) Get(ctx context.Context) (redsyncredis.Conn, error) {
	request := ctx
	if p.only {
		request = redis.Caller(ctx)
	}
	c, err := p.Pool.Get(request)
	return conn{c, ctx, p.only}, err
}

// attempt is what the nodes have answered to the attempt of a Wait that is under way.
type attempt struct {
	sent  atomic.Bool
	taken atomic.Int32 // nodes that have refused it
}

type attemptKey struct{} // of a context

// conn is one request of the library, made with ctx.
type conn struct {
	redsyncredis.Conn
	ctx  context.Context
	only bool
}

// SetNX implements redis.Conn. It fails with errLate after the library's limit, unless the answer is a refusal.
func (c conn) SetNX(name, value string, expiry time.Duration) (bool, error) {
	granted, err := c.Conn.SetNX(name, value, expiry)
	if a, ok := c.ctx.Value(attemptKey{}).(*attempt); ok {
		if a.sent.Store(true); !granted && err == nil {
			a.taken.Add(1)
		}
	}
	limit, limited := c.ctx.Deadline() // the connection may know of it earlier than c.ctx.Err
	switch {
	case !limited || time.Now().Before(limit), redis.Caller(c.ctx).Err() != nil:
		return granted, err
	case granted, err != nil && !c.only && drivers.ClassOf(err) == drivers.ClassTimeout:
		return false, errLate
	}
	return granted, err
}
