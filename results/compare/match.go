package compare

// Matching: which trials of the base and of the head are observations of the same cell.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// group holds the trials of one side that are observations of one thing.
type group struct {
	settings settings
	kind     string // of server
	whole    []*results.Record
	partial  []*results.Record
}

// first speaks for all of them about the plan.
func (b *group) first() *results.Record {
	if len(b.whole) > 0 {
		return b.whole[0]
	}
	return b.partial[0]
}

func (b *group) all() []*results.Record { return slices.Concat(b.whole, b.partial) }

// side is one side as it was read.
type side struct {
	name       string
	records    []*results.Record
	duplicates int
}

// read takes the records out of their cells, each ID once.
func read(in Input) side {
	s := side{name: in.Name}
	seen := map[string]bool{}
	for _, c := range in.Cells {
		s.duplicates += c.Duplicates
		for _, r := range c.Trials {
			if seen[r.ID] {
				s.duplicates++
				continue
			}
			seen[r.ID] = true
			s.records = append(s.records, r)
		}
	}
	return s
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
	switch {
	case base.Cells == nil && head.Cells == nil:
		err = fmt.Errorf("compare: %s is not of a run with two sides (-vs): name the file of the head, too", in.Name)
	case base.Cells == nil:
		err = fmt.Errorf("compare: %s has a head and no base", in.Name)
	case head.Cells == nil:
		err = fmt.Errorf("compare: %s has a base and no head", in.Name)
	}
	return base, head, err
}

// shared finds trials that are on both sides, which says that the sides are not two.
func shared(base, head side) error {
	in := map[string]bool{}
	for _, r := range base.records {
		in[r.ID] = true
	}
	n, first := 0, ""
	for _, r := range head.records {
		if in[r.ID] {
			if n++; n == 1 {
				first = r.ID
			}
		}
	}
	if n > 0 {
		return fmt.Errorf("%d of the %d trials of %s are in %s too (the first is %s): a trial is on one side or the other",
			n, len(head.records), head.name, base.name, first)
	}
	return nil
}

// groups are those of one side by key, in the order in which they were read.
type groups struct {
	at    map[string]*group
	order []string
}

// groupsOf sorts records by key.
func groupsOf(records []*results.Record, planOf map[*results.Record]known, key func(*results.Record) string) groups {
	gs := groups{at: map[string]*group{}}
	for _, r := range records {
		k := key(r)
		g := gs.at[k]
		if g == nil {
			g = &group{settings: planOf[r].settings, kind: kindOf(r)}
			gs.at[k] = g
			gs.order = append(gs.order, k)
		}
		if r.Partial != "" {
			g.partial = append(g.partial, r)
		} else {
			g.whole = append(g.whole, r)
		}
	}
	return gs
}

// cellPair is a group of the base and the one of the head that belongs to it; one of them is nil if it has no partner.
type cellPair struct {
	base, head *group
	paired     bool // their trials took turns in one run
}

// slot is when a trial of a run with two sides had its turn: both sides have one of each.
type slot struct {
	run         string
	pair, trial int
}

func slotOf(r *results.Record) slot { return slot{r.Run, r.Pair, r.Trial} }

