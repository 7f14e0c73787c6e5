package compare

// Judgement: what may be said of a figure, and what not.

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

// defaultFigures are shown beside the judged ones, where they are known.
var defaultFigures = []string{"acquire.p50", "handoff.p50", "jain", "server-cpu/lock", "client-cpu/lock"}

// breaches are the figures that say nothing against a design which does not claim mutual exclusion: results.Safety.Breaches
// and what it is made of.
var breaches = []string{"violations", "lost-updates", "lost-early", "fence-regress"}

// draft is a cell while it is judged.
type draft struct {
	cellPair
	cell     *Cell
	trials   [2][]*results.Record // of base and head, those of a pair at the same place if they are paired, and nil for a missing one
	results  []Result
	machines []string // what makes two machines of its sides
}

// values returns those of a figure in the whole trials, NaN where there is none.
func (d *draft) values(f *metric.Metric) (base, head []float64) {
	of := func(trials []*results.Record) []float64 {
		values := make([]float64, len(trials))
		for i, r := range trials {
			if values[i] = math.NaN(); r != nil {
				values[i] = f.Of(r.Figures())
			}
		}
		return values
	}
	return of(d.trials[0]), of(d.trials[1])
}

// change returns what became of a figure.
func (d *draft) change(f *metric.Metric) stats.Change {
	if d.paired {
		return stats.ComparePairs(d.values(f))
	}
	return stats.Compare(d.values(f))
}

// least returns the smallest p that the trials of a change can have.
func (d *draft) least(c stats.Change) float64 {
	if d.paired {
		return stats.MinPairsP(c.Pairs)
	}
	return stats.MinP(c.Base.N, c.Head.N)
}

// need returns how many trials a side, or pairs of them, would tell at an alpha, and how many it takes for any difference.
func (d *draft) need(r *Result, alpha float64) (trials, least int) {
	base, head := d.values(r.Figure)
	if d.paired {
		return stats.PairsNeeded(base, head, r.Threshold.Value, alpha, Power), stats.MinPairs(alpha)
	}
	return stats.TrialsNeeded(base, head, r.Threshold.Value, alpha, Power), stats.LeastTrials(alpha)
}

// known reports whether any trial of either side knows the figure.
func (d *draft) known(f *metric.Metric) bool {
	base, head := d.values(f)
	return slices.ContainsFunc(slices.Concat(base, head), func(v float64) bool { return !math.IsNaN(v) })
}

// open reports whether the cell is an open loop, for a part of the clients at least.
func (d *draft) open() bool {
	is := func(b *group) bool {
		return slices.ContainsFunc(b.first().Plan.Groups(), func(g spec.Class) bool { return g.Open() })
	}
	return is(d.base) || is(d.head)
}

// thresholds returns those that the cell is judged by. Those that somebody has asked for are all of them, also if nothing is
// known of the figure: then the answer is that it is not. Of the default ones a cell has those that it can have, and what
// is left out is said.
func (d *draft) thresholds(o Options) []Threshold {
	if len(o.Thresholds) > 0 {
		return o.Thresholds
	}
	text := DefaultThresholds
	if d.open() {
		text = strings.ReplaceAll(text, string(results.Acquire)+".", string(results.Response)+".")
	}
	list, err := ParseThresholds(text)
	if err != nil {
		panic(err) // a constant
	}
	return slices.DeleteFunc(list, func(t Threshold) bool {
		if d.known(t.Figure) || t.Figure.Name == "locks/s" {
			return false
		}
		why := "no trial has values enough for it; longer ones (-duration) would"
		if t.Figure.Name == "violations" {
			why = "the oracle was off"
		}
		d.cell.Notes = append(d.cell.Notes, fmt.Sprintf("%s is not judged: %s", t.Figure.Name, why))
		return true
	})
}

// fill makes the results of a cell, the judged ones first, without their verdicts. What breaks mutual exclusion is shown
// only if the head does not claim it, as no promise was broken.
func (d *draft) fill(o Options) {
	claimed := slices.ContainsFunc(d.head.all(), func(r *results.Record) bool { return r.Traits.Exclusive })
	var shown []*metric.Metric
	for _, t := range d.thresholds(o) {
		if claimed || !slices.Contains(breaches, t.Figure.Name) {
			d.add(Result{Figure: t.Figure, Threshold: &t})
			continue
		}
		shown = append(shown, t.Figure)
		d.note(t.Figure.Name + " is not judged: the head does not claim mutual exclusion")
	}
	shown = append(shown, o.Figures...)
	if len(o.Figures) == 0 {
		for _, name := range defaultFigures {
			if f, ok := metric.Named(name); ok && d.known(f) {
				shown = append(shown, f)
			}
		}
	}
	for _, f := range shown {
		if !slices.ContainsFunc(d.results, func(r Result) bool { return r.Figure.Name == f.Name }) {
			d.add(Result{Figure: f})
		}
	}
}

