// Which plans read a setting.

package matrix

import (
	"slices"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

// Reader says which plans read a setting. In the others it is cleared, and to ask for it in a run of which no plan reads it
// is a mistake.
type Reader struct {
	Setting string
	Depends []string // the flags that decide whether a plan reads it
	Shown   string   // of these, the one whose value Why shows; empty for none

	why  string
	plan func(*spec.Plan) bool // nil: load tells
	load func(spec.Load) bool
}

// Why returns what is wrong with the setting where no plan reads it. value returns what a flag was given.
func (r Reader) Why(value func(flag string) string) string {
	if r.Shown == "" {
		return r.why
	}
	return r.why + ", and -" + r.Shown + " is " + value(r.Shown)
}

// Reads reports whether the plan reads the setting, for a load that is its own or one of its classes'.
func (r Reader) Reads(p *spec.Plan, l spec.Load) bool {
	if r.plan != nil {
		return r.plan(p)
	}
	return r.load(l)
}

// NeedsDriver reports whether only what the driver says of itself tells which plans read the setting.
func (r Reader) NeedsDriver() bool {
	return slices.Contains(r.Depends, "driver")
}

// ReadBy reports whether any load of the plan reads the setting.
func (r Reader) ReadBy(p *spec.Plan) bool {
	return slices.ContainsFunc(p.Groups(), func(c spec.Class) bool { return r.Reads(p, c.Load) })
}

// Readers are the settings that not every plan reads, those last that depend on others of them.
var Readers = []Reader{
	{Setting: "timeout", plan: waits, Depends: []string{"wait"},
		why: "with -wait none nobody waits, so there is no patience to limit; -io-timeout bounds a request"},
	{Setting: "try-only", plan: waits, Depends: []string{"wait"}, why: "with -wait none all clients try once and never wait"},
	readersOfLoads[0], readersOfLoads[1],
	{Setting: "probe", plan: func(p *spec.Plan) bool { return p.Server != InProcess }, Depends: []string{"driver"},
		why: "a neighbour needs a server to be asked, and this run has none"},
	{Setting: "durability", plan: func(p *spec.Plan) bool { return p.Server == Private }, Depends: []string{"driver", "addr"},
		why: "only servers that lockbench starts are set up by it, and this run has none"},
	{Setting: "shared", plan: func(p *spec.Plan) bool { return p.Server == External }, Depends: []string{"driver", "addr"},
		why: "runs meet only on a server of yours, and this run has none: give -addr"},
	readIn("acks", drivers.TopologyReplicated),
	readIn("node-timeout", drivers.TopologyRedlock, drivers.TopologyReplicated),
	readIn("nodes", drivers.TopologyRedlock, drivers.TopologyCluster, drivers.TopologyEnsemble),
	readIn("replicas", drivers.TopologyReplicated, drivers.TopologySentinel),
	readBy("handover", wait.Queue),
}

// readersOfLoads are the settings that each class reads or not, whatever the others do.
var readersOfLoads = []Reader{
	{Setting: "arrival", load: func(l spec.Load) bool { return !l.Rate.IsZero() }, Depends: []string{"rate", "burst"},
		why: "only arrivals at a -rate read it"},
	{Setting: "max-queue", load: spec.Load.Open, Depends: []string{"rate", "burst"},
		why: "only an open loop has a queue: give -rate or -burst"},
}

func waits(p *spec.Plan) bool { return p.Wait != wait.None }

// readBy returns a setting of one way of waiting.
func readBy(setting, way string) Reader {
	return Reader{
		Setting: setting, Depends: []string{"wait"}, Shown: "wait", why: "only -wait " + way + " reads it",
		plan: func(p *spec.Plan) bool { return p.Wait == way },
	}
}

// readIn returns a setting of some topologies.
func readIn(setting string, topologies ...drivers.Topology) Reader {
	return Reader{
		Setting: setting, Depends: []string{"topology"}, Shown: "topology", why: "only -topology " + format.And(texts(topologies...)) + " reads it",
		plan: func(p *spec.Plan) bool { return slices.Contains(topologies, drivers.Topology(p.Topology)) },
	}
}
