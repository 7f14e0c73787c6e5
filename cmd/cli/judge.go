// What a run is judged by: the records of -baseline or its own other side (-vs), the thresholds of -fail-on, and the
// slo of its workload.
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
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/lockbench/lockbench/cmd/cli/files"
	"github.com/lockbench/lockbench/cmd/cli/secrets"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/host"
)

// comparison is the comparison that a run is to make.
type comparison struct {
	how   compare.Options
	base  compare.Input // the records of -baseline; with -vs there are none yet
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
		return nil, usageErrorf("%s: -output appends to that file, and the run would become part of its own base",
			baseline.written())
	}
	how, err := o.comparing()
	if !o.versus() {
		how.Subset = true // the run has the cells that it was asked for
		return &comparison{how: how, head: "this run"}, err
	}
	head := vs.text
	if words, err := shellquote.Split(head); err == nil {
		head = commandLine(hidden, words)
	}
	return &comparison{how: how, least: run.Trials, head: cmp.Or(head, asGiven)}, err
}

const giveBase = "give -vs, or -baseline"

// readBaseline reads the base of c, and makes sure, before any load, that the run can be compared with it: an hour's
// run that nothing compares with would be an hour lost. It says which cells have no partner, and what makes the
// comparison worthless.
func (p *program) readBaseline(c *comparison, name string, run experiment, env results.Env) error {
	var err error
	if c.base, err = p.readSide(name); err != nil {
		return err
	}
	if slices.ContainsFunc(c.base.Cells, func(c *results.Cell) bool { return c.First().Side != "" }) {
		return errors.New("has both sides of a run with -vs, and a base is one")
	}
	found, err := compare.Compare(c.base, run.promised(c.head, env), c.how)
	if err != nil {
		return err
	}
	for _, label := range slices.Concat(found.Added, found.Missing) {
		p.say("this cell is in the run or in the baseline alone, and is compared with nothing: %s", label)
	}
	c.least = math.MaxInt
	for _, cell := range found.Cells {
		c.least = min(c.least, len(cell.Base))
		for _, text := range cell.Machines {
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
		in.Cells = append(in.Cells, &results.Cell{Trials: []*results.Record{{
			ID: fmt.Sprintf("promised %d", i), Cell: i, Trial: 1, Plan: c.Plan,
			Env: host.With(env, c.Plan.Driver), Server: results.Server{Kind: c.Plan.Server},
		}}})
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

// thresholds returns what -fail-on says of a run by itself; nothing without it. A change needs something to compare
// with, which remedy names; those of a variable, which is set once for many runs, are left out then.
func (o *options) thresholds(remedy string) (list []compare.Threshold, err error) {
	all, err := o.failOn()
	for _, t := range all {
		switch {
		case !t.Relative:
			list = append(list, t)
		case o.get("fail-on").from == fromFlag:
			return nil, usageErrorf("-fail-on: %s is a change, and there is nothing to compare with: %s, "+
				"or write an amount such as %s%s", t, remedy, t.String()[:len(t.Figure.Name)+1], t.Figure.Unit.Example)
		}
	}
	return list, err
}

// failOn reads -fail-on; nil without it. The error suggests the figure that was probably meant, or where all are.
func (o *options) failOn() ([]compare.Threshold, error) {
	opt := o.get("fail-on")
	if opt.text == "" {
		return nil, nil
	}
	list, err := compare.ParseThresholds(opt.text)
	if err == nil {
		return list, nil
	}
	hint := ""
	if fault, ok := errors.AsType[*compare.ThresholdError](err); ok && fault.Word != "" {
		meant := strings.Replace(fault.Word, "wait.", "acquire.", 1) // as tables call it
		hint = cmp.Or(suggest.DidYouMean("", meant, metric.Names()), " (lockbench help figures lists them)")
	}
	return nil, usageErrorf("%s: %w%s", opt.flagOrVariable(), err, hint)
}

// objective judges the cells by what their workload wants of the arrivals, or of the clients of a closed loop (slo); nil if
// it says nothing of them.
func (o *options) objective(cells []*results.Cell) *compare.Check {
	if o.workload == nil || o.workload.SLO == "" {
		return nil
	}
	slo, _ := capacity.ParseSLO(o.workload.SLO) // readWorkload has checked it
	cells = slices.DeleteFunc(slices.Clone(cells), func(c *results.Cell) bool { return c.Open() == slo.Closed })
	if len(cells) == 0 {
		return nil
	}
	var all []compare.Threshold
	for _, of := range slo.Objectives {
		text, name := slo.Of(of)
		all = append(all, compare.Threshold{Figure: metric.Quantile(name, of.Quantile), Value: float64(of.Limit), Text: text})
	}
	if slo.HasErrors {
		limit, _ := compare.ParseThresholds("errors>" + spec.FormatShare(slo.Errors)) // as ParseSLO has read it
		all = append(all, limit...)
	}
	return compare.CheckCells(cells, all, nil)
}