func (d *draft) add(r Result) {
	r.P, r.least = math.NaN(), math.NaN()
	r.Change = d.change(r.Figure)
	d.results = append(d.results, r)
	if r.Threshold == nil {
		return
	}
	for _, side := range []struct {
		name      string
		know, all int
	}{{"base", r.Change.Base.N, len(d.cell.Base)}, {"head", r.Change.Head.N, len(d.cell.Head)}} {
		if 0 < side.know && side.know < side.all {
			d.note(fmt.Sprintf("%s is known of %d of %s of the %s", r.Figure.Name, side.know, format.Plural(side.all, "trial"), side.name))
		}
	}
}

// note adds what holds for the cell, once.
func (d *draft) note(text string) {
	if !slices.Contains(d.cell.Notes, text) {
		d.cell.Notes = append(d.cell.Notes, text)
	}
}

// comparable returns why a change of the figure can't be judged at all; empty if it can.
func (d *draft) comparable(r *Result, force bool) (reason Reason, why string) {
	base, head := len(d.cell.Base), len(d.cell.Head)
	switch {
	case base == 0:
		return NoTrials, "the base has no whole trial"
	case head == 0:
		return NoTrials, "the head has no whole trial"
	case !force && len(d.base.partial) > base:
		return NoTrials, fmt.Sprintf("%d of %s of the base ended early, and those that did not may be the lucky ones", len(d.base.partial), format.Plural(base+len(d.base.partial), "trial"))
	case !force && len(d.head.partial) > head:
		return NoTrials, fmt.Sprintf("%d of %s of the head ended early, and those that did not may be the lucky ones", len(d.head.partial), format.Plural(head+len(d.head.partial), "trial"))
	case r.Change.Base.N == 0 && r.Change.Head.N == 0:
		return Unmeasured, unknown("neither side knows it", r.Figure)
	case r.Change.Base.N == 0:
		return Unmeasured, unknown("the base does not know it", r.Figure)
	case r.Change.Head.N == 0:
		return Unmeasured, unknown("the head does not know it", r.Figure)
	case !force && 2*r.Change.Base.N <= base:
		return Unmeasured, partly("base", r.Change.Base.N, base)
	case !force && 2*r.Change.Head.N <= head:
		return Unmeasured, partly("head", r.Change.Head.N, head)
	case d.paired && r.Change.Pairs == 0:
		return NoTrials, "no trial of the base has a partner in the head"
	case d.paired && !force && 2*r.Change.Pairs <= min(base, head):
		return NoTrials, fmt.Sprintf("only %s, of %s of the base and %d of the head, which may be the lucky ones",
			trials(r.Change), format.Plural(base, "trial"), head)
	case len(d.machines) > 0 && !force:
		return Unlike, "the sides ran on unlike machines (" + strings.Join(d.machines, ", ") + ")"
	}
	return "", ""
}

// partly returns why a figure is not judged by the few trials that know it: those without a quantile are those that got next
// to nothing.
func partly(side string, know, all int) string {
	return fmt.Sprintf("the %s knows it of %d of %s only, which may be the lucky ones", side, know, format.Plural(all, "trial"))
}

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
			if least := d.least(r.Change); least < o.Alpha {
				at[where] = len(ps)
				ps, leasts = append(ps, r.Change.P), append(leasts, least)
			}
		}
	}
	adjusted, best := stats.Holm(ps), stats.Holm(leasts)
	t.made, t.first = len(ps), number(best, func(p float64) bool { return p < o.Alpha })
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

