package export

// The answer of lockbench plan, for programs and for CI servers.

import (
	"cmp"
	"io"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/report"
)

// PlanJSON writes an answer with every digit. What is not known is 0 or absent, as it is in the answer.
func PlanJSON(w io.Writer, a *capacity.Answer) error { return encode(w, a.Known()) }

// PlanCSV writes a row a candidate, the best first, with every digit. An empty field is a figure that is not known.
func PlanCSV(w io.Writer, a *capacity.Answer) error {
	return writeCSV(w, planColumns, func(yield func(*capacity.CandidateAnswer) bool) {
		for _, c := range a.Known().Candidates {
			if !yield(&c) {
				return
			}
		}
	})
}

// planColumns are those of PlanCSV. Rates are arrivals a second.
var planColumns = []csvColumn[*capacity.CandidateAnswer]{
	{"candidate", func(c *capacity.CandidateAnswer) string { return field(c.Name) }},
	{"driver", func(c *capacity.CandidateAnswer) string { return field(c.Plan.Driver) }},
	{"lock", func(c *capacity.CandidateAnswer) string { return field(c.Plan.Lock) }},
	{"wait", func(c *capacity.CandidateAnswer) string { return field(c.Plan.Wait) }},
	{"verdict", func(c *capacity.CandidateAnswer) string { return string(c.Verdict) }},
	{"why", func(c *capacity.CandidateAnswer) string { return field(c.Why) }},
	{"sustains/s", func(c *capacity.CandidateAnswer) string { return positive(c.Sustains.Mid) }},
	{"low/s", func(c *capacity.CandidateAnswer) string { return positive(c.Sustains.Low) }},
	{"high/s", func(c *capacity.CandidateAnswer) string { return positive(c.Sustains.High) }},
	{"at-least", func(c *capacity.CandidateAnswer) string { return strconv.FormatBool(c.AtLeast) }},
	{"headroom", func(c *capacity.CandidateAnswer) string { return positive(c.Headroom) }},
	{"binding", func(c *capacity.CandidateAnswer) string { return field(c.Binding) }},
	{"floor", func(c *capacity.CandidateAnswer) string { return positive(c.Floor) }},
	{"occupies (ns)", func(c *capacity.CandidateAnswer) string { return positive(c.Occupies.Mid) }},
	{"clients", func(c *capacity.CandidateAnswer) string { return positive(float64(c.Clients)) }},
	{"connections", func(c *capacity.CandidateAnswer) string { return positive(float64(c.Conns)) }},
	{"commands/lock", func(c *capacity.CandidateAnswer) string { return positive(c.Cost.Commands) }},
	{"server CPU/lock (us)", func(c *capacity.CandidateAnswer) string { return positive(c.Cost.ServerCPUUs) }},
	{"first full", func(c *capacity.CandidateAnswer) string { return field(first(c).Name) }},
	{"full at/s", func(c *capacity.CandidateAnswer) string { return positive(first(c).Full.Mid) }},
	{"trials", func(c *capacity.CandidateAnswer) string { return strconv.Itoa(len(c.Points)) }},
}

// positive formats a figure of which 0 and less are not known.
func positive(v float64) string {
	if v <= 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// first returns the resource that saturates first.
func first(c *capacity.CandidateAnswer) (r capacity.Resource) {
	if len(c.Resources) > 0 {
		r = c.Resources[0]
	}
	return r
}

// PlanJUnit writes an answer with a test case a candidate: one that sustains the rate passes, one that is ruled out or has broken
// mutual exclusion fails, and of which nothing can be told is skipped, with the reason. A load that no lock can carry is a case
// of its own.
func PlanJUnit(w io.Writer, a *capacity.Answer) error {
	a = a.Known()
	return writeJUnit(w, junitSuite{
		Name: "lockbench plan",
		Properties: []junitProperty{
			{"verdict", string(a.Verdict)},
			{"slo", plain(a.SLO)},
			{"rate", strconv.FormatFloat(a.Rate, 'f', -1, 64)},
			{"advice", plain(a.Advice)},
		},
		Out: textOf(strings.Join(plains(a.Warnings), "\n")),
	}, planned(a))
}

// PlanAnnotations writes the verdict of the whole, with the advice: a notice, a warning or an error. Candidates have an error if
// they broke mutual exclusion, and if no other sustains the rate an error or a warning for what became of them; else they are
// none of a reader's trouble.
func PlanAnnotations(w io.Writer, a *capacity.Answer) error {
	a = a.Known()
	list := []annotation{{levels[planOutcome(a.Verdict)], plain(report.PlanHeadline(a)), plain(a.Advice), ""}}
	if a.Verdict == capacity.Sustains {
		list[0].level = levels[improved]
	}
	var rest []judged
	for _, j := range planned(a) {
		if a.Verdict != capacity.Sustains && (a.Verdict != capacity.Violated || j.verdict == string(capacity.Violated)) {
			rest = append(rest, j)
		}
	}
	return writeAnnotations(w, append(list, annotationsOf(rest)...))
}

// planOutcome returns what a CI server makes of a verdict.
func planOutcome(v capacity.Verdict) outcome {
	switch v {
	case capacity.Sustains:
		return passed
	case capacity.RulesOut, capacity.Violated:
		return failed
	}
	return skipped
}

// planned returns what was judged: the loads that no lock can carry, and each candidate.
func planned(a *capacity.Answer) (list []judged) {
	for _, an := range a.Analysis {
		if an.Impossible == "" {
			continue
		}
		words := plain(report.AnalysisText(an, a.Rate))
		list = append(list, judged{
			cell: "analysis", name: plain(an.Load), outcome: failed, verdict: string(capacity.RulesOut), message: plain(an.Impossible),
			details: []string{words}, worst: len(list),
		})
	}
	for i := range a.Candidates {
		c := &a.Candidates[i]
		one := judged{
			cell: c.Name, name: report.PlanAsked(a), outcome: planOutcome(c.Verdict), verdict: string(c.Verdict), worst: len(list),
			message: plain(cmp.Or(c.Why, string(c.Verdict))), skip: plain(report.PlanWhy(c)),
		}
		for _, item := range report.PlanFacts(c) {
			one.details = append(one.details, plain(item.Label+": "+strings.Join(item.Lines, " ")))
		}
		list = append(list, one)
	}
	return list
}
