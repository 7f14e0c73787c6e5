// The service: its nodes, its sessions, and what is asked of the nodes apart from locks.
package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

type service struct {
	driver      Driver
	cfg         drivers.Config
	traits      drivers.Traits
	nodes       []*node
	majority    int
	nodeTimeout time.Duration // for one node

	ctx        context.Context // done when the service is closed
	cancel     context.CancelFunc
	background sync.WaitGroup // every goroutine of the service and its sessions
	watcher    atomic.Pointer[func(drivers.Vote)]

	mu        sync.Mutex
	closed    bool
	sessions  map[*session]struct{}
	listeners map[*listener]struct{}
}

// wakingService is a service whose releases are published.
type wakingService struct{ *service }

var errClosed = &drivers.Error{Class: drivers.ClassClosed, Op: "use", Err: net.ErrClosed}

func newService(d Driver, cfg drivers.Config, design drivers.Design) *service {
	s := &service{
		driver: d, cfg: cfg, traits: design.Traits, majority: majority(len(cfg.Addrs)), nodeTimeout: cfg.NodeTimeout,
		sessions: map[*session]struct{}{}, listeners: map[*listener]struct{}{},
	}
	s.traits.Wakes = s.traits.Wakes && cfg.Wakes
	s.nodeTimeout = cmp.Or(s.nodeTimeout, drivers.DefaultNodeTimeout)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for i, addr := range cfg.Addrs {
		one := cfg
		one.Lock, one.Addrs, one.Topology, one.Blocks = design.Name, []string{addr}, "", false
		s.nodes = append(s.nodes, &node{s: s, number: i + 1, cfg: one})
	}
	s.cfg.Addrs = nil // they may contain a password, and cfg may be printed
	return s
}

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits { return s.traits }

// Session implements drivers.Service. A session has a goroutine for each node.
func (s *service) Session(ctx context.Context, id int) (drivers.Session, error) {
	session, err := newSession(ctx, s, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	s.sessions[session] = struct{}{}
	for _, m := range session.members {
		s.background.Go(m.work)
	}
	return session, nil
}

// Close implements drivers.Service. Requests of sessions to nodes that answer are still completed.
func (s *service) Close() error {
	s.mu.Lock()
	s.closed = true
	sessions, listeners := s.sessions, s.listeners
	s.sessions, s.listeners = nil, nil
	s.mu.Unlock()
	s.cancel()
	for l := range listeners {
		l.Close()
	}
	for session := range sessions {
		session.end()
	}
	ended := make(chan struct{})
	go func() { s.background.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(2 * s.nodeTimeout):
	}
	var errs []error
	for _, n := range s.nodes {
		if svc := n.svc.Load(); svc != nil {
			if err := (*svc).Close(); err != nil {
				errs = append(errs, fmt.Errorf("quorum: close: node %d: %w", n.number, err))
			}
		}
	}
	<-ended
	return errors.Join(errs...)
}

// begin announces a goroutine. It returns false if the service is closed.
func (s *service) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.background.Add(1)
	}
	return !s.closed
}

// Watch implements drivers.Voter.
func (s *service) Watch(vote func(drivers.Vote)) {
	if vote == nil {
		s.watcher.Store(nil)
		return
	}
	s.watcher.Store(&vote)
}

// Nodes implements drivers.Voter.
func (s *service) Nodes() []drivers.Node {
	nodes := make([]drivers.Node, len(s.nodes))
	for i, n := range s.nodes {
		nodes[i] = n.state()
	}
	return nodes
}

// ask calls f for every open node at once, each for at most limit, and returns when enough of them have succeeded or
// all have answered. Late ones go on in the background.
func (s *service) ask(ctx context.Context, limit time.Duration, enough int, f func(ctx context.Context, n *node, svc drivers.Service) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	answers := make(chan error, len(s.nodes))
	for _, n := range s.nodes {
		if !s.begin() {
			return errClosed
		}
		go func() {
			defer s.background.Done()
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			if svc := n.service(); svc == nil {
				answers <- fmt.Errorf("node %d: %w", n.number, errNotOpen)
			} else if err := f(ctx, n, svc); err != nil {
				answers <- fmt.Errorf("node %d: %w", n.number, err)
			} else {
				answers <- nil
			}
		}()
	}
	var errs []error
	for good := 0; good < enough && good+len(errs) < len(s.nodes); {
		if err := <-answers; err == nil {
			good++
		} else {
			errs = append(errs, err)
		}
	}
	if len(s.nodes)-len(errs) >= enough {
		return nil
	}
	return errors.Join(errs...)
}

