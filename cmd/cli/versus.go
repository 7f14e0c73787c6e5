// -vs: a run with two sides. The base is the run as given, the head the same with some flags replaced, and their trials
// take turns, so that a machine whose speed wanders wanders for both.

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/runner"
	"github.com/lockbench/lockbench/workloads/target"
)

// versus reports whether the run has two sides. -vs with an empty text counts: it is a head like the base.
func (o *options) versus() bool { return o.get("vs").from != fromDefault }

// measuredAlike are the flags in which the sides have to agree, because they decide what an observation is.
var measuredAlike = []string{"duration", "n", "warmup", "trials", "seed"}

// notOfASide returns why a flag cannot stand in -vs; empty if it can.
func (f flagDef) notOfASide() string {
	switch {
	case f.group == groupComparing:
		return "is about the comparison, not about one of its sides"
	case f.group == groupOutput:
		return "is about the run, not about one of its sides"
	}
	return ""
}

// head returns the options of the head: the words of -vs in place of what the base has for them. What a flag of the base
// says and the head does not read is no mistake there, see fromBase.
func (o *options) head(stdin io.Reader) (head *options, err error) {
	if head, err = o.parseVersus(); err != nil {
		return nil, err
	}
	switch opt := head.get("workload"); {
	case opt.from == fromFlag && opt.text == "-" && o.text("workload") == "-":
		err = usageErrorf("-workload -: the base has read standard input already")
	case opt.from == fromFlag:
		err = head.readWorkload(stdin)
	case o.workload != nil:
		err = head.adopt(o.workload)
	}
	if err = cmp.Or(err, head.check()); err != nil {
		return nil, err
	}
	for _, name := range measuredAlike {
		if mine, its := o.text(name), head.text(name); mine != its {
			return nil, usageErrorf("the base has %s %s and the head %s: both sides are measured alike", name, mine, its)
		}
	}
	return head, checkPartners(o, head)
}

// parseVersus reads the words of -vs with the parser of all flags, on top of what the base has.
func (o *options) parseVersus() (*options, error) {
	words, err := shellquote.Split(o.text("vs"))
	if err != nil {
		return nil, usageErrorf("%w", err)
	}
	flags := pflag.NewFlagSet("vs", pflag.ContinueOnError)
	flags.Usage = func() {}
	head := newOptions(flags, runFlags)
	head.typed = o.typed
	for i, base := range o.list { // in the order of the same table
		if opt := head.list[i]; base.from >= fromVariable && base.name != "vs" {
			opt.text, opt.from = base.text, min(base.from, fromBase)
		}
	}
	err = flags.Parse(normalise(words))
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return nil, usageErrorf("-help is about lockbench, not about a side of the run")
	case err != nil:
		return nil, flagError(err, runFlags)
	case flags.NArg() > 0:
		return nil, usageErrorf("unexpected argument %q: it takes flags, as in -vs '-wait queue'", flags.Arg(0))
	}
	for _, opt := range head.list {
		if why := opt.notOfASide(); why != "" && opt.from == fromFlag {
			return nil, usageErrorf("-%s: %s", opt.name, why)
		}
	}
	return head, nil
}

// checkPartners makes sure that each combination of the base has one of the head in its place. Pairing lists of unlike
// lengths by their places would compare 512 clients with 64 and say nothing of it.
func checkPartners(base, head *options) error {
	if strings.Contains(base.text("topology"), ",") && !slices.Equal(base.namesTopology(), head.namesTopology()) {
		return usageErrorf("the base has -driver %s and the head %s: with several topologies, the same drivers of both "+
			"sides have to name one of their own, since each cell needs one partner", base.text("driver"), head.text("driver"))
	}
	for i, opt := range base.list {
		if other := head.list[i]; opt.axis && strings.Count(opt.text, ",") != strings.Count(other.text, ",") {
			return usageErrorf("the base has %s %s and the head %s: as many values on both sides, since each cell needs "+
				"one partner", opt.name, opt.text, other.text)
		}
	}
	return nil
}

// experimentOf returns the experiment of a run, be it of one side or of two. find looks for the program of a service.
func experimentOf(o *options, env environ, stdin io.Reader, find func(*servers.Service) (string, error)) (experiment, error) {
	oneSide := func(o *options) (experiment, error) {
		t, err := decideTargets(o, env, find)
		if err != nil {
			return experiment{}, err
		}
		return experimentOn(o, t)
	}
	base, err := oneSide(o)
	if err != nil || !o.versus() {
		return base, err
	}
	var head experiment
	other, err := o.head(stdin)
	if err == nil {
		head, err = oneSide(other)
	}
	if err != nil { // about the words of -vs, or what they make of the run
		wrapped := fmt.Errorf("%s: %w", o.get("vs").flagOrVariable(), err)
		if _, usage := errors.AsType[*usageError](err); usage {
			return head, &usageError{wrapped}
		}
		return head, wrapped
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
