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
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// comparisonSchema is the version of what Comparison writes. Fields may be added to it; it rises when one changes its meaning.
const comparisonSchema = 1

type comparisonJSON struct {
	Schema  int        `json:"schema"`
	Verdict string     `json:"verdict"` // of the whole: the worst of all
	Reasons []string   `json:"reasons"` // of all that is inconclusive, each once: compare.Reasons; "scatter" alone may pass
	Alpha   float64    `json:"alpha"`
	Tests   int        `json:"tests"`
	Paired  bool       `json:"paired"` // the trials of both sides took turns, and were compared pair by pair
	Base    sideJSON   `json:"base"`
	Head    sideJSON   `json:"head"`
	Notes   []string   `json:"notes"`
	Missing []string   `json:"missing"`
	Added   []string   `json:"added"`
	Broken  int        `json:"added_violated,omitempty"` // of those that were added, whose locks broke the exclusion that they claim
	Cells   []cellJSON `json:"cells"`
}

type sideJSON struct {
	Name       string   `json:"name"`
	Trials     int      `json:"trials"`
	Partial    int      `json:"partial"`
	Duplicates int      `json:"duplicates"`
	Revisions  []string `json:"revisions"`
}

type cellJSON struct {
	Label   string       `json:"label"`
	Verdict string       `json:"verdict"`
	Command string       `json:"command,omitempty"` // that makes the head again
	Notes   []string     `json:"notes"`
	Base    []string     `json:"base_trials"` // IDs of the records
	Head    []string     `json:"head_trials"`
	Figures []resultJSON `json:"figures"`
}

// resultJSON has null for what is not known. Changes are ratios less one.
type resultJSON struct {
	Figure     string       `json:"figure"`
	Unit       string       `json:"unit"`
	Better     string       `json:"better,omitempty"` // higher or lower; empty: neither
	Base       estimateJSON `json:"base"`
	Head       estimateJSON `json:"head"`
	Change     *float64     `json:"change" negative:"a loss"`
	ChangeLow  *float64     `json:"change_low" negative:"a loss"`
	ChangeHigh *float64     `json:"change_high" negative:"a loss"`
	P          *float64     `json:"p"`
	PAdjusted  *float64     `json:"p_adjusted"`
	Threshold  string       `json:"threshold,omitempty"` // empty: it is shown, and judged by none
	Verdict    string       `json:"verdict,omitempty"`
	Reason     string       `json:"reason,omitempty"` // of "inconclusive", one of compare.Reasons; Why says it in words
	Why        string       `json:"why,omitempty"`
	Needed     int          `json:"needed_trials,omitempty"`
}

