package drivers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

// fake is a driver that only lists designs.
type fake []string

func (f fake) Designs() (designs []drivers.Design) {
	for _, name := range f {
		designs = append(designs, drivers.Design{Name: name})
	}
	return designs
}

func (fake) Open(context.Context, drivers.Config) (drivers.Service, error) {
	return nil, errors.ErrUnsupported
}

func init() { // once, however often the tests run
	drivers.Register("zeta", fake{"z"})
	drivers.Register("alpha", fake{"a"})
}

// TestFamily: members are known by name before they are started, and others by their prefix. Only Start starts one.
func TestFamily(t *testing.T) {
	started := map[string]int{}
	drivers.RegisterFamily("zoo", drivers.Family{
		Start: func(name string) (drivers.Driver, error) {
			if started[name]++; name == "zoo:none" {
				return nil, errors.ErrUnsupported
			}
			return fake{"k"}, nil
		},
		Known: func(string) drivers.Driver { return fake{} },
	}, "zoo-cat")
	if slices.Contains(drivers.Names(), "zoo-cat") || !slices.Contains(drivers.AllNames(), "zoo-cat") {
		t.Errorf("before it is started: Names() = %v, AllNames() = %v", drivers.Names(), drivers.AllNames())
	}
	for _, name := range []string{"zoo-cat", "zoo:other", "zoo-cat"} {
		if d, err := drivers.Lookup(name); err != nil || started[name] == 0 && (len(d.Designs()) > 0 || !drivers.Unstarted(name)) {
			t.Errorf("Lookup(%s) = %v, %v; started %v", name, d, err, started)
		}
		if d, err := drivers.Start(name); err != nil || d.Designs()[0].Name != "k" || drivers.FamilyOf(name) != "zoo" {
			t.Errorf("Start(%s) = %v, %v; of family %q", name, d, err, drivers.FamilyOf(name))
		}
		if d, err := drivers.Lookup(name); err != nil || d.Designs()[0].Name != "k" || drivers.Unstarted(name) {
			t.Errorf("Lookup(%s) after Start = %v, %v", name, d, err)
		}
		if command := name != "zoo-cat"; drivers.IsCommand(name) != command {
			t.Errorf("IsCommand(%s) = %v", name, !command)
		}
	}
	if _, err := drivers.Start("zoo:none"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Start of what cannot be started: %v", err)
	}
	if names := drivers.Found(); started["zoo-cat"] != 1 || !slices.Equal(names, []string{"zoo-cat", "zoo:other"}) ||
		!slices.Contains(drivers.AllNames(), "zoo:other") || slices.Contains(drivers.Names(), "zoo-cat") {
		t.Errorf("afterwards: Names() = %v, Found() = %v, found %v", drivers.Names(), names, started)
	}
}

func TestRegistry(t *testing.T) {
	names := drivers.Names()
	if !slices.IsSorted(names) || !slices.Contains(names, "alpha") || !slices.Contains(names, "zeta") {
		t.Errorf("Names() = %v, want alpha and zeta in order", names)
	}
	d, err := drivers.Lookup("zeta")
	if err != nil || d.Designs()[0].Name != "z" {
		t.Errorf("Lookup(zeta) = %v, %v", d, err)
	}
	_, err = drivers.Lookup("zetta")
	if err == nil || !strings.Contains(err.Error(), `"zetta"`) || !strings.Contains(err.Error(), "alpha, zeta") {
		t.Errorf("Lookup of an unknown name says %v; want the name and what there is", err)
	}
	defer func() {
		if r, _ := recover().(string); !strings.Contains(r, "zeta") {
			t.Errorf("Register of a taken name panics with %q, want the name", r)
		}
	}()
	drivers.Register("zeta", fake{})
	t.Error("Register of a taken name did not panic")
}

// half has one method of drivers.Addressed.
type (
	halfService struct{ fake }
	halfReader  struct{ fake }
	oddReader   struct{ halfService }
)

func (halfService) Service() string                        { return "redis" }
func (halfReader) ReadAddr(string) (drivers.Addr, error)   { return drivers.Addr{}, nil }
func (oddReader) ReadAddr(string) (addr string, err error) { return "", nil }

func TestRegisterWantsBothOfAddressed(t *testing.T) {
	for missing, d := range map[string]drivers.Driver{
		"half has Service and no ReadAddr(": halfService{}, "half has ReadAddr and no Service()": halfReader{},
		"has Service and no ReadAddr(addr string) (drivers.Addr, error)": oddReader{},
	} {
		func() {
			defer func() {
				if r, _ := recover().(string); !strings.Contains(r, missing) {
					t.Errorf("Register panics with %q, want %q", r, missing)
				}
			}()
			drivers.Register("half", d)
		}()
		if _, err := drivers.Lookup("half"); err == nil {
			t.Fatalf("%s is registered", missing)
		}
	}
}

func TestFindDesign(t *testing.T) {
	d := fake{"first", "second"}
	for _, test := range []struct{ name, want, fault string }{
		{"", "first", ""},
		{"first", "first", ""},
		{"second", "second", ""},
		{"Second", "", `"Second"; there are first, second`},
	} {
		got, err := drivers.FindDesign(d, test.name)
		if got.Name != test.want || (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("FindDesign(%q) = %q, %v; want %q, %s", test.name, got.Name, err, test.want, test.fault)
		}
	}
}

func TestChosen(t *testing.T) {
	d := fake{"first", "second"}
	for _, test := range []struct {
		cfg         drivers.Config
		want, fault string
	}{
		{drivers.Config{Lock: "second"}, "second", ""},
		{drivers.Config{Lock: "third"}, "", `"third"; there are`},
		{drivers.Config{Params: map[string]string{"x": "1"}}, "", `parameter "x"; there are none`},
	} {
		got, _, err := drivers.Chosen(d, test.cfg)
		if test.fault == "" && (got.Name != test.want || err != nil) ||
			test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)) {
			t.Errorf("Chosen(%v) = %q, %v; want %q, %s", test.cfg, got.Name, err, test.want, test.fault)
		}
	}
}
