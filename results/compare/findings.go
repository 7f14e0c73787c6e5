package compare

// What thresholds judge, the worst first.

import "slices"

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

// Quiet reports whether there is nothing to say of a judged result.
func (r *Result) Quiet() bool { return r.Verdict.passed() && !r.Within() }
