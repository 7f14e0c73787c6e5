// Package catalog tells what can be measured here, and what the words of lockbench mean: drivers, designs, ways of waiting,
// presets, servers, claims, figures and marks. Commands list and help print it.
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
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/hazards"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
)

// Quorums are drivers on several servers, of which prove and the pages of hazards tell beside all drivers.
var Quorums = []string{"rueidis@redlock", "redsync@redlock"}

// Sections are the parts of the list that have a page.
var Sections = []string{"waits", "presets", "servers", "hazards"}

// Names returns all that list can tell about.
func Names() []string {
	names := slices.Concat(matrix.Names("driver"), matrix.Names("lock"), presets.Names(), Sections)
	for _, h := range hazards.All() {
		names = append(names, string(h.Name))
	}
	for _, s := range servers.Services() {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Listing is all that list knows; its JSON form is for scripts.
type Listing struct {
	Drivers  []Driver  `json:"drivers"`
	Adapters []Adapter `json:"adapters"`
	Locks    []Lock    `json:"locks"`
	Params   []Param   `json:"params"`
	Waits    []Wait    `json:"waits"`
	Presets  []Preset  `json:"presets"`
	Servers  []Server  `json:"servers"`
	Hazards  []Hazard  `json:"hazards"`
}

// Driver tells whether a driver can run on this machine without an address.
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
	Limit      string   `json:"limit,omitempty"`     // what the server calls its maximum of connections
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

type Lock struct {
	Driver      string           `json:"driver"`
	Lock        string           `json:"lock"`
	Default     bool             `json:"default"` // the driver's first design
	Traits      drivers.Traits   `json:"traits"`
	Models      string           `json:"models"`
	Wrong       string           `json:"wrong,omitempty"`
	Loses       []drivers.Hazard `json:"loses,omitempty"`
	Waits       []string         `json:"waits"`                 // the default first
	Connections int              `json:"connections,omitempty"` // to a server, of clients clients
}

// clients is the number of clients whose connections a listing tells.
const clients = 64

// Param is an option of a lock library.
type Param struct {
	Driver  string `json:"driver"`
	Param   string `json:"param"`
	Default string `json:"default"`
	Text    string `json:"text"`
}

type Wait struct {
	Wait string `json:"wait"`
	Text string `json:"text"`
}

func (w Wait) fact() report.Fact { return fact(w.Wait, w.Text) }

// Preset is a value of -workload.
type Preset struct {
	Preset string `json:"preset"`
	About  string `json:"about"`
}

func (p Preset) fact() report.Fact { return fact(p.Preset, p.About) }

type Server struct {
	Server    string `json:"server"`
	Service   string `json:"service"`
	Available bool   `json:"available"`
	Path      string `json:"path,omitempty"`
	Version   string `json:"version,omitempty"`
	Install   string `json:"install,omitempty"`
	Text      string `json:"text"`
}

// Hazard is something by which locks fail; see drivers.Hazard.
type Hazard struct {
	Hazard drivers.Hazard `json:"hazard"`
	About  string         `json:"about"`
}

func (h Hazard) fact() report.Fact { return fact(string(h.Hazard), h.About) }

func New(ctx context.Context) Listing {
	l := Listing{Waits: waits(), Presets: allPresets()}
	for _, name := range drivers.Names() {
		d, _ := drivers.Lookup(name)
		for i, design := range d.Designs() {
			cell := spec.Plan{Driver: name, Lock: design.Name, Load: spec.Load{Clients: clients}}
			l.Locks = append(l.Locks, Lock{
				name, design.Name, i == 0, design.Traits, design.Models, design.Wrong, design.Loses,
				matrix.Waits(name, design), matrix.Connections(&cell),
			})
		}
		for _, param := range drivers.ParamsOf(d) {
			l.Params = append(l.Params, Param{name, param.Name, param.Default, param.Text})
		}
	}
	for _, a := range exec.Shipped {
		l.Adapters = append(l.Adapters, adapterOf(&a))
	}
	for _, s := range servers.Services() {
		l.Servers = append(l.Servers, look(ctx, s))
		if s.Embedded != nil {
			l.Servers = append(l.Servers,
				Server{Server: matrix.Embedded, Service: s.Name, Available: true, Text: "miniredis, in-process"})
		}
	}
	for _, h := range hazards.All() {
		l.Hazards = append(l.Hazards, Hazard{h.Name, h.Tells()})
	}
	for _, name := range drivers.Names() {
		l.Drivers = append(l.Drivers, l.driver(name))
	}
	return l
}

// waits returns all ways of waiting, the default first.
func waits() []Wait {
	list := []Wait{{matrix.Auto, "native if the design has a way of its own, else backoff: the default"}}
	for _, k := range wait.Kinds() {
		list = append(list, Wait{k.Name, k.Text})
	}
	return list
}

func allPresets() (list []Preset) {
	for _, name := range presets.Names() {
		list = append(list, Preset{name, presets.About(name)})
	}
	return list
}

// look returns whether a server of a service can be started here.
func look(ctx context.Context, s *servers.Service) Server {
	here := Server{Server: matrix.Private, Service: s.Name}
	path, err := s.Locate()
	if err != nil {
		here.Text, here.Install = format.Line(err.Error()), s.Install()
		return here
	}
	here.Available, here.Path, here.Version = true, path, servers.ProgramVersion(ctx, path)
	here.Text = strings.TrimSpace(path + " " + here.Version)
	return here
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

// driver returns whether a driver can run here on a server of our own; the servers have been looked for.
func (l Listing) driver(name string) Driver {
	s := deploy.Service(name)
	if s == nil {
		return Driver{Driver: name, Available: true, Text: "needs no server"}
	}
	d := Driver{
		Driver: name, Service: s.Name, Library: matrix.Library(name).Module,
		Topologies: matrix.Topologies(name), Addresses: s.Forms, Limit: s.Limit,
	}
	if s.Find == nil {
		d.Text = "needs -addr"
		return d
	}
	i := slices.IndexFunc(l.Servers, func(h Server) bool { return h.Service == s.Name })
	here := l.Servers[i]
	d.Available, d.Version, d.Install = here.Available, here.Version, here.Install
	switch {
	case here.Available:
		d.Text = strings.TrimSpace(filepath.Base(here.Path) + " " + here.Version)
	case s.Embedded != nil:
		d.Available, d.Text = true, "embedded only"
	default:
		d.Text = "not installed"
	}
	return d
}

// locks returns the designs of a driver.
func (l Listing) locks(driver string) (own []Lock) {
	for _, d := range l.Locks {
		if d.Driver == driver {
			own = append(own, d)
		}
	}
	return own
}

// install returns what brings the servers and the adapters that are not here.
func (l Listing) install() (facts report.Facts) {
	for _, s := range l.Servers {
		if s.Server == matrix.Private && !s.Available {
			facts = append(facts, fact(s.Service, cmp.Or(s.Install, s.Text)))
		}
	}
	for _, a := range l.Adapters {
		if !a.Available {
			facts = append(facts, fact(a.Driver, cmp.Or(a.Install, a.Text)))
		}
	}
	return facts
}