// match finds the pairs, those of the base in their order first. The plans of runs that compared two configurations differ, that
// is what they are for: there the places in the runs decide, and runs with the same two plans count together. Else groups
// belong together that agree in everything or, by force, in all that tells the groups of one side apart.
func match(base, head side, o Options) ([]cellPair, error) {
	planOf, seen := map[*results.Record]known{}, plans{}
	var err error
	for _, s := range []side{base, head} {
		if !slices.ContainsFunc(s.records, func(r *results.Record) bool { return r.Partial == "" }) {
			return nil, fmt.Errorf("%s has no whole trial%s", s.name, ofPartial(len(s.records)))
		}
		for _, r := range s.records {
			if planOf[r], err = seen.read(r.Plan); err != nil {
				return nil, err
			}
		}
	}
	key := func(r *results.Record) string { return kindOf(r) + " " + planOf[r].whole }
	paired := sided(base.records, results.SideBase) && sided(head.records, results.SideHead)
	if paired {
		of := map[slot][2]string{} // the keys of the plans of both sides
		for i, s := range []side{base, head} {
			for _, r := range s.records {
				keys := of[slot{run: r.Run, pair: r.Pair}]
				keys[i] = kindOf(r) + " " + planOf[r].whole
				of[slot{run: r.Run, pair: r.Pair}] = keys
			}
		}
		key = func(r *results.Record) string {
			keys := of[slot{run: r.Run, pair: r.Pair}]
			return strings.Join(keys[:], "\n")
		}
	}
	bs, hs := groupsOf(base.records, planOf, key), groupsOf(head.records, planOf, key)
	same := constants(bs, hs)
	if !paired && o.Force {
		bs, hs = bs.by(same), hs.by(same)
	}
	pairs := exact(bs, hs)
	for i := range pairs {
		pairs[i].paired = paired
	}
	switch {
	case slices.ContainsFunc(pairs, func(c cellPair) bool { return c.base != nil && c.head != nil }):
		return pairs, nil
	case paired:
		return nil, errors.New("no cell of the base was run together with one of the head")
	}
	return nil, noMatch(base, head, bs, hs, same)
}

func ofPartial(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", only %s that ended early", format.Plural(n, "record"))
}

func sided(records []*results.Record, is string) bool {
	return !slices.ContainsFunc(records, func(r *results.Record) bool { return r.Side != is })
}

// exact makes pairs of the groups with the same key, and lone ones of the others.
func exact(bs, hs groups) (pairs []cellPair) {
	for _, key := range bs.order {
		pairs = append(pairs, cellPair{base: bs.at[key], head: hs.at[key]})
	}
	for _, key := range hs.order {
		if bs.at[key] == nil {
			pairs = append(pairs, cellPair{head: hs.at[key]})
		}
	}
	return pairs
}

// kindOfServer stands for the kind of server beside the flags of a plan.
const kindOfServer = "kind of server"

// constants returns the flags that have one value in all groups of a side, on either side: they tell the sides apart, and no
// groups of a side.
func constants(sides ...groups) map[string]bool {
	same := map[string]bool{kindOfServer: true}
	for _, f := range flags {
		same[f.Name] = true
	}
	for _, gs := range sides {
		first := gs.at[gs.order[0]]
		for _, g := range gs.at {
			for _, name := range differing([]settings{first.settings, g.settings}) {
				same[name] = false
			}
			same[kindOfServer] = same[kindOfServer] && g.kind == first.kind
		}
	}
	return same
}

// by returns the groups by what they are without some flags.
func (gs groups) by(but map[string]bool) groups {
	other := groups{at: map[string]*group{}}
	for _, key := range gs.order {
		g := gs.at[key]
		key = g.settings.key(but)
		if !but[kindOfServer] {
			key = g.kind + " " + key
		}
		other.at[key], other.order = g, append(other.order, key)
	}
	return other
}

// noMatch says in what the nearest two cells differ, and whether force would match them.
func noMatch(base, head side, bs, hs groups, same map[string]bool) error {
	var nearest []string
	var near cellPair
	for _, key := range bs.order {
		for _, other := range hs.order {
			b, h := bs.at[key], hs.at[other]
			names := differing([]settings{b.settings, h.settings})
			if near.base == nil || cost(names, b, h) < cost(nearest, near.base, near.head) {
				near, nearest = cellPair{base: b, head: h}, names
			}
		}
	}
	var parts []string
	advice := "; -force compares them"
	for _, name := range nearest {
		if !same[name] {
			advice = ""
		}
		parts = append(parts, fmt.Sprintf("%s (%s, %s)", name, orNone(near.base.settings[name]), orNone(near.head.settings[name])))
	}
	if near.base.kind != near.head.kind {
		parts = append(parts, fmt.Sprintf("the kind of server (%s, %s)", near.base.kind, near.head.kind))
		if !same[kindOfServer] {
			advice = ""
		}
	}
	return fmt.Errorf("no cell of %s matches one of %s; the nearest two differ in %s%s", head.name, base.name, format.And(parts), advice)
}

// cost returns how unlike two groups are.
func cost(names []string, b, h *group) int {
	if b.kind != h.kind {
		return len(names) + 1
	}
	return len(names)
}
