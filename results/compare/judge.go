package compare

// Judgement: what may be said of a figure, and what not.
//
// An example: locks/s, in thousands, of six trials a side with the threshold locks/s<-5%. The base has 100 101 99 102
// 98 100.
//
//	head                      ratio   interval        p        verdict
//	 93  92  94  91  93  92   0.925   0.910–0.940   0.0043   regressed: significant, and beyond 0.95
//	 97  94  99  92  96  95   0.955   0.929–0.980   0.0130   inconclusive: worse, and the interval has 0.95 in it
//	 98  97  98  97  99  97   0.980   0.960–0.990   0.0303   no change: worse, significantly, and within the threshold
//	100 101  99 100 102  98   1.000   0.980–1.020   1.0000   no change: neither 0.95 nor 1/0.95 is in the interval
//	100 112  98 110  99 104   1.020   0.980–1.111   0.9221   not worse: 0.95 is not in the interval, and 1/0.95 is
//	106 107 105 108 106 107   1.065   1.049–1.082   0.0043   improved: significant, and by the least effect of 2 % or more
//
// The first p is 2 × 6!·6!/12! = 0.0022, and Holm's method doubles it, since the p99 of the acquisition is tested
// as well.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
)

// besides are the figures that are shown beside the judged ones, where they are known.
var besides = []string{"acquire.p50", "handoff.p50", "jain", "server-cpu/lock", "client-cpu/lock"}

// breaches are the figures that say nothing against a design which does not claim mutual exclusion:
// results.Safety.Breaches and what it is made of.
var breaches = []string{"violations", "lost-updates", "lost-early", "fence-regress"}

// draft is a cell while it is judged.
type draft struct {
	Cell
	sides  pair
	paired bool
	trials [2][]*results.Record // of base and head, those that took turns at the same place, and nil for a missing one
}

// newDraft makes the results of a cell, the judged ones first, without their verdicts. What breaks mutual exclusion is
// shown only if the head does not claim it, as no promise was broken.
func newDraft(label string, p pair, paired bool, o Options) *draft {
	d := &draft{Cell: Cell{Label: label, Base: p[0].whole, Head: p[1].whole}, sides: p, paired: paired}
	if len(d.Head) > 0 {
		d.Command = d.Head[0].Plan.Command
	}
	d.Notes, d.Machines = unlike(d.Base, d.Head)
	d.Notes = slices.Concat(asked(p), d.Notes, doubts(p))
	d.align()
	if text := inTurn(d.Base, d.Head); text != "" && len(d.Machines) == 0 {
		d.note(text)
	}
	claimed := slices.ContainsFunc(p[1].all, func(r *results.Record) bool { return r.Traits.Exclusive })
	shown := slices.Clone(besides)
	for _, t := range d.thresholds(o) {
		if claimed || !slices.Contains(breaches, t.Figure.Name) {
			d.add(Result{Figure: t.Figure, Threshold: &t})
			continue
		}
		shown = slices.Insert(shown, 0, t.Figure.Name)
		d.note(t.Figure.Name + ": not judged, the head does not claim mutual exclusion")
	}
	for _, name := range shown {
		f, _ := metric.Named(name)
		is := func(r Result) bool { return r.Figure == f }
		if !slices.ContainsFunc(d.Figures, is) && (d.known(f) || !slices.Contains(besides, name)) {
			d.add(Result{Figure: f})
		}
	}
	return d
}

// align puts the trials of both sides next to those that took turns with them, with nil where there is none. What has
// no partner, since that one is no observation or missing, is said.
func (d *draft) align() {
	if d.trials = [2][]*results.Record{d.Base, d.Head}; !d.paired {
		return
	}
	at, lone := map[slot]int{}, 0
	base, head := slices.Clone(d.Base), make([]*results.Record, len(d.Base))
	for i, r := range d.Base {
		at[slot{r.Run, r.Pair, r.Trial}] = i
	}
	for _, r := range d.Head {
		if i, ok := at[slot{r.Run, r.Pair, r.Trial}]; ok && head[i] == nil {
			head[i] = r
			continue
		}
		base, head, lone = append(base, nil), append(head, r), lone+1
	}
	d.trials = [2][]*results.Record{base, head}
	alone := number(head, func(r *results.Record) bool { return r == nil })
	for i, n := range []int{alone, lone} {
		if n > 0 {
			d.note("unpaired: " + format.Plural(n, "trial") + " of the " + d.sides[i].of + " left out")
		}
	}
}

