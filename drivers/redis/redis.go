// Package redis holds the lock designs that live on a Redis server, each in a file of its own, over the little that
// they need of a client library (Conn). It imports no client library: the packages goredis and rueidis bring one
// each and register a Driver.
package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/drivers"
)

// Driver offers every design of this package over one client library.
type Driver struct {
	Addresses
	Client drivers.Library

	// Dial opens the client library. Errors of the server are ServerErrors, and those that the library has
	// invented itself are drivers.Errors or wrap one of the standard library.
	Dial func(ctx context.Context, o Options) (Conn, error)
}

// Library implements drivers.Described.
func (d Driver) Library() drivers.Library { return d.Client }

// Topologies are those that a client library of Redis can have besides the single server.
var Topologies = []drivers.Topology{
	drivers.TopologyRedlock, drivers.TopologyReplicated, drivers.TopologySentinel, drivers.TopologyCluster,
}

// Options are what a client library has to be set up with: the Config that Open was given, and the servers that it
// names.
type Options struct {
	drivers.Config
	Target  Target   // the server, or the first of the Targets, which are logged in to alike
	Targets []Target // the sentinels, or nodes of the cluster, that were given
	Given   []Target // what the user has named: servers that these tell of are to be in the same networks

	SentinelAuth bool // the sentinels want the credentials that the servers want; else none
	Sharded      bool // subscriptions are made with SSUBSCRIBE

	sent *sent // by all connections that are made with these options; nil: nobody asks
}

// Designs implements drivers.Driver.
func (Driver) Designs() []drivers.Design {
	list := make([]drivers.Design, len(designs))
	for i, d := range designs {
		list[i] = d.Design
	}
	return list
}

// Open implements drivers.Driver.
func (d Driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	chosen, err := drivers.FindDesign(d, cfg.Lock)
	if err != nil {
		return nil, fmt.Errorf("redis: open: %w", err)
	}
	targets, err := targetsOf(cfg)
	if err != nil {
		return nil, fmt.Errorf("redis: open: %w", err)
	}
	design := designs[slices.IndexFunc(designs, func(d design) bool { return d.Name == chosen.Name })]
	o := Options{Config: cfg, Target: targets[0], Targets: targets, Given: targets, sent: &sent{open: map[*counter]struct{}{}}}
	o.Addrs = nil
	for _, t := range targets {
		o.Addrs = append(o.Addrs, t.Redacted()) // lest the password of a URL is printed with whatever keeps cfg
	}
	cfg.Addrs = o.Addrs
	names := strings.Join(o.Addrs, ", ")
	if err := o.meet(ctx); err != nil {
		return nil, fail("open "+names, err)
	}
	o.Sharded = o.Sharded && !design.Traits.Fair // whose channels are a process's, and no key's
	conn, err := d.dial(ctx, o)
	if err != nil {
		return nil, fail("open "+names, err)
	}
	s := &service{
		cfg: cfg, options: o, conn: conn, design: design, traits: chosen.Traits, sharded: o.Sharded,
		listeners: map[*listener]struct{}{}, poppers: map[*popper]struct{}{}, neighbour: drivers.Absent(cfg.Prefix),
	}
	if s.names = s.design.channel; s.names == nil {
		s.names = &releasedChannels
	}
	if err := s.prepare(ctx); err != nil {
		s.Close()
		return nil, fail("open "+names, err)
	}
	if cfg.Topology == drivers.TopologyReplicated {
		if err := s.replicate(ctx); err != nil {
			s.Close()
			return nil, fail("open "+names, err)
		}
	}
	s.traits.Wakes = chosen.Traits.Wakes && cfg.Wakes
	s.traits.Blocks = chosen.Traits.Blocks && cfg.Blocks && s.rouses()
	if s.traits.Wakes {
		return wakingService{s}, nil
	}
	return s, nil
}

// dial opens the client library, which in a cluster alone does not do for everything.
func (d Driver) dial(ctx context.Context, o Options) (Conn, error) {
	if o.Topology == drivers.TopologyCluster {
		return dialCluster(ctx, d.Dial, o)
	}
	return d.Dial(ctx, o)
}

