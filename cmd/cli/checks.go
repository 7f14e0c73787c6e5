// What is refused of an experiment as a whole: names that nothing has, and values that nothing reads.

package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// checkRead refuses a value that no cell reads, since it would be ignored. Variables may be unused: they are set once
// for many runs. So may a file's value that is the default, or where a flag or a variable has changed what it depends
// on.
func (e *experiment) checkRead() error {
	for _, r := range append([]matrix.Reader{matrix.ReadIn("master", drivers.TopologySentinel)}, matrix.Readers...) {
		read := map[*option]bool{} // whether any cell reads it
		for _, one := range e.read {
			opt := one.from.get(r.Setting)
			read[opt] = read[opt] || r.ReadBy(&e.Cells[one.cell].Plan)
		}
		for _, one := range e.read { // in their order
			if opt := one.from.get(r.Setting); !read[opt] && one.from.mustBeUsed(opt, r.Depends) {
				return one.from.complain(opt, "%s", r.Why(e.shown(one.from)))
			}
		}
	}
	if err := e.checkTopology(); err != nil {
		return err
	}
	return e.checkClasses()
}

// checkTopology refuses -topology where every driver names a topology of its own.
func (e *experiment) checkTopology() error {
	read := map[*option]bool{}
	for _, one := range e.read {
		opt := one.from.get("topology")
		read[opt] = read[opt] || slices.Contains(one.from.namesTopology(), false)
	}
	for _, one := range e.read {
		if opt := one.from.get("topology"); !read[opt] && one.from.mustBeUsed(opt, []string{"driver"}) {
			return one.from.complain(opt, "nothing reads it: each driver of %s names a topology of its own", one.from.text("driver"))
		}
	}
	return nil
}

// namesTopology returns of each driver whether it names its topology.
func (o *options) namesTopology() (list []bool) {
	for name := range strings.SplitSeq(o.text("driver"), ",") {
		_, _, named := matrix.CutTopology(name)
		list = append(list, named)
	}
	return list
}

// shown returns how complaints show what a flag was given; of -topology, what the drivers name counts too.
func (e *experiment) shown(o *options) func(flag string) string {
	return func(flag string) string {
		if flag != "topology" || !slices.Contains(o.namesTopology(), true) {
			return o.text(flag)
		}
		var names []string
		for _, one := range e.read {
			if name := cmp.Or(e.Cells[one.cell].Plan.Topology, string(drivers.TopologySingle)); one.from == o && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return strings.Join(names, ",")
	}
}

// mustBeUsed reports whether an option that nothing reads is a mistake.
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
func (e *experiment) checkClasses() error {
	w := e.options.workload
	if w == nil || len(w.Classes) == 0 {
		return nil
	}
	for _, flag := range ofAClass {
		if !w.overridden(flag) {
			continue
		}
		for _, scenario := range append([]*options{e.options}, e.options.scenarios()...) {
			if opt := scenario.get(flag); opt.from == fromFile {
				return scenario.complain(opt, "no class has it from there, since each sets its own")
			}
		}
	}
	for i, c := range w.Classes {
		o := e.options.with(c.Settings, c.Name)
		for _, r := range matrix.Readers {
			opt := o.get(r.Setting)
			read := func(c matrix.Cell) bool { return r.Reads(&c.Plan, c.Plan.Classes[i].Load) }
			if c.Find(r.Setting) != nil && !opt.same(opt.text) && !slices.ContainsFunc(e.Cells, read) {
				return o.complain(opt, "%s", r.Why(o.text))
			}
		}
	}
	return nil
}

// explain turns an error about a cell into a usage error that shows what the user wrote, be it a flag or a variable.
func (o *options) explain(err error) error {
	field, ok := errors.AsType[*matrix.FieldError](err)
	if !ok {
		return usageErrorf("%w", err)
	}
	if near := meant(field.Value, field.Known); near != "" {
		field.Problem = strings.Replace(field.Problem, ";", near+";", 1)
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
		return o.complain(opt, "%s", field.Problem)
	}
	return usageErrorf("%w", field)
}
