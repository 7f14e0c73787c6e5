// Package quorum makes one lock of several independent servers: Redlock, over the sessions of any driver. A client asks
// all nodes at once for the same key with the same owner, and holds the lock if a majority grants it in time. It
// follows "Distributed Locks with Redis" (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/),
// the algorithm's own description. Its merit is disputed there and elsewhere, and for lockbench to measure.
//
// The lock is safe only if nodes neither forget (a restart without persistence) nor have clocks that jump, and holders
// do not pause past ValidUntil.
package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Node is the driver of a service that can be a node.
type Node interface {
	drivers.Driver
	drivers.Addressed
}

// Driver opens the service of Node once for each of cfg.Addrs and asks all of them for each lock.
type Driver struct{ Node }

// drift returns what a lease loses to clocks of different speed and to an expiry in whole milliseconds: 1 % and 2 ms,
// as in the implementations that the algorithm's description names (redlock-rb: "CLOCK_DRIFT_FACTOR = 0.01" and "+ 2").
func drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// loses is what a majority loses to, whatever its nodes keep. It compares the time of a vote with the lease, so that no
// grant is late.
var loses = []drivers.Hazard{
	drivers.HazardOverrun, drivers.HazardHolderPauses, drivers.HazardOrphanWatchdog, drivers.HazardServerClock,
	drivers.HazardEviction, drivers.HazardQuorumRestart, drivers.HazardQuorumPause,
}

// Lookup returns the driver of a name for a topology: with drivers.TopologyRedlock a majority of its servers, if it has
// servers and is not a lock library that knows majorities itself.
func Lookup(name string, t drivers.Topology) (drivers.Driver, error) {
	d, err := drivers.Lookup(name)
	if n, ok := d.(Node); ok && t == drivers.TopologyRedlock && !drivers.LibraryOf(d).Locks {
		d = Driver{n}
	}
	return d, err
}

// Designs implements drivers.Driver. It lists the designs of the node that a vote can be based on: a late release must
// not free the next holder's lock, and what a minority has granted has to expire by itself. A majority loses to the
// same faults of a release as its nodes.
func (d Driver) Designs() []drivers.Design {
	var list []drivers.Design
	for _, design := range d.Node.Designs() {
		t := &design.Traits
		if !t.Exclusive || !t.Owned || !t.Expires || !t.Renews || t.Fair || t.Reentrant {
			continue
		}
		t.Fenced = false                 // the counters of independent nodes cannot be compared
		t.Blocks, t.Waits = false, false // a client sleeps on one server
		design.Models = "Redlock, a majority of independent nodes; each: " + design.Models
		design.Wrong = "no fencing token: a holder that outlives its lease goes on beside the next; a node that restarts " +
			"empty or whose clock jumps makes a second majority"
		ofReleases := slices.DeleteFunc(slices.Clone(design.Loses), func(h drivers.Hazard) bool {
			return h != drivers.HazardGetDelGap && h != drivers.HazardClientRetries
		})
		design.Loses = slices.Concat(loses, ofReleases)
		list = append(list, design)
	}
	return list
}

// Open implements drivers.Driver. It succeeds when a majority of the nodes answers and none refuses to be a node. The
// others stay out of the service.
func (d Driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	design, err := drivers.FindDesign(d, cfg.Lock)
	n := len(cfg.Addrs)
	if err == nil && (n == 0 || n > drivers.MaxNodes) {
		err = fmt.Errorf("%d addresses: give that of each node, 3 or 5 of them, and not more than %d", n, drivers.MaxNodes)
	}
	if err != nil {
		return nil, fail("open", err)
	}
	s := &service{traits: design.Traits, majority: n/2 + 1}
	s.nodeTimeout = cmp.Or(cfg.NodeTimeout, drivers.DefaultNodeTimeout)
	s.traits.Wakes = s.traits.Wakes && cfg.Wakes
	for i := range cfg.Addrs {
		s.all = append(s.all, &node{number: i})
	}
	s.nodes = s.all // to open them
	err = s.enough(s.each(func(n *node) (err error) {
		one := cfg
		one.Lock, one.Addrs, one.Topology, one.Blocks = design.Name, cfg.Addrs[n.number:][:1], "", false
		if n.Service, err = d.Node.Open(ctx, one); err != nil {
			n.Service, n.known.Err = nil, err
		}
		return err
	}))
	for _, n := range s.all {
		if class := drivers.ClassOf(n.known.Err); class == drivers.ClassAuth || class == drivers.ClassReadOnly {
			err = fmt.Errorf("node %d: %w", n.number+1, n.known.Err)
		}
	}
	s.nodes = slices.DeleteFunc(slices.Clone(s.all), func(n *node) bool { return n.Service == nil })
	if err == nil {
		server, _, _ := s.Inspect(ctx) // optional
		runs := slices.Sorted(strings.SplitSeq(server.RunID, "+"))
		if server.RunID != "" && len(slices.Compact(runs)) < len(s.nodes) {
			err = errors.New("two addresses are those of the same server, which must not have two votes")
		}
	}
	if err != nil {
		s.Close()
		return nil, fail("open", err)
	}
	return s, nil
}