// values returns those of a figure in the trials of both sides, NaN where there is none.
func (d *draft) values(f *metric.Metric) (values [2][]float64) {
	for i, trials := range d.trials {
		for _, r := range trials {
			v := math.NaN()
			if r != nil {
				v = f.Of(r.Figures())
			}
			values[i] = append(values[i], v)
		}
	}
	return values
}

// known reports whether any trial of either side knows the figure.
func (d *draft) known(f *metric.Metric) bool {
	v := d.values(f)
	return slices.ContainsFunc(slices.Concat(v[0], v[1]), func(v float64) bool { return !math.IsNaN(v) })
}

// thresholds returns those that the cell is judged by: all that somebody has asked for, and of the default ones those
// that it can have; what is left out is said.
func (d *draft) thresholds(o Options) (list []Threshold) {
	if o.Thresholds != nil {
		return o.Thresholds
	}
	open := slices.ContainsFunc(slices.Concat(d.sides[0].all[0].Plan.Groups(), d.sides[1].all[0].Plan.Groups()),
		func(c spec.Class) bool { return c.Open() })
	for _, t := range defaults {
		if name, isWait := strings.CutPrefix(t.Figure.Name, string(results.Acquire)); open && isWait {
			t.Text = strings.Replace(t.Text, string(results.Acquire), string(results.Response), 1)
			t.Figure, _ = metric.Named(string(results.Response) + name)
		}
		switch known := d.known(t.Figure); {
		case known || t.Figure.Name == "locks/s":
			list = append(list, t)
		case t.Figure.Name == "violations":
			d.note("violations: not judged, the oracle was off")
		default:
			d.note(t.Figure.Name + ": not judged, too few values in a trial (-duration)")
		}
	}
	return list
}

func (d *draft) add(r Result) {
	r.P, r.Value = math.NaN(), math.NaN()
	v := d.values(r.Figure)
	if r.Change = stats.Compare(v[0], v[1]); d.paired {
		r.Change = stats.ComparePairs(v[0], v[1])
	}
	if d.Figures = append(d.Figures, r); r.Threshold != nil && r.Change.Opposed {
		d.note(r.Figure.Name + ": " + opposed)
	}
}

// incomparable makes a result inconclusive whose change cannot be judged at all. Where most trials of a side say
// nothing, those that do may be the lucky ones.
func (d *draft) incomparable(r *Result) bool {
	for i, g := range d.sides {
		switch whole, know := len(g.whole), []int{r.Change.Base.N, r.Change.Head.N}[i]; {
		case whole == 0, !g.force && 2*whole < len(g.all):
			r.cannot(g.mostLost(), shareOf(whole, len(g.all))+" of the "+g.of)
			return true
		case know == 0, !g.force && 2*know <= whole:
			r.cannot(Unmeasured, shareOf(know, whole)+" of the "+g.of)
			r.Why = strings.TrimSuffix(r.Why+": "+unmeasured(r.Figure, g.all), ": ")
			return true
		}
	}
	least, pairs, force := min(len(d.Base), len(d.Head)), r.Change.Pairs, d.sides[0].force
	switch {
	case d.paired && (pairs == 0 || !force && 2*pairs <= least):
		r.cannot(NoTrials, fmt.Sprintf("%d of %s", pairs, format.Plural(least, "pair")))
	case len(d.Machines) > 0 && !force:
		r.cannot(Unlike, strings.Join(d.Machines, "; "))
	}
	return r.Reason != ""
}

