// argv and environment → plan: a pure value that says everything the run will do, and that -dry-run prints.

package cli

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/file"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// plan is all that a run does.
type plan struct {
	options *options
	targets targets
	cells   []cell
	order   []turn // the trials in the order in which they run
	trials  int    // of each cell
	skipped []skip
	read    []reading
	places  []int  // for each combination of the matrix its cell, or -1 if it makes no sense
	sides   []side // base and head, if there are two; cells then has their cells by turns

	cellOf map[string]int // the cell that has a plan, by its key
	differ []spec.Setting // in which cells differ
}

// cell is one combination of the axes.
type cell struct {
	plan     spec.Plan
	traits   drivers.Traits
	warnings []string
	asked    spec.Load    // what was asked at the top and, of
	classes  []spec.Class // these, before anything was cleared

	side string // of a run with two sides; see results.Record
	pair int
}

// reading is a combination that was taken in, and the options that it came from.
type reading struct {
	from *options
	plan spec.Plan
}

// turn is one trial of one cell; both count from 0.
type turn struct{ cell, trial int }

// skip is a combination that makes no sense, with the reason. It stands for several cells, and for several values of one
// flag if the reason is the same.
type skip struct {
	what   string // up to the value: "zookeeper -lock"; empty if that is all
	values []string
	why    string
	cells  int
	side   string // that it is about, if the run has two and it is not about both
}

func (s skip) String() string {
	text := strings.TrimSpace(s.what + " " + strings.Join(s.values, ", "))
	if !strings.HasPrefix(s.why, text+": ") { // which would say it twice
		text += ": " + s.why
	} else {
		text = s.why
	}
	if s.side != "" {
		text = s.side + ": " + text
	}
	if s.cells > 1 {
		text += fmt.Sprintf(" (%d cells)", s.cells)
	}
	return text
}

// skip notes that a cell is left out. what ends with the value that does not fit.
func (p *plan) skip(what, why string) {
	head, value := "", what
	if i := strings.LastIndexByte(what, ' '); i >= 0 {
		head, value = what[:i], what[i+1:]
	}
	for i := range p.skipped {
		s := &p.skipped[i]
		if s.what != head || s.why != why {
			continue
		}
		s.cells++
		if !slices.Contains(s.values, value) {
			s.values = append(s.values, value)
		}
		return
	}
	p.skipped = append(p.skipped, skip{what: head, values: []string{value}, why: why, cells: 1})
}

// maxCells keeps a slip in a list from making a matrix that nobody has the time for.
const maxCells = file.MaxItems

// planOf reads the options. Whatever is wrong with them is a usage error that names the flag, its value and what is
// allowed. It depends on the options and the targets alone, and touches nothing but the files of times that they name.
func planOf(o *options, t targets) (plan, error) {
	r := reader{o: o}
	trials := scalar(&r, "trials", spec.ParseInt)
	seed := scalar(&r, "seed", spec.ParseSeed)
	if r.err != nil {
		return plan{}, r.err
	}
	if trials < 1 || trials > maxTrials {
		return plan{}, o.complain(o.get("trials"), "must be 1 to %d", maxTrials)
	}
	p := plan{options: o, targets: t, trials: trials, cellOf: map[string]int{}}
	for _, sheet := range o.sheets() {
		if err := p.addSheet(sheet, seed); err != nil {
			return plan{}, err
		}
	}
	if len(p.cells) == 0 {
		return p, usageErrorf("nothing to run: %s", p.skipped[0])
	}
	if err := p.checkRead(); err != nil {
		return plan{}, err
	}
	if o.on("null") {
		if err := p.addNull(); err != nil {
			return plan{}, err
		}
	}
	p.order, p.differ = order(len(p.cells), trials, seed), differing(p.cells)
	return p, nil
}

