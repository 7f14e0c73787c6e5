// -fail-on of a run that is compared with nothing, and of report: absolute thresholds and their results.

package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/metric"
)

// thresholds returns what -fail-on says of a run by itself; nothing without it. A change needs something to compare
// with, which remedy names; those of a variable, which is set once for many runs, are left out then.
func (o *options) thresholds(remedy string) (list []compare.Threshold, err error) {
	all, err := o.failOn()
	for _, t := range all {
		switch {
		case !t.Relative:
			list = append(list, t)
		case o.get("fail-on").from == fromFlag:
			return nil, usageErrorf("-fail-on: %s is a change, and there is nothing to compare with: %s, or write an amount such as %s%s",
				t, remedy, t.String()[:len(t.Figure.Name)+1], t.Figure.Unit.Example)
		}
	}
	return list, err
}

// failOn reads -fail-on; nil without it. The error suggests the figure that was probably meant, or where all are listed.
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

// objective judges the cells in an open loop by what their workload says of the response (slo); nil if it says
// nothing.
func (o *options) objective(cells []*results.Cell) *compare.Check {
	cells = slices.DeleteFunc(slices.Clone(cells), func(c *results.Cell) bool { return !c.Open() })
	if o.workload == nil || o.workload.SLO == "" || len(cells) == 0 {
		return nil
	}
	slo, _ := capacity.ParseSLO(o.workload.SLO) // readWorkload has checked it
	var limits []string
	for _, of := range slo.Objectives {
		limits = append(limits, strings.Replace(of.String(), "<", ">", 1))
	}
	list, _ := compare.ParseThresholds(strings.Join(limits, ",")) // none if a quantile is one that no record spells out
	return compare.CheckCells(cells, list, nil)
}
