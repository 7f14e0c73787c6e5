// Package catalog tells what can be measured here, and what claims, figures and marks mean. Commands list and help print it.
package catalog

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/deploy"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/exec"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/workloads/hazards"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
)

// Quorums are drivers on several servers, which prove tests beside all drivers.
var Quorums = []string{"rueidis@redlock", "redsync@redlock"}

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
	l := Listing{Waits: matrix.Choices("wait"), Presets: presets.Names()}
	of := map[*servers.Service]Driver{}
	for _, name := range drivers.Names() {
		s := deploy.Service(name)
		if _, known := of[s]; !known {
			of[s] = look(ctx, s)
		}
		l.Drivers = append(l.Drivers, describe(name, of[s]))
	}
	for _, a := range exec.Shipped {
		l.Adapters = append(l.Adapters, adapterOf(&a))
	}
	for _, h := range hazards.All() {
		l.Hazards = append(l.Hazards, string(h.Name))
	}
	return l
}

// look returns what drivers of a service have in common: whether a server of it can be started here. Drivers that run in-process
// have no service.
func look(ctx context.Context, s *servers.Service) Driver {
	if s == nil {
		return Driver{Available: true, Text: "needs no server"}
	}
	d := Driver{Service: s.Name, Addresses: s.Forms}
	if s.Find == nil {
		d.Text = "needs -addr"
		return d
	}
	path, err := s.Locate()
	switch {
	case err == nil:
		d.Available, d.Version = true, servers.ProgramVersion(ctx, path)
		d.Text = strings.TrimSpace(filepath.Base(path) + " " + d.Version)
		return d
	case s.Embedded != nil:
		d.Available, d.Text = true, "embedded only"
	default:
		d.Text = "not installed"
	}
	d.Install = cmp.Or(s.Install(), format.Line(err.Error()))
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

// adapterOf returns whether an adapter can be started here.
func adapterOf(a *exec.Adapter) Adapter {
	here := Adapter{Driver: a.Name, Language: a.Language, Library: a.Library, Service: a.Service, Available: true, Text: "can run"}
	if err := a.Missing(); err != nil {
		here.Available, here.Text = false, err.Error()
		if missing, ok := errors.AsType[*exec.Missing](err); ok {
			here.Text, here.Install = "needs "+missing.What, missing.Install
		}
	}
	return here
}

// Document returns the page of a driver, and that of all for the empty name.
func (l Listing) Document(name string) *report.Document {
	d := &report.Document{Kind: "lockbench list"}
	if name == "" {
		d.Title, d.Blocks = "Drivers and their locks", l.overview()
		return d
	}
	if i := slices.IndexFunc(l.Drivers, func(d Driver) bool { return d.Driver == name }); i >= 0 {
		l.Drivers[i].page(d)
		return d
	}
	a := l.Adapters[slices.IndexFunc(l.Adapters, func(a Adapter) bool { return a.Driver == name })]
	d.Title = name + ": " + adapterAbout(a.Language, a.Library, a.Service)
	d.Blocks = []report.Block{
		report.Facts{fact("here", a.Text+strings.TrimSuffix(": "+a.Install, ": "))},
		note("lockbench conformance -driver " + name + " starts it, and tests what it claims."),
	}
	return d
}

func fact(label, text string) report.Fact { return report.Fact{Label: label, Lines: []string{text}} }

func note(text string) report.Block { return report.Paragraph{Text: text, Note: true} }

// section returns a section; without an id it belongs to the summary.
func section(id, title string, block report.Block) report.Block {
	return report.Section{ID: id, Title: title, Blocks: []report.Block{block}}
}

// overview lists all drivers with their designs, and the names of the rest.
func (l Listing) overview() []report.Block {
	locks := report.Table{Caption: "Drivers", Columns: columns("driver", "service", "server here", "lock designs, the default first")}
	adapters := report.Table{Caption: "Locks of other languages", Columns: columns("driver", "service", "language", "library", "here")}
	var missing report.Facts
	miss := func(label, install string) {
		if install != "" && !slices.ContainsFunc(missing, func(f report.Fact) bool { return f.Label == label }) {
			missing = append(missing, fact(label, install))
		}
	}
	for _, d := range l.Drivers {
		var names []string
		for _, lock := range d.Locks {
			names = append(names, lock.Lock)
		}
		locks.Rows = append(locks.Rows, row(d.Driver, cmp.Or(d.Service, format.None), d.Text, strings.Join(names, ", ")))
		miss(d.Service, d.Install)
	}
	for _, a := range l.Adapters {
		adapters.Rows = append(adapters.Rows, row(a.Driver, cmp.Or(a.Service, format.None), a.Language, cmp.Or(a.Library, "none"), a.Text))
		if !a.Available {
			miss(a.Driver, cmp.Or(a.Install, a.Text))
		}
	}
	blocks := []report.Block{locks, section("", "Locks of other languages", adapters)}
	if missing != nil {
		blocks = append(blocks, section("", "To install what is not here", missing))
	}
	return append(blocks,
		section("", "Ways of waiting (-wait)", report.Paragraph{Text: strings.Join(l.Waits, ", ")}),
		section("", "Presets (-workload)", report.Paragraph{Text: strings.Join(l.Presets, ", ")}),
		note("lockbench list DRIVER tells the whole story of one: server, address, claims, what is wrong with it."))
}

// columns returns columns of texts, of which the last may be long.
func columns(titles ...string) (list []report.Column) {
	for i, title := range titles {
		list = append(list, report.Column{Title: title, Left: true, Wrap: i == len(titles)-1})
	}
	return list
}

func row(cells ...string) (r report.Row) {
	for _, text := range cells {
		r.Cells = append(r.Cells, report.Value{Text: text})
	}
	return r
}

// page tells all about a driver.
func (of Driver) page(d *report.Document) {
	var facts report.Facts
	add := func(title, text string) {
		if text != "" {
			facts = append(facts, fact(title, text))
		}
	}
	d.Title = of.Driver + ": a driver that needs no server"
	library := matrix.Library(of.Driver)
	add("library", strings.TrimSpace(cmp.Or(of.Library, library.Module)+" "+library.Version))
	if of.Service != "" {
		d.Title = of.Driver + ": a driver for " + of.Service
		add("server here", of.Text+strings.TrimSuffix("; "+of.Install, "; "))
		add("address", strings.Join(of.Addresses, " · "))
		add("topologies", strings.Join(of.Topologies, ", "))
	}
	if facts != nil {
		d.Blocks = append(d.Blocks, facts)
	}
	for i, lock := range of.Locks {
		facts = report.Facts{fact("claims", Claims(lock.Traits))}
		add("imitates", lock.Models)
		add("wrong", lock.Wrong)
		loses := make([]string, len(lock.Loses))
		for i, h := range lock.Loses {
			loses[i] = string(h)
		}
		add("loses to", strings.Join(loses, ", "))
		add("-wait", strings.Join(lock.Waits, ", "))
		title := lock.Lock
		if i == 0 {
			title += " (the default)"
		}
		d.Blocks = append(d.Blocks, section(lock.Lock, title, facts))
	}
	facts = nil
	for _, p := range of.Params {
		add(p.Param+"="+p.Default, p.Text)
	}
	if facts != nil {
		d.Blocks = append(d.Blocks, section("options", "Options of the library (-param NAME=VALUE), with their defaults", facts))
	}
	facts = nil
	for _, c := range Claimed {
		if slices.ContainsFunc(of.Locks, func(l Lock) bool { return c.Has(l.Traits) }) {
			add(c.Name, c.Means)
		}
	}
	if facts != nil {
		d.Blocks = append(d.Blocks, section("claims", "What the claims mean", facts))
	}
}
