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
	Driver     string          `json:"driver"`
	Service    string          `json:"service,omitempty"`  // the kind of server; empty if it needs none
	Language   string          `json:"language,omitempty"` // of an adapter
	Library    string          `json:"library,omitempty"`  // an adapter without one excludes nobody
	Available  bool            `json:"available"`
	Version    string          `json:"version,omitempty"` // of the server that is installed here
	Install    string          `json:"install,omitempty"` // what brings what is missing
	Text       string          `json:"text"`
	Topologies []string        `json:"topologies,omitempty"`
	Addresses  []string        `json:"addresses,omitempty"` // forms of them
	Locks      []Lock          `json:"locks,omitempty"`     // the default first; not known of an adapter
	Params     []drivers.Param `json:"params,omitempty"`
}

// Lock is a design of a driver.
type Lock struct {
	drivers.Design
	Waits []string `json:"waits"` // the default first
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
	d := Driver{Driver: a.Name, Service: a.Service, Language: a.Language, Library: a.Library}
	d.Available, d.Text = true, "can run"
	if missing, ok := errors.AsType[*exec.Missing](a.Missing()); ok {
		d.Available, d.Text, d.Install = false, "needs "+missing.What, missing.Install
	}
	return d
}

func ofDriver(ctx context.Context, name string) Driver {
	driver, _ := drivers.Lookup(name)
	d := Driver{Driver: name, Available: true, Text: "needs no server", Params: drivers.ParamsOf(driver)}
	for _, design := range driver.Designs() {
		d.Locks = append(d.Locks, Lock{design, matrix.Waits(name, design)})
	}
	s := target.Service(name)
	if s == nil {
		return d
	}
	d.Service, d.Addresses = s.Name, s.Forms
	d.Library, d.Topologies = matrix.Library(name).Module, matrix.Topologies(name)
	if path, err := s.Locate(); err == nil {
		d.Version = servers.ProgramVersion(ctx, path)
		d.Text = strings.TrimSpace(filepath.Base(path) + " " + d.Version)
		return d
	}
	d.Available, d.Text, d.Install = s.Embedded != nil, "not installed", s.Install()
	if s.Find == nil {
		d.Text, d.Install = "needs -addr", ""
	} else if d.Available {
		d.Text = "embedded only"
	}
	return d
}

// Document tells all about a single driver, and of several what can be chosen.
func (l Listing) Document() *report.Document {
	if all := slices.Concat(l.Drivers, l.Adapters); len(all) == 1 {
		return all[0].page()
	}
	d := &report.Document{Command: "lockbench list", Title: "Drivers and their locks"}
	addFacts(d, "Lock designs, the default first", pairs(l.Drivers, Driver.line)...)
	addFacts(d, "Locks of other languages", pairs(l.Adapters, Driver.line)...)
	addFacts(d, "Values", "-wait", strings.Join(l.Waits, ", "), "-workload", strings.Join(l.Presets, ", "),
		"next", "lockbench list DRIVER: all about one, and how to install what it needs")
	return d
}

// line says what a driver needs and has.
func (d Driver) line() (name, text string) {
	var locks []string
	for _, l := range d.Locks {
		locks = append(locks, l.Name)
	}
	has := cmp.Or(strings.Join(locks, ", "), d.Library, "excludes nobody")
	return d.Driver, format.Join(d.Service, d.Language, d.Text) + ": " + has
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
		title := l.Name
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
		pairs(d.Params, func(p drivers.Param) (string, string) { return p.Name + "=" + p.Default, p.Text })...)
	return doc
}

// addFacts adds pairs of a label and its text, but for those without a text.
func addFacts(d *report.Document, heading string, pairs ...string) {
	t := &report.Table{}
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{{Text: pair[0]}, {Text: pair[1]}}})
		}
	}
	if t.Rows != nil {
		d.Blocks = append(d.Blocks, report.Block{Heading: heading, Table: t})
	}
}
