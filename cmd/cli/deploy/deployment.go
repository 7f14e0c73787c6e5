package deploy

import (
	"fmt"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/spec"
)

// deployment names the servers that a cell needs; cells with the same one share them.
type deployment struct {
	service         *servers.Service
	durability      servers.Durability
	topology        drivers.Topology
	nodes, replicas int
}

func deploymentOf(c spec.Plan) deployment {
	return deployment{
		Service(c.Driver), servers.Durability(c.Durability), drivers.Topology(c.Topology), c.Nodes, c.Replicas,
	}
}

// Deployment describes the servers that a cell needs.
func Deployment(p spec.Plan) string { return deploymentOf(p).String() }

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
