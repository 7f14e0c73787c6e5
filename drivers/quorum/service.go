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
	cfg         drivers.Config
	traits      drivers.Traits
	nodes       []*node
	majority    int           // more than half, so that two of them have a node in common
	nodeTimeout time.Duration // for one node

	background sync.WaitGroup // every goroutine of the service and its sessions
	watcher    atomic.Pointer[func(drivers.Vote)]

	mu        sync.Mutex
	closed    bool
	sessions  map[*session]struct{}
	listeners map[*listener]struct{}
}

// wakingService is a service whose releases are published.
type wakingService struct{ *service }

var (
	errClosed  = &drivers.Error{Class: drivers.ClassClosed, Op: "use", Err: net.ErrClosed}
	errNotOpen = noAnswer(drivers.ClassConnect, "it did not answer when the service was opened")
)

func noAnswer(class drivers.Class, why string) *drivers.Error {
	return &drivers.Error{Class: class, Op: "node", Err: errors.New(why)}
}

// node is one server.
type node struct {
	svc drivers.Service // nil if it did not answer when the service was opened
	run string          // the run id of its server, when it was last seen; the service's mutex guards it

	mu    sync.Mutex
	known drivers.Node
}

func (n *node) open(ctx context.Context, d drivers.Driver, cfg drivers.Config) {
	svc, err := d.Open(ctx, cfg)
	if err != nil {
		n.known.Err = err
		return
	}
	n.svc = svc
	if i, ok := drivers.As[drivers.Inspector](svc); ok {
		server, _, _ := i.Inspect(ctx) // optional
		n.run = server.RunID
	}
}

// failure counts a request without an answer.
func (n *node) failure(err error) {
	n.mu.Lock()
	n.known.Failed++
	n.known.Err = cmp.Or(n.known.Err, err)
	n.mu.Unlock()
}

func newService(cfg drivers.Config, design drivers.Design) *service {
	s := &service{
		cfg: cfg, traits: design.Traits, nodes: make([]*node, len(cfg.Addrs)), majority: len(cfg.Addrs)/2 + 1,
		nodeTimeout: cmp.Or(cfg.NodeTimeout, drivers.DefaultNodeTimeout),
		sessions:    map[*session]struct{}{}, listeners: map[*listener]struct{}{},
	}
	for i := range s.nodes {
		s.nodes[i] = &node{}
	}
	s.traits.Wakes = s.traits.Wakes && cfg.Wakes
	s.cfg.Addrs = nil // they may contain a password, and cfg may be printed
	return s
}

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits { return s.traits }

// Session implements drivers.Service. A session has a goroutine for each node.
func (s *service) Session(ctx context.Context, id int) (drivers.Session, error) {
	c, err := newSession(ctx, s, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	s.sessions[c] = struct{}{}
	for _, m := range c.members {
		s.background.Go(m.work)
	}
	return c, nil
}

// Close implements drivers.Service. Requests of sessions to nodes that answer are still completed.
func (s *service) Close() error {
	s.mu.Lock()
	s.closed = true
	sessions, listeners := s.sessions, s.listeners
	s.sessions, s.listeners = nil, nil
	s.mu.Unlock()
	for l := range listeners {
		l.Close()
	}
	for c := range sessions {
		c.end()
	}
	s.background.Wait() // a request to a node that does not answer ends with its time-out
	var errs []error
	for _, n := range s.nodes {
		if n.svc != nil {
			errs = append(errs, fail("close", n.svc.Close()))
		}
	}
	return errors.Join(errs...)
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
		n.mu.Lock()
		nodes[i] = n.known
		n.mu.Unlock()
	}
	return nodes
}

// alive returns the number of open nodes.
func (s *service) alive() (n int) {
	for i := range s.nodes {
		if s.nodes[i].svc != nil {
			n++
		}
	}
	return n
}

// each calls f at once for what every open node can do as a C, each for at most limit, and returns when enough of them
// have succeeded or all have answered. Late ones go on in the background.
func each[C any](
	ctx context.Context, s *service, limit time.Duration, enough int, f func(ctx context.Context, node int, c C) error,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed
	}
	answers := make(chan error, len(s.nodes))
	for i, n := range s.nodes {
		s.background.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			err := error(errNotOpen)
			if n.svc != nil {
				err = errors.ErrUnsupported
				if c, ok := drivers.As[C](n.svc); ok {
					err = f(ctx, i, c)
				}
			}
			if err != nil {
				err = fmt.Errorf("node %d: %w", i+1, err)
			}
			answers <- err
		})
	}
	s.mu.Unlock()
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
	return fail("ping", each(ctx, s, s.nodeTimeout, s.majority, func(ctx context.Context, _ int, p drivers.Pinger) error {
		return p.Ping(ctx)
	}))
}

// Probe implements drivers.Prober. Another application has its data on one node. Nodes are alike, so the first one
// stands for all, even if it fails.
func (s *service) Probe(ctx context.Context) error {
	if s.nodes[0].svc == nil {
		return fail("probe", errNotOpen)
	}
	p, ok := drivers.As[drivers.Prober](s.nodes[0].svc)
	if !ok {
		return fail("probe", errors.ErrUnsupported)
	}
	return p.Probe(ctx)
}

// Clean implements drivers.Cleaner on every open node. A node that does not answer is an error, because its keys are
// still there.
func (s *service) Clean(ctx context.Context, keys []string) error {
	return fail("clean", each(ctx, s, time.Hour, s.alive(), func(ctx context.Context, _ int, c drivers.Cleaner) error {
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

// Inspect implements drivers.Inspector. Nodes are alike, so the first one that answers stands for all. Usage is the
// sum; it is unknown if one of the open nodes does not tell. The run id changes with that of any node.
func (s *service) Inspect(ctx context.Context) (all drivers.Server, sum drivers.Usage, err error) {
	first, answered := len(s.nodes), 0
	err = each(ctx, s, s.cfg.IO(), s.alive(), func(ctx context.Context, node int, i drivers.Inspector) error {
		server, usage, err := i.Inspect(ctx)
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		answered, sum = answered+1, sum.Plus(usage)
		if node < first {
			first, all = node, server
		}
		s.nodes[node].run = server.RunID
		return nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case answered < s.majority:
		return drivers.Server{}, drivers.Usage{}, fail("inspect", err)
	case answered < s.alive():
		sum = drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}
	}
	all.Mode = fmt.Sprintf("redlock, %d of %d nodes", answered, len(s.nodes))
	var runs []string
	for _, n := range s.nodes {
		runs = append(runs, n.run)
	}
	if all.RunID = strings.Join(runs, "+"); strings.Trim(all.RunID, "+") == "" {
		all.RunID = ""
	}
	return all, sum, nil
}

// Sent implements drivers.Sender: to all nodes.
func (s *service) Sent() (all drivers.Sent) {
	for _, n := range s.nodes {
		if sender, ok := drivers.As[drivers.Sender](n.svc); ok {
			all = all.Plus(sender.Sent())
		}
	}
	return all
}
