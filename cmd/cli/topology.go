// How many servers a cell needs and how they belong together: what -topology means for a plan.

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/spec"
)

const (
	redlockNodes     = 5 // as in the description of the algorithm
	clusterPrimaries = 3 // the fewest that Redis calls a cluster
	ensembleNodes    = 3 // likewise
)

// topologies are the values of -topology, the usual one first.
var topologies = []string{
	string(drivers.TopologySingle), string(drivers.TopologyRedlock), string(drivers.TopologyReplicated),
	string(drivers.TopologySentinel), string(drivers.TopologyCluster), string(drivers.TopologyEnsemble),
}

// releases are the values of -release.
var releases = []string{
	"default", string(drivers.ReleaseLua), string(drivers.ReleaseWatch), string(drivers.ReleaseDelIfEq), string(drivers.ReleaseDelEx),
}

// topologyFlags says which topologies read a flag.
var topologyFlags = map[string][]drivers.Topology{
	"nodes":        {drivers.TopologyRedlock, drivers.TopologyCluster, drivers.TopologyEnsemble},
	"replicas":     {drivers.TopologyReplicated, drivers.TopologySentinel},
	"acks":         {drivers.TopologyReplicated},
	"node-timeout": {drivers.TopologyRedlock, drivers.TopologyReplicated},
	"master":       {drivers.TopologySentinel},
}

// outOfTopology tells why a driver cannot have a topology at all.
func outOfTopology(c spec.Plan) (why string) {
	known := libraryOf(c.Driver).Topologies
	if t := drivers.Topology(c.Topology); t == "" || slices.Contains(known, t) {
		return ""
	}
	return "it knows " + joined(known) + " servers only"
}

// settleTopology fills in what a cell's topology needs and clears what it does not read. If driver, server and topology
// do not go together it says why.
func settleTopology(c *spec.Plan, kind serverKind) (why string) {
	t := drivers.Topology(c.Topology)
	reads := func(flag string) bool { return slices.Contains(topologyFlags[flag], t) }
	if !reads("nodes") || kind == external {
		c.Nodes = 0
	}
	if !reads("replicas") || kind == external {
		c.Replicas = 0
	}
	if !reads("acks") {
		c.Acks = 0
	}
	if !reads("node-timeout") {
		c.NodeTimeout = 0
	}
	switch {
	case t == "":
		return ""
	case kind == embedded && t != drivers.TopologyRedlock:
		return "the embedded server cannot be part of one; -server private can"
	}
	switch {
	case kind == external:
	case t == drivers.TopologyRedlock && c.Nodes == 0:
		c.Nodes = redlockNodes
	case t == drivers.TopologyCluster && c.Nodes == 0:
		c.Nodes = clusterPrimaries
	case t == drivers.TopologyEnsemble && c.Nodes == 0:
		c.Nodes = ensembleNodes
	case t == drivers.TopologyEnsemble && c.Nodes != 1 && c.Nodes != ensembleNodes:
		return fmt.Sprintf("lockbench starts ensembles of 1 or %d, not of %d", ensembleNodes, c.Nodes)
	case t == drivers.TopologyReplicated && c.Replicas == 0:
		c.Replicas = max(1, c.Acks)
	case t == drivers.TopologySentinel && c.Replicas == 0:
		c.Replicas = 1
	}
	return ""
}

// joined lists topologies, the single server first.
func joined(list []drivers.Topology) string {
	names := []string{string(drivers.TopologySingle)}
	for _, t := range list {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}

// deployment names the servers that a cell needs; cells with the same one share them.
type deployment struct {
	service         *servers.Service
	durability      servers.Durability
	topology        drivers.Topology
	nodes, replicas int
}

func deploymentOf(c spec.Plan) deployment {
	return deployment{
		serviceOf(c.Driver), servers.Durability(c.Durability), drivers.Topology(c.Topology), c.Nodes, c.Replicas,
	}
}

func (d deployment) String() string {
	switch d.topology {
	case drivers.TopologyRedlock:
		return fmt.Sprintf("%d independent servers", d.nodes)
	case drivers.TopologyReplicated:
		return fmt.Sprintf("a primary with %d replicas", d.replicas)
	case drivers.TopologySentinel:
		return fmt.Sprintf("a primary with %d replicas and %d sentinels", d.replicas, servers.Sentinels)
	case drivers.TopologyCluster:
		return fmt.Sprintf("a cluster of %d primaries", d.nodes)
	case drivers.TopologyEnsemble:
		return fmt.Sprintf("an ensemble of %d", d.nodes)
	}
	return "one server"
}
