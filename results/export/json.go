package export

// A comparison as JSON, for programs that decide for themselves.

import (
	"encoding/json"
	"io"
	"math"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/stats"
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
	Change     *float64     `json:"change"`
	ChangeLow  *float64     `json:"change_low"`
	ChangeHigh *float64     `json:"change_high"`
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
		Notes: listOf(c.Notes), Missing: listOf(c.Missing), Added: listOf(c.Added), Cells: []cellJSON{},
	}
	for _, cell := range c.Cells {
		one := cellJSON{
			Label: cell.Label, Verdict: string(cell.Verdict), Notes: listOf(cell.Notes),
			Base: ids(cell.Base), Head: ids(cell.Head), Figures: []resultJSON{},
		}
		if len(cell.Head) > 0 {
			one.Command = cell.Head[0].Plan.Command
		}
		for _, r := range cell.Figures {
			one.Figures = append(one.Figures, resultOf(r))
		}
		all.Cells = append(all.Cells, one)
	}
	return encode(w, all)
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
