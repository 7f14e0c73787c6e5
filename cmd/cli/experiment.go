// argv and environment → experiment: a pure value that says everything the run will do, and that -dry-run prints.

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/runner"
	"github.com/lockbench/lockbench/workloads/shape"
	"github.com/lockbench/lockbench/workloads/target"
)

// experiment is all that a run does: the trials of each cell, in their order, and the servers that they meet.
type experiment struct {
	runner.Experiment
	options *options
	sides   []side // base and head, if there are two; the cells are then theirs by turns
}

// maxCells keeps a slip in a list from making a matrix that nobody has the time for.
const maxCells = 10_000

const maxTrials = 10_000

// experimentOn reads the options. Whatever is wrong with them is a usage error that names the flag, its value and what is
// allowed. It depends on the options and the targets alone, and touches nothing but the files of times that they name.
func experimentOn(o *options, t target.Targets) (experiment, error) {
	r := reader{o: o}
	trials := scalar(&r, "trials", spec.ParseInt)
	seed := scalar(&r, "seed", spec.ParseSeed)
	if r.err != nil {
		return experiment{}, r.err
	}
	if trials < 1 || trials > maxTrials {
		return experiment{}, o.complain(o.get("trials"), "must be 1 to %d", maxTrials)
	}
	e := experiment{options: o, Experiment: runner.Experiment{Targets: map[string]target.Targets{"": t}}}
	if err := e.addCells(o, seed); err != nil {
		return experiment{}, err
	}
	if len(e.Cells) == 0 {
		return e, usageErrorf("nothing to run: %s", e.Skipped[0])
	}
	if err := e.checkRead(); err != nil {
		return experiment{}, err
	}
	for i := range e.Cells {
		e.Cells[i].Plan.Command = commandLine(o, e.Cells[i].Plan, t)
	}
	e.Schedule(trials, seed)
	return e, nil
}

// addCells adds the matrix of all lists.
func (e *experiment) addCells(o *options, seed uint64) error {
	r := reader{o: o}
	cells := r.cells(seed)
	if r.err != nil {
		return r.err
	}
	for _, one := range cells {
		if o.workload != nil {
			one.Workload = o.workload.label
		}
		classes, err := o.classes(one.Load)
		if err != nil {
			return err
		}
		one.Classes = classes
		if err := e.Add(one, e.Targets[""].Of(one.Driver).Server()); err != nil {
			return o.explain(err)
		}
	}
	return nil
}

// warnings returns what a reader of a cell's figures should know before he believes them.
func warnings(c matrix.Cell) []string {
	if drivers.Unstarted(c.Plan.Driver) {
		return nil
	}
	list := matrix.Warnings(c.Plan, c.Traits)
	if s := target.Service(c.Plan.Driver); s != nil && s.Note != nil && c.Traits.Session {
		if text := s.Note(c.Plan.TTL); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// at returns the cell of one trial: it draws anew, and its command line makes it again, as the first trial of its own seed.
func (e experiment) at(t matrix.Trial) spec.Plan {
	from := e.of(t.Cell)
	c := e.Cells[t.Cell].Plan
	c.Seed = spec.SeedOf(c.Seed, t.Trial)
	c.Command = commandLine(from.options, c, e.Targets[e.Cells[t.Cell].Side])
	return c
}

// name begins a message about a cell: nothing if it is the only one.
func (e experiment) name(i int) string {
	if l := e.Label(i); l != "" {
		return l + ": "
	}
	return ""
}

// files returns those that a run reads, or writes other than by -format: what the flags of its sides name, and the times that
// it replays.
func (e experiment) files() (names []string) {
	sides := []*options{e.options}
	for _, s := range e.sides {
		sides = append(sides, s.options)
	}
	for _, o := range sides {
		for _, opt := range o.list {
			if opt.namesFile() {
				names = append(names, opt.text)
			}
		}
	}
	for _, c := range e.Cells {
		for _, load := range c.Plan.Groups() {
			names = append(names, load.HoldDist.File(), load.ThinkDist.File())
		}
	}
	return names
}

// checkRead refuses a value that no cell reads, since it would be ignored. Variables may be unused: they are set once for many
// runs. So may a file's value that is the default, or where a flag or a variable has changed what it depends on.
func (e *experiment) checkRead() error {
	o := e.options
	for _, s := range spec.Settings {
		if opt := o.get(s.Name); !e.readBy(s) && o.mustBeUsed(opt, s.Depends) {
			return o.complain(opt, "%s", s.Unread)
		}
	}
	if opt := o.get("topology"); !slices.Contains(o.namesTopology(), false) && o.mustBeUsed(opt, []string{"driver"}) {
		return o.complain(opt, "nothing reads it: each driver of %s names a topology of its own", o.text("driver"))
	}
	return e.checkClasses()
}

// readBy reports whether some cell reads a setting.
func (e *experiment) readBy(s spec.Setting) bool {
	return slices.ContainsFunc(e.Cells, func(c matrix.Cell) bool {
		return drivers.Unstarted(c.Plan.Driver) && s.NeedsDriver() || s.ReadBy(&c.Plan)
	})
}

// reads reports whether some cell reads a setting, whatever that depends on.
func (e *experiment) reads(setting string) bool {
	if setting == "topology" {
		return slices.Contains(e.options.namesTopology(), false)
	}
	s, _ := spec.Find(setting)
	return e.readBy(s)
}

// namesTopology returns of each driver whether it names its topology.
func (o *options) namesTopology() (list []bool) {
	for name := range strings.SplitSeq(o.text("driver"), ",") {
		_, _, named := matrix.CutTopology(name)
		list = append(list, named)
	}
	return list
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
		if opt := e.options.get(flag); opt.from == fromFile {
			return e.options.complain(opt, "no class has it from there, since each sets its own")
		}
	}
	for i, c := range w.Classes {
		o := e.options.of(c)
		for _, s := range spec.Settings {
			opt := o.get(s.Name)
			read := func(c matrix.Cell) bool { return s.Reads(&c.Plan, &c.Plan.Classes[i].Load) }
			if c.Find(s.Name) != nil && !opt.same(opt.text) && !slices.ContainsFunc(e.Cells, read) {
				return o.complain(opt, "%s", s.Unread)
			}
		}
	}
	return nil
}

// explain turns an error about a cell into a usage error that shows what the user wrote, be it a flag or a variable.
func (o *options) explain(err error) error {
	field, ok := errors.AsType[*spec.FieldError](err)
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
				from = o.of(c)
			}
		}
	}
	if opt := from.get(field.Field); opt.from == fromVariable || opt.from == fromFile {
		return o.complain(opt, "%s", field.Problem)
	}
	return usageErrorf("%w", field)
}

