package export

// What was judged, as test cases for JUnit.

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/stats"
)

// judged is all that was judged.
type judged struct {
	name       string
	last       time.Time // the youngest trial began; zero: there was none
	properties [][2]string
	notes      []string
	cases      []judgedCase
}

// judgedCase is one of them.
type judgedCase struct {
	within, name string // what it belongs to, empty if there is only one; what was asked
	outcome      outcome
	verdict      string
	text         string
	skip         string // why nothing can be told
	details      []string
}

// outcome is how a case is taken.
type outcome int

const (
	passed outcome = iota
	skipped
	failed
)

func (j *judged) begun(trials []*results.Record) {
	for _, r := range trials {
		if r.Started.After(j.last) {
			j.last = r.Started
		}
	}
}

// reasonWords returns reasons as programs read them.
func reasonWords(reasons []compare.Reason) string {
	var list []string
	for _, r := range reasons {
		list = append(list, string(r))
	}
	return strings.Join(list, ", ")
}

// inconclusive is why nothing can be told, with its reason.
func inconclusive(reason compare.Reason, why string) string {
	return fmt.Sprintf("inconclusive (%s): %s", reason, why)
}

// JUnitComparison writes a test case for each threshold of each cell.
func JUnitComparison(w io.Writer, c *compare.Comparison) error {
	j := &judged{name: fmt.Sprintf("lockbench compare %s → %s", c.Base.Name, c.Head.Name), notes: c.Notes, properties: [][2]string{
		{"verdict", string(c.Verdict)},
		{"reasons", reasonWords(c.Reasons())},
		{"alpha", strconv.FormatFloat(c.Alpha, 'f', -1, 64)},
		{"tests", strconv.Itoa(c.Tests)},
		{"base.trials", strconv.Itoa(c.Base.Trials)},
		{"head.trials", strconv.Itoa(c.Head.Trials)},
		{"base.revisions", strings.Join(c.Base.Revisions, ", ")},
		{"head.revisions", strings.Join(c.Head.Revisions, ", ")},
	}}
	for _, cell := range c.Cells {
		j.begun(slices.Concat(cell.Base, cell.Head))
		for i := range cell.Figures {
			if r := &cell.Figures[i]; r.Threshold != nil {
				j.cases = append(j.cases, resultCase(cell, r))
			}
		}
	}
	for _, label := range c.Missing {
		j.cases = append(j.cases, judgedCase{within: label, name: "all", outcome: skipped, skip: "only in the base, and not compared"})
	}
	return j.write(w)
}

// comparedOutcome is how the verdict on a change is taken as a test; the others have passed.
var comparedOutcome = map[compare.Verdict]outcome{compare.Regressed: failed, compare.Inconclusive: skipped}

func resultCase(cell compare.Cell, r *compare.Result) judgedCase {
	text := r.Figure.Name + ": " + r.Sentence()
	return judgedCase{
		within: cell.Label, name: r.Threshold.Text, outcome: comparedOutcome[r.Verdict], verdict: string(r.Verdict), text: text,
		skip: inconclusive(r.Reason, r.Why), details: append(append(changeDetails(r), "verdict "+string(r.Verdict), text), cell.Notes...),
	}
}

// changeDetails returns both sides of a result, and what has changed.
func changeDetails(r *compare.Result) []string {
	side := func(name string, e stats.Estimate) string {
		text := name + r.Figure.Unit.Format(e.Median)
		if e.Known() {
			text += fmt.Sprintf(" (%s to %s)", r.Figure.Unit.Format(e.Low), r.Figure.Unit.Format(e.High))
		}
		return text + ", " + format.Plural(e.N, "trial")
	}
	lines := []string{side("base    ", r.Change.Base), side("head    ", r.Change.Head)}
	if c := r.Change; !math.IsNaN(c.Ratio) {
		change := "change  " + format.Change(c.Ratio-1)
		if !math.IsNaN(c.Low) && !math.IsNaN(c.High) {
			change += fmt.Sprintf(" (%s to %s)", format.Change(c.Low-1), format.Change(c.High-1))
		}
		lines = append(lines, change)
	}
	if !math.IsNaN(r.P) {
		lines = append(lines, "p       "+format.P(r.P))
	}
	return lines
}

// JUnitCheck writes a test case for mutual exclusion and each threshold of each cell of a run.
func JUnitCheck(w io.Writer, c *compare.Check) error {
	var trials []*results.Record
	j := &judged{name: "lockbench run"}
	for _, cell := range c.Cells {
		trials = append(trials, cell.Trials...)
		for i := range cell.Limits {
			j.cases = append(j.cases, limitCase(cell, &cell.Limits[i]))
		}
	}
	j.begun(trials)
	j.properties = [][2]string{
		{"verdict", string(c.Verdict)},
		{"reasons", reasonWords(c.Reasons())},
		{"trials", strconv.Itoa(len(trials))},
		{"revisions", strings.Join(compare.Revisions(trials), ", ")},
	}
	for _, label := range c.Missing {
		j.cases = append(j.cases, judgedCase{
			within: label, name: "all", outcome: skipped, verdict: string(compare.Inconclusive),
			text: compare.NotRun.About(), skip: compare.NotRun.About(),
		})
	}
	return j.write(w)
}

