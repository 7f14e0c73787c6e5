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

// What a check says of a limit besides Inconclusive.
const (
	Violated Verdict = "violated" // exclusion, by a design that claims it
	Missed   Verdict = "missed"
	Passed   Verdict = "passed"
)

// CheckVerdicts are those of a check, the worst first.
var CheckVerdicts = []Verdict{Violated, Missed, Inconclusive, Passed}

// Why a limit is Inconclusive, besides Unmeasured and Saturated.
const (
	NotRun    Reason = "not-run"   // a cell that was asked for has no trial; a reason of the whole
	Partial   Reason = "partial"   // the trial ended early
	Unclaimed Reason = "unclaimed" // the design does not claim mutual exclusion, so that a violation breaks no promise
)

// CheckReasons are those of a check.
var CheckReasons = []Reason{NotRun, Partial, Unmeasured, Saturated, Unclaimed}

// Check is what a run without a base is worth by itself: whether its locks excluded, and whether its figures kept to
// absolute thresholds.
type Check struct {
	Thresholds []Threshold
	Cells      []CheckedCell
	Missing    []string // cells that were asked for and have no trial
	Verdict    Verdict  // the worst; empty if no threshold was asked for and exclusion was not violated
	Objective  *Check   // by what the workload wants to be true (slo), which decides nothing; nil if nothing can be told of that
}

// CheckedCell is a cell of a Check.
type CheckedCell struct {
	*results.Cell
	Label   string  // what tells it from the other cells; empty if there is only one
	Limits  []Limit // mutual exclusion, then one for each threshold
	Verdict Verdict // the worst; see Check
}

// Limit is what became of one threshold in one cell.
type Limit struct {
	Threshold *Threshold     `json:"-"` // nil: mutual exclusion
	Trials    stats.Estimate `json:"-"` // of the figure; zero of mutual exclusion
	Value     float64        `json:"-"` // that is judged: the median of the trials or, of a count, the worst; NaN if it was not measured
	Verdict   Verdict        `json:"verdict"`
	Reason    Reason         `json:"reason,omitempty"` // of Inconclusive, else empty
	Why       string         `json:"why,omitempty"`    // in words, or what else is to be said of the value

	exclusion string // what is to be said of it where no threshold is judged
}