// mostLost returns why trials of a side count for nothing.
func (g *group) mostLost() Reason {
	reason := NoTrials
	for _, r := range g.all {
		if lost := g.lost(r); lost != "" && lost != Partial {
			reason = lost
		}
	}
	return reason
}

// test adjusts the p of everything that is judged by its change, each figure of each cell once, however many
// thresholds it has: Holm's method over all of them. Where there are too few trials for any difference to be
// significant there is no test, which is decided by their number and not by what they say, so that it costs the
// others nothing.
func test(drafts []*draft) (made, wanted int) {
	var ps []float64
	var of [][]*Result
	for _, d := range drafts {
		place := map[*metric.Metric]int{}
		for i := range d.Figures {
			r := &d.Figures[i]
			if r.Threshold == nil || !r.Threshold.Relative || d.incomparable(r) {
				continue
			}
			at, twice := place[r.Figure]
			if !twice {
				at, place[r.Figure] = len(ps), len(ps)
				ps, of = append(ps, r.Change.P), append(of, nil)
			}
			if of[at] = append(of[at], r); r.Change.MinP() >= alpha {
				ps[at] = math.NaN()
			}
		}
	}
	for i, p := range stats.Holm(ps) {
		for _, r := range of[i] {
			r.P = p
		}
	}
	return number(ps, func(p float64) bool { return !math.IsNaN(p) }), len(ps)
}

// judge gives every result its verdict, and the cell the worst of them.
func (d *draft) judge(made, wanted int) {
	d.Verdict = Unchanged
	for i := range d.Figures {
		r, n := &d.Figures[i], saturated(d.Base)
		switch {
		case r.Threshold == nil:
			continue
		case !r.Threshold.Relative:
			d.absolute(r)
			n = 0
		case r.Reason != "": // it is incomparable
			n = 0
		case !(r.Change.Base.Median > 0):
			d.fromZero(r)
		default:
			d.relative(r, made, wanted)
		}
		// The base's lock may be better than lockbench could show, by any amount, and the head may have lost just that. A
		// regression stays one, since what both sides hide is a difference.
		if n > 0 && rated(r.Figure) && !d.sides[0].force && r.Verdict != Regressed && r.Reason != Zero {
			r.Needed = 0 // trials would tell of lockbench
			r.cannot(Saturated, shareOf(n, len(d.Base))+" of the base")
		}
		d.Verdict = worse(d.Verdict, r.Verdict)
	}
}

// relative judges a change. What is neither significant nor ruled out is undecided.
func (d *draft) relative(r *Result, made, wanted int) {
	c, t, limit := r.Change, r.Threshold, 1+r.Threshold.Value
	gain, significant := max(limit, 1/limit), r.P < alpha // as far on the other side; false if it was not tested

	// What the figure gained, 0 if neither direction is good; false if there is no interval.
	better := map[metric.Better]float64{metric.Higher: c.Ratio, metric.Lower: 1 / c.Ratio}[r.Figure.Better]
	beyond, ruledOut := c.Ratio > limit, c.High <= limit
	if t.Less {
		beyond, ruledOut = c.Ratio < limit, c.Low >= limit
	}
	switch {
	case significant && beyond:
		r.Verdict, r.Why = Regressed, fmt.Sprintf(beyondLimit, format.Change(c.Ratio-1), t.allowed())
		if saturated(d.Head) > 0 && saturated(d.Base) == 0 {
			d.note("saturated: the head alone, so the loss may be its machine's")
		}
	case significant && better >= 1+minEffect:
		r.Verdict = Improved
	case ruledOut && 1/gain <= c.Low && c.High <= gain:
		r.Verdict = Unchanged
	case ruledOut:
		r.Verdict = NotWorse
	default:
		d.undecided(r, made, wanted)
	}
	if r.passed() && significant && 0 < better && better < 1 {
		r.Why = fmt.Sprintf(withinLimit, format.Change(c.Ratio-1), t)
	}
}

