// -vs: one run with two sides, measured by turns and compared.

package cli

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/pflag"
)

// versus reports whether the run has two sides. -vs with an empty text counts: it is a head like the base.
func (o *options) versus() bool { return o.get("vs").from != fromDefault }

// rounds makes ten rounds of a tenth of the time of a run with two sides, since one round can decide nothing, unless
// its user says how many or how long.
func (o *options) rounds() {
	trials, duration := o.get("trials"), o.get("duration")
	if o.versus() && cmp.Or(trials.from, duration.from, o.get("n").from) == fromDefault {
		trials.text, duration.text = "10", "1s"
	}
}

// measuredAlike are the flags in which the sides have to agree, because they decide what an observation is.
var measuredAlike = []string{"duration", "n", "warmup", "trials", "seed"}

// head returns the options of the head: the words of -vs in place of what the base has for them. What a flag of the base
// says and the head does not read is no mistake there, see fromBase.
func (o *options) head(stdin io.Reader) (head *options, err error) {
	words, err := shellquote.Split(o.text("vs"))
	if err != nil {
		return nil, usageErrorf("%w", err)
	}
	flags := pflag.NewFlagSet("vs", pflag.ContinueOnError)
	flags.Usage = func() {}
	head = newOptions(flags, runFlags)
	head.typed = o.typed
	for i, base := range o.list { // in the order of the same table
		if opt := head.list[i]; base.from != fromFile && base.name != "vs" {
			opt.text, opt.from = base.text, min(base.from, fromBase)
		}
	}
	if err := flags.Parse(normalise(words)); err != nil {
		return nil, flagError(err, runFlags)
	}
	if flags.NArg() > 0 {
		return nil, usageErrorf("unexpected argument %q: it takes flags, as in -vs '-wait queue'", flags.Arg(0))
	}
	for _, opt := range head.list {
		if opt.from == fromFlag && (opt.group == groupComparing || opt.group == groupOutput) {
			return nil, usageErrorf("-%s: is about the run, not about one of its sides", opt.name)
		}
	}
	if head.get("workload").from == fromFlag {
		err = head.readWorkload(stdin)
	} else if o.workload != nil {
		err = head.adopt(o.workload)
	}
	return head, cmp.Or(err, head.check(), checkPartners(o, head))
}

// checkPartners makes sure that both sides are measured alike, and that each combination of the base has one of the
// head in its place. Pairing lists of unlike lengths by their places would compare 512 clients with 64 and say
// nothing of it.
func checkPartners(base, head *options) error {
	for i, opt := range base.list {
		mine, its := opt.text, head.list[i].text
		switch {
		case mine != its && slices.Contains(measuredAlike, opt.name):
			return usageErrorf("the base has %s %s and the head %s: both sides are measured alike", opt.name, mine, its)
		case opt.axis && strings.Count(mine, ",") != strings.Count(its, ","):
			return usageErrorf("the base has %s %s and the head %s: as many values on both sides, since each cell needs one partner",
				opt.name, mine, its)
		}
	}
	if strings.Contains(base.text("topology"), ",") && !slices.Equal(base.namesTopology(), head.namesTopology()) {
		return usageErrorf("the base has -driver %s and the head %s: with several topologies, the same drivers of both "+
			"sides have to name one of their own, since each cell needs one partner", base.text("driver"), head.text("driver"))
	}
	return nil
}
