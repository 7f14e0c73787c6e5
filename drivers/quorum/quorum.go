// Package quorum makes one lock of several independent servers: Redlock, over the sessions of any driver. A client asks
// all nodes at once for the same key with the same owner, and holds the lock if a majority grants it in time. It
// follows "Distributed Locks with Redis" (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/),
// the algorithm's own description. Its merit is disputed there and elsewhere, and for lockbench to measure.
//
// The lock is safe only if nodes neither forget (a restart without persistence) nor have clocks that jump, and holders
// do not pause past ValidUntil.
package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Driver opens the service of Node once for each of cfg.Addrs and asks all of them for each lock.
type Driver struct{ Node drivers.Driver }

// Service implements drivers.Addressed. It is empty if the node has no addresses.
func (d Driver) Service() string {
	if a, ok := d.Node.(drivers.Addressed); ok {
		return a.Service()
	}
	return ""
}

// ReadAddr implements drivers.Addressed: an address is that of a node.
func (d Driver) ReadAddr(addr string) (drivers.Addr, error) {
	if a, ok := d.Node.(drivers.Addressed); ok {
		return a.ReadAddr(addr)
	}
	return drivers.Addr{}, errors.New("the nodes have no addresses")
}

// drift returns what a lease loses to clocks of different speed and to an expiry in whole milliseconds: 1 % and 2 ms,
// as in the implementations that the algorithm's description names (redlock-rb: "CLOCK_DRIFT_FACTOR = 0.01" and "+ 2").
func drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// loses is what a majority loses to, whatever its nodes keep. It compares the time of a vote with the lease, so that no
// grant is late.
var loses = []drivers.Hazard{
	drivers.HazardOverrun, drivers.HazardHolderPauses, drivers.HazardOrphanWatchdog, drivers.HazardServerClock,
	drivers.HazardEviction, drivers.HazardQuorumRestart, drivers.HazardQuorumPause,
}

// Lookup returns the driver of a name for a topology: with drivers.TopologyRedlock a majority of its servers, unless it
// is a lock library that knows majorities itself.
func Lookup(name string, t drivers.Topology) (drivers.Driver, error) {
	d, err := drivers.Lookup(name)
	if err == nil && t == drivers.TopologyRedlock && !drivers.LibraryOf(d).Locks {
		d = Driver{Node: d}
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
		if !t.Exclusive || !t.Owned || !t.Expires || t.Fair || t.Reentrant {
			continue
		}
		t.Fenced = false                 // the counters of independent nodes cannot be compared
		t.Blocks, t.Waits = false, false // a client sleeps on one server
		design.Models = "Redlock, a majority of independent nodes; each: " + design.Models
		design.Wrong = "a holder that outlives its lease overlaps the next: no fencing token; a node that restarts " +
			"empty or whose clock jumps makes a second majority"
		ofReleases := slices.DeleteFunc(slices.Clone(design.Loses), func(h drivers.Hazard) bool {
			return h != drivers.HazardGetDelGap && h != drivers.HazardClientRetries
		})
		design.Loses = slices.Concat(loses, ofReleases)
		list = append(list, design)
	}
	return list
}

// Open implements drivers.Driver. It succeeds when a majority of the nodes answers. The others stay out of the service.
func (d Driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	design, err := drivers.FindDesign(d, cfg.Lock)
	if err == nil {
		err = check(cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("quorum: open: %w", err)
	}
	s := newService(cfg, design)
	var opening sync.WaitGroup
	for i, addr := range cfg.Addrs {
		one := cfg
		one.Lock, one.Addrs, one.Topology, one.Blocks = design.Name, []string{addr}, "", false
		opening.Go(func() { s.nodes[i].open(ctx, d.Node, one) })
	}
	opening.Wait()
	if err := s.complete(); err != nil {
		s.Close()
		return nil, err
	}
	if s.traits.Wakes {
		return wakingService{s}, nil
	}
	return s, nil
}

func check(cfg drivers.Config) error {
	n, sorted := len(cfg.Addrs), slices.Sorted(slices.Values(cfg.Addrs))
	switch {
	case cfg.Topology != "" && cfg.Topology != drivers.TopologyRedlock:
		return fmt.Errorf("a quorum is the topology %q, not %q", drivers.TopologyRedlock, cfg.Topology)
	case n == 0 || n > drivers.MaxNodes:
		return fmt.Errorf("%d addresses: give that of each node, 3 or 5 of them, and not more than %d", n, drivers.MaxNodes)
	case len(slices.Compact(sorted)) < n && !cfg.Embedded:
		return errors.New("two addresses are the same: one server must not have two votes")
	case cfg.NodeTimeout < 0:
		return fmt.Errorf("a node time-out of %v is not possible", cfg.NodeTimeout)
	}
	return nil
}

// complete checks the opened nodes: whether there are enough, and whether they are different servers.
func (s *service) complete() error {
	var down []string
	var class drivers.Class
	ids := map[string]int{}
	for i, n := range s.nodes {
		if n.svc == nil {
			down = append(down, fmt.Sprintf("node %d: %v", i+1, n.known.Err))
			class = drivers.ClassOf(n.known.Err)
			continue
		}
		if twin := ids[n.run]; twin > 0 && n.run != "" {
			return fmt.Errorf("quorum: open: nodes %d and %d are the same server, which must not have two votes", twin, i+1)
		}
		ids[n.run] = i + 1
		t := n.svc.Traits()
		s.traits.Wakes = s.traits.Wakes && t.Wakes
		if t.MaxSessions > 0 && (s.traits.MaxSessions == 0 || t.MaxSessions < s.traits.MaxSessions) {
			s.traits.MaxSessions = t.MaxSessions
		}
	}
	if up := len(s.nodes) - len(down); up < s.majority {
		return &drivers.Error{Class: class, Op: "quorum: open", Err: fmt.Errorf("%d of %d nodes answer and %d have to: %s",
			up, len(s.nodes), s.majority, strings.Join(down, "; "))}
	}
	return nil
}
