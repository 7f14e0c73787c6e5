// What is refused of a plan as a whole: names that nothing has, and values that nothing reads.

package cli

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

// arrivals are the values of -arrival.
var arrivals = []string{spec.Constant, spec.Poisson}

// checkNames refuses names that no driver and no way of waiting has, with the nearest that exists. A lock that only
// some drivers have is fine: the others skip it.
func (o *options) checkNames(cells []spec.Plan) error {
	for _, s := range spec.Settings {
		known := names(s.Name)
		if known == nil {
			continue
		}
		for i := range cells {
			if name := s.Typed(&cells[i], &cells[i].Load); name != "" && !slices.Contains(known, name) {
				return o.unknownName(o.get(s.Name), name, known)
			}
		}
	}
	return nil
}

// names are the values of a setting that is chosen by a name, and nil for the others. Drivers of other programs may have more
// of some, which is why a schema knows only choices.
func names(setting string) []string {
	switch setting {
	case "driver":
		return drivers.Names()
	case "lock":
		var locks []string
		for _, name := range drivers.Names() {
			d, _ := drivers.Lookup(name)
			locks = append(locks, designNames(d)...)
		}
		slices.Sort(locks)
		return slices.Compact(locks)
	}
	return choices(setting)
}

// unknownName refuses a name, with those that there are.
func (o *options) unknownName(opt *option, name string, known []string) error {
	return o.complain(opt, "unknown %s %q%s; there are %s", opt.name, name,
		didYouMean("", name, known), strings.Join(known, ", "))
}

// readers tells which plans read a flag, and what to say if none does.
type readers struct {
	flag    string
	reads   func(spec.Plan) bool
	why     func(o *options) string
	decides []string // the flags that it depends on
}

// anyLoad tells whether a plan has a class that reads something.
func anyLoad(reads func(spec.Load) bool) func(spec.Plan) bool {
	return func(p spec.Plan) bool {
		return slices.ContainsFunc(p.Groups(), func(c spec.Class) bool { return reads(c.Load) })
	}
}

// said is a reason that depends on nothing.
func said(text string) func(*options) string { return func(*options) string { return text } }

// allReaders are the flags that not every plan reads. Those of one class alone are looked at in checkClasses.
func allReaders() []readers {
	waits := func(p spec.Plan) bool { return p.Wait != wait.None }
	arrives := anyLoad(func(l spec.Load) bool { return !l.Rate.IsZero() })
	probed := func(p spec.Plan) bool { return p.Probe > 0 }
	open := []string{"rate", "burst"}
	list := []readers{
		{"timeout", waits,
			said("with -wait none nobody waits, so there is no patience to limit; -io-timeout bounds a request"),
			[]string{"wait"}},
		{"try-only", waits, said("with -wait none all clients try once and never wait"), []string{"wait"}},
		{"arrival", arrives, said("only arrivals at a -rate read it"), open},
		{"max-queue", anyLoad(spec.Load.Open), said("only an open loop has a queue: give -rate or -burst"), open},
		{"probe", probed, said("a neighbour needs a server to be asked, and this run has none"), []string{"driver"}},
		{"durability", func(p spec.Plan) bool { return p.Durability != "" },
			said("only servers that lockbench starts are set up by it, and this run has none"),
			[]string{"server", "driver", "addr"}},
	}
	for _, flag := range slices.Sorted(maps.Keys(topologyFlags)) {
		read := topologyFlags[flag]
		list = append(list, readers{flag,
			func(p spec.Plan) bool { return slices.Contains(read, drivers.Topology(p.Topology)) },
			func(o *options) string {
				names := make([]string, len(read))
				for i, t := range read {
					names[i] = string(t)
				}
				return "only -topology " + format.And(names) + " reads it, and -topology is " + o.text("topology")
			}, []string{"topology"}})
	}
	for _, one := range []struct{ flag, kind string }{
		{"poll", wait.Poll}, {"backoff-min", wait.Backoff}, {"backoff-max", wait.Backoff},
		{"handover", wait.Queue}, {"handover-max", wait.Queue},
	} {
		list = append(list, readers{one.flag, func(p spec.Plan) bool { return p.Wait == one.kind },
			func(o *options) string { return "only -wait " + one.kind + " reads it, and -wait is " + o.text("wait") },
			[]string{"wait"}})
	}
	return append(list, readers{"handover-max", func(p spec.Plan) bool { return p.Handover == wait.HandoverSwap },
		func(o *options) string {
			return "only -handover " + wait.HandoverSwap + " reads it, and -handover is " + o.text("handover")
		}, []string{"wait", "handover"}})
}

