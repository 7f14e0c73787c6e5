// -fail-on of a run that is compared with nothing, and of report: absolute thresholds and their results.

package cli

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
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

// failOn reads -fail-on; nil without it.
func (o *options) failOn() ([]compare.Threshold, error) {
	opt := o.get("fail-on")
	if opt.text == "" {
		return nil, nil
	}
	list, err := compare.ParseThresholds(opt.text)
	if err != nil {
		return nil, thresholdFault(opt, err)
	}
	return list, nil
}

// objective judges the cells in an open loop by what their workload says of the response (slo); nil if it says
// nothing. Where the answers are too few for a quantile, all of them may have kept its limit.
func (o *options) objective(cells []*results.Cell) *compare.Check {
	cells = slices.DeleteFunc(slices.Clone(cells), func(c *results.Cell) bool { return !c.Open() })
	if o.workload == nil || o.workload.SLO == "" || len(cells) == 0 {
		return nil
	}
	slo, _ := capacity.ParseSLO(o.workload.SLO) // readWorkload has checked it
	var conditions []string
	for _, of := range slo.Objectives {
		text := "response.max>" + spec.Brief(of.Limit)
		for _, c := range cells {
			if l := c.Latency[results.Response]; l.Count == 0 || l.Max >= of.Limit || !math.IsNaN(l.Quantile(of.Quantile)) {
				text = strings.Replace(of.String(), "<", ">", 1)
			}
		}
		conditions = append(conditions, text)
	}
	list, _ := compare.ParseThresholds(strings.Join(conditions, ",")) // none if a quantile is one that no record spells out
	return compare.CheckCells(cells, list, nil)
}

// thresholdFault returns what is wrong with an expression, and where.
func thresholdFault(opt *option, err error) error {
	var fault *compare.ThresholdError
	if !errors.As(err, &fault) {
		return usageErrorf("%s: %w", opt.name, err)
	}
	hint := ""
	if fault.Word != "" {
		hint = figureHint(fault.Word)
	}
	return usageErrorf("%s: %w%s", opt.flagOrVariable(), err, hint)
}

// figureHint names the figure that was probably meant, or where all of them stand.
func figureHint(name string) string {
	meant := strings.Replace(name, "wait.", "acquire.", 1) // as tables call it
	if hint := suggest.DidYouMean("", meant, metric.Names()); hint != "" {
		return hint
	}
	return " (lockbench help figures lists them)"
}
