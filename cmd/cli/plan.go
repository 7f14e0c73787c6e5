// argv and environment → plan: a pure value that says everything the run will do, and that -dry-run prints.

package cli

import (
	"github.com/lockbench/lockbench/cmd/cli/deploy"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/file"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// plan is all that a run does.
type plan struct {
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

// planOf reads the options. Whatever is wrong with them is a usage error that names the flag, its value and what is
// allowed. It depends on the options and the targets alone, and touches nothing but the files of times that they name.
func planOf(o *options, t deploy.Targets) (plan, error) {
	r := reader{o: o}
	trials := scalar(&r, "trials", spec.ParseInt)
	seed := scalar(&r, "seed", spec.ParseSeed)
	if r.err != nil {
		return plan{}, r.err
	}
	if trials < 1 || trials > maxTrials {
		return plan{}, o.complain(o.get("trials"), "must be 1 to %d", maxTrials)
	}
	p := plan{options: o, targets: t}
	for _, scenario := range o.scenarios() {
		if err := p.addScenario(scenario, seed); err != nil {
			return plan{}, err
		}
	}
	if len(p.Cells) == 0 {
		return p, usageErrorf("nothing to run: %s", p.Skipped[0])
	}
	if err := p.checkRead(); err != nil {
		return plan{}, err
	}
	if o.on("null") {
		if err := p.AddNull(); err != nil {
			return plan{}, o.explain(err)
		}
	}
	for i := range p.Cells {
		p.Cells[i].Plan.Command = commandLine(o, p.Cells[i].Plan, t)
	}
	p.Schedule(trials, seed)
	return p, nil
}

// addScenario takes in the matrix of a scenario.
func (p *plan) addScenario(o *options, seed uint64) error {
	r := reader{o: o}
	plans := r.plans(seed)
	if r.err != nil {
		return r.err
	}
	if len(p.Cells)+len(plans) > maxCells {
		return usageErrorf("%s: its cells make a matrix of more than %d", o.get("workload").written(), maxCells)
	}
	for _, one := range plans {
		if o.workload != nil {
			one.Workload = o.workload.label
		}
		classes, err := o.classes(one.Load)
		if err != nil {
			return err
		}
		one.Classes = classes
		cell, err := p.Add(one, p.targets.Of(one.Driver).Server())
		if err != nil {
			return o.explain(err)
		}
		if cell >= 0 {
			p.read = append(p.read, reading{o, cell})
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

// at returns the plan of one trial: it draws anew, and its command line makes it again, as the first trial of its own seed.
func (p plan) at(t matrix.Trial) spec.Plan {
	from := p.of(t.Cell)
	c := p.Cells[t.Cell].Plan
	c.Seed = spec.SeedOf(c.Seed, t.Trial)
	c.Command = commandLine(from.options, c, from.targets)
	return c
}

// name begins a message about a cell: nothing if it is the only one.
func (p plan) name(i int) string {
	if l := p.Label(i); l != "" {
		return l + ": "
	}
	return ""
}

// services returns the services that the cells need.
func (p *plan) services() []*servers.Service {
	var names []string
	for _, c := range p.Cells {
		names = append(names, c.Plan.Driver)
	}
	return deploy.Services(names)
}