// checkRead refuses a value that no cell reads, since it would be ignored. Variables may be unused: they are set once
// for many runs. So may a file's value that is the default, or where a flag or a variable has changed what it depends
// on.
func (p *plan) checkRead() error {
	for _, r := range allReaders() {
		read := map[*option]bool{} // whether any cell reads it
		for _, one := range p.read {
			opt := one.from.get(r.flag)
			read[opt] = read[opt] || r.reads(one.plan)
		}
		for _, one := range p.read { // in their order
			if opt := one.from.get(r.flag); !read[opt] && one.from.mustBeUsed(opt, r.decides) {
				return one.from.complain(opt, "%s", r.why(one.from))
			}
		}
	}
	return p.checkClasses()
}

// mustBeUsed tells whether an option that nothing reads is a mistake.
func (o *options) mustBeUsed(opt *option, decides []string) bool {
	switch opt.from {
	case fromFlag:
		return true
	case fromFile:
		changed := slices.ContainsFunc(decides, func(flag string) bool { return o.get(flag).from > fromFile })
		return !opt.same(opt.text) && !changed
	}
	return false
}

// checkClasses refuses what a class sets and does not read, and what the top sets though every class does.
func (p *plan) checkClasses() error {
	w := p.options.workload
	if w == nil || len(w.Classes) == 0 {
		return nil
	}
	for _, flag := range ofAClass {
		if !w.overridden(flag) {
			continue
		}
		for _, sheet := range append([]*options{p.options}, p.options.sheets()...) {
			if opt := sheet.get(flag); opt.from == fromFile {
				return sheet.complain(opt, "no class has it from there, since each sets its own")
			}
		}
	}
	for i, c := range w.Classes {
		o := p.options.with(c.Settings, c.Name)
		for _, flag := range []string{"arrival", "max-queue", "timeout", "try-only"} {
			if opt := o.get(flag); c.Find(flag) != nil && !opt.same(opt.text) && !p.classReads(i, flag) {
				return o.complain(opt, "%s", classUnread[flag])
			}
		}
	}
	return nil
}

// classUnread tells why a class does not read what it sets.
var classUnread = map[string]string{
	"arrival":   "only arrivals at a rate read it, and the class has none",
	"max-queue": "only an open loop has a queue, and the class has neither rate nor burst",
	"timeout":   "with -wait none nobody waits",
	"try-only":  "with -wait none all clients try once and never wait",
}

// classReads tells whether class number i reads a flag in any cell.
func (p *plan) classReads(i int, flag string) bool {
	return slices.ContainsFunc(p.cells, func(c cell) bool {
		switch l := c.plan.Classes[i].Load; flag {
		case "arrival":
			return !l.Rate.IsZero()
		case "max-queue":
			return l.Open()
		}
		return c.plan.Wait != wait.None
	})
}

// explain turns a FieldError into a usage error that shows what the user wrote, be it a flag or a variable.
func (o *options) explain(err error) error {
	var field *workloads.FieldError
	if !errors.As(err, &field) {
		return usageErrorf("%w", err)
	}
	problem := field.Problem
	if problem == "" {
		problem = "must be " + field.Allowed
	}
	from := o
	if o.workload != nil {
		for _, c := range o.workload.Classes {
			if c.Name == field.Class {
				from = o.with(c.Settings, c.Name)
			}
		}
	}
	if opt := from.get(field.Field); opt.from == fromVariable || opt.from == fromFile {
		return o.complain(opt, "%s", problem)
	}
	return usageErrorf("%w", err)
}
