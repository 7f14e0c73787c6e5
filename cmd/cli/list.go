// lockbench list: what can be measured here, at a glance or one thing at length.

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/deploy"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/file"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
)

func (p *program) listCommand() *cobra.Command {
	c, o := p.command(&cobra.Command{
		Use:   "list [NAME]",
		Short: "Print drivers, lock designs, presets and the servers that are here",
		Long: "Prints the drivers, where their servers are, their lock designs and the presets.\n\n" +
			"With the name of a driver it tells all about that one: its server and address, what each design\n" +
			"claims, what it imitates, what is wrong with it, how its clients can wait, and its options. NAME\n" +
			"may also be a lock design, a service, a preset, or one of " + strings.Join(listSections, ", ") + ".",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageErrorf("list: one name at a time")
			}
			if len(args) == 1 && !slices.Contains(listNames(), args[0]) {
				return usageErrorf("list: there is no driver, lock, service or preset %q%s; lockbench list has all names",
					args[0], suggest.DidYouMean("", args[0], listNames()))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, before []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(before) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return listNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}, listFlags)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := o.fill(p.env); err != nil {
			return err
		}
		if o.on("json") && len(args) > 0 {
			return usageErrorf("list: -json prints everything: leave %s out", args[0])
		}
		l := newListing(c.Context())
		if o.on("json") {
			out := json.NewEncoder(p.stdout)
			out.SetIndent("", "  ")
			return out.Encode(l)
		}
		return l.write(p.stdout, append(args, "")[0])
	}
	return c
}

// listSections are the parts of the list that have a page.
var listSections = []string{"waits", "presets", "servers"}

// listNames returns all that list can tell about.
func listNames() []string {
	names := slices.Concat(drivers.Names(), matrix.Names("lock"), presets.Names(), listSections)
	for _, s := range servers.Services() {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// listing is all that list knows; its JSON form is for scripts.
type listing struct {
	Drivers []listedDriver `json:"drivers"`
	Locks   []listedLock   `json:"locks"`
	Params  []listedParam  `json:"params"`
	Waits   []listedWait   `json:"waits"`
	Presets []listedPreset `json:"presets"`
	Servers []listedServer `json:"servers"`
}

// listedDriver tells whether a driver can run on this machine without an address.
type listedDriver struct {
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

type listedLock struct {
	Driver      string         `json:"driver"`
	Lock        string         `json:"lock"`
	Default     bool           `json:"default"` // the driver's first design
	Traits      drivers.Traits `json:"traits"`
	Models      string         `json:"models"`
	Wrong       string         `json:"wrong,omitempty"`
	Waits       []string       `json:"waits"`                 // the default first
	Connections int            `json:"connections,omitempty"` // to a server, of listedClients clients
}

// listedClients is the number of clients whose connections a listing tells.
const listedClients = 64

// listedParam is an option of a lock library.
type listedParam struct {
	Driver  string `json:"driver"`
	Param   string `json:"param"`
	Default string `json:"default"`
	Text    string `json:"text"`
}

type listedWait struct {
	Wait string `json:"wait"`
	Text string `json:"text"`
}

// autoWait says what the default way of waiting is.
const autoWait = "native if the design has a way of its own, else backoff: the default"

// listedPreset is a value of -workload.
type listedPreset struct {
	Preset string `json:"preset"`
	About  string `json:"about"`
}

type listedServer struct {
	Server    string `json:"server"`
	Service   string `json:"service"`
	Available bool   `json:"available"`
	Path      string `json:"path,omitempty"`
	Version   string `json:"version,omitempty"`
	Install   string `json:"install,omitempty"`
	Text      string `json:"text"`
}

func newListing(ctx context.Context) listing {
	var l listing
	for _, name := range drivers.Names() {
		d, _ := drivers.Lookup(name)
		for i, design := range d.Designs() {
			plan := spec.Plan{Driver: name, Lock: design.Name, Load: spec.Load{Clients: listedClients}}
			l.Locks = append(l.Locks, listedLock{
				name, design.Name, i == 0, design.Traits, design.Models, design.Wrong, matrix.Waits(name, design), matrix.Connections(&plan),
			})
		}
		for _, param := range drivers.ParamsOf(d) {
			l.Params = append(l.Params, listedParam{name, param.Name, param.Default, param.Text})
		}
	}
	l.Waits = []listedWait{{matrix.Auto, autoWait}}
	for _, k := range wait.Kinds() {
		l.Waits = append(l.Waits, listedWait{k.Name, k.Text})
	}
	l.Presets = listedPresets()
	for _, s := range servers.Services() {
		l.Servers = append(l.Servers, look(ctx, s))
		if s.Embedded != nil {
			l.Servers = append(l.Servers,
				listedServer{Server: matrix.Embedded, Service: s.Name, Available: true, Text: "miniredis, in-process"})
		}
	}
	for _, name := range drivers.Names() {
		l.Drivers = append(l.Drivers, l.driver(name))
	}
	return l
}

func listedPresets() (all []listedPreset) {
	for _, name := range presets.Names() {
		text, _ := presets.Find(name)
		w, err := file.Parse(name, text, vocabulary())
		if err != nil {
			panic("lockbench: preset " + err.Error()) // which the tests have parsed
		}
		all = append(all, listedPreset{name, w.About})
	}
	return all
}

// look returns whether a server of a service can be started here.
func look(ctx context.Context, s *servers.Service) listedServer {
	here := listedServer{Server: matrix.Private, Service: s.Name}
	path, err := s.Locate()
	if err != nil {
		here.Text, here.Install = oneLine(err.Error()), s.Install()
		return here
	}
	here.Available, here.Path, here.Version = true, path, servers.ProgramVersion(ctx, path)
	here.Text = strings.TrimSpace(path + " " + here.Version)
	return here
}

// driver returns whether a driver can run here on a server of our own; the servers have been looked for.
func (l listing) driver(name string) listedDriver {
	s := deploy.Service(name)
	if s == nil {
		return listedDriver{Driver: name, Available: true, Text: "needs no server"}
	}
	d := listedDriver{
		Driver: name, Service: s.Name, Library: matrix.Library(name).Module,
		Topologies: matrix.Topologies(name), Addresses: s.Forms, Limit: s.Limit,
	}
	if s.Find == nil {
		d.Text = "needs -addr"
		return d
	}
	i := slices.IndexFunc(l.Servers, func(h listedServer) bool { return h.Service == s.Name })
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
func (l listing) locks(driver string) (own []listedLock) {
	for _, d := range l.Locks {
		if d.Driver == driver {
			own = append(own, d)
		}
	}
	return own
}

// install returns what brings the servers that are not here, by their services.
func (l listing) install() (rows [][2]string) {
	for _, s := range l.Servers {
		if s.Server == matrix.Private && !s.Available {
			rows = append(rows, [2]string{s.Service, cmp.Or(s.Install, s.Text)})
		}
	}
	return rows
}
