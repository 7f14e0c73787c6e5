package quorum

import "github.com/lockbench/lockbench/drivers"

// PlantHalf plants a bug in an open service: half of the nodes, rounded down, are a majority.
func PlantHalf(svc drivers.Service) {
	s := svc.(*service)
	s.majority = len(s.nodes) / 2
}
