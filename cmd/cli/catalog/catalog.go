// Package catalog tells what can be measured here, and what the names of claims, figures and ways of waiting mean.
// Commands list and help print it.
package catalog

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/exec"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/workloads/hazards"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
	"github.com/lockbench/lockbench/workloads/target"
)

// Listing is what list knows; its JSON form is for scripts.
type Listing struct {
	Drivers  []Driver `json:"drivers"`
	Adapters []Driver `json:"adapters"` // drivers in processes of other languages
	Waits    []string `json:"waits"`
	Presets  []string `json:"presets"`
	Hazards  []string `json:"hazards"`
}

// Driver tells what a driver has, and whether it can run on this machine without an address.
type Driver struct {
	Driver     string   `json:"driver"`
	Service    string   `json:"service,omitempty"`  // the kind of server; empty if it needs none
	Language   string   `json:"language,omitempty"` // of an adapter
	Library    string   `json:"library,omitempty"`  // an adapter without one excludes nobody
	Available  bool     `json:"available"`
	Version    string   `json:"version,omitempty"` // of the server that is installed here
	Install    string   `json:"install,omitempty"` // what brings what is missing
	Text       string   `json:"text"`
	Topologies []string `json:"topologies,omitempty"`
	Addresses  []string `json:"addresses,omitempty"` // forms of them
	Locks      []Lock   `json:"locks,omitempty"`     // the default first; not known of an adapter
	Params     []Param  `json:"params,omitempty"`
}

// Lock is a design of a driver.
type Lock struct {
	Lock   string           `json:"lock"`
	Traits drivers.Traits   `json:"traits"`
	Models string           `json:"models"`
	Wrong  string           `json:"wrong,omitempty"`
	Loses  []drivers.Hazard `json:"loses,omitempty"`
	Waits  []string         `json:"waits"` // the default first
}

// Param is an option of a lock library.
type Param struct {
	Param   string `json:"param"`
	Default string `json:"default"`
	Text    string `json:"text"`
}

// New looks for what the named drivers need.
func New(ctx context.Context, names []string) Listing {
	l := Listing{Drivers: []Driver{}, Adapters: []Driver{}, Waits: matrix.Names("wait"), Presets: presets.Names()}
	for _, name := range names {
		i := slices.IndexFunc(exec.Shipped, func(a exec.Adapter) bool { return a.Name == name })
		if i >= 0 {
			l.Adapters = append(l.Adapters, ofAdapter(&exec.Shipped[i]))
		} else {
			l.Drivers = append(l.Drivers, ofDriver(ctx, name))
		}
	}
	for _, h := range hazards.All() {
		l.Hazards = append(l.Hazards, string(h.Name))
	}
	return l
}

func ofAdapter(a *exec.Adapter) Driver {
	d := Driver{Driver: a.Name, Service: a.Service, Language: a.Language, Library: a.Library, Available: true, Text: "can run"}
	if missing, ok := errors.AsType[*exec.Missing](a.Missing()); ok {
		d.Available, d.Text, d.Install = false, "needs "+missing.What, missing.Install
	}
	return d
}

func ofDriver(ctx context.Context, name string) Driver {
	d := Driver{Driver: name, Available: true, Text: "needs no server"}
	if s := target.Service(name); s != nil {
		d.Service, d.Addresses = s.Name, s.Forms
		d.Library, d.Topologies = matrix.Library(name).Module, matrix.Topologies(name)
		d.findServer(ctx, s)
	}
	driver, _ := drivers.Lookup(name)
	for _, l := range driver.Designs() {
		d.Locks = append(d.Locks, Lock{l.Name, l.Traits, l.Models, l.Wrong, l.Loses, matrix.Waits(name, l)})
	}
	for _, p := range drivers.ParamsOf(driver) {
		d.Params = append(d.Params, Param{p.Name, p.Default, p.Text})
	}
	return d
}

