package export

// A comparison as JSON, for programs that decide for themselves.

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// comparisonSchema is the version of what Comparison writes. Fields may be added to it; it rises when one changes its meaning.
const comparisonSchema = 1

type comparisonJSON struct {
	Schema  int          `json:"schema"`  // version of this form
	Verdict string       `json:"verdict"` // of the whole: the worst of all, and of cells that the head lacks
	Reasons []string     `json:"reasons"` // of all that is inconclusive, each once
	Alpha   float64      `json:"alpha"`   // how often a comparison may report a regression if nothing has changed
	Tests   int          `json:"tests"`   // for which p_adjusted is corrected (Holm)
	Paired  bool         `json:"paired"`  // the trials of both sides took turns in one run, and were compared pair by pair
	Base    compare.Side `json:"base"`
	Head    compare.Side `json:"head"`
	Notes   []string     `json:"notes"`                    // what a reader must know of the whole, in words
	Missing []string     `json:"missing"`                  // cells of the base that the head does not have
	Added   []string     `json:"added"`                    // cells of the head that the base does not have
	Broken  int          `json:"added_violated,omitempty"` // of those that were added, whose locks broke the exclusion that they claim
	Cells   []cellJSON   `json:"cells"`
}

type cellJSON struct {
	Label   string       `json:"label"` // what tells it from the other cells; empty if there is only one
	Verdict string       `json:"verdict"`
	Command string       `json:"command,omitempty"` // that makes the head again
	Notes   []string     `json:"notes"`
	Base    []string     `json:"base_trials"` // IDs of the records
	Head    []string     `json:"head_trials"` // IDs of the records
	Figures []resultJSON `json:"figures"`
}

// resultJSON has null for what is not known. Changes are ratios less one.
type resultJSON struct {
	Figure     string       `json:"figure"` // as -fail-on names it
	Unit       string       `json:"unit"`
	Better     string       `json:"better,omitempty"` // absent if neither is
	Base       estimateJSON `json:"base"`
	Head       estimateJSON `json:"head"`
	Change     *float64     `json:"change"`                  // from base to head, as a ratio less one: of the medians, or the middle of the pairs (Hodges and Lehmann) if paired
	ChangeLow  *float64     `json:"change_low"`              // of its 95 % interval
	ChangeHigh *float64     `json:"change_high"`             // of its 95 % interval
	P          *float64     `json:"p"`                       // two-sided: Mann and Whitney, or Wilcoxon's signed ranks if paired
	PAdjusted  *float64     `json:"p_adjusted"`              // by which it was judged; null if it was not tested
	Threshold  string       `json:"threshold,omitempty"`     // as -fail-on has it; absent of a figure that is shown, and judged by no threshold
	Verdict    string       `json:"verdict,omitempty"`       // absent of a figure that is shown, and judged by no threshold
	Reason     string       `json:"reason,omitempty"`        // of inconclusive, and absent from all others; why says it in words
	Why        string       `json:"why,omitempty"`           // in words; absent if nothing is to be said
	Needed     int          `json:"needed_trials,omitempty"` // a side, that would tell; absent if that is not known
}

type estimateJSON struct {
	N      int      `json:"n"`      // trials that know the figure
	Median *float64 `json:"median"` // over the trials
	Low    *float64 `json:"low"`    // of its 95 % interval
	High   *float64 `json:"high"`   // of its 95 % interval
}

// ComparisonJSON writes a comparison with every digit, in the base units of its figures.
func ComparisonJSON(w io.Writer, c *compare.Comparison) error {
	all := comparisonJSON{
		Schema: comparisonSchema, Verdict: string(c.Verdict), Reasons: each(c.Reasons(), word), Alpha: c.Alpha, Tests: c.Tests, Paired: c.Paired,
		Base: c.Base, Head: c.Head, Notes: listOf(c.Notes), Missing: listOf(c.Missing), Added: listOf(c.Added), Broken: c.Broken,
		Cells: each(c.Cells, func(cell compare.Cell) cellJSON {
			return cellJSON{
				Label: cell.Label, Verdict: string(cell.Verdict), Command: cell.Command, Notes: listOf(cell.Notes),
				Base: each(cell.Base, id), Head: each(cell.Head, id), Figures: each(cell.Figures, resultOf),
			}
		}),
	}
	all.Base.Revisions, all.Head.Revisions = listOf(c.Base.Revisions), listOf(c.Head.Revisions)
	return encode(w, all)
}