func limitCase(cell compare.CheckedCell, l *compare.Limit) judgedCase {
	outcomes := map[compare.Verdict]outcome{compare.Violated: failed, compare.Missed: failed, compare.Inconclusive: skipped}
	text := l.Sentence()
	return judgedCase{
		within: cell.Label, name: l.Name(), outcome: outcomes[l.Verdict], verdict: string(l.Verdict), text: text, skip: inconclusive(l.Reason, text),
		details: []string{text, "verdict " + string(l.Verdict), format.Plural(len(cell.Trials), "trial"), cell.Plan().Command},
	}
}

// JUnitPlan writes a test case for each load that no lock can carry, and for each candidate: one that sustains the rate passes, one that
// is ruled out or has broken mutual exclusion fails.
func JUnitPlan(w io.Writer, a *capacity.Answer) error {
	a = a.Known()
	asked := format.Three(a.Rate) + "/s under " + a.SLO
	if !(a.Rate > 0) {
		asked = "the most under " + a.SLO
	}
	advice := cmp.Or(strings.TrimSuffix(a.Advice, "."), format.Upper(asked)+": "+cmp.Or(string(a.Verdict), string(capacity.Undecided)))
	if a.Partial != "" {
		advice += " (" + a.Partial + ")"
	}
	j := &judged{name: "lockbench plan", notes: a.Warnings, properties: [][2]string{
		{"verdict", string(a.Verdict)},
		{"slo", a.SLO},
		{"rate", strconv.FormatFloat(a.Rate, 'f', -1, 64)},
		{"advice", advice},
	}}
	for _, an := range a.Analysis {
		if an.Impossible != "" {
			j.cases = append(j.cases, judgedCase{within: "analysis", name: an.Load, outcome: failed, verdict: string(capacity.RulesOut), text: an.Impossible})
		}
	}
	for i := range a.Candidates {
		c := &a.Candidates[i]
		verdict := strings.TrimSuffix(string(c.Verdict)+": "+c.Why, ": ")
		one := judgedCase{
			within: c.Name, name: asked, outcome: planOutcome(c.Verdict), verdict: string(c.Verdict), text: cmp.Or(c.Why, string(c.Verdict)), skip: verdict,
			details: []string{"verdict: " + verdict},
		}
		for _, fact := range [][2]string{{"remedy", c.Remedy}, {"limited by", c.Binding}, {"risk", c.Wrong}, {"command", c.Plan.Command}} {
			if fact[1] != "" {
				one.details = append(one.details, fact[0]+": "+fact[1])
			}
		}
		if s := c.Sustains; s.Low > 0 && s.Mid > 0 && !math.IsInf(s.High, 0) {
			one.details = append(one.details, fmt.Sprintf("sustains: %s/s (%s to %s)", format.Three(s.Mid), format.Three(s.Low), format.Three(s.High)))
		}
		j.cases = append(j.cases, one)
	}
	return j.write(w)
}

// planOutcome is how a verdict of a plan is taken as a test.
func planOutcome(v capacity.Verdict) outcome {
	switch v {
	case capacity.Sustains:
		return passed
	case capacity.RulesOut, capacity.Violated:
		return failed
	}
	return skipped
}

// JUnitProof writes a test case for each cell that its hazard applies to, but for those that are only controls. A cell that is an alarm fails, and one
// of which nothing is known is skipped, with the reason, unless that is a change to the baseline. A control that is wrong is a failure
// of its own, and so is what was named and not tested.
func JUnitProof(w io.Writer, r *safety.Report) error {
	j := &judged{name: "lockbench prove"}
	fail := func(within, name, why string) {
		j.cases = append(j.cases, judgedCase{within: within, name: name, outcome: failed, verdict: string(safety.Invalid), text: why})
	}
	for _, u := range r.Untested() {
		fail(cmp.Or(u.What, "all"), "tested", "nothing was tested: "+u.Why)
	}
	controls := map[string]string{}
	for _, h := range r.Hazards {
		controls[h.Name] = h.Control
		if h.Wrong {
			fail(h.Name, "controls", h.Control)
		}
	}
	for _, c := range r.Cells {
		one := judgedCase{
			within: c.Hazard, name: c.Driver + " " + c.Lock, verdict: string(c.Verdict), text: c.Why, skip: c.Why,
			details: []string{fmt.Sprintf("%d of %s failed", c.Failed, format.Plural(c.Attempts, "attempt")), c.Command},
		}
		switch {
		case c.Verdict == safety.NotApplicable && !c.Unknown(), c.Control:
			continue
		case c.Alarm(), c.Before != "" && c.Unknown():
			one.outcome = failed
		case c.Doubted:
			one.outcome, one.skip = skipped, controls[c.Hazard]
		case c.Verdict.Open(), c.Verdict == safety.NoServer:
			one.outcome = skipped
		}
		j.cases = append(j.cases, one)
	}
	return j.write(w)
}
