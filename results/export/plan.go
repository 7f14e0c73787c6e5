package export

// The answer of lockbench plan, for programs and for CI servers.

import (
	"io"
	"strconv"

	"github.com/lockbench/lockbench/results/capacity"
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
