package compare

// Facts: what a reader must know of the two sides beside their figures.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	{"machine", true, func(r *results.Record) string { return view.CPU(r.Env) }},
	{"system", true, func(r *results.Record) string {
		return strings.TrimSpace(r.Env.OS + "/" + r.Env.Arch + " " + r.Env.Kernel)
	}},
	{"server", false, func(r *results.Record) string { return view.Server(&results.Cell{Trials: []*results.Record{r}}) }},
	{"claims", false, func(r *results.Record) string { return view.Claims(r.Traits) }},
	{"revision", false, func(r *results.Record) string { return r.Env.Revision }},
	{"lockbench", false, func(r *results.Record) string { return r.Env.Lockbench + " " + r.Env.Go }},
	{"libraries", false, func(r *results.Record) string { return view.Libraries(r.Env) }},
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

// unlike returns how the environments of two sides differ, and which of it makes two machines of them.
func unlike(base, head []*results.Record) (notes, machines []string) {
	if len(base) == 0 || len(head) == 0 {
		return nil, nil
	}
	for _, f := range facts {
		named := func(r *results.Record) string { return cmp.Or(f.of(r), none) }
		b, h := distinct(base, named), distinct(head, named)
		note := inBoth(f.name, format.And(b), format.And(h))
		if slices.Equal(slices.Sorted(slices.Values(b)), slices.Sorted(slices.Values(h))) {
			if note = f.name + ": several on both sides, " + strings.Join(b, "; "); len(b) == 1 {
				continue
			}
		}
		if notes = append(notes, note); f.machine {
			machines = append(machines, note)
		}
	}
	return notes, machines
}

func inBoth(name, base, head string) string {
	return fmt.Sprintf("%s: %s in the base, %s in the head", name, base, head)
}

// asked says in what the plans of a pair differ.
func asked(p pair) (notes []string) {
	for _, at := range differing(p[0].settings, p[1].settings) {
		if name := nameOf(at); name != kindOfServer { // a fact
			notes = append(notes, inBoth("-"+name, cmp.Or(p[0].settings[at], none), cmp.Or(p[1].settings[at], none)))
		}
	}
	return notes
}

// doubts returns which trials of a pair are not the figures of its lock, by marks, and where a lock has failed.
func doubts(p pair) (notes []string) {
	say := func(code, end string, is func(r *results.Record, lost Reason) bool) {
		var on []string
		for _, g := range p {
			if n := number(g.all, func(r *results.Record) bool { return is(r, g.lost(r)) }); n > 0 {
				on = append(on, shareOf(n, len(g.all))+" of the "+g.of)
			}
		}
		if len(on) > 0 {
			notes = append(notes, code+": "+format.And(on)+end)
		}
	}
	say("saturated", "", func(r *results.Record, lost Reason) bool { return lost == "" && r.Generator.Saturated })
	say("paused", "", func(r *results.Record, lost Reason) bool { return lost == "" && len(r.Generator.Pauses) > 0 })
	say("behind", "", func(r *results.Record, lost Reason) bool { return lost == "" && !r.KeptUp() })
	say("drifts", "", func(r *results.Record, lost Reason) bool { return lost == "" && r.Steady.Drifts })
	say("replaced", " left out", func(_ *results.Record, lost Reason) bool { return lost == Replaced })
	say("evicted", " left out", func(_ *results.Record, lost Reason) bool { return lost == Evicted })
	say("violated", "", func(r *results.Record, _ Reason) bool { return r.Violated() })
	for _, why := range distinct(slices.Concat(p[0].all, p[1].all), func(r *results.Record) string { return r.Partial }) {
		say("partial", " left out ("+why+")", func(r *results.Record, lost Reason) bool {
			return lost == Partial && r.Partial == why
		})
	}
	return notes
}

// inTurn says if the trials of one side were all over before those of the other began, or came in a few blocks, such
// as those of a night: the trials of a block are alike for what the machine was like then. In random order with ten
// trials a side there are five blocks or fewer once in 200 times.
func inTurn(base, head []*results.Record) string {
	starts, blocks := slices.Concat(base, head), 1
	slices.SortStableFunc(starts, func(a, b *results.Record) int { return a.Started.Compare(b.Started) })
	for i := range starts[1:] {
		if slices.Contains(head, starts[i]) != slices.Contains(head, starts[i+1]) {
			blocks++
		}
	}
	fewer, n := min(len(base), len(head)), len(starts)
	if fewer < 2 || 2*blocks > fewer && blocks > 2 || starts[0].Started.Equal(starts[n-1].Started) { // nobody knows
		return ""
	}
	return fmt.Sprintf("order: the sides took few turns (%d blocks): a slower machine would look like a change", blocks)
}

// Revisions returns what records call what was under test: its revisions, or else the builds of lockbench that made it.
func Revisions(records []*results.Record) []string {
	names := distinct(records, func(r *results.Record) string { return cmp.Or(r.Env.Revision, r.Env.Lockbench) })
	return slices.DeleteFunc(names, func(s string) bool { return s == "" })
}