// findServer tells whether a server can be started here.
func (d *Driver) findServer(ctx context.Context, s *servers.Service) {
	path, err := s.Locate()
	switch {
	case s.Find == nil:
		d.Available, d.Text = false, "needs -addr"
	case err == nil:
		d.Version = servers.ProgramVersion(ctx, path)
		d.Text = strings.TrimSpace(filepath.Base(path) + " " + d.Version)
	case s.Embedded != nil:
		d.Text, d.Install = "embedded only", s.Install()
	default:
		d.Available, d.Text, d.Install = false, "not installed", s.Install()
	}
}

// Document tells all about a single driver, and of several what can be chosen.
func (l Listing) Document() *report.Document {
	all := slices.Concat(l.Drivers, l.Adapters)
	if len(all) == 1 {
		return all[0].page()
	}
	d := &report.Document{Command: "lockbench list", Title: "Drivers and their locks"}
	addFacts(d, "Lock designs, the default first", pairs(l.Drivers, Driver.line)...)
	addFacts(d, "Locks of other languages", pairs(l.Adapters, Driver.line)...)
	addFacts(d, "To install what is not here", pairs(all, Driver.install)...)
	addFacts(d, "Values", "-wait", strings.Join(l.Waits, ", "), "-workload", strings.Join(l.Presets, ", "),
		"next", "lockbench list DRIVER")
	return d
}

// line says what a driver needs and has.
func (d Driver) line() (name, text string) {
	var locks []string
	for _, l := range d.Locks {
		locks = append(locks, l.Lock)
	}
	has := cmp.Or(strings.Join(locks, ", "), d.Library, "excludes nobody")
	return d.Driver, format.Join(d.Service, d.Language, d.Text) + ": " + has
}

// install says what brings what is missing.
func (d Driver) install() (name, text string) {
	if d.Language == "" {
		return d.Service, d.Install
	}
	return d.Driver, d.Install
}

// page tells all about a driver.
func (d Driver) page() *report.Document {
	about, next := "a driver", ""
	if d.Language != "" {
		about = cmp.Or(d.Library, "a lock that excludes nobody") + " in " + d.Language
		next = "lockbench conformance -driver " + d.Driver
	}
	if d.Service != "" {
		about += " for " + d.Service
	}
	doc := &report.Document{Command: "lockbench list", Title: d.Driver + ": " + about}
	addFacts(doc, "", "library", d.Library, "here", format.Join(d.Text, d.Install),
		"address", strings.Join(d.Addresses, " · "), "topologies", strings.Join(d.Topologies, ", "), "next", next)
	for i, l := range d.Locks {
		title := l.Lock
		if i == 0 {
			title += " (the default)"
		}
		var loses []string
		for _, h := range l.Loses {
			loses = append(loses, string(h))
		}
		addFacts(doc, title, "claims", Claims(l.Traits), "imitates", l.Models, "wrong", l.Wrong,
			"loses to", strings.Join(loses, ", "), "-wait", strings.Join(l.Waits, ", "))
	}
	addFacts(doc, "Options of the library (-param NAME=VALUE), with their defaults",
		pairs(d.Params, func(p Param) (string, string) { return p.Param + "=" + p.Default, p.Text })...)
	return doc
}

// addFacts adds pairs of a label and its text, each once, without those that have no text.
func addFacts(d *report.Document, heading string, pairs ...string) {
	t := &report.Table{}
	for pair := range slices.Chunk(pairs, 2) {
		row := report.Row{Cells: []report.Cell{{Text: pair[0]}, {Text: pair[1]}}}
		known := slices.ContainsFunc(t.Rows, func(r report.Row) bool { return slices.Equal(r.Cells, row.Cells) })
		if pair[1] != "" && !known {
			t.Rows = append(t.Rows, row)
		}
	}
	if t.Rows != nil {
		d.Blocks = append(d.Blocks, report.Block{Heading: heading, Table: t})
	}
}