type estimateJSON struct {
	N      int      `json:"n"`
	Median *float64 `json:"median"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
}

// ComparisonJSON writes a comparison with every digit, in the base units of its figures.
func ComparisonJSON(w io.Writer, c *compare.Comparison) error {
	all := comparisonJSON{
		Schema: comparisonSchema, Verdict: string(c.Verdict), Reasons: words(c.Reasons()), Alpha: c.Alpha, Tests: c.Tests, Paired: c.Paired,
		Base: sideOf(c.Base), Head: sideOf(c.Head),
		Notes: listOf(c.Notes), Missing: listOf(c.Missing), Added: listOf(c.Added), Broken: c.Broken, Cells: []cellJSON{},
	}
	for _, cell := range c.Cells {
		one := cellJSON{
			Label: cell.Label, Verdict: string(cell.Verdict), Command: cell.Command, Notes: listOf(cell.Notes),
			Base: ids(cell.Base), Head: ids(cell.Head), Figures: []resultJSON{},
		}
		for _, r := range cell.Figures {
			one.Figures = append(one.Figures, resultOf(r))
		}
		all.Cells = append(all.Cells, one)
	}
	return encode(w, all)
}

// ReadComparison reads what ComparisonJSON has written, which has nothing of the records but their commands.
func ReadComparison(in io.Reader) (*compare.Comparison, error) {
	var all comparisonJSON
	if err := results.ReadForm(in, "a comparison of lockbench compare -format json", &all, &all.Schema, comparisonSchema); err != nil {
		return nil, err
	}
	c := &compare.Comparison{Base: all.Base.side(), Head: all.Head.side(), Notes: all.Notes, Missing: all.Missing, Added: all.Added, Broken: all.Broken,
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

func (s sideJSON) side() compare.Side {
	return compare.Side{Name: s.Name, Trials: s.Trials, Partial: s.Partial, Duplicates: s.Duplicates, Revisions: s.Revisions}
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

func sideOf(s compare.Side) sideJSON {
	return sideJSON{s.Name, s.Trials, s.Partial, s.Duplicates, listOf(s.Revisions)}
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

func ids(trials []*results.Record) []string {
	list := []string{}
	for _, r := range trials {
		list = append(list, r.ID)
	}
	return list
}

// A run by itself, judged by absolute thresholds, for CI servers and for programs.

// reportSchema is the version of what CheckJSON writes. Fields may be added to it; it rises when one changes its meaning.
const reportSchema = 1

type reportJSON struct {
	Schema     int              `json:"schema"`
	Verdict    string           `json:"verdict,omitempty"` // the worst; absent if there is no threshold and nothing was violated
	Reasons    []string         `json:"reasons"`
	Thresholds []string         `json:"thresholds"`
	Missing    []string         `json:"missing"` // cells that were asked for and have no trial
	Cells      []reportCellJSON `json:"cells"`
}

type reportCellJSON struct {
	Label     string                `json:"label"`
	Verdict   string                `json:"verdict,omitempty"`
	Command   string                `json:"command"` // that makes it again
	Plan      spec.Plan             `json:"plan"`    // of the first trial
	Server    results.Server        `json:"server"`
	Traits    results.Traits        `json:"traits"` // what the design claims
	Trials    []string              `json:"trials"` // IDs of the records
	Partial   string                `json:"partial,omitempty"`
	LimitedBy string                `json:"limited_by,omitempty"`
	Exclusion exclusionJSON         `json:"exclusion"`
	Flags     []flagJSON            `json:"flags"`
	Warnings  []string              `json:"warnings"`
	Figures   map[string]figureJSON `json:"figures"` // that are known, by the name that -fail-on has for them
	Limits    []limitJSON           `json:"limits"`  // one for each threshold
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
	Better string `json:"better,omitempty"` // higher or lower; absent: neither
	estimateJSON
	Min *float64 `json:"min"`
	Max *float64 `json:"max"`
}

type limitJSON struct {
	Threshold string   `json:"threshold"`
	Figure    string   `json:"figure"`
	Value     *float64 `json:"value"` // that was judged; null: not measured
	Limit     float64  `json:"limit"`
	Verdict   string   `json:"verdict"`
	Reason    string   `json:"reason,omitempty"`
	Why       string   `json:"why,omitempty"`
	Text      string   `json:"text"`
}

// CheckJSON writes a run with every digit, in the base units of its figures.
func CheckJSON(w io.Writer, c *compare.Check) error {
	all := reportJSON{
		Schema: reportSchema, Verdict: string(c.Verdict), Reasons: words(c.Reasons()), Thresholds: []string{},
		Missing: listOf(c.Missing), Cells: []reportCellJSON{},
	}
	for _, t := range c.Thresholds {
		all.Thresholds = append(all.Thresholds, t.Text)
	}
	for _, cell := range c.Cells {
		all.Cells = append(all.Cells, reportCellOf(cell))
	}
	return encode(w, all)
}

func reportCellOf(c compare.CheckedCell) reportCellJSON {
	first := c.First()
	one := reportCellJSON{
		Label: c.Label, Verdict: string(c.Verdict), Command: first.Plan.Command, Plan: first.Plan, Server: first.Server, Traits: first.Traits,
		Trials: ids(c.Trials), Partial: c.Partial(), LimitedBy: string(c.Limit().By), Flags: []flagJSON{}, Warnings: listOf(c.Warnings),
		Figures: map[string]figureJSON{}, Limits: []limitJSON{},
	}
	for _, f := range view.Flags(c.Cell) {
		one.Flags = append(one.Flags, flagJSON{f.Name, f.Word, f.Means, f.Doubt})
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
