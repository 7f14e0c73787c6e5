package compare

// What thresholds judge, the worst first, and what a result says in words.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/stats"
)

// Judged is a result and the place of its cell in Comparison.Cells.
type Judged struct {
	Cell int
	*Result
}

// Results returns those of all cells.
func (c *Comparison) Results() (list []Judged) {
	for i := range c.Cells {
		for j := range c.Cells[i].Figures {
			list = append(list, Judged{i, &c.Cells[i].Figures[j]})
		}
	}
	return list
}

// trueFirst orders what is so before what is not.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Judged returns all judged results, the worst first.
func (c *Comparison) Judged() []Judged {
	list := slices.DeleteFunc(c.Results(), func(r Judged) bool { return r.Threshold == nil })
	slices.SortStableFunc(list, func(a, b Judged) int { return Worse(a.Result, b.Result) })
	return list
}

// Within reports whether a metric is worse, significantly, though its threshold allows that.
func (r *Result) Within() bool { return r.Verdict.passed() && r.Why != "" }

// moved returns what became of a result: "80,000 → 70,000 (−12.5 %)".
func (r *Result) moved() string {
	if !r.Threshold.Relative && r.Why != "" {
		return r.Why
	}
	text := r.Figure.Unit.Format(r.Change.Base.Median) + " → " + r.Figure.Unit.Format(r.Change.Head.Median)
	if !math.IsNaN(r.Change.Ratio) {
		text += " (" + format.Change(r.Change.Ratio-1) + ")"
	}
	return text
}

// Sentence returns what became of a judged metric, and why its verdict is what it is: "80,000 → 70,000 (−12.5 %). The limit is
// −5 %."
func (r *Result) Sentence() string {
	switch {
	case !r.Threshold.Relative && r.Verdict == Regressed:
		return r.Why + ", and the limit is " + r.Threshold.Allowed() + "."
	case r.Change.Base.N == 0 || r.Change.Head.N == 0:
		return r.Why + "."
	}
	text := r.moved()
	switch {
	case r.Verdict == Regressed && r.Threshold.Relative && !math.IsNaN(r.Change.Ratio):
		text += ". The limit is " + r.Threshold.Allowed()
	case r.Why != "":
		text += ": " + r.Why
	}
	return join(text+".", Needs(r))
}

func join(a, b string) string { return strings.TrimSuffix(a+" "+b, " ") }

// Quiet reports whether there is nothing to say of a judged result.
func (r *Result) Quiet() bool { return r.Verdict.passed() && !r.Within() }

// Needs says in a sentence how many trials would tell of inconclusive results of one metric, from the least that one of them
// takes to the most; empty if that can't be said.
func Needs(list ...*Result) string {
	list = slices.DeleteFunc(slices.Clone(list), func(r *Result) bool { return r.Threshold == nil })
	if len(list) == 0 {
		return ""
	}
	worst, least, same := list[0], math.MaxInt, true
	for _, r := range list {
		same = same && r.Threshold.Allowed() == worst.Threshold.Allowed()
		if r.Needed > worst.Needed {
			worst = r
		}
		if r.Needed > 0 {
			least = min(least, r.Needed)
		}
	}
	if worst.Verdict != Inconclusive || worst.Needed == 0 {
		return ""
	}
	what := "such changes"
	if same {
		what = worst.Threshold.Allowed()
	}
	const many = 1000 // more than anybody runs, and the estimate is no longer one
	if least > many {
		return fmt.Sprintf("To see %s would take more than %s a side: it scatters too much.", what, format.Plural(many, "trial"))
	}
	most := format.Plural(min(worst.Needed, many), "trial")
	if worst.Needed > many {
		most = "more than " + most
	}
	if least < worst.Needed {
		most = format.Count(least) + " to " + most
	}
	text := fmt.Sprintf("To see %s takes about %s a side", what, most)
	if worst.Guessed() {
		return text + fmt.Sprintf(", if not many more: fewer than %d show little of the scatter.", stats.MinTrials)
	}
	return text + "."
}
