// argv and environment → experiment: a pure value that says everything the run will do, and that -dry-run prints.

package cli

import (
	"github.com/lockbench/lockbench/cmd/cli/deploy"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/file"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// experiment is all that a run does: the trials of each cell, in their order, and the servers that they meet.
type experiment struct {
	matrix.Matrix
	options *options
	targets deploy.Targets
	read    []reading
	sides   []side // base and head, if there are two; the cells are then theirs by turns
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
