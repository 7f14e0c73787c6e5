package export

// CSV (RFC 4180) for spreadsheets and data frames: what a record says, not what lockbench makes of it.

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/spec"
)

// CSV writes a row a trial: which one it is, what was asked for by the names of the flags, what was measured, and every
// figure that any trial knows. Units stand in the header; an empty field is a figure that this trial does not know, or a
// flag that was not set. Partial trials are among them, and say why in their column.
func CSV(w io.Writer, cells []*results.Cell) error {
	var trials []*results.Record
	for _, c := range cells {
		trials = append(trials, c.Trials...)
	}
	return writeCSV(w, trialColumns(cells), trials)
}

// csvColumn is a column of rows that are made of a T each.
type csvColumn[T any] struct {
	name  string
	value func(T) string
}

// writeCSV writes the names of the columns, and a row for each T.
func writeCSV[T any](w io.Writer, columns []csvColumn[T], rows []T) error {
	out := csvRows{csv.NewWriter(w)}
	out.add(each(columns, func(c csvColumn[T]) string { return c.name })...)
	for _, r := range rows {
		out.add(each(columns, func(c csvColumn[T]) string { return c.value(r) })...)
	}
	return out.end()
}

// csvRows writes all CSV that there is.
type csvRows struct{ w *csv.Writer }

func (out csvRows) add(fields ...string) {
	for i := range fields {
		fields[i] = field(fields[i])
	}
	_ = out.w.Write(fields) // errors are kept for end
}

func (out csvRows) end() error {
	out.w.Flush()
	return out.w.Error()
}

// csvHead are the columns before the plan's.
var csvHead = []csvColumn[*results.Record]{
	{"run", func(r *results.Record) string { return r.Run }},
	{"cell", func(r *results.Record) string { return strconv.Itoa(r.Cell) }},
	{"trial", func(r *results.Record) string { return strconv.Itoa(r.Trial) }},
	{"side", func(r *results.Record) string { return r.Side }},
	{"revision", func(r *results.Record) string { return r.Env.Revision }},
	{"id", func(r *results.Record) string { return r.ID }},
	{"started", func(r *results.Record) string { return r.Started.UTC().Format(time.RFC3339Nano) }},
	{"partial", func(r *results.Record) string { return r.Partial }},
}

// csvTail are those between the plan's and the figures.
var csvTail = []csvColumn[*results.Record]{
	{"lockbench", func(r *results.Record) string { return r.Env.Lockbench }},
	{"server", func(r *results.Record) string { return serverName(r.Server) }},
	{"machine", func(r *results.Record) string { return machine(r.Env) }},
	{"limited-by", func(r *results.Record) string { return string(r.Limit().By) }},
	{"saturated", func(r *results.Record) string { return strconv.FormatBool(r.Generator.Saturated) }},
}

// trialColumns returns those that any of the trials has something for. All trials of a cell have the same plan.
func trialColumns(cells []*results.Cell) []csvColumn[*results.Record] {
	columns := slices.Clone(csvHead)
	for _, s := range settings {
		always := slices.Contains([]string{"driver", "lock", "wait"}, s.Name)
		if always || slices.ContainsFunc(cells, func(c *results.Cell) bool { return s.Text(&c.First().Plan, &c.First().Plan.Load) != "" }) {
			columns = append(columns, csvColumn[*results.Record]{s.Name, func(r *results.Record) string { return s.Text(&r.Plan, &r.Plan.Load) }})
		}
	}
	columns = append(columns, csvTail...)
	for _, f := range knownTo(cells) {
		columns = append(columns, csvColumn[*results.Record]{f.Name + f.Unit.Suffix, func(r *results.Record) string { return digits(f.Of(r.Figures())) }})
	}
	return columns
}

// field returns a field. A spreadsheet takes text that begins with one of these for a formula and runs it, so it gets an
// apostrophe (OWASP, CSV Injection). A number may begin with a minus.
func field(s string) string {
	s = plain(s)
	if _, err := strconv.ParseFloat(s, 64); err == nil || s == "" || !strings.ContainsRune("=+-@", rune(s[0])) {
		return s
	}
	return "'" + s
}

