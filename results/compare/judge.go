package compare

// Judgement: what may be said of a figure, and what not.
//
// An example: locks/s, in thousands, of six trials a side with the threshold locks/s<-5%. The base has 100 101 99 102 98 100.
//
//	head                      ratio   interval        p        verdict
//	 93  92  94  91  93  92   0.925   0.910–0.940   0.0043   regressed: significant, and beyond 0.95
//	 97  94  99  92  96  95   0.955   0.929–0.980   0.0130   inconclusive: worse, and the interval has 0.95 in it
//	 98  97  98  97  99  97   0.980   0.960–0.990   0.0303   no change: worse, significantly, and within the threshold
//	100 101  99 100 102  98   1.000   0.980–1.020   1.0000   no change: neither 0.95 nor 1/0.95 is in the interval
//	100 112  98 110  99 104   1.020   0.980–1.111   0.9221   not worse: 0.95 is not in the interval, and 1/0.95 is
//	106 107 105 108 106 107   1.065   1.049–1.082   0.0043   improved: significant, and by the least effect of 2 % or more
//
// The first p, by Mann and Whitney, is 2 × 6!·6!/12! = 0.0022, as all trials of the head are below all of the base. The p99 of the
// acquisition is tested as well, so that Holm's method doubles it: 0.0043, which is below an alpha of 0.05.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
)

// tests are how many there are in a comparison.
type tests struct {
	wanted int // figures that are judged by their change
	made   int // of these: those with trials enough for any difference to be significant
	first  int // of these: those that can be significant if every one has the least p that its trials can have
}

// test adjusts the p of everything that is judged by its change, each figure of each cell once, however many thresholds
// it has: Holm's method over all of them. Where there are too few trials for any difference to be significant there is no
// test, which is decided by their number and not by what they say, so that it costs the others nothing.
func test(drafts []*draft, o Options) (t tests) {
	type place struct {
		draft  int
		figure string
	}
	at := map[place]int{}
	var ps, leasts []float64
	seen := map[place]bool{}
	for i, d := range drafts {
		if o.disturbed(d.base, d.head) != "" {
			continue
		}
		for _, r := range d.results {
			where := place{i, r.Figure.Name}
			if r.Threshold == nil || !r.Threshold.Relative || seen[where] {
				continue
			}
			if _, why := d.comparable(&r, o.Force); why != "" {
				continue
			}
			seen[where] = true
			t.wanted++
			if least := d.least(r.Change); least < alpha {
				at[where] = len(ps)
				ps, leasts = append(ps, r.Change.P), append(leasts, least)
			}
		}
	}
	adjusted, best := stats.Holm(ps), stats.Holm(leasts)
	t.made, t.first = len(ps), number(best, func(p float64) bool { return p < alpha })
	for i, d := range drafts {
		for j := range d.results {
			r := &d.results[j]
			if n, tested := at[place{i, r.Figure.Name}]; tested && r.Threshold != nil && r.Threshold.Relative {
				r.P, r.least = adjusted[n], best[n]
			}
		}
	}
	return t
}

// relative judges a change. What is neither significant nor ruled out is undecided.
func (d *draft) relative(r *Result, o Options, of tests) {
	if reason, why := d.comparable(r, o.Force); why != "" {
		r.cannot(reason, why)
		return
	}
	defer d.hidden(r, o.Force)
	if !(r.Change.Base.Median > 0) {
		fromZero(r)
		return
	}
	c, t := r.Change, r.Threshold
	limit := 1 + t.Value
	gain := max(limit, 1/limit) // as far on the other side
	loss := 1 / gain
	significant := r.P < alpha // false if it was not tested
	beyond, ruledOut := c.Ratio > limit, c.High <= limit
	if t.Less {
		beyond, ruledOut = c.Ratio < limit, c.Low >= limit // false if there is no interval
	}
	switch {
	case significant && beyond:
		r.Verdict, r.Why = Regressed, fmt.Sprintf("%s, and %s is the limit", moved(c.Ratio), t.Allowed())
		d.noteSaturated()
	case significant && r.better(1+minEffect, 1-minEffect):
		r.Verdict = Improved
	case ruledOut && loss <= c.Low && c.High <= gain:
		r.Verdict = Unchanged
	case ruledOut:
		r.Verdict = NotWorse
	case c.Opposed:
		r.cannot(Scatter, "from median to median it went one way, and from trial to trial the other")
	default:
		d.undecided(r, beyond, of)
	}
	if r.Verdict.passed() && significant && r.worse() {
		r.Why = fmt.Sprintf("%s, which %s allows", moved(c.Ratio), t)
	}
}

