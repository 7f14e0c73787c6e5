// -vs: a run with two sides. The base is the run as given, the head the same with some flags replaced, and their trials
// take turns, so that a machine whose speed wanders wanders for both.

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/cmd/cli/shell"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/runner"
	"github.com/lockbench/lockbench/workloads/target"
)

// versus reports whether the run has two sides. -vs with an empty text counts: it is a head like the base.
func (o *options) versus() bool { return o.get("vs").from != fromDefault }

// measuredAlike are the flags in which the sides have to agree, because they decide what an observation is. A file that
// -vs names for the head may set them too.
var measuredAlike = []string{"duration", "n", "warmup", "trials", "seed"}

// notOfASide returns why a flag cannot stand in -vs; empty if it can.
func (f flagDef) notOfASide() string {
	switch {
	case f.group == groupComparing:
		return "is about the comparison, not about one of its sides"
	case f.group == groupOutput:
		return "is about the run, not about one of its sides"
	case slices.Contains(measuredAlike, f.name):
		return "both sides are measured alike: give it beside -vs"
	}
	return ""
}

// head returns the options of the head: the words of -vs in place of what the base has for them. What a flag of the base says
// and the head does not read is no mistake there, see fromBase.
func (o *options) head(stdin io.Reader) (*options, error) {
	head, err := o.parseVersus()
	if err != nil {
		return nil, o.inVersus(err)
	}
	if err := head.checkEmpty(); err != nil {
		return nil, o.inVersus(err)
	}
	for i, base := range o.list { // in the order of the same table
		opt := head.list[i]
		if opt.from == fromFlag || base.name == "vs" {
			continue
		}
		switch base.from {
		case fromFlag:
			opt.text, opt.from = base.text, fromBase
		case fromVariable:
			opt.text, opt.from = base.text, fromVariable
		}
	}
	if err := head.checkSwitches(); err != nil {
		return nil, o.inVersus(err)
	}
	if err := head.shareWorkload(o, stdin); err != nil {
		return nil, o.inVersus(err)
	}
	for _, name := range measuredAlike {
		if mine, its := o.text(name), head.text(name); mine != its {
			return nil, usageErrorf("%s: the base has %s %s and the workload of the head %s: both sides are measured alike",
				o.get("vs").flagOrVariable(), name, mine, its)
		}
	}
	return head, checkPartners(o, head)
}

