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
	d, err := drivers.Lookup(driver)
	if err != nil {
		return drivers.Library{}
	}
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

// Pipelined reports whether the clients share connections.
func Pipelined(p *spec.Plan) bool {
	unsaid := p.Pipelining == ""
	return p.Pipelining == string(drivers.PipeliningAuto) || Batched(p) || unsaid && Library(p.Driver).Pipelines
}

// Pool returns how many connections the clients share of which each request takes one for as long as it lasts (of a
// cluster, on all its nodes together); 0 if they share them otherwise, or each has its own.
func Pool(p *spec.Plan) int {
	if p.Processes > 1 {
		return inProcesses(p, Pool)
	}
	lib := Library(p.Driver)
	if !Addressed(p.Driver) || lib.Multiplexes || lib.Pinned(p.Lock) || Pipelined(p) {
		return 0
	}
	n := p.Conns
	if n == 0 && lib.Conns != nil {
		n = lib.Conns(p.Clients, false)
		if lib.Locks {
			n-- // the one for what is not a lock
		}
	}
	if lib.Locks {
		n *= max(1, p.Lockers)
	}
	if p.Topology == string(drivers.TopologyCluster) {
		n *= max(1, p.Nodes)
	}
	if n >= p.Clients {
		return 0
	}
	return n
}

// Connections returns how many connections p will open to a server at most, as far as is known beforehand: to each
// node of redlock, of a cluster or of an ensemble.
func Connections(p *spec.Plan) int {
	if !Addressed(p.Driver) {
		return 0
	}
	if p.Processes > 1 {
		return inProcesses(p, Connections)
	}
	lib, n := Library(p.Driver), p.Conns
	switch {
	case Batched(p):
		n = Batches(p) + 1 // for what is in no batch
	case lib.Pinned(p.Lock), n == 0 && lib.Conns == nil:
		n = p.Clients
	case n == 0:
		n = lib.Conns(p.Clients, Pipelined(p))
	}
	kind, _ := wait.Find(p.Wait)
	if kind.Wakes {
		n += max(p.Lockers, 1) // the subscriptions
	}
	if kind.Blocks {
		n += p.Clients // each sleeps on one of its own
	}
	if lib.Locks {
		n *= max(1, p.Lockers)
	}
	if p.Probe > 0 {
		n++ // the neighbour's
	}
	return n
}

// inProcesses returns what the processes of p have together if each has as many as the largest.
func inProcesses(p *spec.Plan, of func(*spec.Plan) int) int {
	largest := spec.ShareOf(p, p.Processes-1).Plan(*p)
	return p.Processes * of(&largest)
}