// better reports whether the figure went in its good direction to one of these ratios, or farther.
func (r *Result) better(higher, lower float64) bool {
	return r.Figure.Better == metric.Higher && r.Change.Ratio >= higher || r.Figure.Better == metric.Lower && r.Change.Ratio <= lower
}

// worse reports whether the figure went in its bad direction.
func (r *Result) worse() bool {
	return r.Figure.Better == metric.Higher && r.Change.Ratio < 1 || r.Figure.Better == metric.Lower && r.Change.Ratio > 1
}

// noteSaturated notes that a loss may be the machine's.
func (d *draft) noteSaturated() {
	if saturated(d.cell.Head) > 0 && saturated(d.cell.Base) == 0 {
		d.note("saturated: the head alone, so the loss may be its machine's")
	}
}

// undecided says why nothing can be told, and what it would take, reckoned for all tests that are wanted.
func (d *draft) undecided(r *Result, beyond bool, of tests) {
	c, t := r.Change, r.Threshold
	each := alpha / float64(max(1, of.wanted)) // what Holm leaves to the smallest p
	base, head := d.values(r.Figure)
	n := min(c.Base.N, c.Head.N)
	if d.paired {
		n = c.Pairs
	}
	var least int
	if r.Needed, least = d.need(r, each); r.Needed > 0 || n < least {
		r.Needed = max(r.Needed, least)
	}
	switch {
	case !(r.least < alpha): // it was not tested, or could never have been significant
		r.cannot(TooFew, never(r, of))
	case zeros(base)+zeros(head) > 0: // for which more trials do nothing
		r.Needed = 0
		r.cannot(Zero, fmt.Sprintf("0 in %d of %s of the base and in %d of %s of the head, where a percentage says nothing: "+
			"an absolute limit would", zeros(base), format.Plural(c.Base.N, "trial"), zeros(head), format.Plural(c.Head.N, "trial")))
	case beyond:
		r.cannot(Scatter, fmt.Sprintf("%s, which may be chance", moved(c.Ratio)))
	default:
		r.cannot(Scatter, fmt.Sprintf("the change is between %s and %s: %s is not ruled out", format.Change(c.Low-1), format.Change(c.High-1), t.Allowed()))
	}
}

// zeros returns how many trials have 0 of a figure.
func zeros(values []float64) int { return number(values, func(v float64) bool { return v == 0 }) }

// never returns what p the trials of a figure would have to have, and cannot: below alpha over the number of tests that are left
// when all have gone that can be significant (Holm).
func never(r *Result, of tests) string {
	left := of.made - of.first
	if math.IsNaN(r.least) || left < 2 {
		return fmt.Sprintf("%s can never show p < %s", trials(r.Change), number3(alpha))
	}
	text := fmt.Sprintf("%s can never show p < %s (%s over %d tests", trials(r.Change), number3(alpha/float64(left)), number3(alpha), left)
	switch of.first {
	case 0:
	case 1:
		text += ", if the other one is significant"
	default:
		text += fmt.Sprintf(", if the %d others are all significant", of.first)
	}
	return text + ")"
}

// fromZero judges a figure whose median is 0 in the base, where there is no ratio: nothing falls below that, and if it
// rises significantly it is beyond any percentage. A base that got no lock at all is none.
func fromZero(r *Result) {
	c, less, higher := r.Change, r.Threshold.Less, r.Figure.Better == metric.Higher
	rose := r.P < alpha && c.Head.Median > 0
	switch {
	case less && higher && rose:
		r.Verdict = Improved
	case higher && (less || !rose):
		r.cannot(Zero, "0 in the base, which is nothing to compare with")
	case c.Base.Max == 0 && c.Head.Max == 0:
		r.Verdict = Unchanged
	case less:
		r.Verdict = NotWorse
	case rose:
		r.Verdict, r.Why = Regressed, "rose from 0, which is beyond any percentage"
	default:
		r.cannot(Zero, "0 in the base, where a percentage says nothing: an absolute limit would")
	}
}

