// Package rueidislock drives github.com/redis/rueidis/rueidislock unchanged and registers it as "rueidislock".
//
// A Locker stands for a process: its clients wait (-wait native) in its local queue, and the invalidations of the
// server's client-side caching wake it when a key changes. It renews what is held, until the holder releases it or the
// process ends. Its release returns nothing, so the driver intercepts the server's answer (see interceptor.go).
package rueidislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	rueidislib "github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
	"github.com/lockbench/lockbench/drivers/redis/rueidis"
)

func init() { drivers.Register("rueidislock", driver{}) }

// Library implements drivers.Described. There is one more connection, for everything that is not a lock.
func (driver) Library() drivers.Library {
	return drivers.Library{
		Module: rueidis.Module, Locks: true, Queues: true, Pipelines: true, Multiplexes: true,
		Pipelining: []drivers.Pipelining{drivers.PipeliningAuto},
		Conns:      func(int, bool) int { return 1 + 1 }, // PipelineMultiplex -1, which the library requires
		Shares:     func(int) bool { return true },       // one Locker renews all their locks
	}
}

type driver struct{ redis.Addresses }

// It has Session and not Expires: a client that neither releases nor ends its process keeps the lock for ever, because
// its Locker goes on renewing it. When the process dies, the lock becomes free after Config.TTL.
var design = drivers.Design{
	Name:   "library",
	Traits: drivers.Traits{Exclusive: true, Owned: true, Waits: true, Session: true},
	Models: "github.com/redis/rueidis/rueidislock: SET key token NX PXAT in a script, renewed by the library, a " +
		"local queue, client-side caching",
	Wrong: "a process that pauses beyond its lease goes on beside the next; a client that hangs keeps the lock, which the library renews while the process lives; " +
		"one whose process dies keeps it for a TTL; a holder whose clock is more than a TTL behind the server's holds nothing; a release has no answer; the local queue may lose a wake-up, and lets the client that has just released barge in",
	Loses: []drivers.Hazard{
		drivers.HazardClientClock, drivers.HazardHolderPauses, drivers.HazardServerClock, drivers.HazardFailover,
		drivers.HazardRestartEmpty, drivers.HazardEviction, drivers.HazardMissedWakeup, drivers.HazardSessionLost,
	},
}

// Designs implements drivers.Driver.
func (driver) Designs() []drivers.Design { return []drivers.Design{design} }

// Params implements drivers.Parametrised.
func (driver) Params() []drivers.Param {
	return []drivers.Param{
		drivers.TimeParam("extend-interval", "0s", "how often a held lock is renewed; 0s is half of its TTL"),
		drivers.TimeParam("try-next-after", "20ms",
			"how long the key may take to answer, and a waiter sleeps without client-side caching"),
		drivers.SwitchParam("fallback-setpx", "false", "SET PX in place of PXAT, for servers before 6.2"),
		drivers.SwitchParam("disable-cache", "false", "no client-side caching, for servers that refuse CLIENT TRACKING"),
	}
}

// Open implements drivers.Driver.
func (d driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	s, err := d.open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("rueidislock: %w", err)
	}
	return s, nil
}

func (d driver) open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	_, params, err := drivers.Chosen(d, cfg)
	if err == nil {
		err = cfg.OneServer()
	}
	switch {
	case err != nil:
		return nil, err
	case cfg.Conns > 1:
		return nil, fmt.Errorf("%d connections are not possible: each locker has one; give more lockers", cfg.Conns)
	case cfg.Pipelining == drivers.PipeliningOff:
		return nil, errors.New("pipelining off is not possible: the library sends the commands of all clients over one connection")
	}
	if cfg.TTL == 0 {
		cfg.TTL = 5 * time.Second // the library's default
	}
	if _, err := redis.WholeMillis(cfg.TTL); err != nil {
		return nil, err
	}
	cfg.Conns = 1
	option := rueidislock.LockerOption{
		KeyPrefix:      strings.TrimSuffix(cfg.Prefix, ":"), // empty means the library's default
		KeyValidity:    cfg.TTL,
		ExtendInterval: params.Time("extend-interval"),
		TryNextAfter:   params.Time("try-next-after"),
		KeyMajority:    1, // more keys on the same server make no lock safer
		FallbackSETPX:  params.On("fallback-setpx"),
	}
	option.KeyPrefix = cmp.Or(option.KeyPrefix, "rueidislock")
	key := func(name string) string { return option.KeyPrefix + ":0:" + name } // the library numbers its keys
	base, options, err := redis.OpenBase(ctx, rueidis.Driver, cfg, func(name string) []string { return []string{key(name)} })
	if err != nil {
		return nil, err
	}
	s := &service{Base: base, key: key, ttl: cfg.TTL, ahead: cfg.ClockOffset}
	if option.ClientOption, s.connections, err = rueidis.ClientOption(options[0]); err != nil {
		s.Close()
		return nil, err
	}
	option.ClientOption.DisableCache = cfg.Embedded || params.On("disable-cache") // miniredis has no CLIENT TRACKING
	for range max(1, cfg.Lockers) {
		if err := s.add(option, cfg.Lockers); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// locker is the library's Locker of one process.
type locker struct {
	rueidislock.Locker
	interceptor *interceptor
}

type service struct {
	*redis.Base
	key         func(name string) string
	ttl, ahead  time.Duration // Config.TTL and Config.ClockOffset
	lockers     []locker
	connections *rueidis.Connections // of all lockers
}

func (s *service) add(option rueidislock.LockerOption, lockers int) error {
	e := &interceptor{ahead: s.ahead, lockers: lockers}
	option.ClientBuilder = func(o rueidislib.ClientOption) (client rueidislib.Client, err error) {
		if e.Client, err = rueidislib.NewClient(o); err != nil {
			return nil, err
		}
		return e, nil
	}
	l, err := rueidislock.NewLocker(option)
	if errors.Is(err, rueidislib.ErrNoCache) || drivers.ClassOf(err) == drivers.ClassClosed { // a proxy hangs up
		what, _, _ := strings.Cut(err.Error(), "\n")
		return &drivers.Error{Class: drivers.ClassServer, Op: "open", Err: fmt.Errorf("%s: without client-side caching the library "+
			"works with -param disable-cache=true; its waiters then look again each try-next-after", what)}
	}
	if err != nil {
		return rueidis.Translate(err)
	}
	s.lockers = append(s.lockers, locker{l, e})
	return nil
}

// Session implements drivers.Service.
func (s *service) Session(_ context.Context, id int) (drivers.Session, error) {
	return &session{locker: s.lockers[id%len(s.lockers)], service: s}, nil
}

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits { return design.Traits }

// Close implements drivers.Service. A closed Locker releases what it holds while its client closes, but also extends it
// with contexts that are over: unless their connections end, some would be left behind.
func (s *service) Close() error {
	for _, l := range s.lockers {
		l.Close()
	}
	s.connections.Close()
	return fail("close", s.Base.Close())
}

func fail(op string, err error) error {
	if errors.Is(err, rueidislock.ErrLockerClosed) {
		err = redis.Closed
	}
	return redis.Fail("rueidislock: "+op, rueidis.Translate(err))
}