// service is one design on one server, or on several that appear as one.
type service struct {
	cfg       drivers.Config
	options   Options
	conn      Conn
	traits    drivers.Traits
	design    design
	sharded   bool // releases are published with SPUBLISH
	names     *channelNames
	process   string       // names this process, where a design needs that
	threads   atomic.Int64 // of the process that it has had, where a design numbers them
	inbox     *inbox       // nil unless the design has one
	neighbour string       // the key that Probe asks for, of which there is none

	mu        sync.Mutex
	listeners map[*listener]struct{} // that Close has to close; nil once it was called
	poppers   map[*popper]struct{}   // likewise
}

// prepare opens what the design needs before its first session.
func (s *service) prepare(ctx context.Context) error {
	if err := s.chooseRelease(ctx); err != nil || s.design.prepare == nil {
		return err
	}
	return s.design.prepare(ctx, s)
}

// wakingService is a service whose releases are published.
type wakingService struct{ *service }

// Session implements drivers.Service.
func (s *service) Session(context.Context, int) (drivers.Session, error) {
	inner := s.design.session(session{
		conn: s.conn, svc: s, wakes: s.traits.Wakes, sharded: s.sharded, blocks: s.traits.Blocks,
	})
	if s.traits.Blocks {
		return s.sleeping(inner)
	}
	return inner, nil
}

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits { return s.traits }

// Close implements drivers.Service.
func (s *service) Close() error {
	s.mu.Lock()
	listeners, poppers := s.listeners, s.poppers
	s.listeners, s.poppers = nil, nil
	s.mu.Unlock()
	for p := range poppers {
		p.close()
	}
	for l := range listeners {
		l.Close()
	}
	if err := s.conn.Close(); err != nil {
		return fail("close", err)
	}
	return nil
}

// remember notes a listener that Close has to close. It answers false if Close was here before.
func (s *service) remember(l *listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listeners == nil {
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

func (s *service) forget(l *listener) {
	s.mu.Lock()
	delete(s.listeners, l)
	s.mu.Unlock()
}

// Ping implements drivers.Pinger with PING.
func (s *service) Ping(ctx context.Context) error {
	if _, err := s.conn.Do(ctx, []string{"PING"}, 0); err != nil {
		return fail("ping", err)
	}
	return nil
}

// Probe implements drivers.Prober with GET of a key that is not there: on the server, on whichever is primary now, or on
// the one node of a cluster that has the key's slot, as a neighbour's data is on one of them.
func (s *service) Probe(ctx context.Context) error {
	reply, err := s.conn.Do(ctx, []string{"GET", s.neighbour}, 1)
	if err == nil && reply.kind != nil {
		err = reply.unexpected("nil")
	}
	if err != nil {
		return fail("probe", err)
	}
	return nil
}

// cleanBatch is how many keys one DEL takes: few enough not to hold up a server that others use.
const cleanBatch = 256

// Clean implements drivers.Cleaner. It deletes by name, whoever owns the locks.
func (s *service) Clean(ctx context.Context, keys []string) error {
	keys = s.withBeside(keys)
	if s.traits.Blocks {
		keys = withTokens(keys)
	}
	if err := s.remove(ctx, keys); err != nil {
		return fail("clean", err)
	}
	return nil
}

// remove deletes keys, those of a cluster's slot at a time.
func (s *service) remove(ctx context.Context, keys []string) error {
	if s.cfg.Topology == drivers.TopologyCluster {
		keys = bySlot(keys)
	}
	args := make([]string, 0, 1+cleanBatch)
	for len(keys) > 0 {
		n := min(len(keys), cleanBatch)
		if s.cfg.Topology == drivers.TopologyCluster {
			n = sameSlot(keys[:n])
		}
		args = append(append(args[:0], "DEL"), keys[:n]...)
		if _, err := s.conn.Do(ctx, args, 1); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// withBeside adds the further keys that the design makes of each lock.
func (s *service) withBeside(keys []string) []string {
	all := slices.Clip(keys)
	for _, kind := range s.design.beside {
		for _, key := range keys {
			all = append(all, beside(s.cfg.Prefix, kind, key))
		}
	}
	return all
}