// amount returns the value that an absolute threshold judges: the median of the whole trials. Of a count it is the worst of all
// trials, including those that ended early: a single violation is a failure. It is NaN if no trial knows the figure.
func (t *Threshold) amount(whole, partial []*results.Record) float64 {
	values := t.Figure.Values(whole)
	if t.Figure.Unit != metric.Count {
		return stats.Of(values).Median
	}
	values = slices.DeleteFunc(append(values, t.Figure.Values(partial)...), math.IsNaN)
	switch {
	case len(values) == 0:
		return math.NaN()
	case t.Less:
		return slices.Min(values)
	}
	return slices.Max(values)
}

// missedBy reports whether an amount is beyond an absolute threshold.
func (t *Threshold) missedBy(v float64) bool { return t.Less && v < t.Value || !t.Less && v > t.Value }

// absolute judges the head alone.
func (d *draft) absolute(r *Result) {
	t, what := r.Threshold, "the median"
	if r.Figure.Unit == metric.Count {
		what = "a trial"
	}
	v := t.amount(d.cell.Head, d.head.partial)
	switch {
	case t.missedBy(v):
		r.Verdict, r.Why = Regressed, fmt.Sprintf("%s of the head has %s", what, t.Figure.Unit.Format(v))
		return
	case len(d.cell.Head) == 0: // those that ended early are witnesses of what was seen, not of what was not
		r.cannot(NoTrials, "the head has no whole trial")
		return
	case math.IsNaN(v):
		r.cannot(Unmeasured, unknown("the head does not know it", r.Figure))
		return
	}
	r.Verdict = Unchanged
	if r.Figure.Name == "violations" && !slices.ContainsFunc(d.cell.Head, sighted) {
		d.cell.Notes = append(d.cell.Notes, "violations: not tested, no client of the head met a rival")
	}
}

// sighted reports whether a trial could have shown a violation, as far as is known.
func sighted(r *results.Record) bool { return r.Safety.Power == nil || r.Safety.Power.Watched > 0 }

// judge gives every result its verdict, and the cell the worst of them.
func (d *draft) judge(o Options, of tests) {
	d.cell.Verdict = Unchanged
	for i := range d.results {
		r := &d.results[i]
		switch reason := o.disturbed(d.base, d.head); {
		case r.Threshold == nil:
			continue
		case reason != "":
			r.cannot(reason, reason.About())
		case r.Threshold.Relative:
			d.relative(r, o, of)
		default:
			d.absolute(r)
		}
		d.cell.Verdict = worse(d.cell.Verdict, r.Verdict)
	}
	d.cell.Figures = d.results
}

// worse returns the worse of two verdicts; one that is empty is better than any.
func worse(a, b Verdict) Verdict {
	if rank(b) < rank(a) {
		return b
	}
	return a
}

// ranks are the verdicts of comparisons and checks, the worst first.
var ranks = slices.Concat([]Verdict{Violated, Missed}, Verdicts, []Verdict{Passed})

// rank returns the place of a verdict among all of them; the last for none.
func rank(v Verdict) int {
	if i := slices.Index(ranks, v); i >= 0 {
		return i
	}
	return len(ranks)
}

// moved returns what became of a figure: "fell by 8.2 %".
func moved(ratio float64) string {
	if ratio < 1 {
		return "fell by " + strings.TrimPrefix(format.Change(ratio-1), "−")
	}
	return "rose by " + strings.TrimPrefix(format.Change(ratio-1), "+")
}

func trials(c stats.Change) string {
	if c.Pairs > 0 {
		return format.Plural(c.Pairs, "pair") + " of trials"
	}
	if c.Base.N == c.Head.N {
		return format.Plural(c.Base.N, "trial") + " a side"
	}
	return fmt.Sprintf("%d and %d trials", c.Base.N, c.Head.N)
}

// number3 returns a probability with up to three significant digits.
func number3(p float64) string { return fmt.Sprintf("%.3g", p) }

// unknown adds to a sentence the likely reason why a metric is not known.
func unknown(text string, m *metric.Metric) string {
	if why := m.WhyUnknown(); why != "" {
		return text + ": " + why
	}
	return text
}