// reader reads options and remembers the first that cannot be read.
type reader struct {
	o   *options
	err error
}

func (r *reader) fail(opt *option, err error) {
	if r.err == nil {
		r.err = r.o.complain(opt, "%w", err)
	}
}

func scalar[T any](r *reader, name string, parse func(string) (T, error)) T {
	opt := r.o.get(name)
	v, err := parse(opt.text)
	if err != nil {
		r.fail(opt, err)
	}
	return v
}

// cells returns one for every combination of the options' values.
func (r *reader) cells(seed uint64) []spec.Plan {
	axes := r.axes(func(spec.Setting) bool { return true })
	if r.err == nil {
		if err := matrix.CheckNames(axes); err != nil {
			r.err = r.o.explain(err)
		}
	}
	if r.err != nil {
		return nil
	}
	cells, err := matrix.Expand(spec.Plan{Seed: seed}, axes, maxCells)
	if err != nil {
		r.err = usageErrorf("%w", err)
	}
	for i := range cells {
		if c := &cells[i]; c.Ops > 0 && r.o.get("duration").from == fromDefault {
			c.Duration = 0 // it takes as long as it takes
		}
	}
	return cells
}

// axes reads the values of some settings. A setting that nobody sets and that has no default has no values.
func (r *reader) axes(wanted func(spec.Setting) bool) (axes []matrix.Axis) {
	for _, s := range spec.Settings {
		if opt := r.o.get(s.Name); wanted(s) && (opt.text != "" || opt.from != fromDefault) {
			axes = append(axes, matrix.Axis{Setting: s, Values: r.values(s)})
		}
	}
	return axes
}

// values reads those of a setting, with the files of times that they name.
func (r *reader) values(s spec.Setting) (values []spec.Plan) {
	read := func(text string) (string, error) {
		var p spec.Plan
		err := s.Set(&p, text)
		if err == nil {
			err = shape.Fill(&p.Load)
		}
		values = append(values, p)
		return cmp.Or(s.Typed(&p, &p.Load), text), err // in one spelling, by which values are told apart
	}
	if s.Axis {
		list(r, s.Name, read)
	} else {
		scalar(r, s.Name, read)
	}
	return values
}

// list reads the comma list of an option.
func list[T comparable](r *reader, name string, parse func(string) (T, error)) []T {
	opt := r.o.get(name)
	all, err := parseList(opt.text, parse)
	if err != nil {
		r.fail(opt, err)
	}
	return all
}

// parseList reads a comma list. An empty part or one that is given twice is more likely a slip than a wish.
func parseList[T comparable](s string, parse func(string) (T, error)) ([]T, error) {
	var list []T
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			return nil, errors.New("must not have an empty part")
		}
		v, err := parse(part)
		if err != nil {
			return nil, err
		}
		if slices.Contains(list, v) {
			return nil, fmt.Errorf("must not name %s twice", part)
		}
		list = append(list, v)
	}
	return list, nil
}

func parseText(s string) (string, error) { return s, nil }
