package compare

// Matching: which trials of the base and of the head are observations of the same cell.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/view"
)

const (
	kindOfServer = "the kind of server" // beside the flags of a plan
	none         = "none"               // a value that is not set
)

// flags are all settings of a plan, and what its workload calls the classes of clients. Plans may differ in the seed,
// the command line and the workload's name.
//
// Duration, warm-up and number of operations are among them: a trial of a second scatters more than one of ten, has
// another p99.9 and maximum, and fewer violations to find, so that the two are not observations of one thing.
var flags = append(slices.Clone(spec.Settings), spec.Derived("workload", func(p *spec.Plan) string {
	var names []string
	for _, c := range p.Classes {
		names = append(names, c.Name)
	}
	return strings.Join(names, "/")
}))

// settings decide whether two records belong together: the values of the flags, "64", "1ms", or for classes
// "1ms/5ms", and last the kind of server. What is not set is empty.
type settings []string

func settingsOf(r *results.Record) (s settings) {
	for _, f := range flags {
		var values []string
		for _, g := range r.Plan.Groups() {
			values = append(values, f.Typed(&r.Plan, &g.Load))
		}
		if !f.Class || len(slices.Compact(slices.Clone(values))) == 1 {
			values = values[:1]
		}
		s = append(s, strings.Join(values, "/"))
	}
	return append(s, kindOf(r))
}

func nameOf(setting int) string {
	if setting == len(flags) {
		return kindOfServer
	}
	return flags[setting].Name
}

// differing returns the places in which two settings differ.
func differing(a, b settings) (places []int) {
	for i := range a {
		if a[i] != b[i] {
			places = append(places, i)
		}
	}
	return places
}

// kindOf returns the kind of server that was measured, or that was asked for if the record does not say.
func kindOf(r *results.Record) string { return cmp.Or(r.Server.Kind, r.Plan.Server) }

// group holds the trials of one side that are observations of one thing.
type group struct {
	of         string // "base" or "head"
	force      bool
	settings   settings
	all, whole []*results.Record // those that are compared are whole
}

// lost returns why a trial is no observation of its lock; empty if it is one.
func (g *group) lost(r *results.Record) Reason {
	switch {
	case !g.force && r.Server.Replaced:
		return Replaced
	case !g.force && r.Server.Evicted > 0:
		return Evicted
	case r.Partial != "":
		return Partial
	}
	return ""
}

// witnesses returns the trials whose violations count, which may have ended early.
func (g *group) witnesses() []*results.Record {
	return slices.DeleteFunc(slices.Clone(g.all), func(r *results.Record) bool {
		return g.lost(r) == Replaced || g.lost(r) == Evicted
	})
}

// side is one side as it was read.
type side struct {
	Side
	of       string // "base" or "head"
	records  []*results.Record
	settings map[*results.Record]settings
	runs     bool // all are of this side of a run with two
}

func read(of string, in Input) side {
	s := side{Side: Side{Name: in.Name}, of: of, settings: map[*results.Record]settings{}, runs: true}
	for _, c := range in.Cells {
		s.Duplicates += c.Duplicates
		same := settingsOf(c.First())
		for _, r := range c.Trials {
			s.settings[r], s.records, s.runs = same, append(s.records, r), s.runs && r.Side == of
		}
	}
	s.Partial = number(s.records, func(r *results.Record) bool { return r.Partial != "" })
	s.Revisions = Revisions(s.records)
	return s
}

// groups sorts the records of a side by key.
func (s *side) groups(force bool, key func(*results.Record) string) (gs view.Grouped[string, *group]) {
	for _, r := range s.records {
		k := key(r)
		if gs.Of[k] == nil {
			gs.Add(k, &group{of: s.of, force: force, settings: s.settings[r]})
		}
		g := gs.Of[k][0]
		if g.all = append(g.all, r); g.lost(r) == "" {
			g.whole = append(g.whole, r)
		}
	}
	return gs
}

// Split takes the sides apart of runs that compared two configurations.
func Split(in Input) (base, head Input, err error) {
	base, head = Input{Name: in.Name}, Input{Name: in.Name}
	for _, c := range in.Cells {
		switch c.First().Side {
		case results.SideBase:
			base.Cells = append(base.Cells, c)
		case results.SideHead:
			head.Cells = append(head.Cells, c)
		}
	}
	if base.Cells == nil || head.Cells == nil {
		err = fmt.Errorf("compare: %s has not both sides of a run with -vs: name the file of the head, too", in.Name)
	}
	return base, head, err
}

