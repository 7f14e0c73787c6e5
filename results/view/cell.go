package view

// Where cells ran, what their designs claim, and what the oracle and other witnesses say of them.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// serverKind returns what was measured, or what was asked for if the record does not say.
func serverKind(c *results.Cell) string { return cmp.Or(c.First().Server.Kind, c.Plan().Server) }

// Server returns what is known of a cell's server, without what is made anew for each run.
func Server(c *results.Cell) string {
	s, kind := c.First().Server, serverKind(c)
	replicas := strings.TrimPrefix(format.Plural(s.Replicas, "replica"), "0 replicas")
	addr := map[bool]string{true: s.Addr}[kind == "external"]
	return join(strings.TrimSpace(s.Name+" "+s.Version), kind, s.Mode, s.Network,
		headed("durability", s.Durability), headed("persistence", s.Persistence), replicas, addr)
}

// Machine describes where the load was made, and with what.
func Machine(e results.Env) string {
	return join(CPU(e), strings.TrimSpace(e.OS+"/"+e.Arch+" "+e.Kernel), e.Go)
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

// Exclusion says how many violations there were and, if none, how rare they may still be (results.Figures.MaxRate), or
// that none could have been seen.
func Exclusion(c *results.Cell) string {
	s := c.Safety
	if !s.Checked {
		return "not checked: the oracle was off"
	}
	text, grants := "violations "+format.Count(s.Violations), format.Plural(s.Grants, "grant")
	watched := s.Power != nil && s.Power.Watched > 0 && s.Violations == 0
	if c.Plan().Shared {
		grants += " among its own clients"
	}
	if watched {
		text += " · " + format.Count(s.Power.Watched) + " of " + grants + " could show one"
	} else {
		text += " in " + grants
	}
	switch rate, bounded := c.Figures().MaxRate(); {
	case s.Longest > 0:
		text += " · longest overlap " + format.Duration(s.Longest) + ", in all " + format.Duration(s.Overlap)
	case bounded && rate <= 0.5: // 1 in 1 would say nothing
		text += " · rarer than 1 in " + format.Count(int64(1/rate)) + " (95 %)"
	case c.Breaches()+s.Possible > 0:
	case s.Power == nil:
		text += ": unknown whether one could have been seen"
	case watched:
		text += " · too few to tell"
	default:
		text += ": none could have been seen"
	}
	return text
}

// Witnesses returns what else than overlaps speaks against the safety of a cell; empty if nothing does.
func Witnesses(c *results.Cell) string {
	s := c.Safety
	parts := []string{
		format.Labelled("lost updates", s.LostUpdates), format.Labelled("wrong releases", s.WrongReleases),
		format.Labelled("falling tokens", s.FenceRegress), format.Labelled("lost early", s.LostEarly),
	}
	if s.Explained != "" && s.LostEarly+s.FenceRegress > 0 {
		parts = append(parts, "which proves nothing: "+s.Explained)
	}
	if possible := format.Labelled("possible overlaps", s.Possible); possible != "" {
		parts = append(parts, possible+", clocks agree within "+format.Duration(s.Blind))
	}
	for _, why := range slices.Sorted(maps.Keys(s.Ended)) {
		parts = append(parts, "sessions ended "+format.Count(s.Ended[why])+": "+why)
	}
	return join(parts...)
}

// Risk returns what is most wrong with the design of c: the first clause of Record.Wrong. Records from before that was
// kept say "".
func Risk(c *results.Cell) string {
	first, _, _ := strings.Cut(c.First().Wrong, ";")
	return first
}
