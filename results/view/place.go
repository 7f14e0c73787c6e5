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

// Server returns what is known of a cell's server, without what is made anew for each run.
func Server(c *results.Cell) string {
	s, kind, addr, replicas := c.First().Server, ServerKind(c), "", ""
	if kind == "external" {
		addr = s.Addr
	}
	if s.Replicas > 0 {
		replicas = format.Plural(s.Replicas, "replica")
	}
	return format.Line(join(strings.TrimSpace(s.Name+" "+s.Version), kind, s.Mode, s.Network,
		titled("durability", s.Durability), titled("persistence", s.Persistence), replicas, addr))
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

// guarantees are the traits that make two designs unlike.
var guarantees = []struct {
	name string
	has  func(results.Traits) bool
}{
	{"exclusive", func(t results.Traits) bool { return t.Exclusive }},
	{"owned", func(t results.Traits) bool { return t.Owned }},
	{"expires", func(t results.Traits) bool { return t.Expires }},
	{"session", func(t results.Traits) bool { return t.Session }},
	{"fenced", func(t results.Traits) bool { return t.Fenced }},
	{"fair", func(t results.Traits) bool { return t.Fair }},
	{"reentrant", func(t results.Traits) bool { return t.Reentrant }},
}

// Claims lists the guarantees among traits.
func Claims(of results.Traits) string {
	var words []string
	for _, t := range guarantees {
		if t.has(of) {
			words = append(words, t.name)
		}
	}
	return strings.Join(words, ", ")
}
