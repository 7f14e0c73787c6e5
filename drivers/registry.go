package drivers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

var registry = map[string]Driver{}

// Register makes a driver available under a name, the value of -driver. It is called from init functions and panics if
// the name is taken, or if the driver has one method of Addressed without the other: its server would go unnoticed.
func Register(name string, d Driver) {
	if _, taken := registry[name]; taken {
		panic("drivers: Register called twice for " + name)
	}
	_, service := d.(interface{ Service() string })
	_, reads := d.(interface {
		ReadAddr(addr string) (Addr, error)
	})
	switch {
	case service && !reads:
		panic("drivers: driver " + name + " has Service and no ReadAddr(addr string) (drivers.Addr, error): a lock on a server needs both; see drivers.Addressed")
	case reads && !service:
		panic("drivers: driver " + name + " has ReadAddr and no Service() string: a lock on a server needs both; see drivers.Addressed")
	}
	registry[name] = d
}

// RegisterFamily makes drivers available whose names are family:NAME, or one of members.
func RegisterFamily(family string, f Family, members ...string) {
	families[family] = f
	for _, name := range members {
		memberOf[name] = family
	}
}

// Family has drivers that are started before they say what they can. A name may be a command, so only what a user types is
// given to Start.
type Family struct {
	Start func(name string) (Driver, error)
	Known func(name string) Driver // what is known of a driver that nothing has started: it has no designs
}

var (
	families = map[string]Family{}
	memberOf = map[string]string{}
	finding  sync.Mutex // one at a time
	found    = map[string]Driver{}
)

// FamilyOf returns the family of a driver's name; empty if there is none.
func FamilyOf(name string) string {
	if family := memberOf[name]; family != "" {
		return family
	}
	if family, _, ok := strings.Cut(name, ":"); ok && families[family].Start != nil {
		return family
	}
	return ""
}

// Unstarted reports whether a driver belongs to a family and nothing has started it, so that its designs are not known.
func Unstarted(name string) bool { return FamilyOf(name) != "" && !slices.Contains(Found(), name) }

// IsCommand reports whether the name of a driver is family:NAME, so that Start runs what it says.
func IsCommand(name string) bool { return FamilyOf(name) != "" && memberOf[name] == "" }

// Names lists the registered drivers in alphabetical order, none of a family.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }

// Found lists the drivers of families that were started, in alphabetical order.
func Found() []string {
	finding.Lock()
	defer finding.Unlock()
	return slices.Sorted(maps.Keys(found))
}

// AllNames lists all drivers that are known by name.
func AllNames() []string {
	names := slices.AppendSeq(append(Names(), Found()...), maps.Keys(memberOf))
	slices.Sort(names)
	return slices.Compact(names)
}

// Lookup returns the driver with that name. It starts nothing: of a family's driver it returns what is known.
func Lookup(name string) (Driver, error) {
	if d := registry[name]; d != nil {
		return d, nil
	}
	family := FamilyOf(name)
	if families[name].Start != nil {
		return nil, fmt.Errorf("which driver %s? write %s:NAME", name, name)
	}
	if family == "" {
		return nil, fmt.Errorf("unknown driver %q; there are %s", name, strings.Join(AllNames(), ", "))
	}
	finding.Lock()
	defer finding.Unlock()
	if d := found[name]; d != nil {
		return d, nil
	}
	return families[family].Known(name), nil
}

// Start is Lookup for a name that the user has typed, of a driver that is about to be used: one of a family is started, once.
func Start(name string) (Driver, error) {
	if !Unstarted(name) {
		return Lookup(name)
	}
	finding.Lock()
	defer finding.Unlock()
	if d := found[name]; d != nil {
		return d, nil
	}
	d, err := families[FamilyOf(name)].Start(name)
	if err != nil {
		return nil, err
	}
	found[name] = d
	return d, nil
}

// FindDesign returns the design of d with that name; the empty name means the first, which is the default.
func FindDesign(d Driver, name string) (Design, error) {
	for _, design := range d.Designs() {
		if name == "" || design.Name == name {
			return design, nil
		}
	}
	return Design{}, fmt.Errorf("unknown lock %q; there are %s", name, strings.Join(DesignNames(d), ", "))
}

// DesignNames returns the names of the designs of d, that of the default first.
func DesignNames(d Driver) (names []string) {
	for _, design := range d.Designs() {
		names = append(names, design.Name)
	}
	return names
}

// Chosen returns the design of d that cfg chooses, and the library's options with defaults filled in.
func Chosen(d Driver, cfg Config) (Design, ParamValues, error) {
	design, err := FindDesign(d, cfg.Lock)
	if err != nil {
		return Design{}, nil, err
	}
	params, err := ReadParams(d, cfg.Params)
	return design, params, err
}

// Described is a Driver that describes its client library, so that a harness can plan before it opens anything.
type Described interface {
	Library() Library
}

// Library describes the client library of a driver that needs a server. The zero value has one server and a connection
// for each client.
type Library struct {
	Module      string // its Go module, or its name
	Version     string // of a library that is no Go module
	Pipelines   bool   // it shares connections between goroutines by default
	Multiplexes bool   // it always has many requests under way on each connection
	Locks       bool   // it is a lock library: it brings its own locks, and a process keeps one client of it
	Outside     bool   // its sessions are in other processes, as many as Config.Lockers
	Queues      bool   // clients of one process wait for each other within it, before the server hears of them

	Pipelining []Pipelining                          // the values of Config.Pipelining that have an effect; none: it leaves no choice
	Topologies []Topology                            // supported besides the single server
	Conns      func(clients int, pipelined bool) int // connections if it chooses their number itself; nil: one per client
	Pins       func(lock string) bool                // whether each client needs a connection of its own, so that Config.Conns has no effect; nil: never
	Shares     func(conns int) bool                  // whether with that Config.Conns clients hold their locks together, so that none can die alone; nil: never
}

// LibraryOf returns the description of d's library, or the zero value.
func LibraryOf(d Driver) Library {
	if described, ok := d.(Described); ok {
		return described.Library()
	}
	return Library{}
}

// Pinned reports whether each client needs a connection of its own for the design.
func (l Library) Pinned(lock string) bool { return l.Pins != nil && l.Pins(lock) }

// Shared reports whether clients hold their locks together with conns connections.
func (l Library) Shared(conns int) bool { return l.Shares != nil && l.Shares(conns) }
