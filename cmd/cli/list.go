// lockbench list: what can be measured here.

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/deploy"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/workloads/file"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
)

func (p *program) listCommand() *cobra.Command {
	c, o := p.command(&cobra.Command{
		Use:   "list",
		Short: "Print drivers, lock designs, ways of waiting, presets and the servers that are here",
		Args:  noArgs,
	}, listFlags)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := o.fill(p.env); err != nil {
			return err
		}
		l := newListing(c.Context())
		if o.on("json") {
			out := json.NewEncoder(p.stdout)
			out.SetIndent("", "  ")
			return out.Encode(l)
		}
		return l.write(p.stdout)
	}
	return c
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
	Driver    string `json:"driver"`
	Service   string `json:"service,omitempty"` // the kind of server; none for a driver that runs in-process
	Library   string `json:"library,omitempty"` // the Go module through which it talks to that
	Available bool   `json:"available"`
	Version   string `json:"version,omitempty"` // of the server that is installed here
	Install   string `json:"install,omitempty"` // what brings it, if it is not
	Text      string `json:"text"`
}

type listedLock struct {
	Driver  string         `json:"driver"`
	Lock    string         `json:"lock"`
	Default bool           `json:"default"` // the driver's first design
	Traits  drivers.Traits `json:"traits"`
	Models  string         `json:"models"`
	Wrong   string         `json:"wrong,omitempty"`
}

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
			l.Locks = append(l.Locks, listedLock{name, design.Name, i == 0, design.Traits, design.Models, design.Wrong})
		}
		for _, param := range drivers.ParamsOf(d) {
			l.Params = append(l.Params, listedParam{name, param.Name, param.Default, param.Text})
		}
	}
	l.Waits = []listedWait{{matrix.Auto, "native if the design has a way of its own, else backoff: the default"}}
	for _, k := range wait.Kinds() {
		l.Waits = append(l.Waits, listedWait{k.Name, k.Text})
	}
	for _, name := range presets.Names() {
		text, _ := presets.Find(name)
		w, err := file.Parse(name, text, vocabulary())
		if err != nil {
			panic("lockbench: preset " + err.Error()) // which the tests have parsed
		}
		l.Presets = append(l.Presets, listedPreset{name, w.About})
	}
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
	d := listedDriver{Driver: name, Service: s.Name, Library: matrix.Library(name).Module}
	if s.Find == nil {
		d.Text = "on a server of yours: -addr"
		return d
	}
	i := slices.IndexFunc(l.Servers, func(h listedServer) bool { return h.Service == s.Name })
	here := l.Servers[i]
	d.Available, d.Version, d.Install, d.Text = here.Available, here.Version, here.Install, here.Text
	switch {
	case here.Available:
		d.Text = strings.TrimSpace("on " + filepath.Base(here.Path) + " " + here.Version)
	case s.Embedded != nil:
		d.Available, d.Text = true, "on the embedded server alone; for "+s.Name+": "+here.Install
	default:
		d.Text = "not here: " + here.Install
	}
	return d
}

func (l listing) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "DRIVER\tSERVICE\tHERE")
	for _, d := range l.Drivers {
		fmt.Fprintf(t, "%s\t%s\t%s\n", d.Driver, cmp.Or(d.Service, "–"), d.Text)
	}
	fmt.Fprintln(t, "\nDRIVER\tLOCK\tCLAIMS\tMODELS")
	for _, d := range l.Locks {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", d.Driver, d.Lock, claims(d.Traits), d.Models)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nKnown to be wrong with them:")
	wrong := map[string]bool{}
	for _, d := range l.Locks {
		name := d.Lock
		if name == "library" {
			name = d.Driver
		}
		if line := name + ": " + d.Wrong; d.Wrong != "" && !wrong[line] {
			wrong[line] = true
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	fmt.Fprintln(t, "\nDRIVER\t-param\tDEFAULT\t")
	for _, v := range l.Params {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", v.Driver, v.Param, v.Default, v.Text)
	}
	fmt.Fprintln(t, "\nWAIT\t")
	for _, k := range l.Waits {
		fmt.Fprintf(t, "%s\t%s\n", k.Wait, k.Text)
	}
	fmt.Fprintln(t, "\nWORKLOAD\t")
	for _, w := range l.Presets {
		fmt.Fprintf(t, "%s\t%s\n", w.Preset, w.About)
	}
	fmt.Fprintln(t, "\nSERVER\tSERVICE\t")
	for _, s := range l.Servers {
		if !s.Available {
			s.Text = "not here: " + s.Text
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Server, s.Service, s.Text)
	}
	for _, s := range servers.Services() {
		fmt.Fprintf(t, "%s\t%s\t%s\n", matrix.External, s.Name, "whatever -addr "+s.Example()+orVariable(s)+" names")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, listLegend)
	return err
}

// listLegend explains those claims whose names do not.
const listLegend = `
expires: a hold ends after its TTL. session: it ends with its holder's session with the service, which
-ttl is the time-out of. waits: the design has a way of waiting of its own, which -wait auto takes.
`

// claims lists the traits that a design has.
func claims(t drivers.Traits) string {
	var names []string
	for _, trait := range []struct {
		has  bool
		name string
	}{
		{t.Exclusive, "exclusive"}, {t.Owned, "owned"}, {t.Expires, "expires"}, {t.Fenced, "fenced"}, {t.Fair, "fair"},
		{t.Reentrant, "reentrant"}, {t.Session, "session"}, {t.Renews, "renews"}, {t.Wakes, "wakes"}, {t.Blocks, "blocks"}, {t.Waits, "waits"},
	} {
		if trait.has {
			names = append(names, trait.name)
		}
	}
	if names == nil {
		return "nothing"
	}
	return strings.Join(names, " ")
}

// orVariable adds the environment variable that does as well.
func orVariable(s *servers.Service) string {
	if s.Variable == "" {
		return ""
	}
	return " or " + s.Variable
}
