// argv and environment → experiment: a pure value that says everything the run will do, and that -dry-run prints.

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/deploy"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/file"
	"github.com/lockbench/lockbench/workloads/fleet"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// experiment is all that a run does: the trials of each cell, in their order, and the servers that they meet.
type experiment struct {
	matrix.Matrix
	options *options
	targets deploy.Targets
	read    []reading
	place   fleet.Place // of this process among those of the run
	sides   []side      // base and head, if there are two; the cells are then theirs by turns
}

// reading is a cell, and options that it came from.
type reading struct {
	from *options
	cell int
}

// maxCells keeps a slip in a list from making a matrix that nobody has the time for.
const maxCells = file.MaxItems

const maxTrials = 10_000

// experimentOn reads the options. Whatever is wrong with them is a usage error that names the flag, its value and what is
// allowed. It depends on the options and the targets alone, and touches nothing but the files of times that they name.
func experimentOn(o *options, t deploy.Targets) (experiment, error) {
	r := reader{o: o}
	trials := scalar(&r, "trials", spec.ParseInt)
	seed := scalar(&r, "seed", spec.ParseSeed)
	if r.err != nil {
		return experiment{}, r.err
	}
	if trials < 1 || trials > maxTrials {
		return experiment{}, o.complain(o.get("trials"), "must be 1 to %d", maxTrials)
	}
	e := experiment{options: o, targets: t}
	for _, scenario := range o.scenarios() {
		if err := e.addScenario(scenario, seed); err != nil {
			return experiment{}, err
		}
	}
	if len(e.Cells) == 0 {
		return e, usageErrorf("nothing to run: %s", e.Skipped[0])
	}
	if err := e.checkRead(); err != nil {
		return experiment{}, err
	}
	if o.on("null") {
		if err := e.AddNull(); err != nil {
			return experiment{}, o.explain(err)
		}
	}
	for i := range e.Cells {
		e.Cells[i].Plan.Command = commandLine(o, e.Cells[i].Plan, t)
	}
	e.Schedule(trials, seed)
	return e, nil
}

// addScenario takes in the matrix of a scenario.
func (e *experiment) addScenario(o *options, seed uint64) error {
	r := reader{o: o}
	cells := r.cells(seed)
	if r.err != nil {
		return r.err
	}
	if len(e.Cells)+len(cells) > maxCells {
		return usageErrorf("%s: its cells make a matrix of more than %d", o.get("workload").written(), maxCells)
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
		cell, err := e.Add(one, e.targets.Of(one.Driver).Server())
		if err != nil {
			return o.explain(err)
		}
		if cell >= 0 {
			e.read = append(e.read, reading{o, cell})
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
	if s := deploy.Service(c.Plan.Driver); s != nil && s.Note != nil && c.Traits.Session {
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
	c.Command = commandLine(from.options, c, from.targets)
	return c
}

// name begins a message about a cell: nothing if it is the only one.
func (e experiment) name(i int) string {
	if l := e.Label(i); l != "" {
		return l + ": "
	}
	return ""
}

// services returns those that the cells need.
func (e *experiment) services() []*servers.Service {
	var names []string
	for _, c := range e.Cells {
		names = append(names, c.Plan.Driver)
	}
	return deploy.Services(names)
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
			names = append(names, load.HoldDist.Path, load.ThinkDist.Path)
		}
	}
	return names
}

// checkRead refuses a value that no cell reads, since it would be ignored. Variables may be unused: they are set once for many
// runs. So may a file's value that is the default, or where a flag or a variable has changed what it depends on.
func (e *experiment) checkRead() error {
	for _, r := range append([]matrix.Reader{matrix.ReadIn("master", drivers.TopologySentinel)}, matrix.Readers...) {
		reads := func(one reading) bool {
			p := &e.Cells[one.cell].Plan
			return drivers.Unstarted(p.Driver) && r.NeedsDriver() || r.ReadBy(p)
		}
		if err := e.unread(r.Setting, r.Depends, reads, func(o *options) string { return r.Why(e.shown(o)) }); err != nil {
			return err
		}
	}
	names := func(one reading) bool { return slices.Contains(one.from.namesTopology(), false) }
	if err := e.unread("topology", []string{"driver"}, names, func(o *options) string {
		return "nothing reads it: each driver of " + o.text("driver") + " names a topology of its own"
	}); err != nil {
		return err
	}
	return e.checkClasses()
}

// unread refuses the values of a setting that must be used, and that no cell reads.
func (e *experiment) unread(setting string, decides []string, reads func(reading) bool, why func(*options) string) error {
	read := map[*option]bool{} // whether any cell reads it
	for _, one := range e.read {
		opt := one.from.get(setting)
		read[opt] = read[opt] || reads(one)
	}
	for _, one := range e.read { // in their order
		if opt := one.from.get(setting); !read[opt] && one.from.mustBeUsed(opt, decides) {
			return one.from.complain(opt, "%s", why(one.from))
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
			err = r.o.replays.Fill(&p.Load)
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
	var part *partError
	switch {
	case errors.As(err, &part) && r.err == nil:
		r.err = r.o.complainOf(opt, part.index, err)
	case err != nil:
		r.fail(opt, err)
	}
	return all
}

// partError is the fault of one value of a list.
type partError struct {
	index int
	err   error
}

func (e *partError) Error() string { return e.err.Error() }
func (e *partError) Unwrap() error { return e.err }

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
			return nil, &partError{len(list), err}
		}
		if slices.Contains(list, v) {
			return nil, &partError{len(list), fmt.Errorf("must not name %s twice", part)}
		}
		list = append(list, v)
	}
	return list, nil
}

func parseText(s string) (string, error) { return s, nil }
