// argv and environment → experiment: a pure value that says everything the run will do, and that -dry-run prints.

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/runner"
	"github.com/lockbench/lockbench/workloads/target"
)

// experiment is all that a run does: the trials of each cell, in their order, and the servers that they meet.
type experiment struct {
	runner.Experiment
	options *options
	head    *options // of a run with two sides, whose cells are theirs by turns
}

// maxCells keeps a slip in a list from making a matrix that nobody has the time for.
const maxCells = 10_000

const maxTrials = 10_000

// experimentOf returns the experiment of a run, be it of one side or of two. find looks for the program of a service.
func experimentOf(o *options, env environ, stdin io.Reader, find func(*servers.Service) (string, error)) (experiment, error) {
	o.rounds()
	base, err := oneSide(o, env, find)
	if err != nil || !o.versus() {
		return base, err
	}
	var head experiment
	other, err := o.head(stdin)
	if err == nil {
		head, err = oneSide(other, env, find)
	}
	if err != nil { // about the words of -vs, or what they make of the run
		return head, fmt.Errorf("%s: %w", o.get("vs").flagOrVariable(), err)
	}
	e := experiment{options: o, head: other, Experiment: runner.Experiment{
		Matrix:  *matrix.Pair(&base.Matrix, &head.Matrix, base.Cells[0].Plan.Seed),
		Targets: map[string]target.Targets{results.SideBase: base.Targets[""], results.SideHead: head.Targets[""]},
	}}
	if len(e.Cells) == 0 {
		return e, usageErrorf("nothing to compare: %s", e.Skipped[0])
	}
	return e, nil
}

// oneSide reads the options of a run without -vs, or of one of its sides. Whatever is wrong with them is a usage
// error that names the flag, its value and what is allowed. It touches nothing but the files of times that they name.
func oneSide(o *options, env environ, find func(*servers.Service) (string, error)) (e experiment, err error) {
	t, err := decideTargets(o, env, find)
	if err != nil {
		return e, err
	}
	e = experiment{options: o, Experiment: runner.Experiment{Targets: map[string]target.Targets{"": t}}}
	r := reader{o: o}
	trials := scalar(&r, "trials", within(spec.ParseInt, 1, maxTrials, fmt.Sprintf("must be 1 to %d", maxTrials)))
	seed := scalar(&r, "seed", spec.ParseSeed)
	axes, err := o.axes()
	if err = cmp.Or(r.err, err); err != nil {
		return e, err
	}
	if err := e.addCells(spec.Plan{Seed: seed}, axes); err != nil {
		return e, err
	}
	if len(e.Cells) == 0 {
		return e, usageErrorf("nothing to run: %s", e.Skipped[0])
	}
	e.Schedule(trials, seed)
	return e, e.checkRead()
}

// addCells adds the matrix of all axes.
func (e *experiment) addCells(base spec.Plan, axes []matrix.Axis) error {
	o := e.options
	base.Command = o.typed
	if o.workload != nil {
		base.Workload = o.workload.Name
	}
	plans, err := matrix.Expand(base, axes, maxCells)
	for _, p := range plans {
		if p.Ops > 0 && o.get("duration").from == fromDefault {
			p.Duration = 0 // it takes as long as it takes
		}
		if p.Classes, err = o.classes(p.Load); err != nil {
			return err
		}
		if err := e.Add(p, e.Targets[""].Of(p.Driver).Server()); err != nil {
			return o.explain(err)
		}
	}
	if err != nil {
		return usageErrorf("%w", err)
	}
	return nil
}

// axes reads the settings. One that nobody sets and that has no default has no values.
func (o *options) axes() (axes []matrix.Axis, err error) {
	for _, s := range spec.Settings {
		opt := o.get(s.Name)
		given := opt.text
		if opt.from == fromDefault {
			given = cmp.Or(given, s.Default)
		}
		if given == "" && opt.from == fromDefault {
			continue
		}
		a := matrix.Axis{Setting: s}
		read := func(text string) (string, error) {
			var p spec.Plan
			err := set(&p, s, text)
			a.Values = append(a.Values, p)
			return cmp.Or(s.Typed(&p, &p.Load), text), err // in one spelling, by which values are told apart
		}
		if s.Axis {
			_, err = parseList(given, read)
		} else {
			_, err = read(given)
		}
		if err != nil {
			return nil, o.complain(opt, "%w", err)
		}
		axes = append(axes, a)
	}
	if err := matrix.CheckNames(axes); err != nil {
		return nil, o.explain(err)
	}
	return axes, nil
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

// files returns those that a run reads, or writes other than by -format: what the flags of its sides name, and the times that
// it replays.
func (e experiment) files() (names []string) {
	list := e.options.list
	if e.head != nil {
		list = slices.Concat(list, e.head.list)
	}
	for _, opt := range list {
		if opt.namesFile() {
			names = append(names, opt.text)
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

// mustBeUsed reports whether an option that nothing reads is a mistake.
func (o *options) mustBeUsed(opt *option, decides []string) bool {
	switch opt.from {
	case fromFlag:
		return true
	case fromFile:
		changed := slices.ContainsFunc(decides, func(flag string) bool { return o.get(flag).from > fromFile })
		return !opt.isDefault() && !changed
	}
	return false
}

// checkClasses refuses what a class sets and does not read.
func (e *experiment) checkClasses() error {
	o := e.options
	if o.workload == nil {
		return nil
	}
	for i, c := range o.workload.Classes {
		for _, own := range c.Settings {
			s, is := spec.Find(own.Field)
			read := func(c matrix.Cell) bool { return s.Reads(&c.Plan, &c.Plan.Classes[i].Load) }
			if opt := o.ofClass(c, own); is && !opt.isDefault() && !slices.ContainsFunc(e.Cells, read) {
				return o.complain(opt, "%s", s.Unread)
			}
		}
	}
	return nil
}

// explain turns an error about a cell into a usage error that shows what the user wrote.
func (o *options) explain(err error) error {
	field, ok := errors.AsType[*spec.FieldError](err)
	if !ok {
		return usageErrorf("%w", err)
	}
	if near := meant(field.Value, field.Known); near != "" {
		field.Problem = strings.Replace(field.Problem, ";", near+";", 1)
	}
	opt := o.get(field.Field)
	if o.workload != nil {
		for _, c := range o.workload.Classes {
			if s := c.Find(field.Field); c.Name == field.Class && s != nil {
				opt = o.ofClass(c, *s)
			}
		}
	}
	if opt.from == fromVariable || opt.from == fromFile {
		return o.complain(opt, "%s", field.Problem)
	}
	return usageErrorf("%w", field)
}
