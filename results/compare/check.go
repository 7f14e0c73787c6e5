package compare

// Checks: a run that has no base, judged by absolute thresholds.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// Check is what a run without a base is worth by itself: whether its locks excluded, and whether its figures kept to
// absolute thresholds.
type Check struct {
	Thresholds []Threshold
	Cells      []CheckedCell
	Missing    []string // cells that were asked for and have no trial
	Verdict    Verdict  // the worst; empty if no threshold was asked for and exclusion was not violated
	Objective  *Check   // by what the workload wants to be true (slo), which decides nothing; nil: nothing can be told
}

// CheckedCell is a cell of a Check.
type CheckedCell struct {
	*results.Cell
	Label   string   // what tells it from the other cells; empty if there is only one
	Limits  []Result // mutual exclusion, then one for each threshold
	Verdict Verdict  // the worst; see Check
}

// CheckCells judges cells by thresholds, none of which may be relative (Threshold.Relative). Missing are cells that
// were asked for and have no trial: what did not run has not passed.
//
// A record that ended early is left out if there is a whole trial of the same plan and revision. Alone it can miss a
// threshold, and pass none. Where lockbench or its machine was the bottleneck (saturated), a figure that misses its
// threshold misses it, and what passes has passed only if a machine with time to spare could but improve it: the
// throughput, and the response, which counts from the intended start. A quantile that most trials have too few values
// for is not measured. No violations pass where none could have been seen too, since that is how a local queue works,
// with a word that says so; a threshold of the watched grants wants more.
func CheckCells(cells []*results.Cell, thresholds []Threshold, missing []string) *Check {
	cells, partial := whole(cells)
	c := &Check{Thresholds: thresholds, Missing: missing}
	labels := make([]string, len(cells))
	if len(cells)+len(missing) > 1 && len(cells) > 0 {
		labels = view.Names(cells)
	}
	judged := 0
	for i, cell := range cells {
		one := CheckedCell{Cell: cell, Label: labels[i], Limits: []Result{safetyOf(cell, partial[cell])}}
		for j := range thresholds {
			l := Result{Figure: thresholds[j].Figure, Threshold: &thresholds[j]}
			judgeAmount(&l, cell, slices.Concat(cell.Trials, partial[cell]))
			one.Limits = append(one.Limits, l)
		}
		for j := range one.Limits {
			l := &one.Limits[j]
			if l.Place = i; l.Counts() {
				judged++
				one.Verdict = worse(one.Verdict, l.Verdict)
			}
		}
		c.Cells = append(c.Cells, one)
		c.Verdict = worse(c.Verdict, one.Verdict)
	}
	if len(thresholds) > 0 && (judged == 0 || len(missing) > 0) {
		c.Verdict = worse(c.Verdict, Inconclusive)
	}
	return c
}

// Counts reports whether a result of a check has a part in the verdict of the whole: it was asked for, and the design
// claims what it is about.
func (r *Result) Counts() bool {
	return r.Verdict == Violated || r.Threshold != nil && r.Reason != Unclaimed
}

// Sentence returns what became of a limit: "response.p99 12.3 ms, limit 20 ms".
func (r *Result) Sentence() string {
	t := r.Threshold
	if t == nil {
		return r.Why
	}
	unit := t.Figure.Unit
	value := unit.Format(r.Value)
	if math.IsNaN(r.Value) {
		value = "not measured"
	} else if r.Value != t.Value && value == unit.Format(t.Value) {
		value = unit.Plain(r.Value) // or both would look the same
	}
	value += map[bool]string{false: ", limit ", true: ", minimum "}[t.Less] + unit.Plain(t.Value)
	return strings.TrimSuffix(t.Figure.Name+" "+value+": "+r.Why, ": ")
}