// relative judges a change.
func (d *draft) relative(r *Result, o Options, of tests) {
	t := r.Threshold
	if reason, why := d.comparable(r, o.Force); why != "" {
		r.cannot(reason, why)
		return
	}
	defer d.hidden(r, o.Force)
	if !(r.Change.Base.Median > 0) {
		fromZero(r, o.Alpha)
		return
	}
	c := r.Change
	bound := 1 + t.Value
	beyond := c.Ratio > bound
	ruledOut := c.High <= bound // false if there is no interval
	if t.Less {
		beyond, ruledOut = c.Ratio < bound, c.Low >= bound
	}
	significant := r.P < o.Alpha // false if it was not tested
	good := r.Figure.Better == metric.Higher && c.Ratio >= 1+o.MinEffect || r.Figure.Better == metric.Lower && c.Ratio <= 1-o.MinEffect
	switch {
	case significant && beyond:
		r.Verdict, r.Why = Regressed, fmt.Sprintf("%s, and %s is the limit", moved(c.Ratio), t.Allowed())
		if n := saturated(d.cell.Head); n > 0 && saturated(d.cell.Base) == 0 {
			d.note(fmt.Sprintf("%d of %s of the head are saturated and the base is not: the loss may be the machine's",
				n, format.Plural(len(d.cell.Head), "trial")))
		}
	case significant && good:
		r.Verdict = Improved
	case ruledOut:
		r.Verdict = NotWorse
		if margin := max(bound, 1/bound); 1/margin <= c.Low && c.High <= margin {
			r.Verdict = Unchanged
		}
		if worse := r.Figure.Better == metric.Higher && c.Ratio < 1 || r.Figure.Better == metric.Lower && c.Ratio > 1; worse && significant {
			r.Why = fmt.Sprintf("%s, which %s allows", moved(c.Ratio), t)
		}
	default:
		d.undecided(r, beyond, o, of)
	}
}

// undecided says why nothing can be told, and what it would take. That is reckoned for all tests that are wanted, as those
// for which there are too few trials now will be made once there are enough.
func (d *draft) undecided(r *Result, beyond bool, o Options, of tests) {
	c, t := r.Change, r.Threshold
	each := o.Alpha / float64(max(1, of.wanted)) // what Holm leaves to the smallest p
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
	case !(r.least < o.Alpha): // it was not tested, or could never have been significant
		r.cannot(TooFew, never(r, o.Alpha, of))
	case zeros(base)+zeros(head) > 0: // for which more trials do nothing
		r.Needed = 0
		r.cannot(Zero, fmt.Sprintf("0 in %d of %s of the base and in %d of %s of the head, where a percentage says nothing: "+
			"an absolute limit would", zeros(base), format.Plural(c.Base.N, "trial"), zeros(head), format.Plural(c.Head.N, "trial")))
	case beyond:
		r.cannot(Scatter, fmt.Sprintf("%s, which may be chance", moved(c.Ratio)))
	case math.IsNaN(c.Low): // with an alpha above 5 %
		r.cannot(TooFew, fmt.Sprintf("no interval can be given of its change from %s", trials(c)))
	default:
		r.cannot(Scatter, fmt.Sprintf("the change is between %s and %s: %s is not ruled out", format.Change(c.Low-1), format.Change(c.High-1), t.Allowed()))
	}
}

// zeros returns how many trials have 0 of a figure.
func zeros(values []float64) int { return number(values, func(v float64) bool { return v == 0 }) }

// never returns what p the trials of a figure would have to have, and cannot. Alone a figure would have to be below alpha,
// and of those that are tested the first has to be below alpha over the number of tests; but each that is significant
// leaves more to the next (Holm), so what counts is how many are left when all have gone that can.
func never(r *Result, alpha float64, of tests) string {
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
// rises significantly it is beyond any percentage. A base that got no lock at all is none: that its head gets none either
// says that something is broken, not that nothing has changed.
func fromZero(r *Result, alpha float64) {
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
		r.Verdict, r.Why = Regressed, fmt.Sprintf("%s of the head has %s", what, t.Figure.Unit.Rounded(v))
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
		d.cell.Notes = append(d.cell.Notes, "violations: none could have been seen in the head, since no rival was refused while a key was held")
	}
}

// sighted reports whether a trial could have shown a violation, as far as is known.
func sighted(r *results.Record) bool { return r.Safety.Power == nil || r.Safety.Power.Watched > 0 }

// judge gives every result its verdict, and the cell the worst of them.
func (d *draft) judge(o Options, of tests) {
	d.cell.Verdict = Unchanged
	for i := range d.results {
		r := &d.results[i]
		if r.Threshold == nil {
			continue
		}
		if r.Threshold.Relative {
			d.relative(r, o, of)
		} else {
			d.absolute(r)
		}
		d.cell.Verdict = worse(d.cell.Verdict, r.Verdict)
	}
	d.cell.Figures = d.results
}

// worse returns the worse of two verdicts.
func worse(a, b Verdict) Verdict {
	if slices.Index(Verdicts, b) < slices.Index(Verdicts, a) {
		return b
	}
	return a
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