// pair is a group of the base and the one of the head that belongs to it; one of them is nil if it has no partner.
type pair [2]*group

// slot is when a trial of a run with two sides had its turn: both sides have one of each.
type slot struct {
	run         string
	pair, trial int
}

// match finds the pairs, those of the base in their order first. The plans of runs that compared two configurations
// differ, that is what they are for: there the places in the runs decide, and runs with the same two plans count
// together. Else groups belong together that agree in everything or, by force, in all that tells the groups of one
// side apart.
func match(sides [2]side, o Options) (pairs []pair, paired bool, err error) {
	ids, plans := map[string]bool{}, map[slot][2]string{} // of both sides
	paired = sides[0].runs && sides[1].runs
	for i, s := range sides {
		if s.Partial == len(s.records) {
			ended := format.Plural(s.Partial, "record") + " that ended early"
			return nil, false, fmt.Errorf("%s has no whole trial, and %s", s.Name, ended)
		}
		n := number(s.records, func(r *results.Record) bool { return ids[r.ID] })
		if n > 0 {
			return nil, false, fmt.Errorf("%d of the %d trials of %s are in %s too: a trial is on one side or the other",
				n, len(s.records), s.Name, sides[0].Name)
		}
		for _, r := range s.records {
			ids[r.ID] = true
			at := slot{run: r.Run, pair: r.Pair}
			both := plans[at]
			both[i] = fmt.Sprintf("%q", s.settings[r])
			plans[at] = both
		}
	}
	same := agreed(sides)
	var gs [2]view.Grouped[string, *group]
	for i, s := range sides {
		gs[i] = s.groups(o.Force, func(r *results.Record) string {
			if paired {
				return fmt.Sprint(plans[slot{run: r.Run, pair: r.Pair}])
			}
			key := slices.Clone(s.settings[r])
			for _, at := range same {
				if o.Force { // it tells the sides apart, and no groups of a side
					key[at] = ""
				}
			}
			return fmt.Sprintf("%q", key)
		})
	}
	found := false
	for i, of := range gs {
		for _, k := range of.Keys {
			other := gs[1-i].Of[k]
			switch {
			case other == nil:
				pairs = append(pairs, [2]pair{{of.Of[k][0], nil}, {nil, of.Of[k][0]}}[i])
			case i == 0:
				pairs, found = append(pairs, pair{of.Of[k][0], other[0]}), true
			}
		}
	}
	switch {
	case found:
		return pairs, paired, nil
	case paired:
		return nil, false, errors.New("no cell of the base was run together with one of the head")
	}
	return nil, false, unmatched(sides, gs, same)
}

// agreed returns the settings that have one value in all records of a side, on either side.
func agreed(sides [2]side) (same []int) {
	for at := range len(flags) + 1 {
		differs := func(s side) bool {
			return slices.ContainsFunc(s.records, func(r *results.Record) bool {
				return s.settings[r][at] != s.settings[s.records[0]][at]
			})
		}
		if !slices.ContainsFunc(sides[:], differs) {
			same = append(same, at)
		}
	}
	return same
}

// unmatched says in what the nearest two cells differ, and whether force would match them.
func unmatched(sides [2]side, gs [2]view.Grouped[string, *group], same []int) error {
	var b, h settings
	for _, k := range gs[0].Keys {
		for _, l := range gs[1].Keys {
			x, y := gs[0].Of[k][0].settings, gs[1].Of[l][0].settings
			if b == nil || len(differing(x, y)) < len(differing(b, h)) {
				b, h = x, y
			}
		}
	}
	var parts []string
	advice := "; -force compares them"
	for _, at := range differing(b, h) {
		if !slices.Contains(same, at) {
			advice = ""
		}
		parts = append(parts, fmt.Sprintf("%s (%s, %s)", nameOf(at), cmp.Or(b[at], none), cmp.Or(h[at], none)))
	}
	return fmt.Errorf("no cell of %s matches one of %s; the nearest two differ in %s%s",
		sides[1].Name, sides[0].Name, format.And(parts), advice)
}
