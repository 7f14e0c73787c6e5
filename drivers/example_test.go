package drivers_test

// A lock on a server, here Redis. What it needs beyond a lock without one is Service and ReadAddr.

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/drivers"
)

type lock struct{}

var (
	_ drivers.Addressed = lock{} // Service and ReadAddr

	traits = drivers.Traits{Exclusive: true, Owned: true, Expires: true} // what it promises
)

// Service names the kind of server. Those of package servers are started by lockbench; others need -addr, or servers.Register.
func (lock) Service() string { return "redis" }

// ReadAddr parses an address as Open does. Redacted is what may be printed: it has no password.
func (lock) ReadAddr(addr string) (drivers.Addr, error) {
	o, err := redis.ParseURL(addr)
	if err != nil {
		return drivers.Addr{}, err
	}
	return drivers.Addr{Redacted: "redis://" + o.Addr, Network: o.Network, Password: drivers.Secret(o.Password)}, nil
}

func (lock) Designs() []drivers.Design {
	return []drivers.Design{{
		Name: "mine", Traits: traits, Models: "SET NX PX, compare-and-delete", Wrong: "a holder that outlives its lease overlaps the next",
		Loses: []drivers.Hazard{ // lockbench prove finds out
			drivers.HazardOverrun, drivers.HazardHolderPauses, drivers.HazardLateGrant, drivers.HazardServerClock,
			drivers.HazardFailover, drivers.HazardRestartEmpty, drivers.HazardEviction,
		},
	}}
}

// Open connects to cfg.Addrs. A request that is not answered in time fails, and is not sent again.
func (lock) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	o, err := redis.ParseURL(cfg.Addrs[0])
	if err != nil {
		return nil, err
	}
	o.MaxRetries, o.ContextTimeoutEnabled, o.PoolSize = -1, true, cfg.Clients
	o.DialTimeout, o.ReadTimeout = cfg.IO(), cfg.IO()
	s := service{redis.NewClient(o)}
	return s, s.Ping(ctx).Err()
}

type service struct{ *redis.Client }

func (s service) Traits() drivers.Traits { return traits }
func (s service) Session(context.Context, int) (drivers.Session, error) {
	return client(s), nil
}

type client struct{ *redis.Client }

func (c client) Try(ctx context.Context, l *drivers.Lease) (held bool, err error) {
	l.Reset()
	l.Owner = rand.Text()
	return c.SetNX(ctx, l.Key, l.Owner, l.TTL.Round(time.Millisecond)).Result()
}

var release = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

func (c client) Release(ctx context.Context, l *drivers.Lease) (removed bool, err error) {
	return release.Run(ctx, c.Client, []string{l.Key}, l.Owner).Bool()
}

func Example() {
	drivers.Register("mine", lock{}) // and then cli.Main() of package cmd/cli, in a main of your own
}
