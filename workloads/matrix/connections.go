// The service of a plan: how it is opened, and the connections that its clients make.

package matrix

import (
	"slices"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
)

// Library returns what a driver tells of its client library, and nothing of one that is not registered.
func Library(driver string) drivers.Library {
	d, _ := drivers.Lookup(driver)
	return drivers.LibraryOf(d)
}

// Addressed reports whether a driver needs a server.
func Addressed(driver string) bool {
	d, _ := drivers.Lookup(driver)
	_, addressed := d.(drivers.Addressed)
	return addressed
}

// Config returns what the service of p is opened with, as far as the plan says it.
func Config(p *spec.Plan, prefix string) drivers.Config {
	kind, _ := wait.Find(p.Wait)
	return drivers.Config{
		Lock: p.Lock, Prefix: prefix, Clients: p.Clients, TTL: p.TTL, Lockers: p.Lockers, Params: p.ParamMap(),
		Wakes: kind.Wakes, Blocks: kind.Blocks, Polls: p.Wait == wait.Poll || p.Wait == wait.Backoff,
		Renews: p.Renew, Passes: p.Handover == wait.HandoverSwap,
		Crashes: slices.ContainsFunc(p.Groups(), func(c spec.Class) bool { return c.Crash > 0 }),
		Conns:   p.Conns, Pipelining: drivers.Pipelining(p.Pipelining), FlushDelay: p.FlushDelay, IOTimeout: p.IOTimeout,
		Topology: drivers.Topology(p.Topology), Acks: p.Acks, NodeTimeout: p.NodeTimeout, Release: drivers.Release(p.Release),
		Embedded: p.Server == Embedded,
	}
}

// Connections returns how many connections p will open to a server at most, as far as is known beforehand: to each
// node of redlock, of a cluster or of an ensemble. Pool are those that the clients share of which each request takes
// one for as long as it lasts (of a cluster, on all its nodes together); 0 if they share them otherwise, or each has
// its own.
func Connections(p *spec.Plan) (all, pool int) {
	switch {
	case !Addressed(p.Driver):
		return 0, 0
	case p.Processes > 1: // each has as many as the largest
		largest := spec.ShareOf(p, p.Processes-1).Plan(*p)
		all, pool = Connections(&largest)
		return p.Processes * all, p.Processes * pool
	}
	lib := Library(p.Driver)
	pipelined := p.Pipelining == string(drivers.PipeliningAuto) || p.Pipelining == "" && lib.Pipelines
	all, pool = p.Conns, p.Conns
	if p.Conns == 0 && lib.Conns != nil {
		all = lib.Conns(p.Clients, pipelined || Batched(p))
		if pool = all; lib.Locks {
			pool-- // the one for what is not a lock
		}
	}
	switch {
	case Batched(p):
		all = Batches(p) + 1 // for what is in no batch
	case lib.Pinned(p.Lock), all == 0:
		all = p.Clients
	}
	kind, _ := wait.Find(p.Wait)
	if kind.Wakes {
		all += max(p.Lockers, 1) // the subscriptions
	}
	if kind.Blocks {
		all += p.Clients // each sleeps on one of its own
	}
	if lib.Locks {
		all, pool = all*max(1, p.Lockers), pool*max(1, p.Lockers)
	}
	if p.Probe > 0 {
		all++ // the neighbour's
	}
	if p.Topology == string(drivers.TopologyCluster) {
		pool *= max(1, p.Nodes)
	}
	if pool >= p.Clients || lib.Multiplexes || lib.Pinned(p.Lock) || pipelined || Batched(p) {
		pool = 0
	}
	return all, pool
}