// parseVersus reads the words of -vs with the parser of all flags.
func (o *options) parseVersus() (*options, error) {
	words, err := shell.Split(o.text("vs"))
	if err != nil {
		return nil, usageErrorf("%w", err)
	}
	flags := pflag.NewFlagSet("vs", pflag.ContinueOnError)
	flags.Usage = func() {}
	head := newOptions(flags, runFlags)
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

// inVersus says that an error is about the words of -vs, or about what they make of the run.
func (o *options) inVersus(err error) error {
	name := o.get("vs").flagOrVariable()
	var usage *usageError
	if errors.As(err, &usage) {
		return &usageError{fmt.Errorf("%s: %w", name, usage.err)}
	}
	return fmt.Errorf("%s: %w", name, err)
}

// shareWorkload gives the head the workload of the base, unless it has one of its own.
func (o *options) shareWorkload(base *options, stdin io.Reader) error {
	if opt := o.get("workload"); opt.from == fromFlag {
		if opt.text == "-" && base.text("workload") == "-" {
			return usageErrorf("-workload -: the base has read standard input already")
		}
		return o.readWorkload(stdin)
	}
	if base.workload == nil {
		return nil
	}
	return o.adopt(base.workload)
}

// checkPartners makes sure that each combination of the base has one of the head in its place. Pairing lists of unlike
// lengths by their places would compare 512 clients with 64 and say nothing of it.
func checkPartners(base, head *options) error {
	vs := base.get("vs").flagOrVariable()
	if strings.Contains(base.text("topology"), ",") && !slices.Equal(base.namesTopology(), head.namesTopology()) {
		return usageErrorf("%s: the base has -driver %s and the head %s: with several topologies, the same drivers of both "+
			"sides have to name one of their own, since each cell needs one partner", vs, base.text("driver"), head.text("driver"))
	}
	for i, opt := range base.list {
		if other := head.list[i]; opt.axis && strings.Count(opt.text, ",") != strings.Count(other.text, ",") {
			return usageErrorf("%s: the base has %s %s and the head %s: as many values on both sides, since each cell needs "+
				"one partner", vs, opt.name, opt.text, other.text)
		}
	}
	return nil
}

// side is one side of a run with two.
type side struct {
	name       string
	experiment // its cells are those that have a partner, in the order of the pairs
}

// pairUp makes one experiment of those of both sides.
func pairUp(base, head experiment) (experiment, error) {
	e := experiment{options: base.options, Experiment: runner.Experiment{
		Matrix:  *matrix.Pair(&base.Matrix, &head.Matrix, base.Cells[0].Plan.Seed),
		Targets: map[string]target.Targets{results.SideBase: base.Targets[""], results.SideHead: head.Targets[""]},
	}}
	if len(e.Cells) == 0 {
		return e, usageErrorf("nothing to compare: %s", e.Skipped[0])
	}
	for i, one := range []experiment{base, head} {
		name := e.Cells[i].Side
		e.sides = append(e.sides, side{name, experiment{options: one.options, Experiment: runner.Experiment{
			Matrix: matrix.Matrix{Cells: e.Side(name), Trials: e.Trials}, Targets: map[string]target.Targets{name: one.Targets[""]},
		}}})
	}
	return e, nil
}

// of returns the side that a cell is on, which is e itself if there are no sides.
func (e experiment) of(i int) experiment {
	for _, s := range e.sides {
		if s.name == e.Cells[i].Side {
			return s.experiment
		}
	}
	return e
}

// same returns the pairs whose sides do not differ in anything, with how many pairs there are.
func (e experiment) same() (same []int, pairs int) {
	if len(e.sides) == 0 {
		return nil, 0
	}
	_, oneFleet := e.Targets[results.SideBase].Join(e.Targets[results.SideHead])
	for i := 0; i < len(e.Cells); i += 2 {
		if oneFleet && reflect.DeepEqual(e.Cells[i].Plan, e.Cells[i+1].Plan) {
			same = append(same, i)
		}
	}
	return same, len(e.Cells) / 2
}

// announceSame says where a comparison can show nothing but noise, which is a fair wish.
func (e experiment) announceSame(p *program) {
	switch same, pairs := e.same(); {
	case pairs > 0 && len(same) == pairs:
		p.say("base and head are the same twice: what will differ is this machine's noise")
	default:
		for _, i := range same {
			p.say("%s: the same on both sides", e.PairLabel(i))
		}
	}
}

// vsText returns what the head has other than the base, without any secret.
func (e experiment) vsText() string {
	var words []string
	for _, opt := range e.sides[1].options.list {
		if opt.from != fromFlag {
			continue
		}
		text := opt.text
		if opt.name == "addr" {
			var urls []string
			for _, t := range e.Targets[results.SideHead].List {
				urls = append(urls, cmp.Or(t.Redacted, t.Kind))
			}
			urls = slices.Compact(urls)
			text = strings.Join(urls, ",")
		}
		words = append(words, opt.assign(text))
	}
	return strings.Join(words, " ")
}

// experimentOf returns the experiment of a run, be it of one side or of two.
func experimentOf(o *options, env environ, stdin io.Reader, find func(*servers.Service) (string, error)) (experiment, error) {
	base, err := oneSide(o, env, find)
	if err != nil || !o.versus() {
		return base, err
	}
	other, err := o.head(stdin)
	if err != nil {
		return experiment{}, err
	}
	head, err := oneSide(other, env, find)
	if err != nil {
		return head, o.inVersus(err)
	}
	return pairUp(base, head)
}

func oneSide(o *options, env environ, find func(*servers.Service) (string, error)) (experiment, error) {
	t, err := decideTargets(o, env, find)
	if err != nil {
		return experiment{}, err
	}
	return experimentOn(o, t)
}
