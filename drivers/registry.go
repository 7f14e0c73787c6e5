package drivers

import (
	"fmt"
	"slices"
	"strings"
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

// Names lists the registered drivers in alphabetical order.
func Names() []string {
	names := make([]string, 0, len(registry))
	for name := range registry {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Lookup returns the registered driver with that name.
func Lookup(name string) (Driver, error) {
	if d, ok := registry[name]; ok {
		return d, nil
	}
	return nil, fmt.Errorf("unknown driver %q; there are %s", name, strings.Join(Names(), ", "))
}

// FindDesign returns the design of d with that name; the empty name means the first, which is the default.
func FindDesign(d Driver, name string) (Design, error) {
	designs := d.Designs()
	names := make([]string, len(designs))
	for i, design := range designs {
		if name == "" || design.Name == name {
			return design, nil
		}
		names[i] = design.Name
	}
	return Design{}, fmt.Errorf("unknown lock %q; there are %s", name, strings.Join(names, ", "))
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