// ReadComparison reads what ComparisonJSON has written, which has nothing of the records but their commands.
func ReadComparison(in io.Reader) (*compare.Comparison, error) {
	var all comparisonJSON
	if err := results.ReadForm(in, "a comparison of lockbench compare -format json", &all, &all.Schema, comparisonSchema); err != nil {
		return nil, err
	}
	c := &compare.Comparison{Base: all.Base, Head: all.Head, Notes: all.Notes, Missing: all.Missing, Added: all.Added, Broken: all.Broken,
		Alpha: all.Alpha, Tests: all.Tests, Paired: all.Paired, Verdict: compare.Verdict(all.Verdict),
		Lacking: slices.Contains(all.Reasons, string(compare.Missing))}
	for _, cell := range all.Cells {
		one := compare.Cell{Label: cell.Label, Command: cell.Command, Verdict: compare.Verdict(cell.Verdict), Notes: cell.Notes}
		for _, f := range cell.Figures {
			r, err := f.result()
			if err != nil {
				return nil, fmt.Errorf("cells: %s: figures: %w", cell.Label, err)
			}
			one.Figures = append(one.Figures, r)
		}
		c.Cells = append(c.Cells, one)
	}
	return c, nil
}

func (f resultJSON) result() (compare.Result, error) {
	r := compare.Result{
		Change: stats.Change{Base: f.Base.estimate(), Head: f.Head.estimate(), Ratio: 1 + number(f.Change), Low: 1 + number(f.ChangeLow), High: 1 + number(f.ChangeHigh), P: number(f.P)},
		P:      number(f.PAdjusted), Verdict: compare.Verdict(f.Verdict), Reason: compare.Reason(f.Reason), Why: f.Why, Needed: f.Needed,
	}
	var known bool
	if r.Figure, known = metric.Named(f.Figure); !known {
		return r, fmt.Errorf("%q is none that this lockbench knows", f.Figure)
	}
	if f.Threshold != "" {
		list, err := compare.ParseThresholds(f.Threshold)
		if err != nil {
			return r, fmt.Errorf("threshold: %w", err)
		}
		r.Threshold = &list[0]
	}
	return r, nil
}

func (e estimateJSON) estimate() stats.Estimate {
	return stats.Estimate{N: e.N, Median: number(e.Median), Low: number(e.Low), High: number(e.High)}
}

