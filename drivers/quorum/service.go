// The service: its nodes, its sessions, and what is asked of the nodes apart from locks.
package quorum

import (
	"context"
	"errors"
	"fmt"
	"net"
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
	if s.nodeTimeout == 0 {
		s.nodeTimeout = drivers.DefaultNodeTimeout
	}
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
			svc := n.service()
			if svc == nil {
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

// Ping implements drivers.Pinger: the round trip to a majority.
func (s *service) Ping(ctx context.Context) error {
	err := s.ask(ctx, s.nodeTimeout, s.majority, func(ctx context.Context, _ *node, svc drivers.Service) error {
		p, ok := drivers.As[drivers.Pinger](svc)
		if !ok {
			return errors.ErrUnsupported
		}
		return p.Ping(ctx)
	})
	if err != nil {
		return fail("ping", err)
	}
	return nil
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
	err := s.ask(ctx, time.Hour, s.alive(), func(ctx context.Context, _ *node, svc drivers.Service) error {
		c, ok := drivers.As[drivers.Cleaner](svc)
		if !ok {
			return errors.ErrUnsupported
		}
		return c.Clean(ctx, keys)
	})
	if err != nil {
		return fail("clean", err)
	}
	return nil
}

// fail wraps err with the operation and keeps its class.
func fail(op string, err error) error {
	return &drivers.Error{Class: drivers.ClassOf(err), Op: "quorum: " + op, Err: err}
}
