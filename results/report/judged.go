package report

// What was judged, for programs that show tests and annotate changes.

import (
	"cmp"
	"fmt"
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

// Judged is all that was judged. A case that is Bad has failed, and of one that is Warn nothing can be told; Good is a change for the
// better, and Plain has passed.
type Judged struct {
	Name       string
	Last       time.Time // the youngest trial began; zero: there was none
	Properties [][2]string
	Notes      []string
	Cases      []Case // in the order of the document
}

// Case is one of them.
type Case struct {
	Within, Name string // what it belongs to, empty if there is only one; what was asked
	Tone         Tone
	Verdict      string // empty: the name says it
	Text         string
	Skip         string // why nothing can be told, of a case that is Warn
	Details      []string
}

func (j *Judged) begun(trials []*results.Record) {
	for _, r := range trials {
		if r.Started.After(j.Last) {
			j.Last = r.Started
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

// judgedComparison has each threshold of each cell.
func judgedComparison(c *compare.Comparison) *Judged {
	j := &Judged{Name: fmt.Sprintf("lockbench compare %s → %s", c.Base.Name, c.Head.Name), Notes: c.Notes, Properties: [][2]string{
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
				j.Cases = append(j.Cases, resultCase(cell, r))
			}
		}
	}
	for _, label := range c.Missing {
		j.Cases = append(j.Cases, Case{Within: label, Name: "all", Tone: Warn, Skip: "only in the base, and not compared"})
	}
	return j
}

func resultCase(cell compare.Cell, r *compare.Result) Case {
	text := r.Figure.Name + ": " + r.Sentence()
	return Case{
		Within: cell.Label, Name: r.Threshold.Text, Tone: verdictTones[r.Verdict], Verdict: string(r.Verdict), Text: text,
		Skip: inconclusive(r.Reason, r.Why), Details: append(append(changeDetails(r), "verdict "+string(r.Verdict), text), cell.Notes...),
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

// JudgedCheck has mutual exclusion and each threshold of each cell of a run by itself; nil if there is no check.
func JudgedCheck(c *compare.Check) *Judged {
	if c == nil {
		return nil
	}
	var trials []*results.Record
	j := &Judged{Name: "lockbench run"}
	for _, cell := range c.Cells {
		trials = append(trials, cell.Trials...)
		for i := range cell.Limits {
			j.Cases = append(j.Cases, limitCase(cell, &cell.Limits[i]))
		}
	}
	j.begun(trials)
	j.Properties = [][2]string{
		{"verdict", string(c.Verdict)},
		{"reasons", reasonWords(c.Reasons())},
		{"trials", strconv.Itoa(len(trials))},
		{"revisions", strings.Join(compare.Revisions(trials), ", ")},
	}
	for _, label := range c.Missing {
		j.Cases = append(j.Cases, Case{
			Within: label, Name: "all", Tone: Warn, Verdict: string(compare.Inconclusive),
			Text: compare.NotRun.About(), Skip: compare.NotRun.About(),
		})
	}
	return j
}

func limitCase(cell compare.CheckedCell, l *compare.Limit) Case {
	tones := map[compare.Verdict]Tone{compare.Violated: Bad, compare.Missed: Bad, compare.Inconclusive: Warn}
	text := l.Sentence()
	return Case{
		Within: cell.Label, Name: l.Name(), Tone: tones[l.Verdict], Verdict: string(l.Verdict), Text: text, Skip: inconclusive(l.Reason, text),
		Details: []string{text, "verdict " + string(l.Verdict), format.Plural(len(cell.Trials), "trial"), cell.Plan().Command},
	}
}

// judgedPlan has the loads that no lock can carry, and each candidate: one that sustains the rate passes, one that is ruled out or has
// broken mutual exclusion fails.
func judgedPlan(a *capacity.Answer) *Judged {
	j := &Judged{Name: "lockbench plan", Notes: a.Warnings, Properties: [][2]string{
		{"verdict", string(a.Verdict)},
		{"slo", a.SLO},
		{"rate", strconv.FormatFloat(a.Rate, 'f', -1, 64)},
		{"advice", planSentence(a)},
	}}
	for _, an := range a.Analysis {
		if an.Impossible != "" {
			j.Cases = append(j.Cases, Case{
				Within: "analysis", Name: an.Load, Tone: Bad, Verdict: string(capacity.RulesOut), Text: an.Impossible,
				Details: []string{analysisText(an, a.Rate)},
			})
		}
	}
	for i := range a.Candidates {
		c := &a.Candidates[i]
		one := Case{
			Within: c.Name, Name: planAsked(a), Tone: judgedTone(c.Verdict), Verdict: string(c.Verdict),
			Text: cmp.Or(c.Why, string(c.Verdict)), Skip: planWhy(c),
		}
		for _, item := range planFacts(c) {
			one.Details = append(one.Details, item.Label+": "+strings.Join(item.Lines, " "))
		}
		j.Cases = append(j.Cases, one)
	}
	return j
}

// judgedTone is how a verdict of a plan is taken as a test.
func judgedTone(v capacity.Verdict) Tone {
	switch v {
	case capacity.Sustains:
		return Plain
	case capacity.RulesOut, capacity.Violated:
		return Bad
	}
	return Warn
}

// JudgedProof has each cell that its hazard applies to, but for those that are only controls. A cell that is an alarm fails, and one
// of which nothing is known is skipped, with the reason, unless that is a change to the baseline. A control that is wrong is a failure
// of its own, and so is what was named and not tested.
func JudgedProof(r *safety.Report) *Judged {
	j := &Judged{Name: "lockbench prove"}
	fail := func(within, name, why string) {
		j.Cases = append(j.Cases, Case{Within: within, Name: name, Tone: Bad, Verdict: string(safety.Invalid), Text: why})
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
		one := Case{
			Within: c.Hazard, Name: c.Driver + " " + c.Lock, Verdict: string(c.Verdict), Text: c.Why, Skip: c.Why,
			Details: []string{fmt.Sprintf("%d of %s failed", c.Failed, format.Plural(c.Attempts, "attempt")), c.Command},
		}
		switch {
		case c.Verdict == safety.NotApplicable && !c.Unknown(), c.Control:
			continue
		case c.Alarm(), c.Before != "" && c.Unknown():
			one.Tone = Bad
		case c.Doubted:
			one.Tone, one.Skip = Warn, controls[c.Hazard]
		case c.Verdict.Open(), c.Verdict == safety.NoServer:
			one.Tone = Warn
		}
		j.Cases = append(j.Cases, one)
	}
	return j
}