// undecided says why nothing can be told, and what it would take, reckoned for all tests that are wanted.
func (d *draft) undecided(r *Result, made, wanted int) {
	c, t, each := r.Change, r.Threshold, alpha/float64(wanted) // what Holm leaves to the smallest p
	sides, n := fmt.Sprintf("%d and %s", c.Base.N, format.Plural(c.Head.N, "trial")), min(c.Base.N, c.Head.N)
	if d.paired {
		sides, n = format.Plural(c.Pairs, "pair")+" of trials", c.Pairs
	}
	least := stats.LeastTrials(each, d.paired)
	if r.Needed = c.Needed(t.Value, each); r.Needed > 0 || n < least {
		r.Needed = max(r.Needed, least)
	}
	switch {
	case math.IsNaN(r.P) || float64(made)*c.MinP() >= alpha: // it could never have been significant
		r.cannot(TooFew, sides, format.Plural(wanted, "test"))
	case d.zero(r): // for which more trials do nothing
		r.Needed = 0
	case c.Opposed:
		r.Verdict, r.Reason, r.Why = Inconclusive, Scatter, opposed
	default:
		r.cannot(Scatter, format.Change(c.Low-1), format.Change(c.High-1), t.allowed())
	}
}

// zero makes a result inconclusive of which a trial has 0.
func (d *draft) zero(r *Result) bool {
	zero := func(v float64) bool { return v == 0 }
	v := d.values(r.Figure)
	b, h := number(v[0], zero), number(v[1], zero)
	if b+h > 0 {
		r.cannot(Zero, shareOf(b, r.Change.Base.N)+" of the base", shareOf(h, r.Change.Head.N)+" of the head")
	}
	return b+h > 0
}

// fromZero judges a figure whose median is 0 in the base, where there is no ratio: nothing falls below that, and if it
// rises significantly it is beyond any percentage. A base that got no lock at all is none.
func (d *draft) fromZero(r *Result) {
	rose, higher := r.P < alpha && r.Change.Head.Median > 0, r.Figure.Better == metric.Higher
	switch {
	case rose && higher && r.Threshold.Less:
		r.Verdict = Improved
	case rose && !r.Threshold.Less:
		r.Verdict, r.Why = Regressed, fromNothing
	case !higher && r.Threshold.Less:
		r.Verdict = NotWorse
	case higher || !rose && r.Change.Base.Max+r.Change.Head.Max > 0:
		d.zero(r)
	default:
		r.Verdict = Unchanged
	}
}

// absolute judges the head alone, as a Check does.
func (d *draft) absolute(r *Result) {
	judgeAmount(r, &results.Cell{Trials: d.Head}, d.sides[1].witnesses())
	switch {
	case r.Verdict == Missed:
		what := map[bool]string{true: "a trial", false: "the median"}[r.Figure.Unit == metric.Count]
		r.Verdict, r.Why = Regressed, fmt.Sprintf(amountOf, what, r.Figure.Unit.Format(r.Value))
	case len(d.Head) == 0:
		r.cannot(d.sides[1].mostLost(), shareOf(0, len(d.sides[1].all))+" of the head")
	case r.Verdict == Passed && r.Why != "":
		d.note(r.Figure.Name + ": " + r.Why)
		r.Why = ""
		fallthrough
	case r.Verdict == Passed:
		r.Verdict = Unchanged
	}
}

// saturated returns how many trials of a side are, if they are so many that the median is lockbench's figure: half of
// them. It is 0 for a lock inside of lockbench, whose processors are what it is made of.
func saturated(records []*results.Record) int {
	n := number(records, func(r *results.Record) bool { return r.Generator.Saturated && kindOf(r) != "in-process" })
	if 2*n < len(records) {
		return 0
	}
	return n
}

// rated reports whether a figure is a rate or a time, which are lockbench's own where it is saturated. What was
// counted has been counted.
func rated(m *metric.Metric) bool {
	units := []*metric.Unit{metric.PerSecond, metric.Duration, metric.Share}
	return m.Group != metric.Outcomes && slices.Contains(units, m.Unit)
}
