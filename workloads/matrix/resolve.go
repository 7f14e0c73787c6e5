// What a combination of settings comes to: what is left open is chosen, and what it does not read is cleared.

package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/quorum"
	"github.com/lockbench/lockbench/results/spec"
)

const (
	redlockNodes     = 5 // as in the description of the algorithm
	clusterPrimaries = 3 // the fewest that Redis calls a cluster
	ensembleNodes    = 3 // likewise
)

// Server is where the plans of a driver are to run.
type Server struct {
	Kind string // as plans name it
	Err  error  // why nothing can run there; may be nil
	Flag string // the flag and its value that Err is about, if it is about one
}

// Driver returns the driver of a plan. Redlock is made of one for a single server, unless a lock library brings its own.
func Driver(p *spec.Plan) (drivers.Driver, error) {
	return quorum.Lookup(p.Driver, drivers.Topology(p.Topology))
}

// Resolve fills in the design and the way of waiting that p leaves open and what its topology needs, and clears what p does
// not read. It returns the design, and an error as Check does.
//
// If an adapter is not started, as in a dry run, its designs are not known: p stays as it is, and only its load is checked.
func Resolve(p *spec.Plan, s Server) (drivers.Design, error) {
	if drivers.Unstarted(p.Driver) {
		p.Server = s.Kind
		clearUnread(p, slices.DeleteFunc(slices.Clone(Readers), Reader.NeedsDriver))
		return drivers.Design{}, cmp.Or(
			checkClasses(*p), within("clients", p.Clients, 1, MaxClients), within("keys", p.Keys, 1, MaxKeys), checkLength(*p))
	}
	if known := Topologies(p.Driver); p.Topology != "" && !slices.Contains(known, p.Topology) {
		return drivers.Design{}, misfit(p, "it knows "+strings.Join(known, ", ")+" servers only", "-topology %s", p.Topology)
	}
	driver, err := Driver(p)
	if err != nil {
		return drivers.Design{}, &Misfit{p.Driver, "no such driver"}
	}
	design, err := drivers.FindDesign(driver, p.Lock)
	if err != nil {
		var names []string
		for _, d := range driver.Designs() {
			names = append(names, d.Name)
		}
		return drivers.Design{}, misfit(p, p.Driver+" has only "+strings.Join(names, ", "), "-lock %s", p.Lock)
	}
	p.Lock = design.Name
	if _, err := drivers.ReadParams(driver, p.ParamMap()); err != nil {
		return drivers.Design{}, misfit(p, err.Error(), "-param %s", p.Params)
	}
	p.Server = s.Kind
	if s.Err != nil {
		return drivers.Design{}, &Misfit{strings.TrimSpace(p.Driver + " " + s.Flag), s.Err.Error()}
	}
	if p.Wait == Auto {
		p.Wait = automatic(design.Traits)
	}
	clearUnread(p, Readers)
	if why := settleTopology(p); why != "" {
		return drivers.Design{}, misfit(p, why, "-topology %s", p.Topology)
	}
	return design, Check(*p, design.Traits)
}

// Topologies returns the topologies that a driver knows.
func Topologies(driver string) []string {
	return texts(append([]drivers.Topology{drivers.TopologySingle}, Library(driver).Topologies...)...)
}

// clearUnread clears what p does not read, and counts the clients of its classes. What classes have in common is kept for those
// that read it.
func clearUnread(p *spec.Plan, readers []Reader) {
	own := []*spec.Load{&p.Load}
	if len(p.Classes) > 0 {
		own, p.Clients = nil, 0
	}
	for i := range p.Classes {
		l := &p.Classes[i].Load
		own = append(own, l)
		p.Clients += l.Clients
	}
	for _, r := range readers {
		s, _ := spec.Find(r.Setting)
		loads := own
		if r.plan != nil {
			loads = append(slices.Clone(own), &p.Load)
		}
		for _, l := range loads {
			if !r.Reads(p, *l) {
				s.Clear(p, l)
			}
		}
	}
}

// settleTopology fills in what the topology of p needs of servers that lockbench starts. If these and the topology do not go
// together it says why.
func settleTopology(p *spec.Plan) (why string) {
	t := drivers.Topology(p.Topology)
	switch {
	case p.Server == External:
		p.Nodes, p.Replicas = 0, 0 // they are as many as there are
	case p.Server == Embedded && t != "" && t != drivers.TopologyRedlock:
		return "the embedded server cannot be part of one; -addr private can"
	case t == drivers.TopologyRedlock && p.Nodes == 0:
		p.Nodes = redlockNodes
	case t == drivers.TopologyCluster && p.Nodes == 0:
		p.Nodes = clusterPrimaries
	case t == drivers.TopologyEnsemble && p.Nodes == 0:
		p.Nodes = ensembleNodes
	case t == drivers.TopologyEnsemble && p.Nodes != 1 && p.Nodes != ensembleNodes:
		return fmt.Sprintf("lockbench starts ensembles of 1 or %d, not of %d", ensembleNodes, p.Nodes)
	case t == drivers.TopologyReplicated && p.Replicas == 0:
		p.Replicas = max(1, p.Acks)
	case t == drivers.TopologySentinel && p.Replicas == 0:
		p.Replicas = 1
	}
	return ""
}