// number returns what known has written.
func number(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// encode writes v indented, and < as it is.
func encode(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

func resultOf(r compare.Result) resultJSON {
	one := resultJSON{
		Figure: r.Figure.Name, Unit: r.Figure.Unit.Word, Better: direction(r.Figure),
		Base: estimateOf(r.Change.Base), Head: estimateOf(r.Change.Head),
		Change: known(r.Change.Ratio - 1), ChangeLow: known(r.Change.Low - 1), ChangeHigh: known(r.Change.High - 1),
		P: known(r.Change.P), PAdjusted: known(r.P),
		Verdict: verdictOf(r), Reason: string(r.Reason), Why: r.Why, Needed: r.Needed,
	}
	if r.Threshold != nil {
		one.Threshold = r.Threshold.Text
	}
	return one
}

func estimateOf(e stats.Estimate) estimateJSON {
	return estimateJSON{e.N, known(e.Median), known(e.Low), known(e.High)}
}

// known returns v, or null where JSON has no number for it.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// listOf returns a list that is never null.
func listOf(list []string) []string { return append([]string{}, list...) }

// A run by itself, judged by absolute thresholds, for CI servers and for programs.

// reportSchema is the version of what CheckJSON writes. Fields may be added to it; it rises when one changes its meaning.
const reportSchema = 1

type reportJSON struct {
	Schema     int              `json:"schema"`            // version of this form
	Verdict    string           `json:"verdict,omitempty"` // the worst of all; absent if there is no threshold and exclusion was not violated
	Reasons    []string         `json:"reasons"`           // of all that is inconclusive, each once
	Thresholds []string         `json:"thresholds"`        // as -fail-on has them
	Missing    []string         `json:"missing"`           // cells that were asked for and have no trial
	Cells      []reportCellJSON `json:"cells"`
}

type reportCellJSON struct {
	Label     string                `json:"label"` // what tells it from the other cells; empty if there is only one
	Verdict   string                `json:"verdict,omitempty"`
	Command   string                `json:"command"` // that makes it again
	Plan      spec.Plan             `json:"plan"`    // of the first trial; lockbench schema record says more of its fields
	Server    results.Server        `json:"server"`
	Traits    results.Traits        `json:"traits"`               // what the design claims
	Trials    []string              `json:"trials"`               // IDs of the records
	Partial   string                `json:"partial,omitempty"`    // why the only trial ended early; absent from whole ones
	LimitedBy string                `json:"limited_by,omitempty"` // what held the load up; absent if nothing is known to have
	Exclusion exclusionJSON         `json:"exclusion"`            // what the oracle saw, all trials together
	Flags     []flagJSON            `json:"flags"`                // words that mark the figures
	Warnings  []string              `json:"warnings"`             // of all trials, each once
	Figures   map[string]figureJSON `json:"figures"`              // that are known, by the names of -fail-on
	Limits    []limitJSON           `json:"limits"`               // one for each threshold
}

// exclusionJSON is what the oracle has to say, the trials taken together.
type exclusionJSON struct {
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"` // of "inconclusive"
	Text    string `json:"text"`
	results.Safety
}

type flagJSON struct {
	Name  string `json:"name"`
	Text  string `json:"text"`
	Means string `json:"means"`
	Doubt bool   `json:"doubt"` // the figures are not to be believed as they stand
}

// figureJSON is a figure over the trials, in its base unit.
type figureJSON struct {
	Unit   string `json:"unit"`
	Better string `json:"better,omitempty"` // absent if neither is
	estimateJSON
	Min *float64 `json:"min"`
	Max *float64 `json:"max"`
}

type limitJSON struct {
	Threshold string   `json:"threshold"`
	Figure    string   `json:"figure"`
	Value     *float64 `json:"value"` // that was judged: the median of the trials, of a count the worst; null if it was not measured
	Limit     float64  `json:"limit"`
	Verdict   string   `json:"verdict"`
	Reason    string   `json:"reason,omitempty"`
	Why       string   `json:"why,omitempty"`
	Text      string   `json:"text"` // all of it in words
}

// CheckJSON writes a run with every digit, in the base units of its figures.
func CheckJSON(w io.Writer, c *compare.Check) error {
	all := reportJSON{
		Schema: reportSchema, Verdict: string(c.Verdict), Reasons: each(c.Reasons(), word), Missing: listOf(c.Missing),
		Thresholds: each(c.Thresholds, func(t compare.Threshold) string { return t.Text }), Cells: each(c.Cells, reportCellOf),
	}
	return encode(w, all)
}

func reportCellOf(c compare.CheckedCell) reportCellJSON {
	first := c.First()
	one := reportCellJSON{
		Label: c.Label, Verdict: string(c.Verdict), Command: first.Plan.Command, Plan: first.Plan, Server: first.Server, Traits: first.Traits,
		Trials: each(c.Trials, id), Partial: c.Partial(), LimitedBy: string(c.Limit().By), Warnings: listOf(c.Warnings),
		Flags:   each(view.Flags(c.Cell), func(f view.Flag) flagJSON { return flagJSON{f.Name, f.Word, f.Means, f.Doubt} }),
		Figures: map[string]figureJSON{}, Limits: []limitJSON{},
	}
	for _, m := range metric.All() {
		if e := stats.Of(m.Values(c.Trials)); e.N > 0 {
			one.Figures[m.Name] = figureJSON{m.Unit.Word, direction(m), estimateOf(e), known(e.Min), known(e.Max)}
		}
	}
	for _, l := range c.Limits {
		if l.Threshold == nil {
			one.Exclusion = exclusionJSON{string(l.Verdict), string(l.Reason), l.Sentence(), c.Safety}
			continue
		}
		one.Limits = append(one.Limits, limitJSON{
			l.Threshold.Text, l.Threshold.Figure.Name, known(l.Value), l.Threshold.Value, string(l.Verdict), string(l.Reason), l.Why, l.Sentence(),
		})
	}
	return one
}

// ProofJSON writes a report of lockbench prove.
func ProofJSON(w io.Writer, r *safety.Report) error { return encode(w, r) }