// ComparisonCSV writes a row a cell and figure. Medians, intervals and thresholds are in the figure's base unit (ns, µs of
// CPU time, bytes; shares from 0 to 1), changes are ratios less one: -0.05 is a loss of 5 %. An empty field is not known.
func ComparisonCSV(w io.Writer, c *compare.Comparison) error {
	out := csvRows{csv.NewWriter(w)}
	out.add(
		"cell", "figure", "unit", "base_n", "base_median", "base_low", "base_high", "head_n", "head_median", "head_low", "head_high",
		"change", "change_low", "change_high", "p", "p_adjusted", "threshold", "verdict", "why", "needed_trials", "reason",
	)
	for _, cell := range c.Cells {
		for _, r := range cell.Figures {
			b, h := r.Change.Base, r.Change.Head
			threshold := ""
			if r.Threshold != nil {
				threshold = r.Threshold.Text
			}
			out.add(
				cell.Label, r.Figure.Name, r.Figure.Unit.Word,
				strconv.Itoa(b.N), digits(b.Median), digits(b.Low), digits(b.High),
				strconv.Itoa(h.N), digits(h.Median), digits(h.Low), digits(h.High),
				digits(r.Change.Ratio-1), digits(r.Change.Low-1), digits(r.Change.High-1),
				digits(r.Change.P), digits(r.P), threshold, verdictOf(r), r.Why, spec.FormatInt(r.Needed), string(r.Reason),
			)
		}
	}
	return out.end()
}

// verdictOf returns the verdict on a figure that was judged, and nothing for one that was only shown.
func verdictOf(r compare.Result) string {
	if r.Threshold == nil {
		return ""
	}
	return string(r.Verdict)
}

// PlanJSON writes an answer with every digit. What is not known is 0 or absent, as it is in the answer.
func PlanJSON(w io.Writer, a *capacity.Answer) error { return encode(w, a.Known()) }

// PlanCSV writes a row a candidate, the best first, with every digit. An empty field is a figure that is not known.
func PlanCSV(w io.Writer, a *capacity.Answer) error {
	return writeCSV(w, planColumns, a.Known().Candidates)
}

// planColumns are those of PlanCSV. Rates are arrivals a second.
var planColumns = []csvColumn[capacity.CandidateAnswer]{
	{"candidate", func(c capacity.CandidateAnswer) string { return c.Name }},
	{"driver", func(c capacity.CandidateAnswer) string { return c.Plan.Driver }},
	{"lock", func(c capacity.CandidateAnswer) string { return c.Plan.Lock }},
	{"wait", func(c capacity.CandidateAnswer) string { return c.Plan.Wait }},
	{"verdict", func(c capacity.CandidateAnswer) string { return string(c.Verdict) }},
	{"why", func(c capacity.CandidateAnswer) string { return c.Why }},
	{"sustains/s", func(c capacity.CandidateAnswer) string { return positive(c.Sustains.Mid) }},
	{"low/s", func(c capacity.CandidateAnswer) string { return positive(c.Sustains.Low) }},
	{"high/s", func(c capacity.CandidateAnswer) string { return positive(c.Sustains.High) }},
	{"at-least", func(c capacity.CandidateAnswer) string { return strconv.FormatBool(c.AtLeast) }},
	{"headroom", func(c capacity.CandidateAnswer) string { return positive(c.Headroom) }},
	{"binding", func(c capacity.CandidateAnswer) string { return c.Binding }},
	{"floor", func(c capacity.CandidateAnswer) string { return positive(c.Floor) }},
	{"occupies (ns)", func(c capacity.CandidateAnswer) string { return positive(c.Occupies.Mid) }},
	{"clients", func(c capacity.CandidateAnswer) string { return positive(float64(c.Clients)) }},
	{"connections", func(c capacity.CandidateAnswer) string { return positive(float64(c.Conns)) }},
	{"commands/lock", func(c capacity.CandidateAnswer) string { return positive(c.Cost.Commands) }},
	{"server CPU/lock (us)", func(c capacity.CandidateAnswer) string { return positive(c.Cost.ServerCPUUs) }},
	{"first full", func(c capacity.CandidateAnswer) string { return first(c).Name }},
	{"full at/s", func(c capacity.CandidateAnswer) string { return positive(first(c).Full.Mid) }},
	{"trials", func(c capacity.CandidateAnswer) string { return strconv.Itoa(len(c.Points)) }},
}

// positive formats a figure of which 0 and less are not known.
func positive(v float64) string {
	if v <= 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// first returns the resource that saturates first.
func first(c capacity.CandidateAnswer) (r capacity.Resource) {
	if len(c.Resources) > 0 {
		r = c.Resources[0]
	}
	return r
}