// CheckCells judges cells by thresholds, none of which may be relative (Threshold.Relative). Missing are cells that were
// asked for and have no trial: what did not run has not passed.
//
// A record that ended early is left out if there is a whole trial of the same plan and revision. Alone it can miss a
// threshold, and pass none. Where lockbench or its machine was the bottleneck (saturated), a figure that misses its
// threshold misses it, and what passes has passed only if a machine with time to spare could but improve it: the
// throughput, and the response, which counts from the intended start. A quantile that most trials have too few values for
// is not measured. No violations pass where none could have been seen too, since that is how a local queue works, with a
// word that says so; a threshold of the watched grants wants more.
func CheckCells(cells []*results.Cell, thresholds []Threshold, missing []string) *Check {
	cells, partial := whole(cells)
	c := &Check{Thresholds: thresholds, Missing: missing}
	labels := make([]string, len(cells))
	if len(cells)+len(missing) > 1 && len(cells) > 0 {
		labels = view.Names(cells)
	}
	judged := 0
	for i, cell := range cells {
		one := CheckedCell{Cell: cell, Label: labels[i], Limits: []Limit{safetyOf(cell, partial[cell])}}
		for j := range thresholds {
			one.Limits = append(one.Limits, limitOf(&thresholds[j], cell, partial[cell]))
		}
		for _, l := range one.Limits {
			if l.Counts() {
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

// Counts reports whether l has a part in the verdict of the whole: it was asked for, and the design claims what it is about.
func (l *Limit) Counts() bool {
	return l.Verdict == Violated || l.Threshold != nil && l.Reason != Unclaimed
}

// Name returns the threshold as it was written, or what else is judged.
func (l *Limit) Name() string {
	if l.Threshold == nil {
		return "mutual exclusion"
	}
	return l.Threshold.Text
}

// Sentence returns what became of l: "response.p99 12.3 ms, limit 20 ms".
func (l *Limit) Sentence() string {
	if l.Threshold == nil {
		if l.Why == "" {
			return l.exclusion
		}
		return l.exclusion + ": " + l.Why
	}
	t, unit := l.Threshold, l.Threshold.Figure.Unit
	value := unit.Format(l.Value)
	if math.IsNaN(l.Value) {
		value = "not measured"
	} else if l.Value != t.Value && value == unit.Format(t.Value) {
		value = unit.Plain(l.Value) // or both would look the same
	}
	text := t.Figure.Name + " " + value + map[bool]string{false: ", limit ", true: ", minimum "}[t.Less] + unit.Plain(t.Value)
	if l.Why != "" {
		text += ": " + l.Why
	}
	return text
}

// CheckedLimit is a limit and the place of its cell in Check.Cells.
type CheckedLimit struct {
	Cell int
	*Limit
}

// Limits returns all limits that count, the worst first, a violation before all else.
func (c *Check) Limits() (list []CheckedLimit) {
	for i := range c.Cells {
		for j := range c.Cells[i].Limits {
			if l := &c.Cells[i].Limits[j]; l.Threshold != nil || l.Counts() {
				list = append(list, CheckedLimit{i, l})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b CheckedLimit) int { return cmp.Compare(rank(a.Verdict), rank(b.Verdict)) })
	return list
}

// Reasons returns those for which anything in c that counts is inconclusive, in the order of the list of all.
func (c *Check) Reasons() []Reason {
	have := reasonSet{NotRun: len(c.Missing) > 0}
	for _, l := range c.Limits() {
		have[l.Reason] = have[l.Reason] || l.Counts()
	}
	list := have.in(CheckReasons)
	if c.Verdict == Inconclusive && len(list) == 0 {
		return []Reason{Unclaimed}
	}
	return list
}

// whole leaves out the records that ended early where there are whole trials of the same plan, of the same revision and build,
// on the same kind of server, and returns them by the cell that stands for them.
func whole(cells []*results.Cell) (kept []*results.Cell, partial map[*results.Cell][]*results.Record) {
	partial = map[*results.Cell][]*results.Record{}
	seen := plans{}
	key := func(c *results.Cell) string {
		r := c.First()
		plan, err := seen.read(r.Plan)
		if err != nil { // of a plan that JSON cannot hold, of which there is none in a record
			return r.ID
		}
		return fmt.Sprintf("%q", []string{kindOf(r), r.Side, r.Env.Revision, r.Env.Lockbench, plan.whole})
	}
	of := map[string]*results.Cell{}
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
func safetyOf(c *results.Cell, partial []*results.Record) Limit {
	l := Limit{Verdict: Passed, Value: math.NaN(), exclusion: "mutual exclusion: " + view.Exclusion(c)}
	early := &results.Cell{Trials: partial}
	switch {
	case c.Violated():
		l.Verdict = Violated
		l.Why = view.Witnesses(c)
	case early.Violated():
		l.Verdict = Violated
		l.Why = format.Plural(early.Broken(), "violation") + " in trials that ended early"
	case !c.First().Traits.Exclusive:
		l.cannot(Unclaimed, "the design does not claim it")
	case c.Partial() != "":
		l.cannot(Partial, endedEarly(c))
	default:
		if _, ok := c.Figures().MaxRate(); !ok {
			l.cannot(Unmeasured, "") // the sentence about the safety has the reason
		}
	}
	return l
}

func (l *Limit) cannot(reason Reason, why string) {
	l.Verdict, l.Reason, l.Why = Inconclusive, reason, why
}

// limitOf judges one threshold in one cell. Of a count, records that ended early are witnesses too.
func limitOf(t *Threshold, c *results.Cell, partial []*results.Record) Limit {
	trials := c.Trials
	if c.Partial() != "" && c.First().Elapsed == 0 {
		trials = nil // it was stopped before anything could be measured
	}
	l := Limit{Threshold: t, Trials: stats.Of(t.Figure.Values(trials)), Verdict: Passed}
	l.Value = t.amount(trials, partial)
	if _, spelled := metric.Named(t.Figure.Name); !spelled && trials != nil {
		l.Value, l.Trials.N = t.Figure.Of(c.Figures()), len(trials)
	}
	if !c.First().Traits.Exclusive && slices.Contains(breaches, t.Figure.Name) {
		l.cannot(Unclaimed, "not judged, since the design does not claim mutual exclusion")
		return l
	}
	early := ""
	if c.Partial() != "" {
		early = endedEarly(c)
	}
	switch n := saturated(c.Trials); {
	case math.IsNaN(l.Value) && early != "":
		l.cannot(Partial, early)
	case math.IsNaN(l.Value):
		l.cannot(Unmeasured, unmeasured(t.Figure, c))
	case t.missedBy(l.Value):
		l.Verdict, l.Why = Missed, early
		if n > 0 && t.saturationMisses() {
			l.Why = strings.TrimPrefix(l.Why+"; "+saturation(n, c)+", which may be why", "; ")
		}
	case early != "":
		l.cannot(Partial, early+": its rest might have missed")
	case 2*l.Trials.N <= len(trials):
		l.cannot(Unmeasured, fmt.Sprintf("known of %d of %s only", l.Trials.N, format.Plural(len(trials), "trial")))
	case n > 0 && rated(t.Figure) && !t.standsSaturated():
		l.cannot(Saturated, saturation(n, c)+" (take a lighter load)")
	case t.Figure.Name == "violations" && !slices.ContainsFunc(trials, sighted):
		l.Why = "not tested, no client met a rival"
	}
	return l
}

func endedEarly(c *results.Cell) string { return "the trial ended early (" + c.Partial() + ")" }

// saturation says in how many trials lockbench or its machine was the bottleneck.
func saturation(n int, c *results.Cell) string {
	if len(c.Trials) == 1 {
		return "saturated"
	}
	return fmt.Sprintf("%d of %s saturated", n, format.Plural(len(c.Trials), "trial"))
}

// saturationMisses reports whether a figure can miss t because lockbench was saturated, which makes rates lower and times longer.
func (t *Threshold) saturationMisses() bool {
	if t.Less {
		return t.Figure.Unit == metric.PerSecond || t.Figure.Unit == metric.Share
	}
	return t.Figure.Unit == metric.Duration
}

// standsSaturated reports whether a figure that keeps to t on a saturated machine would do so on a faster one.
func (t *Threshold) standsSaturated() bool {
	if t.Less {
		return t.Figure.Unit == metric.PerSecond
	}
	return strings.HasPrefix(t.Figure.Name, string(results.Response)+".")
}

// unmeasured returns why no trial of a cell knows a figure.
func unmeasured(m *metric.Metric, c *results.Cell) string {
	name, quantile, _ := strings.Cut(m.Name, ".")
	n := int64(0)
	for _, r := range c.Trials {
		n = max(n, r.Latency[results.Metric(name)].Count)
	}
	switch why := m.WhyUnknown(); {
	case n > 0 && m.Quantile > 0:
		return fmt.Sprintf("%s in a trial, and it takes %s: take a longer -duration", format.Plural(n, "value"),
			format.Count(results.Needs(m.Quantile)))
	case c.Open() && quantile != "":
		return "no trial has a value of it"
	case why != "":
		return why
	}
	return "this run has no such figure"
}
