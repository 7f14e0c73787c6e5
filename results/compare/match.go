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

// match finds the pairs, those of the base in their order first: groups that agree in everything and then, of those that are left,
// in all that is not ignored. The plans of runs that compared two configurations differ, that is what they are for: there the
// places in the runs decide, and runs with the same two plans count together.
func match(base, head side, o Options) ([]cellPair, error) {
	but, err := ignored(o.Ignore)
	if err != nil {
		return nil, err
	}
	planOf, seen := map[*results.Record]known{}, plans{}
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
	pairs := exact(bs, hs)
	for i := range pairs {
		pairs[i].paired = paired
	}
	if !paired && (len(but) > 0 || o.Force) {
		if pairs, err = alike(pairs, but, o.Force); err != nil {
			return nil, err
		}
	}
	switch {
	case slices.ContainsFunc(pairs, func(c cellPair) bool { return c.base != nil && c.head != nil }):
		return pairs, nil
	case paired:
		return nil, errors.New("no cell of the base was run together with one of the head")
	}
	return nil, noMatch(base, head, bs, hs)
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

// alike makes pairs of those lone groups that agree in all but some flags. Where several do, it cannot be told which
// belongs to which.
func alike(pairs []cellPair, but map[string]bool, force bool) ([]cellPair, error) {
	key := func(b *group) string {
		if force {
			return b.settings.key(but)
		}
		return b.kind + " " + b.settings.key(but)
	}
	bases, heads := map[string][]int{}, map[string][]int{} // places in pairs
	for i, c := range pairs {
		switch {
		case c.head == nil:
			bases[key(c.base)] = append(bases[key(c.base)], i)
		case c.base == nil:
			heads[key(c.head)] = append(heads[key(c.head)], i)
		}
	}
	for i, c := range pairs {
		if c.base == nil || c.head != nil || len(heads[key(c.base)]) == 0 {
			continue
		}
		b, h := bases[key(c.base)], heads[key(c.base)]
		if len(b) > 1 || len(h) > 1 {
			return nil, ambiguous(pairs, b, h)
		}
		pairs[i].head = pairs[h[0]].head
		pairs[h[0]] = cellPair{}
	}
	return slices.DeleteFunc(pairs, func(c cellPair) bool { return c == cellPair{} }), nil
}

func ambiguous(pairs []cellPair, bases, heads []int) error {
	var plans []settings
	for _, i := range bases {
		plans = append(plans, pairs[i].base.settings)
	}
	for _, i := range heads {
		plans = append(plans, pairs[i].head.settings)
	}
	names := differing(plans)
	name := func(of []settings) string {
		var all []string
		for _, s := range of {
			all = append(all, orNone(s.label(names)))
		}
		return strings.Join(all, ", ")
	}
	return fmt.Errorf("it can't be told which cell belongs to which if that is ignored: the base has %s, the head %s",
		name(plans[:len(bases)]), name(plans[len(bases):]))
}

// noMatch says in what the nearest two cells differ, and what would match them.
func noMatch(base, head side, bs, hs groups) error {
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
	var parts, advice []string
	for _, name := range nearest {
		parts = append(parts, fmt.Sprintf("%s (%s, %s)", name, orNone(near.base.settings[name]), orNone(near.head.settings[name])))
	}
	if len(nearest) > 0 {
		advice = append(advice, "-ignore "+strings.Join(nearest, ","))
	}
	if near.base.kind != near.head.kind {
		parts = append(parts, fmt.Sprintf("the kind of server (%s, %s)", near.base.kind, near.head.kind))
		advice = append(advice, "-force")
	}
	return fmt.Errorf("no cell of %s has the plan of one of %s; the nearest two differ in %s: to compare them all the same, %s",
		head.name, base.name, format.And(parts), strings.Join(advice, " "))
}

// cost returns how unlike two groups are.
func cost(names []string, b, h *group) int {
	if b.kind != h.kind {
		return len(names) + 1
	}
	return len(names)
}