type service struct {
	traits      drivers.Traits
	all         []*node
	nodes       []*node       // those that answered when the service was opened
	majority    int           // more than half of all, so that two of them have a node in common
	nodeTimeout time.Duration // of a request about a lock, at one node

	watcher atomic.Pointer[func(drivers.Vote)]
	running sync.WaitGroup // requests that sessions have sent

	mu     sync.RWMutex // read-locked while requests are added to running
	closed bool
}

// node is one server.
type node struct {
	number int
	drivers.Service

	mu    sync.Mutex
	known drivers.Node
}

// fail wraps err with the operation and keeps its class; nil stays nil.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &drivers.Error{Class: drivers.ClassOf(err), Op: "quorum: " + op, Err: err}
}

// each calls f for all open nodes at once, and returns at how many it fails, and why.
func (s *service) each(f func(n *node) error) (failed int, _ error) {
	errs := make([]error, len(s.nodes))
	var calls sync.WaitGroup
	for i, n := range s.nodes {
		calls.Go(func() { errs[i] = f(n) })
	}
	calls.Wait()
	for i, n := range s.nodes {
		if errs[i] != nil {
			failed++
			errs[i] = fmt.Errorf("node %d: %w", n.number+1, errs[i])
		}
	}
	return failed, errors.Join(errs...)
}

// enough returns an error unless a majority of the nodes has not failed.
func (s *service) enough(failed int, err error) error {
	good := len(s.nodes) - failed
	if good >= s.majority {
		return nil
	}
	return fmt.Errorf("%d of %d nodes answer and %d have to: %w", good, len(s.all), s.majority, err)
}

// can calls f with a capability of a node's service.
func can[C any](n *node, f func(C) error) error {
	c, ok := drivers.As[C](n.Service)
	if !ok {
		return errors.ErrUnsupported
	}
	return f(c)
}

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits { return s.traits }

// Close implements drivers.Service. Requests under way are still completed, or end with their time-out.
func (s *service) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
	_, err := s.each(func(n *node) error { return n.Close() })
	return fail("close", err)
}

// Watch implements drivers.Voter.
func (s *service) Watch(vote func(drivers.Vote)) { s.watcher.Store(&vote) }

// Nodes implements drivers.Voter.
func (s *service) Nodes() (nodes []drivers.Node) {
	for _, n := range s.all {
		n.mu.Lock()
		nodes = append(nodes, n.known)
		n.mu.Unlock()
	}
	return nodes
}

// missed counts a request that the node has not answered.
func (n *node) missed(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known.Failed++
	n.known.Err = cmp.Or(n.known.Err, err)
}

// Ping implements drivers.Pinger. Nodes are alike, so the first one stands for all, here and in Probe.
func (s *service) Ping(ctx context.Context) error {
	return fail("ping", can(s.nodes[0], func(p drivers.Pinger) error { return p.Ping(ctx) }))
}

// Probe implements drivers.Prober. Another application has its data on one node.
func (s *service) Probe(ctx context.Context) error {
	return fail("probe", can(s.nodes[0], func(p drivers.Prober) error { return p.Probe(ctx) }))
}

// Clean implements drivers.Cleaner on every open node.
func (s *service) Clean(ctx context.Context, keys []string) error {
	_, err := s.each(func(n *node) error {
		return can(n, func(c drivers.Cleaner) error { return c.Clean(ctx, keys) })
	})
	return fail("clean", err)
}

