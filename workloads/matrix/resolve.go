// What a combination of settings comes to: what is left open is chosen, and what it does not read is cleared.

package matrix

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/quorum"
	"github.com/lockbench/lockbench/results/spec"
)

// Server is where the plans of a driver are to run.
type Server struct {
	Kind string // as plans name it
	Err  error  // why nothing can run there; may be nil
	Flag string // the flag and its value that Err is about, if it is about one
}

// Driver returns the driver of a plan. Redlock is made of one for a single server, unless a lock library brings its
// own.
func Driver(p *spec.Plan) (drivers.Driver, error) {
	return quorum.Lookup(p.Driver, drivers.Topology(p.Topology))
}

// Topologies returns the topologies that a driver knows.
func Topologies(driver string) []string {
	names := []string{string(drivers.TopologySingle)}
	for _, t := range Library(driver).Topologies {
		names = append(names, string(t))
	}
	return names
}

// Resolve fills in the design and the way of waiting that p leaves open and what its topology needs, and clears what
// p does not read. It returns the design, and an error as Check does.
//
// If an adapter is not started, as in a dry run, its designs are not known: p stays as it is, and only its values are
// checked.
func Resolve(p *spec.Plan, s Server) (drivers.Design, error) {
	p.Server = s.Kind
	if drivers.Unstarted(p.Driver) {
		clearUnread(p, spec.Setting.NeedsDriver)
		return drivers.Design{}, checkValues(p)
	}
	design, err := findDesign(p)
	if err == nil && s.Err != nil {
		err = &Misfit{strings.TrimSpace(p.Driver + " " + s.Flag), s.Err.Error()}
	}
	if err != nil {
		return drivers.Design{}, err
	}
	p.Lock = design.Name
	if p.Wait == Auto {
		p.Wait = automatic(design.Traits)
	}
	clearUnread(p, func(spec.Setting) bool { return false })
	fillTopology(p)
	return design, Check(*p, design.Traits)
}

// findDesign returns the design of p, if its driver has one for all that p asks of it.
func findDesign(p *spec.Plan) (design drivers.Design, err error) {
	if known := Topologies(p.Driver); p.Topology != "" && !slices.Contains(known, p.Topology) {
		return design, misfit(p, spec.Class{}, "topology", "it knows "+strings.Join(known, ", ")+" servers only")
	}
	driver, err := Driver(p)
	if err != nil {
		return design, &Misfit{p.Driver, "no such driver"}
	}
	if design, err = drivers.FindDesign(driver, p.Lock); err != nil {
		var names []string
		for _, d := range driver.Designs() {
			names = append(names, d.Name)
		}
		return design, &Misfit{p.Driver + " -lock " + p.Lock, p.Driver + " has only " + strings.Join(names, ", ")}
	}
	if _, err = drivers.ReadParams(driver, p.ParamMap()); err != nil {
		err = misfit(p, spec.Class{}, "param", err.Error())
	}
	return design, err
}

// clearUnread clears what p and its classes do not read, but for what is to be kept, and counts the clients of the
// classes.
func clearUnread(p *spec.Plan, kept func(spec.Setting) bool) {
	loads, clients := []*spec.Load{&p.Load}, 0
	for i := range p.Classes {
		loads = append(loads, &p.Classes[i].Load)
		clients += p.Classes[i].Clients
	}
	p.Clients = cmp.Or(clients, p.Clients)
	for _, l := range loads {
		for _, s := range spec.Settings {
			if !kept(s) && !s.Reads(p, l) {
				s.Copy(p, l, &spec.Plan{})
			}
		}
	}
}

// usualNodes are as many as the description of Redlock has, and the fewest that make a cluster or an ensemble.
var usualNodes = map[drivers.Topology]int{
	drivers.TopologyRedlock: 5, drivers.TopologyCluster: 3, drivers.TopologyEnsemble: 3,
}

// fillTopology fills in what the topology of p needs of servers that lockbench starts. Elsewhere they are as many as
// there are.
func fillTopology(p *spec.Plan) {
	t := drivers.Topology(p.Topology)
	switch {
	case p.Server == External:
		p.Nodes, p.Replicas = 0, 0
	case p.Replicas == 0 && t == drivers.TopologyReplicated:
		p.Replicas = max(1, p.Acks)
	case p.Replicas == 0 && t == drivers.TopologySentinel:
		p.Replicas = 1
	case p.Nodes == 0:
		p.Nodes = usualNodes[t]
	}
}
