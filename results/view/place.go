package view

// Where cells ran, and what their designs claim.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// ServerKind returns what was measured, or what was asked for if the record does not say.
func ServerKind(c *results.Cell) string { return cmp.Or(c.First().Server.Kind, c.Plan().Server) }

// product returns what a server is and its version, "redis 7.0.15".
func product(s results.Server) string { return strings.TrimSpace(s.Name + " " + s.Version) }

// Server returns what is known of a cell's server, without what is made anew for each run.
func Server(c *results.Cell) string {
	s, kind := c.First().Server, ServerKind(c)
	replicas := strings.TrimPrefix(format.Plural(s.Replicas, "replica"), "0 replicas")
	addr := map[bool]string{true: s.Addr}[kind == "external"]
	return format.Line(join(product(s), kind, s.Mode, s.Network, headed("durability", s.Durability),
		headed("persistence", s.Persistence), replicas, addr))
}

// Machine describes where the load was made, and with what.
func Machine(e results.Env) string {
	return format.Line(join(CPU(e), strings.TrimSpace(e.OS+"/"+e.Arch+" "+e.Kernel), e.Go))
}

// CPU describes the processors, and how many of them Go used if not all.
func CPU(e results.Env) string {
	cpu := format.Plural(e.CPUs, "CPU")
	if e.CPU != "" {
		cpu = fmt.Sprintf("%d × %s", e.CPUs, e.CPU)
	}
	if e.GOMAXPROCS != e.CPUs {
		cpu += fmt.Sprintf(" (GOMAXPROCS %d)", e.GOMAXPROCS)
	}
	return cpu
}

// Libraries lists the client libraries with their versions.
func Libraries(e results.Env) string { return listed(e.Libraries, "github.com/", " ") }

// Variables returns the settings of the environment that change what is measured.
func Variables(e results.Env) string { return listed(e.Variables, "", "=") }

func listed(of map[string]string, prefix, is string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, strings.TrimPrefix(name, prefix)+is+of[name])
	}
	return strings.Join(all, ", ")
}

// Claims lists the guarantees among traits, which make two designs unlike.
func Claims(t results.Traits) string {
	var all []string
	for _, claim := range []struct {
		name string
		has  bool
	}{
		{"exclusive", t.Exclusive}, {"owned", t.Owned}, {"expires", t.Expires}, {"session", t.Session},
		{"fenced", t.Fenced}, {"fair", t.Fair}, {"reentrant", t.Reentrant},
	} {
		if claim.has {
			all = append(all, claim.name)
		}
	}
	return strings.Join(all, ", ")
}
