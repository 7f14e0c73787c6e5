package compare

// Reasons: why nothing can be told of a figure, as a program reads it, and which of two results is the worse news.

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
)

// Reason is why a figure is Inconclusive. Result.Why says the same in words, with the numbers of the case.
type Reason string

const (
	NoTrials   Reason = "no-trials"  // a side has no whole trial, or most of its trials ended early
	Missing    Reason = "missing"    // the head lacks a cell of the base; a reason of the whole, as no figure has it
	Replaced   Reason = "replaced"   // the server of a trial was restarted, or another one took its place
	Evicted    Reason = "evicted"    // the server evicted keys in a trial
	Unmeasured Reason = "unmeasured" // a side does not know the figure, or of half of its trials at the most
	Unlike     Reason = "unlike"     // the sides ran on machines that are not alike
	Zero       Reason = "zero"       // 0 in the base, or in a trial, of which there is no percentage
	Saturated  Reason = "saturated"  // lockbench or its machine was the bottleneck of the base: see Result.Verdict
	TooFew     Reason = "too-few"    // so few trials that no difference between them would be significant, however large
	Scatter    Reason = "scatter"    // the trials scatter too much to tell: more of them, or a quieter machine, may
)

// Reasons are all of them. Those that no number of trials would mend come first.
var Reasons = []Reason{NoTrials, Missing, Replaced, Evicted, Unmeasured, Unlike, Zero, Saturated, TooFew, Scatter}

// About says in words what a reason is, of whichever figures have it.
func (r Reason) About() string {
	return map[Reason]string{
		NoTrials:   "a side has no trial, or too many of its trials ended early",
		Missing:    "only in the base",
		Replaced:   "the server was restarted or replaced in a trial",
		Evicted:    "the server evicted keys in a trial",
		Unmeasured: "not measured",
		Unlike:     "measured on unlike machines",
		Zero:       "0 in the base or in a trial, where a percentage says nothing",
		Saturated:  "lockbench was measured, and not the lock",
		TooFew:     "too few trials for any difference to be significant",
		Scatter:    "the trials scatter too much to tell",
		NotRun:     "asked for, and never ran",
		Partial:    "the trial ended early",
		Unclaimed:  "the design does not claim mutual exclusion",
	}[r]
}

// cannot makes a result inconclusive.
func (r *Result) cannot(reason Reason, why string) {
	r.Verdict, r.Reason, r.Why = Inconclusive, reason, why
}

// Reasons returns those for which anything in c is inconclusive, in the order of the list of all.
func (c *Comparison) Reasons() (list []Reason) {
	have := reasonSet{Missing: c.Lacking}
	for _, cell := range c.Cells {
		for _, r := range cell.Figures {
			have[r.Reason] = true
		}
	}
	return have.in(Reasons)
}

// reasonSet is a set of reasons.
type reasonSet map[Reason]bool

// in returns the reasons of a list that are in the set.
func (rs reasonSet) in(list []Reason) []Reason {
	return slices.DeleteFunc(slices.Clone(list), func(r Reason) bool { return !rs[r] })
}

// saturated returns how many trials of a side are, if they are so many that the median is lockbench's figure: half of them. It
// is 0 for a lock inside of lockbench, whose processors are what it is made of.
func saturated(records []*results.Record) int {
	n := number(records, func(r *results.Record) bool { return r.Generator.Saturated && kindOf(r) != "in-process" })
	if 2*n < len(records) {
		return 0
	}
	return n
}

// disturbed returns what the server did in a trial, so that its figures and violations are none of the lock's.
func (o *Options) disturbed(sides ...*group) Reason {
	var all []*results.Record
	for _, side := range sides {
		all = append(all, side.all()...)
	}
	switch {
	case o.Force:
	case slices.ContainsFunc(all, replaced):
		return Replaced
	case slices.ContainsFunc(all, evicted):
		return Evicted
	}
	return ""
}

func replaced(r *results.Record) bool { return r.Server.Replaced }
func evicted(r *results.Record) bool  { return r.Server.Evicted > 0 }