// Limits returns all limits that count, the worst first, a violation before all else.
func (c *Check) Limits() (list []Result) {
	for _, cell := range c.Cells {
		for _, l := range cell.Limits {
			if l.Threshold != nil || l.Counts() {
				list = append(list, l)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Result) int { return cmp.Compare(rank(a.Verdict), rank(b.Verdict)) })
	return list
}

// Reasons returns those for which anything in c that counts is inconclusive, in the order of the list of all.
func (c *Check) Reasons() []Reason {
	counted := slices.DeleteFunc(c.Limits(), func(r Result) bool { return !r.Counts() })
	list := reasonsOf(counted, []Reason{NotRun}[:min(1, len(c.Missing))]...)
	if c.Verdict == Inconclusive && len(list) == 0 {
		return []Reason{Unclaimed}
	}
	return list
}

// whole leaves out the records that ended early where there are whole trials of the same plan, of the same revision
// and build, on the same kind of server, and returns them by the cell that stands for them.
func whole(cells []*results.Cell) (kept []*results.Cell, partial map[*results.Cell][]*results.Record) {
	partial = map[*results.Cell][]*results.Record{}
	of := map[string]*results.Cell{}
	key := func(c *results.Cell) string {
		r := c.First()
		return fmt.Sprintf("%q", append(settingsOf(r), r.Side, r.Env.Revision, r.Env.Lockbench))
	}
	for _, c := range cells {
		if c.Partial() == "" {
			of[key(c)] = c
		}
	}
	for _, c := range cells {
		if stands := of[key(c)]; c.Partial() != "" && stands != nil {
			partial[stands] = append(partial[stands], c.Trials...)
			continue
		}
		kept = append(kept, c)
	}
	return kept, partial
}

// safetyOf judges whether the lock of a cell excluded. Records that ended early are witnesses too.
func safetyOf(c *results.Cell, partial []*results.Record) Result {
	r, early := Result{Verdict: Passed, Value: math.NaN()}, &results.Cell{Trials: partial}
	switch _, bounded := c.Figures().MaxRate(); {
	case c.Violated():
		r.Verdict, r.Why = Violated, view.Witnesses(c)
	case early.Violated():
		r.Verdict, r.Why = Violated, format.Plural(early.Broken(), "violation")+" in trials that ended early"
	case !c.First().Traits.Exclusive:
		r.cannot(Unclaimed)
	case c.Partial() != "":
		r.cannot(Partial, c.Partial())
	case !bounded: // the sentence about the safety has the reason
		r.Verdict, r.Reason = Inconclusive, Unmeasured
	}
	r.Why = strings.TrimSuffix("mutual exclusion: "+view.Exclusion(c)+": "+r.Why, ": ")
	return r
}

// judgeAmount judges an absolute threshold by the trials of a cell: by their median or, of a count, by the worst of the
// witnesses, which may have ended early.
func judgeAmount(r *Result, c *results.Cell, witnesses []*results.Record) {
	t, trials, early := r.Threshold, c.Trials, ""
	if len(trials) > 0 {
		early = c.Partial()
	}
	if early != "" && c.First().Elapsed == 0 { // it was stopped before anything could be measured
		trials, witnesses = nil, nil
	}
	know := stats.Of(t.Figure.Values(trials))
	r.Verdict, r.Value, r.Change.Head = Passed, t.amount(know, witnesses), know
	if _, spelled := metric.Named(t.Figure.Name); !spelled && trials != nil {
		r.Value, know.N = t.Figure.Of(c.Figures()), len(trials)
	}
	of := slices.Concat(trials, witnesses)
	if claims := func(r *results.Record) bool { return r.Traits.Exclusive }; len(of) > 0 &&
		!slices.ContainsFunc(of, claims) && slices.Contains(breaches, t.Figure.Name) {
		r.cannot(Unclaimed)
		return
	}
	n, response := saturated(trials), strings.HasPrefix(t.Figure.Name, string(results.Response)+".")
	faster := t.Less && t.Figure.Unit == metric.PerSecond || !t.Less && response // a faster machine could but improve it
	switch {
	case math.IsNaN(r.Value) && early != "":
		r.cannot(Partial, early)
	case math.IsNaN(r.Value):
		r.cannot(Unmeasured, shareOf(0, len(c.Trials)))
		r.Why = cmp.Or(unmeasured(t.Figure, c.Trials), "this run has no such figure")
	case t.missedBy(r.Value):
		if r.Verdict = Missed; early != "" {
			r.Why = fmt.Sprintf(reasons[entry(Partial)].why, early)
		} else if n > 0 && rated(t.Figure) && t.Less != (t.Figure.Unit == metric.Duration) {
			r.Why = shareOf(n, len(trials)) + " saturated, which may be why"
		}
	case early != "":
		r.cannot(Partial, early)
	case 2*know.N <= len(trials):
		r.cannot(Unmeasured, shareOf(know.N, len(trials)))
	case n > 0 && rated(t.Figure) && !faster:
		r.cannot(Saturated, shareOf(n, len(trials)))
	case t.Figure.Name == "violations" && !slices.ContainsFunc(trials, sighted):
		r.Why = NotTested
	}
}

// amount returns the value that an absolute threshold judges: the median of the trials or, of a count, the worst of the
// witnesses, since a single violation is a failure. It is NaN if none knows the figure.
func (t *Threshold) amount(e stats.Estimate, witnesses []*results.Record) float64 {
	if t.Figure.Unit != metric.Count {
		return e.Median
	}
	if e = stats.Of(t.Figure.Values(witnesses)); t.Less {
		return e.Min
	}
	return e.Max
}

// sighted reports whether a trial could have shown a violation, as far as is known.
func sighted(r *results.Record) bool { return r.Safety.Power == nil || r.Safety.Power.Watched > 0 }

// unmeasured returns the likely reason why no trial knows a figure; empty if there is none that is likelier than
// others.
func unmeasured(m *metric.Metric, trials []*results.Record) string {
	if _, _, isQuantile := strings.Cut(m.Name, "."); isQuantile && (&results.Cell{Trials: trials}).Open() {
		return "no trial has values enough: take a longer -duration"
	}
	return m.WhyUnknown()
}
