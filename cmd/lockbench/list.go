// lockbench list: what can be measured here.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/wait"
)

func (p *program) listCommand() *cobra.Command {
	c, o := p.command(&cobra.Command{
		Use:   "list",
		Short: "Print drivers, lock designs, ways of waiting and the servers that are here",
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
	Locks   []listedLock   `json:"locks"`
	Params  []listedParam  `json:"params"`
	Waits   []listedWait   `json:"waits"`
	Servers []listedServer `json:"servers"`
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

type listedServer struct {
	Server    string `json:"server"`
	Available bool   `json:"available"`
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
	for _, k := range wait.Kinds() {
		l.Waits = append(l.Waits, listedWait{k.Name, k.Text})
	}
	here := listedServer{Server: string(private)}
	if path, err := servers.FindRedis(); err != nil {
		here.Text = oneLine(err.Error())
	} else {
		here.Available, here.Text = true, strings.TrimSpace(path+" "+redisVersion(ctx, path))
	}
	l.Servers = []listedServer{here, {string(embedded), true, "miniredis, in-process"}}
	return l
}

// redisVersion asks the program, which says "Redis server v=7.0.15 sha=…".
func redisVersion(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return ""
	}
	for _, field := range strings.Fields(string(out)) {
		if v, ok := strings.CutPrefix(field, "v="); ok {
			return v
		}
	}
	return ""
}

func (l listing) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "DRIVER\tLOCK\tCLAIMS\tMODELS")
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
	fmt.Fprintln(t, "\nSERVER\t")
	for _, s := range l.Servers {
		if !s.Available {
			s.Text = "not here: " + s.Text
		}
		fmt.Fprintf(t, "%s\t%s\n", s.Server, s.Text)
	}
	fmt.Fprintf(t, "%s\t%s\n", external, "whatever -addr or REDIS_URL names")
	return t.Flush()
}

// claims lists the traits that a design has.
func claims(t drivers.Traits) string {
	var names []string
	for _, trait := range []struct {
		has  bool
		name string
	}{
		{t.Exclusive, "exclusive"}, {t.Owned, "owned"}, {t.Expires, "expires"}, {t.Fenced, "fenced"}, {t.Fair, "fair"},
		{t.Reentrant, "reentrant"}, {t.Renews, "renews"}, {t.Wakes, "wakes"}, {t.Blocks, "blocks"},
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
