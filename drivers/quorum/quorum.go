// Package quorum makes one lock of several independent servers: Redlock, as a combinator over the sessions of any
// driver. A client asks all nodes at once for the same key with the same owner, and holds the lock if a majority grants
// it in time. It follows "Distributed Locks with Redis"
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/), the algorithm's own description. Its
// merit is disputed there and elsewhere, and for lockbench to measure.
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

// Driver opens the service of Node once for each of cfg.Addrs and lets the nodes vote.
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

// majority returns how many of n nodes have to agree: more than half, so that two majorities have a node in common. An
// odd n is sensible: an even one tolerates only as many failures as the odd one below it, (n-1)/2, needs one more node
// to agree, and lets two clients split the votes in halves.
func majority(n int) int { return n/2 + 1 }

// loses is what a majority loses to, whatever its nodes keep. It compares the time of a vote with the lease, so that no
// grant is late.
var loses = []drivers.Hazard{
	drivers.HazardOverrun, drivers.HazardHolderPauses, drivers.HazardOrphanWatchdog, drivers.HazardServerClock,
	drivers.HazardEviction, drivers.HazardQuorumRestart, drivers.HazardQuorumPause,
}

// notOfReleases reports whether a hazard is not one of the nodes' releases, which a majority has in common with them.
func notOfReleases(h drivers.Hazard) bool {
	return h != drivers.HazardGetDelGap && h != drivers.HazardClientRetries
}

// Lookup returns the driver of a name for a topology: with drivers.TopologyRedlock a majority of its servers, unless it is a lock
// library that knows majorities itself.
func Lookup(name string, t drivers.Topology) (drivers.Driver, error) {
	d, err := drivers.Lookup(name)
	if err == nil && t == drivers.TopologyRedlock && !drivers.LibraryOf(d).Locks {
		d = Driver{Node: d}
	}
	return d, err
}

// Designs implements drivers.Driver. It lists the designs of the node that a vote can be based on: a late release must
// not free the next holder's lock, and what a minority has granted has to expire by itself.
func (d Driver) Designs() []drivers.Design {
	var list []drivers.Design
	for _, design := range d.Node.Designs() {
		if t := design.Traits; t.Exclusive && t.Owned && t.Expires && !t.Fair && !t.Reentrant {
			design.Traits.Fenced = false // the counters of independent nodes cannot be compared
			design.Traits.Blocks = false // a client sleeps on one server
			design.Traits.Waits = false
			design.Models = "Redlock, a majority of independent nodes; each: " + design.Models
			design.Wrong = "a holder that outlives its lease overlaps the next: no fencing token; a node that restarts " +
				"empty or whose clock jumps makes a second majority"
			design.Loses = slices.Concat(loses, slices.DeleteFunc(slices.Clone(design.Loses), notOfReleases))
			list = append(list, design)
		}
	}
	return list
}

// Open implements drivers.Driver. It succeeds when a majority of the nodes answers; the others are tried again while
// the service is in use. Nodes tells which those are.
func (d Driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	design, err := d.find(cfg.Lock)
	if err == nil {
		err = check(cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("quorum: open: %w", err)
	}
	s := newService(d, cfg, design)
	var opening sync.WaitGroup
	for _, n := range s.nodes {
		opening.Go(func() { n.open(ctx) })
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

// find returns the design, or an error that says why a node's design does not work for a quorum.
func (d Driver) find(name string) (drivers.Design, error) {
	design, err := drivers.FindDesign(d, name)
	if err != nil {
		if _, has := drivers.FindDesign(d.Node, name); has == nil && name != "" {
			return design, fmt.Errorf("the lock %q does not work on a majority of nodes, which needs an owner and an "+
				"expiry, and neither a waiting line nor re-entry: %w", name, err)
		}
	}
	return design, err
}

func check(cfg drivers.Config) error {
	n := len(cfg.Addrs)
	sorted := slices.Sorted(slices.Values(cfg.Addrs))
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
	for _, n := range s.nodes {
		svc := n.service()
		if svc == nil {
			err := n.state().Err
			down = append(down, fmt.Sprintf("node %d: %v", n.number, err))
			class = drivers.ClassOf(err)
			continue
		}
		if twin := ids[n.runID()]; twin > 0 {
			return fmt.Errorf("quorum: open: nodes %d and %d are the same server, which must not have two votes", twin, n.number)
		} else if id := n.runID(); id != "" {
			ids[id] = n.number
		}
		t := svc.Traits()
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
