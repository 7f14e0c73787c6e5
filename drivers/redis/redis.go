// Package redis has the lock designs for Redis servers, each in its own file, on top of a small interface to a client
// library (Conn). It imports no client library: the packages goredis and rueidis each bring one and register a Driver.
package redis

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/traffic"
)

// Driver offers every design of this package over one client library.
type Driver struct {
	Addresses
	Client drivers.Library

	// Dial opens the client library. Errors of the server are ServerErrors; the library's own are drivers.Errors or
	// wrap one of the standard library.
	Dial func(ctx context.Context, o Options) (Conn, error)

	// Connect, if set, makes the connections in place of the operating system.
	Connect func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Library implements drivers.Described.
func (d Driver) Library() drivers.Library { return d.Client }

// Topologies are those that a client library of Redis can support besides the single server.
var Topologies = []drivers.Topology{
	drivers.TopologyRedlock, drivers.TopologyReplicated, drivers.TopologySentinel, drivers.TopologyCluster,
}

// Options are the settings for a client library: the Config given to Open, and the servers that it names.
type Options struct {
	drivers.Config
	Target  Target   // the server, or the first of the Targets; its login is that of all servers that keep data
	Targets []Target // the given sentinels, with the login that they want, or nodes of the cluster

	Sharded bool // subscriptions use SSUBSCRIBE
	Unnamed bool // the nodes of the cluster tell no hosts: they have that of the node that was asked

	connect func(ctx context.Context, network, addr string) (net.Conn, error) // nil: the system's
	sent    *traffic.Counter                                                  // by all connections made with these options; nil: not counted
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
	cfg.Master = cmp.Or(cfg.Master, targets[0].master)
	design := designs[slices.IndexFunc(designs, func(d design) bool { return d.Name == chosen.Name })]
	o := Options{Config: cfg, Target: targets[0], Targets: targets, connect: d.Connect, sent: new(traffic.Counter)}
	if o.Target.apart {
		o.Target.Username, o.Target.Password = cmp.Or(cfg.Username, targets[0].user), cfg.Password
	}
	o.Addrs = nil
	for _, t := range targets {
		o.Addrs = append(o.Addrs, t.Redacted()) // without the password, because cfg may be printed
	}
	cfg.Addrs = o.Addrs
	names := strings.Join(o.Addrs, ", ")
	if err := o.meet(ctx); err != nil {
		return nil, fail("open "+names, err)
	}
	// The channels of a line belong to a process, not to a key.
	o.Sharded = cfg.Wakes && cfg.Topology == drivers.TopologyCluster && !design.Traits.Fair
	dial := d.Dial
	if o.Topology == drivers.TopologyCluster { // the client library is not enough for everything there
		dial = func(ctx context.Context, o Options) (Conn, error) { return dialCluster(ctx, d.Dial, o) }
	}
	conn, err := dial(ctx, o)
	if err != nil {
		return nil, fail("open "+names, err)
	}
	s := &service{
		cfg: cfg, options: o, conn: conn, design: design, traits: chosen.Traits, sharded: o.Sharded,
		listeners: map[*listener]struct{}{}, poppers: map[*popper]struct{}{}, absentKey: drivers.Absent(cfg.Prefix),
	}
	if s.names = s.design.channel; s.names == nil {
		s.names = &releasedChannels
	}
	if err := s.prepare(ctx); err != nil {
		s.Close()
		if e, ok := asServerError(err); ok && e.refusesName() {
			err = fmt.Errorf("the user %s may not use names that begin with %q: %w", cmp.Or(o.Target.Username, "default"), cfg.Prefix, err)
		}
		return nil, fail("open "+names, err)
	}
	s.traits.Wakes = chosen.Traits.Wakes && cfg.Wakes
	s.traits.Blocks = chosen.Traits.Blocks && cfg.Blocks && s.wakesSleepers()
	if s.traits.Wakes {
		return wakingService{s}, nil
	}
	return s, nil
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
	process   string       // identifies this process, for designs that need that
	threads   atomic.Int64 // of the process so far, for designs that number them
	inbox     *inbox       // nil unless the design has one
	absentKey string       // the key that Probe reads; it does not exist

	mu        sync.Mutex
	listeners map[*listener]struct{} // for Close to close; nil once it was called
	poppers   map[*popper]struct{}   // likewise
}

// prepare opens what the design and the topology need before the first session.
func (s *service) prepare(ctx context.Context) error {
	err := s.takesWrites(ctx)
	if err == nil {
		err = s.chooseRelease(ctx)
	}
	if err == nil && s.runsScripts() {
		err = s.permitsScripts(ctx)
	}
	if err == nil && s.design.prepare != nil {
		err = s.design.prepare(ctx, s)
	}
	if err == nil && s.cfg.Topology == drivers.TopologyReplicated {
		err = s.replicate(ctx)
	}
	return err
}

// takesWrites returns an error if the server refuses all writes. It deletes a key that does not exist.
func (s *service) takesWrites(ctx context.Context) error {
	_, err := s.conn.Do(ctx, []string{"DEL", s.absentKey}, 1)
	if classOf(err) == drivers.ClassReadOnly {
		return err
	}
	return nil
}

// wakingService is a service whose releases are published.
type wakingService struct{ *service }

// Session implements drivers.Service.
func (s *service) Session(context.Context, int) (drivers.Session, error) {
	own := session{conn: s.conn, svc: s, wakes: s.traits.Wakes, sharded: s.sharded, blocks: s.traits.Blocks}
	switch {
	case s.cfg.Pipelining != drivers.PipeliningBatch:
		own.args = make([]string, 0, maxArgs)
	case s.stepwise():
		own.conn, own.args = &stepConn{Conn: s.conn}, make([]string, 0, maxArgs)
	}
	inner := s.design.session(own)
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
	return fail("close", s.conn.Close())
}

// remember records a listener for Close. It returns false if Close was called before.
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
	_, err := s.conn.Do(ctx, []string{"PING"}, 0)
	return fail("ping", err)
}

// Probe implements drivers.Prober with GET of a key that does not exist: on the server, on the current primary, or on
// the one node of a cluster that has the key's slot, like another application's data.
func (s *service) Probe(ctx context.Context) error {
	reply, err := s.conn.Do(ctx, []string{"GET", s.absentKey}, 1)
	if err == nil && reply.kind != nil {
		err = reply.unexpected("nil")
	}
	return fail("probe", err)
}

// cleanBatch is the number of keys that one DEL deletes: few enough not to delay other users of the server.
const cleanBatch = 256

// Clean implements drivers.Cleaner. It deletes by name, whoever owns the locks.
func (s *service) Clean(ctx context.Context, keys []string) error {
	keys = s.withExtraKeys(keys)
	if s.traits.Blocks {
		keys = withTokens(keys)
	}
	return fail("clean", s.remove(ctx, keys))
}

// remove deletes keys; in a cluster, one slot at a time.
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

// withExtraKeys adds the further keys that the design makes for each lock.
func (s *service) withExtraKeys(keys []string) []string {
	all := slices.Clip(keys)
	for _, kind := range s.design.extraKeys {
		for _, key := range keys {
			all = append(all, extraKey(s.cfg.Prefix, kind, key))
		}
	}
	return all
}

// Sent implements drivers.Sender. It includes what client libraries send by themselves.
func (s *service) Sent() drivers.Sent { return s.options.sent.Sent() }

// Sent implements drivers.Sender.
func (b *Base) Sent() (all drivers.Sent) {
	for _, n := range b.nodes {
		all = all.Plus(n.Sent())
	}
	return all
}