// Inspect implements drivers.Inspector, if every open node answers. The first one describes all; usage and evictions
// are sums, and the run id is made of those of all nodes.
func (s *service) Inspect(ctx context.Context) (one drivers.Server, sum drivers.Usage, err error) {
	var runs []string
	var evicted int64
	for i, n := range s.nodes {
		err := can(n, func(inspector drivers.Inspector) error {
			server, usage, err := inspector.Inspect(ctx)
			if evicted += server.Evicted; i == 0 {
				one = server
			}
			sum, runs = sum.Plus(usage), append(runs, server.RunID)
			return err
		})
		if err != nil {
			return drivers.Server{}, drivers.Usage{}, fail("inspect", err)
		}
	}
	one.Evicted, one.Mode = evicted, fmt.Sprintf("redlock, %d of %d nodes", len(runs), len(s.all))
	if one.RunID != "" {
		one.RunID = strings.Join(runs, "+")
	}
	return one, sum, nil
}

// Sent implements drivers.Sender: to all nodes.
func (s *service) Sent() (all drivers.Sent) {
	for _, n := range s.nodes {
		can(n, func(of drivers.Sender) error { all = all.Plus(of.Sent()); return nil })
	}
	return all
}

// listener is a subscription at every open node. It wakes when a majority of the nodes have announced a release of the
// key since the last wake-up. Fewer are useless, and worse: each waiter that tries without success gives back the few
// votes that it got, which is announced as well, so waiters would keep each other awake while the holder has a bare
// majority. A node that does not register the key counts as one that has announced a release. If nodes fail between a
// refusal and a release, a majority may be free without a wake-up; then the end of the lease ends the wait.
type listener struct {
	s     *service
	wake  func(key string)
	nodes []drivers.Listener // by number, of the open ones

	mu   sync.Mutex
	keys map[string]*heard
}

// heard is what is known of an added key.
type heard struct {
	released uint64 // nodes that have announced a release, a bit each
	deaf     int    // nodes that have not registered the key
}

// Listen implements drivers.Subscriber. It opens a subscription at every open node.
func (s *service) Listen(ctx context.Context, wake func(key string)) (drivers.Listener, error) {
	l := &listener{s: s, wake: wake, keys: map[string]*heard{}, nodes: make([]drivers.Listener, len(s.all))}
	_, err := s.each(func(n *node) error {
		return can(n, func(sub drivers.Subscriber) (err error) {
			l.nodes[n.number], err = sub.Listen(ctx, func(key string) { l.announced(key, n.number) })
			return err
		})
	})
	if err != nil {
		return nil, fail("listen", err) // the subscriptions end with the service
	}
	return l, nil
}

// announced counts a node that has announced a release.
func (l *listener) announced(key string, number int) {
	l.mu.Lock()
	h := l.keys[key]
	wakes := key == ""
	if h != nil {
		h.released |= 1 << number
		if wakes = bits.OnesCount64(h.released)+h.deaf >= l.s.majority; wakes {
			h.released = 0
		}
	}
	l.mu.Unlock()
	if wakes {
		l.wake(key)
	}
}

// Add implements drivers.Listener. It needs a majority of the nodes, and waits for the node time-out at most.
func (l *listener) Add(ctx context.Context, key string) error {
	h := &heard{}
	l.mu.Lock()
	l.keys[key] = h
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, l.s.nodeTimeout)
	defer cancel()
	failed, err := l.s.each(func(n *node) error { return l.nodes[n.number].Add(ctx, key) })
	l.mu.Lock()
	defer l.mu.Unlock()
	h.deaf = failed
	if err = l.s.enough(failed, err); err != nil {
		delete(l.keys, key)
	}
	return fail("listen", err)
}

// Remove implements drivers.Listener.
func (l *listener) Remove(ctx context.Context, key string) error {
	l.mu.Lock()
	delete(l.keys, key)
	l.mu.Unlock()
	_, err := l.s.each(func(n *node) error { return l.nodes[n.number].Remove(ctx, key) })
	return fail("unlisten", err)
}

// Close implements drivers.Listener.
func (l *listener) Close() error {
	_, err := l.s.each(func(n *node) error { return l.nodes[n.number].Close() })
	return fail("close", err)
}
