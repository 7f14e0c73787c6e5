package compare

// Environments: what a reader must know of the two sides beside their figures.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// fact is something about a record that is no figure and not asked for, in which the sides may differ.
type fact struct {
	name    string
	machine bool // a figure of one is none of the other's; what differs else may be what is under test
	of      func(r *results.Record) string
}

var facts = []fact{
	{"kind of server", false, kindOf},
	{"machine", true, func(r *results.Record) string { return view.CPU(r.Env) }},
	{"system", true, func(r *results.Record) string {
		return strings.TrimSpace(r.Env.OS + "/" + r.Env.Arch + " " + r.Env.Kernel)
	}},
	{"server", false, func(r *results.Record) string { return strings.TrimSpace(r.Server.Name + " " + r.Server.Version) }},
	{"mode of the server", false, func(r *results.Record) string { return r.Server.Mode }},
	{"persistence", false, func(r *results.Record) string { return r.Server.Persistence }},
	{"replicas", false, func(r *results.Record) string { return fmt.Sprint(r.Server.Replicas) }},
	{"network", false, func(r *results.Record) string { return r.Server.Network }},
	{"address", false, func(r *results.Record) string {
		if kindOf(r) != "external" {
			return "" // made up for the run
		}
		return r.Server.Addr
	}},
	{"claims", false, func(r *results.Record) string { return view.Claims(r.Traits) }},
	{"revision", false, func(r *results.Record) string { return r.Env.Revision }},
	{"lockbench", false, func(r *results.Record) string { return r.Env.Lockbench }},
	{"Go", false, func(r *results.Record) string { return r.Env.Go }},
	{"variables", false, func(r *results.Record) string { return view.Variables(r.Env) }},
}

// distinct returns the different values of records in their order.
func distinct(records []*results.Record, of func(*results.Record) string) (values []string) {
	for _, r := range records {
		if v := of(r); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// differ returns the values of a fact on both sides, and what to say if they are not the same.
func (f fact) differ(base, head []*results.Record) (b []string, text string) {
	b, h := distinct(base, f.of), distinct(head, f.of)
	if !slices.Equal(slices.Sorted(slices.Values(b)), slices.Sorted(slices.Values(h))) {
		text = fmt.Sprintf("%s: %s in the base, %s in the head", f.name, listed(b), listed(h))
	}
	return b, text
}

// unlike returns how the environments of a pair's sides differ, and which of it makes two machines of them.
func unlike(base, head []*results.Record) (notes, machines []string) {
	if len(base) == 0 || len(head) == 0 {
		return nil, nil
	}
	all := slices.Clone(facts)
	for _, name := range libraries(base, head) {
		all = append(all, fact{name, false, func(r *results.Record) string { return r.Env.Libraries[name] }})
	}
	for _, f := range all {
		values, text := f.differ(base, head)
		switch {
		case text == "" && len(values) == 1:
			continue
		case text == "":
			text = fmt.Sprintf("%s: several on both sides, %s", f.name, strings.Join(values, "; "))
		}
		notes = append(notes, text)
		if f.machine {
			machines = append(machines, f.name)
		}
	}
	return notes, machines
}

// UnlikeMachines says in what the machines differ that two sets of records were made on, as far as their changes cannot be
// judged for it; nothing if they are alike.
func UnlikeMachines(base, head []*results.Record) (differences []string) {
	for _, f := range facts {
		if _, text := f.differ(base, head); f.machine && text != "" {
			differences = append(differences, text)
		}
	}
	return differences
}

// libraries returns the names of all client libraries that the records know.
func libraries(sides ...[]*results.Record) []string {
	var all []string
	for _, r := range slices.Concat(sides...) {
		all = slices.AppendSeq(all, maps.Keys(r.Env.Libraries))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func listed(values []string) string {
	var named []string
	for _, v := range values {
		named = append(named, orNone(v))
	}
	return strings.Join(named, " and ")
}

// asked says in what the plans of a pair differ.
func asked(c cellPair) (notes []string) {
	if c.base == nil || c.head == nil {
		return nil
	}
	for _, name := range differing([]settings{c.base.settings, c.head.settings}) {
		notes = append(notes, fmt.Sprintf("-%s: %s in the base, %s in the head", name,
			orNone(c.base.settings[name]), orNone(c.head.settings[name])))
	}
	return notes
}

// doubts returns which trials of a cell are not the figures of its lock, by marks, and where a lock has failed.
func doubts(c cellPair) (notes []string) {
	say := func(code string, is func(*results.Record) bool, records func(*group) []*results.Record) {
		var of []string
		for _, side := range []struct {
			name string
			*group
		}{{"base", c.base}, {"head", c.head}} {
			in := records(side.group)
			if n := number(in, is); n > 0 {
				of = append(of, fmt.Sprintf("%d of %s of the %s", n, format.Plural(len(in), "trial"), side.name))
			}
		}
		if len(of) > 0 {
			notes = append(notes, code+": "+format.And(of))
		}
	}
	whole, all := func(b *group) []*results.Record { return b.whole }, (*group).all
	say("saturated", func(r *results.Record) bool { return r.Generator.Saturated }, whole)
	say("paused", func(r *results.Record) bool { return len(r.Generator.Pauses) > 0 }, whole)
	say("behind", func(r *results.Record) bool { return !r.KeptUp() }, whole)
	say("drifts", func(r *results.Record) bool { return r.Steady.Drifts }, whole)
	say("replaced", replaced, all)
	say("evicted", evicted, all)
	say("violated", (*results.Record).Violated, all)
	for _, why := range distinct(slices.Concat(c.base.partial, c.head.partial), func(r *results.Record) string { return r.Partial }) {
		say("partial", func(r *results.Record) bool { return r.Partial == why }, all)
		notes[len(notes)-1] += " left out (" + why + ")"
	}
	return notes
}

// inTurn says if the trials of one side were all over before those of the other began, or came in a few blocks, such as those of a
// night: the trials of a block are alike for what the machine was like then. In random order with ten trials a side there are
// five blocks or fewer once in 200 times.
func inTurn(base, head []*results.Record) []string {
	if len(base) < 2 || len(head) < 2 {
		return nil
	}
	type start struct {
		at   time.Time
		head bool
	}
	var starts []start
	for i, r := range slices.Concat(base, head) {
		starts = append(starts, start{r.Started, i >= len(base)})
	}
	slices.SortStableFunc(starts, func(a, b start) int { return a.at.Compare(b.at) })
	blocks := 1
	for i, s := range starts[1:] {
		if s.head != starts[i].head {
			blocks++
		}
	}
	switch last := len(starts) - 1; {
	case starts[0].at.Equal(starts[last].at), // nobody knows
		blocks > 2 && 2*blocks > min(len(base), len(head)):
		return nil
	case blocks > 2:
		return []string{fmt.Sprintf("order: the sides hardly took turns (%d blocks), so p is too small", blocks)}
	}
	return []string{"order: one side ran after the other; a slower machine would look like a change"}
}

func number[T any](of []T, is func(T) bool) (n int) {
	for _, one := range of {
		if is(one) {
			n++
		}
	}
	return n
}

// Revisions returns what records call what was under test: its revisions, or else the builds of lockbench that made it.
func Revisions(records []*results.Record) []string {
	names := distinct(records, func(r *results.Record) string { return cmp.Or(r.Env.Revision, r.Env.Lockbench) })
	return slices.DeleteFunc(names, func(s string) bool { return s == "" })
}
