// A run that compares, be it with the records of -baseline or its own two sides (-vs): what is checked before it
// begins, and what is made of its records in the end.
//
// Nothing is compared while the run goes on. To look at the verdict after each round and to stop when it suits would
// make false alarms many times as frequent as a comparison promises (optional stopping).

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kballard/go-shellquote"

	"github.com/lockbench/lockbench/cmd/cli/files"
	"github.com/lockbench/lockbench/cmd/cli/secrets"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/workloads/host"
)

// comparison is the comparison that a run is to make.
type comparison struct {
	how   compare.Options
	base  compare.Input // the records of -baseline; with -vs there are none yet
	cells int           // that will be compared, which may be fewer than the run has
	least int           // trials of the base in the cell that has the fewest; with -vs those of the run
	head  string        // what the head is called
}

const asGiven = "flags as given" // what a side without flags of its own is called

// comparisonOf returns what the flags say of a comparison; nil for a run that compares nothing.
func comparisonOf(o *options, run experiment, hidden *secrets.Secrets) (*comparison, error) {
	baseline, vs := o.get("baseline"), o.get("vs")
	switch {
	case baseline.text == "" && !o.versus():
		return nil, o.refuse([]string{"force"}, "there is nothing to compare with: "+giveBase)
	case baseline.text != "" && o.versus():
		return nil, usageErrorf("%s and %s exclude each other: the base is either that file or the run itself",
			baseline.flagOrVariable(), vs.flagOrVariable())
	case files.Same(baseline.text, o.text("output")):
		return nil, usageErrorf("%s: -output appends to that file, and the run would become part of its own base", baseline.written())
	case baseline.text == "-" && o.text("workload") == "-":
		return nil, usageErrorf("%s: standard input is the workload already", baseline.written())
	}
	how, err := o.comparing()
	switch {
	case err != nil:
		return nil, err
	case o.versus():
		head := vs.text
		if words, err := shellquote.Split(head); err == nil {
			head = commandLine(hidden, words)
		}
		return &comparison{how: how, cells: len(run.Cells) / 2, least: run.Trials, head: cmp.Or(head, asGiven)}, nil
	}
	how.Subset = true // the run has the cells that it was asked for, and says before it begins which it lacks
	return &comparison{how: how, head: "this run"}, nil
}

const giveBase = "give -vs, or -baseline"

// readBaseline reads the base of c, and makes sure, before any load, that the run can be compared with it: an hour's
// run that nothing compares with would be an hour lost. It says which cells have no partner, and what makes the
// comparison worthless.
func (p *program) readBaseline(c *comparison, name string, run experiment, env results.Env) error {
	base, err := p.side(name)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(base.Cells, func(c *results.Cell) bool { return c.First().Side != "" }) {
		return errors.New("has both sides of a run with -vs, and a base is one")
	}
	c.base = base
	found, err := compare.Compare(base, run.promised(c.head, env), c.how)
	if err != nil {
		return err
	}
	for _, label := range found.Added {
		p.say("the baseline has nothing to compare with: %s", label)
	}
	for _, label := range found.Missing {
		p.say("this run has nothing to compare with the baseline's: %s", label)
	}
	c.cells, c.least = len(found.Cells), math.MaxInt
	for _, cell := range found.Cells {
		c.least = min(c.least, len(cell.Base))
		for _, text := range compare.UnlikeMachines(cell.Base, cell.Head) {
			if !c.how.Force {
				p.sayOnce("warning: the baseline is another machine's, and no change will be judged without -force: %s", text)
			}
		}
	}
	return nil
}

// promised returns the run as it will be once it is over, without any figure: enough to find the cells that match it.
func (e experiment) promised(name string, env results.Env) compare.Input {
	in := compare.Input{Name: name}
	for i, c := range e.Cells {
		rec := &results.Record{
			ID: fmt.Sprintf("promised %d", i), Cell: i, Trial: 1, Plan: c.Plan,
			Env: host.With(env, c.Plan.Driver), Server: results.Server{Kind: c.Plan.Server},
		}
		in.Cells = append(in.Cells, &results.Cell{Trials: []*results.Record{rec}})
	}
	return in
}

// compare compares the cells of the run with the base, or its sides with each other.
func (c *comparison) compare(cells []*results.Cell) (*compare.Comparison, error) {
	base, head := c.base, compare.Input{Name: c.head, Cells: cells}
	if base.Cells == nil {
		var err error
		if base, head, err = compare.Split(head); err != nil {
			return nil, err
		}
		base.Name, head.Name = asGiven, c.head
	}
	return compare.Compare(base, head, c.how)
}
