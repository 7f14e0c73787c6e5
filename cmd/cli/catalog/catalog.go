// Package catalog tells what can be measured here, and what claims, figures and marks mean. Commands list and help print it.
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

// Names returns the drivers that list has a page of.
func Names() []string {
	names := slices.Clone(matrix.Names("driver"))
	for _, a := range exec.Shipped {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Listing is all that list knows; its JSON form is for scripts.
type Listing struct {
	Drivers  []Driver  `json:"drivers"`
	Adapters []Adapter `json:"adapters"`
	Waits    []string  `json:"waits"`
	Presets  []string  `json:"presets"`
	Hazards  []string  `json:"hazards"`
}

// Driver tells what a driver has, and whether it can run on this machine without an address.
type Driver struct {
	Driver     string   `json:"driver"`
	Service    string   `json:"service,omitempty"` // the kind of server; none for a driver that runs in-process
	Library    string   `json:"library,omitempty"` // the Go module through which it talks to that
	Available  bool     `json:"available"`
	Version    string   `json:"version,omitempty"` // of the server that is installed here
	Install    string   `json:"install,omitempty"` // what brings it, if it is not
	Text       string   `json:"text"`
	Topologies []string `json:"topologies,omitempty"`
	Addresses  []string `json:"addresses,omitempty"` // forms of them
	Locks      []Lock   `json:"locks"`               // the default first
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

// Adapter is a driver in a process of another language, and tells whether that can run on this machine.
type Adapter struct {
	Driver    string `json:"driver"`
	Language  string `json:"language"`
	Library   string `json:"library,omitempty"` // none: it excludes nobody, and shows what its language costs
	Service   string `json:"service,omitempty"`
	Available bool   `json:"available"`
	Install   string `json:"install,omitempty"` // what brings what is missing
	Text      string `json:"text"`
}

// New looks for the servers and the adapters that are installed here.
func New(ctx context.Context) Listing {
	l := Listing{Waits: matrix.Names("wait"), Presets: presets.Names()}
	of := map[*servers.Service]Driver{}
	for _, name := range drivers.Names() {
		s := target.Service(name)
		if _, known := of[s]; !known {
			of[s] = look(ctx, s)
		}
		l.Drivers = append(l.Drivers, describe(name, of[s]))
	}
	for _, a := range exec.Shipped {
		here := Adapter{Driver: a.Name, Language: a.Language, Library: a.Library, Service: a.Service, Available: true, Text: "can run"}
		if err := a.Missing(); err != nil {
			here.Available, here.Text = false, err.Error()
			if missing, ok := errors.AsType[*exec.Missing](err); ok {
				here.Text, here.Install = "needs "+missing.What, missing.Install
			}
		}
		l.Adapters = append(l.Adapters, here)
	}
	for _, h := range hazards.All() {
		l.Hazards = append(l.Hazards, string(h.Name))
	}
	return l
}

// look returns what drivers of a service have in common: whether a server of it can be started here. Drivers that run
// in-process have no service.
func look(ctx context.Context, s *servers.Service) Driver {
	if s == nil {
		return Driver{Available: true, Text: "needs no server"}
	}
	d := Driver{Service: s.Name, Addresses: s.Forms}
	if s.Find == nil {
		d.Text = "needs -addr"
	} else if path, err := s.Locate(); err == nil {
		d.Available, d.Version = true, servers.ProgramVersion(ctx, path)
		d.Text = strings.TrimSpace(filepath.Base(path) + " " + d.Version)
	} else {
		d.Text, d.Install = "not installed", cmp.Or(s.Install(), format.Line(err.Error()))
		if s.Embedded != nil {
			d.Available, d.Text = true, "embedded only"
		}
	}
	return d
}

// describe adds what a driver has to what is known of its server.
func describe(name string, d Driver) Driver {
	driver, _ := drivers.Lookup(name)
	d.Driver = name
	if d.Service != "" {
		d.Library, d.Topologies = matrix.Library(name).Module, matrix.Topologies(name)
	}
	for _, design := range driver.Designs() {
		d.Locks = append(d.Locks, Lock{design.Name, design.Traits, design.Models, design.Wrong, design.Loses, matrix.Waits(name, design)})
	}
	for _, p := range drivers.ParamsOf(driver) {
		d.Params = append(d.Params, Param{p.Name, p.Default, p.Text})
	}
	return d
}

// Document returns the page of a driver, and that of all for the empty name.
func (l Listing) Document(name string) *report.Document {
	d := &report.Document{Command: "lockbench list", Title: "Drivers and their locks"}
	if name == "" {
		l.overview(d)
		return d
	}
	for _, of := range l.Drivers {
		if of.Driver == name {
			of.page(d)
		}
	}
	for _, a := range l.Adapters {
		if a.Driver == name {
			d.Title = name + ": " + adapterAbout(a.Language, a.Library, a.Service)
			addFacts(d, "", fact("here", format.Join(a.Text, a.Install)), fact("next", "lockbench conformance -driver "+name))
		}
	}
	return d
}

func fact(label, text string) [2]string { return [2]string{label, text} }

// addFacts adds a block of the facts that have a text, if any has.
func addFacts(d *report.Document, heading string, facts ...[2]string) {
	t := &report.Table{}
	for _, f := range facts {
		if f[1] != "" {
			t.Rows = append(t.Rows, row(f[0], f[1]))
		}
	}
	if t.Rows != nil {
		d.Blocks = append(d.Blocks, report.Block{Heading: heading, Table: t})
	}
}

func row(cells ...string) (r report.Row) {
	for _, text := range cells {
		r.Cells = append(r.Cells, report.Cell{Text: text})
	}
	return r
}

// overview lists all drivers with their designs, and the names of the rest.
func (l Listing) overview(d *report.Document) {
	var locks, missing [][2]string
	for _, d := range l.Drivers {
		var names []string
		for _, lock := range d.Locks {
			names = append(names, lock.Lock)
		}
		locks = append(locks, fact(d.Driver, format.Join(d.Service, d.Text)+": "+strings.Join(names, ", ")))
		if needs := fact(d.Service, d.Install); !slices.Contains(missing, needs) {
			missing = append(missing, needs)
		}
	}
	adapters := &report.Table{}
	for _, title := range []string{"driver", "service", "language", "library", "here"} {
		adapters.Columns = append(adapters.Columns, report.Column{Title: title, Left: true})
	}
	for _, a := range l.Adapters {
		here := a.Text
		if !a.Available {
			here = "not installed"
			missing = append(missing, fact(a.Driver, format.Join(a.Text, a.Install)))
		}
		service, library := cmp.Or(a.Service, format.None), cmp.Or(a.Library, "none")
		adapters.Rows = append(adapters.Rows, row(a.Driver, service, a.Language, library, here))
	}
	addFacts(d, "Lock designs, the default first", locks...)
	d.Blocks = append(d.Blocks, report.Block{Heading: "Locks of other languages", Table: adapters})
	addFacts(d, "To install what is not here", missing...)
	addFacts(d, "Values", fact("-wait", strings.Join(l.Waits, ", ")), fact("-workload", strings.Join(l.Presets, ", ")),
		fact("next", "lockbench list DRIVER"))
}

// page tells all about a driver.
func (of Driver) page(d *report.Document) {
	library := matrix.Library(of.Driver)
	facts := [][2]string{fact("library", strings.TrimSpace(cmp.Or(of.Library, library.Module)+" "+library.Version))}
	d.Title = of.Driver + ": a driver that needs no server"
	if of.Service != "" {
		d.Title = of.Driver + ": a driver for " + of.Service
		facts = append(facts, fact("server here", format.Join(of.Text, of.Install)),
			fact("address", strings.Join(of.Addresses, " · ")), fact("topologies", strings.Join(of.Topologies, ", ")))
	}
	addFacts(d, "", facts...)
	for i, lock := range of.Locks {
		title := lock.Lock
		if i == 0 {
			title += " (the default)"
		}
		var loses []string
		for _, h := range lock.Loses {
			loses = append(loses, string(h))
		}
		addFacts(d, title, fact("claims", Claims(lock.Traits)), fact("imitates", lock.Models), fact("wrong", lock.Wrong),
			fact("loses to", strings.Join(loses, ", ")), fact("-wait", strings.Join(lock.Waits, ", ")))
	}
	addFacts(d, "Options of the library (-param NAME=VALUE), with their defaults",
		rowsOf(of.Params, func(p Param) [2]string { return fact(p.Param+"="+p.Default, p.Text) })...)
}