// askAs is ask for what the services of the nodes can do as a C.
func askAs[C any](ctx context.Context, s *service, limit time.Duration, enough int, f func(ctx context.Context, n *node, c C) error) error {
	return s.ask(ctx, limit, enough, func(ctx context.Context, n *node, svc drivers.Service) error {
		c, ok := drivers.As[C](svc)
		if !ok {
			return errors.ErrUnsupported
		}
		return f(ctx, n, c)
	})
}

// Ping implements drivers.Pinger: the round trip to a majority.
func (s *service) Ping(ctx context.Context) error {
	return fail("ping", askAs(ctx, s, s.nodeTimeout, s.majority, func(ctx context.Context, _ *node, p drivers.Pinger) error {
		return p.Ping(ctx)
	}))
}

// Probe implements drivers.Prober. Another application has its data on one node. Nodes are alike, so the first one
// stands for all, even if it fails.
func (s *service) Probe(ctx context.Context) error {
	n := s.nodes[0]
	svc := n.service()
	if svc == nil {
		return fail("probe", fmt.Errorf("node %d: %w", n.number, errNotOpen))
	}
	p, ok := drivers.As[drivers.Prober](svc)
	if !ok {
		return fail("probe", errors.ErrUnsupported)
	}
	return p.Probe(ctx)
}

// Clean implements drivers.Cleaner on every node that has been open. A node that does not answer is an error, because
// its keys are still there.
func (s *service) Clean(ctx context.Context, keys []string) error {
	return fail("clean", askAs(ctx, s, time.Hour, s.alive(), func(ctx context.Context, _ *node, c drivers.Cleaner) error {
		return c.Clean(ctx, keys)
	}))
}

// fail wraps err with the operation and keeps its class; nil stays nil.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &drivers.Error{Class: drivers.ClassOf(err), Op: "quorum: " + op, Err: err}
}

// Inspect implements drivers.Inspector. The server is the first node that answers, with the number of those that do.
// Usage is the sum; it is unknown if one of the open nodes does not tell.
func (s *service) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	var mu sync.Mutex
	usages := make([]*drivers.Usage, len(s.nodes))
	err := askAs(ctx, s, s.cfg.IO(), s.alive(), func(ctx context.Context, n *node, i drivers.Inspector) error {
		server, usage, err := i.Inspect(ctx)
		if err != nil {
			return err
		}
		n.mu.Lock()
		n.server = server
		n.mu.Unlock()
		mu.Lock()
		usages[n.number-1] = &usage
		mu.Unlock()
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	answered := 0
	var all drivers.Usage
	for i, u := range usages {
		switch {
		case u != nil:
			answered++
			all = all.Plus(*u)
		case s.nodes[i].svc.Load() != nil:
			all = unknownUsage
		}
	}
	if answered < s.majority {
		return drivers.Server{}, drivers.Usage{}, fail("inspect", err)
	}
	return s.server(usages, answered), all, nil
}

// Sent implements drivers.Sender: to all nodes.
func (s *service) Sent() (all drivers.Sent) {
	for _, n := range s.nodes {
		if svc := n.svc.Load(); svc != nil {
			if sender, ok := drivers.As[drivers.Sender](*svc); ok {
				all = all.Plus(sender.Sent())
			}
		}
	}
	return all
}

var unknownUsage = drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}

// alive returns the number of open nodes.
func (s *service) alive() (n int) {
	for i := range s.nodes {
		if s.nodes[i].svc.Load() != nil {
			n++
		}
	}
	return n
}

// server describes all nodes as one. Its run id changes with that of any node.
func (s *service) server(usages []*drivers.Usage, answered int) (all drivers.Server) {
	var runs []string
	first := true
	for i, n := range s.nodes {
		n.mu.Lock()
		one := n.server // when it was last seen
		n.mu.Unlock()
		runs = append(runs, one.RunID)
		if usages[i] == nil {
			continue
		}
		if first {
			all, first = one, false
		} else {
			all.Connected = max(all.Connected, one.Connected) // connections are limited per node
			all.MaxClients = min(all.MaxClients, one.MaxClients)
			all.Persistence = same(all.Persistence, one.Persistence)
			all.Version = same(all.Version, one.Version)
		}
	}
	all.Mode = fmt.Sprintf("redlock, %d of %d nodes", answered, len(s.nodes))
	if all.RunID = strings.Join(runs, "+"); strings.Trim(all.RunID, "+") == "" {
		all.RunID = ""
	}
	return all
}

func same(a, b string) string {
	if a == b {
		return a
	}
	return "mixed"
}
