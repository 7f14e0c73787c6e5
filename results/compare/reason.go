package compare

// Reasons: why nothing can be told of a figure. This is the one list of them, and the one place that words them.

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
)

// Reason is why a figure is Inconclusive. Result.Why says the same in words, with the numbers of the case.
type Reason string

const (
	NotRun     Reason = "not-run"    // a cell that was asked for has no trial; a reason of a whole Check
	NoTrials   Reason = "no-trials"  // a side has no whole trial, or most of its trials ended early
	Missing    Reason = "missing"    // the head lacks a cell of the base; a reason of the whole, as no figure has it
	Replaced   Reason = "replaced"   // of most trials of a side the server was restarted, or another one took its place
	Evicted    Reason = "evicted"    // in most trials of a side the server evicted keys
	Partial    Reason = "partial"    // the trial ended early
	Unmeasured Reason = "unmeasured" // a side does not know the figure, or of half of its trials at the most
	Unlike     Reason = "unlike"     // the sides ran on machines that are not alike
	Zero       Reason = "zero"       // 0 in the base, or in a trial, of which there is no percentage
	Saturated  Reason = "saturated"  // lockbench or its machine was the bottleneck: see Draft.hidden and Check
	TooFew     Reason = "too-few"    // so few trials that no difference between them would be significant, however large
	Scatter    Reason = "scatter"    // the trials scatter too much to tell: more of them, or a quieter machine, may
	Unclaimed  Reason = "unclaimed"  // the design does not claim mutual exclusion, so that a violation breaks no promise
)

// reasons are all of them, with what they mean of whichever figures have them, what they say with the numbers of a
// case, and what to do. Those that no number of trials would mend come first.
var reasons = []struct {
	Reason
	about, why, next string
}{
	{NotRun, "asked for, and never ran", "", ""},
	{NoTrials, "a side has no trial, or too many ended early", "counted: %s", "run the trials again that ended early"},
	{Missing, "only in the base", "", "run the missing cells; -force judges without them"},
	{Replaced, "the server was restarted or replaced in most trials", "counted: %s",
		"run again, with a server that stays; -force judges anyway"},
	{Evicted, "the server evicted keys in most trials", "counted: %s",
		"more memory for the server, or maxmemory-policy noeviction"},
	{Partial, "the trial ended early", "the trial ended early (%s)", ""},
	{Unmeasured, "not measured", "known of %s", "run longer trials: -duration"},
	{Unlike, "measured on unlike machines", "unlike machines (%s)", "run both sides on one machine; -force judges anyway"},
	{Zero, "0 in the base or in a trial, where a percentage says nothing", "0 in %s and %s",
		"judge the amount: -fail-on 'METRIC>VALUE'"},
	{Saturated, "lockbench was measured, and not the lock", "%s saturated",
		"a quieter or larger machine, or fewer clients; -force judges anyway"},
	{TooFew, "no difference between so few trials is significant", "%s are too few for %s",
		"run more trials a side: -trials NUMBER, or -n of a gate"},
	{Scatter, "the trials scatter too much to tell", "between %s and %s, and the limit is %s",
		"run more trials a side (-trials NUMBER, or -n of a gate), or on a quieter machine"},
	{Unclaimed, "the design does not claim mutual exclusion", "the design does not claim mutual exclusion", ""},
}

// What results say that are not Inconclusive, and of a change that has no per cent.
const (
	beyondLimit = "%s, and %s is the limit"
	withinLimit = "%s, which %s allows"
	fromNothing = "rose from 0, which is beyond any percentage"
	amountOf    = "%s of the head has %s"
	opposed     = "the medians went one way, and the trials the other"
	NotTested   = "not tested, no client met a rival" // said of violations
	regression  = "look at each side: lockbench report -v FILE"
)

func entry(r Reason) int {
	for i := range reasons {
		if reasons[i].Reason == r {
			return i
		}
	}
	return len(reasons)
}

// About says in words what a reason is, of whichever figures have it.
func (r Reason) About() string { return reasons[entry(r)].about }

// Next returns the one thing to do about the whole; empty if nothing is wrong. NUMBER stands for a number of trials.
func (c *Comparison) Next() string {
	switch why := c.Reasons(); {
	case c.Verdict == Regressed:
		return regression
	case c.Verdict == Inconclusive && len(why) > 0:
		return reasons[entry(why[0])].next
	}
	return ""
}

// cannot makes a result inconclusive, for a reason with its arguments.
func (r *Result) cannot(reason Reason, args ...any) {
	r.Verdict, r.Reason, r.Why = Inconclusive, reason, fmt.Sprintf(reasons[entry(reason)].why, args...)
}

// reasonsOf returns the reasons of results, and more, in the order of all, each once.
func reasonsOf(results []Result, more ...Reason) []Reason {
	for _, r := range results {
		if r.Reason != "" {
			more = append(more, r.Reason)
		}
	}
	slices.SortFunc(more, func(a, b Reason) int { return cmp.Compare(entry(a), entry(b)) })
	return slices.Compact(more)
}

// shareOf says how many of all trials: "3 of 10 trials", and where there is one "the only trial" or "no trial".
func shareOf(n, all int) string {
	if all == 1 {
		return [...]string{"no trial", "the only trial"}[n]
	}
	return fmt.Sprintf("%d of %s", n, format.Plural(all, "trial"))
}

// severity returns how far a change is beyond its threshold: 1 at the threshold, 2 at its square, negative in the good
// direction. What has no such measure, as a violation where none is allowed, is beyond all of them.
func (r *Result) severity() float64 {
	s, t := math.Log(r.Change.Ratio)/math.Log1p(r.Threshold.Value), r.Threshold
	switch {
	case t.Relative && !math.IsNaN(s):
		return s
	case t.Relative || t.Figure.Unit == metric.Count:
		return math.Inf(1)
	}
	return 0
}

// worst orders results: regressions first, the farthest beyond its threshold at the top; then what is inconclusive, a
// likely loss beyond its threshold before all else, then by the reason; then what improved, the most first; then what
// has not changed, what is worse within its threshold first.
func worst(a, b Result) int {
	key := func(r Result) []float64 {
		first, then, s := float64(rank(r.Verdict)), 0.0, r.severity()
		switch {
		case r.Verdict == Inconclusive && (s < 1 || math.IsInf(s, 1)): // no likely loss
			then = float64(1 + entry(r.Reason))
		case r.Verdict == Improved:
			s = -s
		case r.Within():
			then = -1
		}
		return []float64{first, then, -s}
	}
	return slices.Compare(key(a), key(b))
}