// hidden takes back what is said of a figure whose base is saturated: the base's lock may be better than lockbench could show, by
// any amount, and the head may have lost just that. A regression stays one, since what both sides hide is a difference; so it
// does if the head alone is saturated, which is said.
func (d *draft) hidden(r *Result, force bool) {
	n := saturated(d.cell.Base)
	if n == 0 || !rated(r.Figure) || force || r.Verdict == Regressed || r.Reason == Zero {
		return
	}
	r.Needed = 0 // trials would tell of lockbench
	r.cannot(Saturated, fmt.Sprintf("%d of %s of the base are saturated: take a lighter load, or -force", n,
		format.Plural(len(d.cell.Base), "trial")))
}

// rated reports whether a figure is a rate or a time, which are lockbench's own where it is saturated. What was counted has
// been counted.
func rated(m *metric.Metric) bool {
	units := []*metric.Unit{metric.PerSecond, metric.Duration, metric.Share}
	return m.Group != metric.Outcomes && slices.Contains(units, m.Unit)
}

// severity returns how far a figure is beyond its threshold: 1 at the threshold, 2 at its square. What has no such measure, as
// a violation where none is allowed, is beyond all of them.
func (r *Result) severity() float64 {
	t, from, to := r.Threshold, 1.0, r.Change.Ratio
	limit := 1 + t.Value
	if !t.Relative {
		from, to, limit = 1, r.Change.Head.Median/t.Value, math.E
		if t.Less {
			limit = 1 / limit
		}
	}
	s := math.Log(to/from) / math.Log(limit)
	if math.IsNaN(s) || !t.Relative && t.Figure.Unit == metric.Count {
		return math.Inf(1)
	}
	return s
}

// Worse orders results: regressions first, the farthest beyond its threshold at the top; then what is inconclusive,
// what may well be a loss beyond its threshold before all else, then by the reason; then what improved, the most first;
// then what has not changed, what is worse within its threshold first; what no threshold judges comes last. It is
// negative if a comes before b.
func Worse(a, b *Result) int {
	if a.Threshold == nil || b.Threshold == nil {
		return trueFirst(a.Threshold != nil, b.Threshold != nil)
	}
	if order := cmp.Compare(rank(a.Verdict), rank(b.Verdict)); order != 0 {
		return order
	}
	switch a.Verdict {
	case Improved:
		return cmp.Compare(a.severity(), b.severity())
	case Inconclusive:
		if order := cmp.Compare(b.beyond(), a.beyond()); order != 0 {
			return order
		}
	case NotWorse, Unchanged:
		if order := trueFirst(a.Why != "", b.Why != ""); order != 0 {
			return order
		}
	}
	return cmp.Or(cmp.Compare(slices.Index(Reasons, a.Reason), slices.Index(Reasons, b.Reason)), cmp.Compare(b.severity(), a.severity()))
}

// beyond returns how much speaks for a change beyond the threshold: 2 if all of its interval lies there, 1 if its median does.
func (r *Result) beyond() int {
	t, c := r.Threshold, r.Change
	bound := 1 + t.Value
	switch {
	case !t.Relative:
		return 0
	case t.Less && c.High < bound, !t.Less && c.Low > bound:
		return 2
	case t.Less && c.Ratio < bound, !t.Less && c.Ratio > bound:
		return 1
	}
	return 0
}

// TooFew returns why a comparison of that many cells can show no regression, however large it is, with so many trials of a
// cell of the base and of the head, and "" if it can: its test knows the order of the trials alone, or of pairs that of their
// changes, and few of them have few orders. The remedy takes no more than most trials of the head.
func (o Options) TooFew(cells, base, head int, pairs bool, most int) string {
	list := o.Thresholds
	if len(list) == 0 {
		list, _ = ParseThresholds(DefaultThresholds) // a constant
	}
	figures := map[string]bool{} // tested against relative thresholds
	for _, t := range list {
		if t.Relative {
			figures[t.Figure.Name] = true
		}
	}
	tests := cells * len(figures)
	if tests == 0 {
		return ""
	}
	each := alpha / float64(tests) // what Holm leaves to the smallest p
	least := func(head int) float64 {
		if pairs {
			return stats.MinPairsP(head)
		}
		return stats.MinP(base, head)
	}
	if least(head) < each {
		return ""
	}
	remedy := "measure the base anew, with more trials"
	for need := head; need <= most; need++ {
		if least(need) < each {
			remedy = fmt.Sprintf("take -trials %d or more", need)
			break
		}
	}
	return fmt.Sprintf("%d + %d trials cannot show a regression: their p is %.2g or more, and %s need p < %.2g; %s",
		base, head, least(head), format.Plural(tests, "test"), each, remedy)
}
