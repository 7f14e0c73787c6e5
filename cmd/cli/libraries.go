// How many connections the clients of a cell will open.

package cli

import (
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
)

// libraryOf is the client library of a driver.
func libraryOf(driver string) drivers.Library {
	d, err := drivers.Lookup(driver)
	if err != nil {
		return drivers.Library{}
	}
	return drivers.LibraryOf(d)
}

// pipelined reports whether the clients of a cell share connections.
func pipelined(c spec.Plan) bool {
	return c.Pipelining == string(drivers.PipeliningAuto) || c.Pipelining == "" && libraryOf(c.Driver).Pipelines
}

// pool is how many connections the clients of a cell share of which each request takes one for as long as it lasts (of a
// cluster, on all its nodes together); 0 if they share them otherwise, or each has its own.
func pool(c spec.Plan) int {
	lib := libraryOf(c.Driver)
	if inProcessDriver(c.Driver) || lib.Multiplexes || lib.Pinned(c.Lock) || pipelined(c) {
		return 0
	}
	n := c.Conns
	if n == 0 && lib.Conns != nil {
		n = lib.Conns(c.Clients, false)
		if lib.Locks {
			n-- // the one for what is not a lock
		}
	}
	if lib.Locks {
		n *= max(1, c.Lockers)
	}
	if c.Topology == string(drivers.TopologyCluster) {
		n *= max(1, c.Nodes)
	}
	if n >= c.Clients {
		return 0
	}
	return n
}

// connections is how many connections a cell will open to a server at most, as far as is known beforehand: to each node of
// redlock, of a cluster or of an ensemble.
func connections(c spec.Plan) int {
	if inProcessDriver(c.Driver) {
		return 0
	}
	lib, n := libraryOf(c.Driver), c.Conns
	switch {
	case lib.Pinned(c.Lock):
		n = c.Clients
	case n > 0:
	case lib.Conns == nil:
		n = c.Clients
	default:
		n = lib.Conns(c.Clients, pipelined(c))
	}
	if wakes(c) {
		n += max(c.Lockers, 1) // the subscriptions
	}
	if blocks(c) {
		n += c.Clients // each sleeps on one of its own
	}
	if lib.Locks {
		n *= max(1, c.Lockers)
	}
	if c.Probe > 0 {
		n++ // the neighbour's
	}
	return n
}
