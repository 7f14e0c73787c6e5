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

var topologySetting, _ = spec.Find("topology")

// Names returns the values of a setting that is chosen by a name, and nil for the others. Those of drivers and their
// locks are other ones in a program with drivers of its own, which is why the table does not have them.
func Names(setting string) []string {
	switch setting {
	case "driver":
		return drivers.AllNames()
	case "lock":
		var locks []string
		for _, name := range append(drivers.Names(), drivers.Found()...) {
			d, _ := drivers.Lookup(name)
			locks = append(locks, drivers.DesignNames(d)...)
		}
		slices.Sort(locks)
		return slices.Compact(locks)
	}
	s, _ := spec.Find(setting)
	return s.Choices
}

// Topologies returns the topologies that a driver knows.
func Topologies(driver string) []string {
	names := []string{string(drivers.TopologySingle)}
	for _, t := range Library(driver).Topologies {
		names = append(names, string(t))
	}
	return names
}

// CutTopology returns the parts of a driver that names its topology, as in redsync@redlock, and false for one that
// does not. The command of an adapter may have an @ of its own.
func CutTopology(text string) (driver, topology string, named bool) {
	at := strings.LastIndexByte(text, '@')
	if at < 0 || drivers.FamilyOf(text) != "" && !slices.Contains(topologySetting.Choices, text[at+1:]) {
		return text, "", false
	}
	return text[:at], text[at+1:], true
}

// CheckNames returns a *spec.FieldError for the first value of axes that is not among the known names. A lock that some
// driver has will do, and any if an adapter is not started, so that its locks are not known.
func CheckNames(axes []Axis) error {
	anyLock := false
	for _, a := range axes {
		known := Names(a.Setting.Name)
		for _, p := range a.Values {
			driver, topology, named := CutTopology(p.Driver)
			anyLock = anyLock || drivers.Unstarted(driver)
			switch name := a.Setting.Name; {
			case name == "driver" && !slices.Contains(known, driver) && !drivers.IsCommand(driver):
				return spec.Unknown(name, driver, known)
			case named && !slices.Contains(topologySetting.Choices, topology):
				return spec.Unknown("topology", topology, topologySetting.Choices)
			case name == "lock" && !anyLock && !slices.Contains(known, p.Lock):
				return spec.Unknown(name, p.Lock, known)
			}
			if err := a.Setting.Check(&p, &p.Load); a.Setting.Choices != nil && err != nil {
				return err
			}
		}
	}
	return nil
}

// Server is where the plans of a driver are to run.
type Server struct {
	Kind string // as plans name it
	Err  error  // why nothing can run there; may be nil
}

// Driver returns the driver of a plan. Redlock is made of one for a single server, unless a lock library brings its
// own.
func Driver(p *spec.Plan) (drivers.Driver, error) {
	return quorum.Lookup(p.Driver, drivers.Topology(p.Topology))
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
		err = &Misfit{p.Driver, strings.TrimPrefix(s.Err.Error(), p.Driver+": ")}
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
		return design, &Misfit{p.Driver + " -lock " + p.Lock, "it has only " + strings.Join(drivers.DesignNames(driver), ", ")}
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
	for _, s := range spec.Settings {
		for _, l := range loads {
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
	switch t := drivers.Topology(p.Topology); {
	case p.Server == External:
		p.Nodes, p.Replicas = 0, 0
	case t == drivers.TopologyReplicated || t == drivers.TopologySentinel:
		p.Replicas = cmp.Or(p.Replicas, p.Acks, 1)
	default:
		p.Nodes = cmp.Or(p.Nodes, usualNodes[t])
	}
}