// addSheet takes in the matrix of a sheet.
func (p *plan) addSheet(o *options, seed uint64) error {
	r := reader{o: o}
	cells := r.matrix(r.base(seed))
	if r.err != nil {
		return r.err
	}
	if len(p.cells)+len(cells) > maxCells {
		return usageErrorf("%s: its cells make a matrix of more than %d", o.get("workload").written(), maxCells)
	}
	if err := matrix.CheckNames(cells); err != nil {
		return o.explain(err)
	}
	for _, c := range cells {
		if o.workload != nil {
			c.Workload = o.workload.label
		}
		classes, err := o.classes(c.Load)
		if err != nil {
			return err
		}
		c.Classes = classes
		if err := p.add(o, c); err != nil {
			return err
		}
	}
	return nil
}

const maxTrials = 10_000

// add resolves one combination and takes it in, or notes why it makes no sense.
func (p *plan) add(o *options, c spec.Plan) error {
	asked, classes := c.Load, slices.Clone(c.Classes)
	traits, err := matrix.Resolve(&c, p.targets.of(c.Driver).server())
	if misfit, ok := errors.AsType[*matrix.Misfit](err); ok {
		p.skip(misfit.What, misfit.Why)
		p.places = append(p.places, -1)
		return nil
	}
	if err != nil {
		return o.explain(err)
	}
	c.Command = commandLine(p.options, c, p.targets)
	p.read = append(p.read, reading{o, c})
	key := fmt.Sprintf("%#v", c)
	if i, there := p.cellOf[key]; there { // the axis in which they differ is not read by this way of waiting
		p.places = append(p.places, i)
		return nil
	}
	p.cellOf[key] = len(p.cells)
	p.places = append(p.places, len(p.cells))
	p.cells = append(p.cells, cell{
		plan: c, traits: traits, warnings: warnings(c, traits), asked: asked, classes: classes,
	})
	return nil
}

// addNull takes in the null driver's cell for each load that there is, once: what the cells would be without their
// lock. Nothing can outlast a lease there, so that is left out (of classes, Resolve does it).
func (p *plan) addNull() error {
	for _, with := range p.cells {
		c := with.plan
		null := spec.Plan{
			Driver: matrix.Null, Wait: wait.Backoff, BackoffMin: wait.DefaultBackoffMin, BackoffMax: wait.DefaultBackoffMax,
			Load: with.asked, Classes: slices.Clone(with.classes), Workload: c.Workload, Keys: c.Keys,
			Duration: c.Duration, Warmup: c.Warmup, Ops: c.Ops, MaxErrors: c.MaxErrors,
			Seed: c.Seed, IOTimeout: c.IOTimeout, Oracle: c.Oracle,
		}
		null.Overstay = 0
		if err := p.add(p.options, null); err != nil {
			return err
		}
	}
	return nil
}

// warnings tells what a reader of a cell's figures should know before he believes them.
func warnings(c spec.Plan, t drivers.Traits) []string {
	list := workloads.Warnings(c, t)
	if s := serviceOf(c.Driver); s != nil && s.Note != nil && t.Session {
		if text := s.Note(c.TTL); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// order interleaves the trials: each round has every cell once, so that a slow change of the machine hits all cells
// alike. Rounds are shuffled, lest one cell always follow the same other; a single round keeps the order written.
func order(cells, trials int, seed uint64) []turn {
	random := rand.New(rand.NewPCG(seed, 0x6c6f636b))
	turns := make([]turn, 0, cells*trials)
	for trial := range trials {
		round := make([]turn, cells)
		for i := range round {
			round[i] = turn{i, trial}
		}
		if trials > 1 {
			random.Shuffle(cells, func(i, j int) { round[i], round[j] = round[j], round[i] })
		}
		turns = append(turns, round...)
	}
	return turns
}

// at is the plan of one trial: it draws anew, and its command line makes it again.
func (p plan) at(t turn) spec.Plan {
	from := p.of(t.cell)
	c := p.cells[t.cell].plan
	c.Seed += uint64(t.trial)
	c.Command = commandLine(from.options, c, from.targets)
	return c
}

// length is how long the turns from number i on will take at least.
func (p plan) length(from int) time.Duration {
	var sum time.Duration
	for _, t := range p.order[from:] {
		c := &p.cells[t.cell].plan
		sum += c.Warmup + c.Duration
	}
	return sum
}

// services are those that the cells need.
func (p *plan) services() (list []*servers.Service) {
	for _, c := range p.cells {
		if s := serviceOf(c.plan.Driver); s != nil && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
