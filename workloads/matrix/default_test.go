package matrix

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
)

// TestTableKnowsDrivers holds the table of settings, which knows no drivers, against the packages whose names and defaults it
// repeats.
func TestTableKnowsDrivers(t *testing.T) {
	if spec.DefaultPoll != wait.DefaultPoll || spec.DefaultBackoffMin != wait.DefaultBackoffMin || spec.DefaultBackoffMax != wait.DefaultBackoffMax {
		t.Error("package spec has other times")
	}
	waits := []string{Auto}
	for _, k := range wait.Kinds() {
		waits = append(waits, k.Name)
	}
	for name, want := range map[string][]string{
		"wait":       waits,
		"handover":   wait.Handovers(),
		"pipelining": texts("default", drivers.PipeliningAuto, drivers.PipeliningOff, drivers.PipeliningBatch),
		"topology": texts(drivers.TopologySingle, drivers.TopologyRedlock, drivers.TopologyReplicated,
			drivers.TopologySentinel, drivers.TopologyCluster, drivers.TopologyEnsemble),
		"release": texts("default", drivers.ReleaseLua, drivers.ReleaseDelIfEq, drivers.ReleaseDelEx),
	} {
		if s, _ := spec.Find(name); !slices.Equal(s.Choices, want) {
			t.Errorf("%s: the table has %q, want %q", name, s.Choices, want)
		}
	}
	p := spec.Plan{Processes: MaxProcesses, Duration: MaxDuration, Nodes: drivers.MaxNodes,
		Replicas: drivers.MaxNodes, IOTimeout: drivers.DefaultIOTimeout, NodeTimeout: drivers.DefaultNodeTimeout}
	for _, name := range []string{"processes", "duration", "nodes", "replicas"} {
		s, _ := spec.Find(name)
		var most spec.Plan
		if err := s.Set(&most, s.Most); err != nil || s.Text(&most, &most.Load) != s.Text(&p, &p.Load) {
			t.Errorf("%s: the table has at most %s, want %s", name, s.Most, s.Text(&p, &p.Load))
		}
	}
	for _, name := range []string{"io-timeout", "node-timeout"} {
		if s, _ := spec.Find(name); s.Default != s.Text(&p, &p.Load) {
			t.Errorf("%s: the table has %s by default, want %s", name, s.Default, s.Text(&p, &p.Load))
		}
	}
}

// texts returns names of a type as plans write them.
func texts[T ~string](names ...T) (list []string) {
	for _, name := range names {
		list = append(list, string(name))
	}
	return list
}
