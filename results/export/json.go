package export

// JSON with every digit, in the base units of the figures, for programs that decide for themselves. What is not known
// is null.

import (
	"encoding/json"
	"io"
	"math"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// schema is the version of what ComparisonJSON and CheckJSON write. Fields may be added; it rises when one changes
// its meaning.
const schema = 1

type comparisonJSON struct {
	Schema  int              `json:"schema"`
	Verdict compare.Verdict  `json:"verdict"` // of the whole: the worst of all, and of cells that the head lacks
	Reasons []compare.Reason `json:"reasons"` // of all that is inconclusive, each once
	*compare.Comparison
	Cells []comparedJSON `json:"cells"`
}

type comparedJSON struct {
	compare.Cell
	Base    []string     `json:"base_trials"` // IDs of the records
	Head    []string     `json:"head_trials"` // IDs of the records
	Figures []changeJSON `json:"figures"`
}

// changeJSON has changes as ratios less one.
type changeJSON struct {
	Figure     string        `json:"figure"` // as -fail-on names it
	Unit       string        `json:"unit"`
	Better     metric.Better `json:"better,omitempty"`
	Base       estimateJSON  `json:"base"`
	Head       estimateJSON  `json:"head"`
	Change     *float64      `json:"change"`      // by Hodges and Lehmann
	ChangeLow  *float64      `json:"change_low"`  // of its 95 % interval
	ChangeHigh *float64      `json:"change_high"` // of its 95 % interval
	P          *float64      `json:"p"`           // two-sided: Mann and Whitney; of pairs Wilcoxon
	PAdjusted  *float64      `json:"p_adjusted"`  // by which it was judged; null if it was not tested
	compare.Result
}

// estimateJSON is a figure over the trials that know it.
type estimateJSON struct {
	N      int      `json:"n"` // trials
	Median *float64 `json:"median"`
	Low    *float64 `json:"low"`  // of its 95 % interval
	High   *float64 `json:"high"` // of its 95 % interval
	Min    *float64 `json:"min"`
	Max    *float64 `json:"max"`
}

type checkJSON struct {
	Schema     int                 `json:"schema"`
	Verdict    compare.Verdict     `json:"verdict,omitempty"` // the worst; absent without thresholds or violations
	Reasons    []compare.Reason    `json:"reasons"`           // of all that is inconclusive, each once
	Thresholds []compare.Threshold `json:"thresholds"`        // as -fail-on has them
	Missing    []string            `json:"missing"`           // cells that were asked for and have no trial
	Cells      []checkedJSON       `json:"cells"`
}

type checkedJSON struct {
	Label     string                `json:"label"` // what tells it from the other cells; empty if there is only one
	Verdict   compare.Verdict       `json:"verdict,omitempty"`
	Command   string                `json:"command"` // that makes it again
	Plan      spec.Plan             `json:"plan"`    // of the first trial; lockbench schema record says more of its fields
	Server    results.Server        `json:"server"`
	Traits    results.Traits        `json:"traits"`               // what the design claims
	Trials    []string              `json:"trials"`               // IDs of the records
	Partial   string                `json:"partial,omitempty"`    // why the only trial ended early; absent from whole ones
	LimitedBy results.LimitedBy     `json:"limited_by,omitempty"` // what held the load up; absent if unknown
	Exclusion exclusionJSON         `json:"exclusion"`
	Flags     []view.Mark           `json:"flags"`    // words that mark the figures
	Warnings  []string              `json:"warnings"` // of all trials, each once
	Figures   map[string]figureJSON `json:"figures"`  // that are known, by the names of -fail-on
	Limits    []limitJSON           `json:"limits"`   // one for each threshold
}

// exclusionJSON is what the oracle has to say, the trials taken together.
type exclusionJSON struct {
	Verdict compare.Verdict `json:"verdict"`
	Reason  compare.Reason  `json:"reason,omitempty"` // of "inconclusive"
	Text    string          `json:"text"`
	results.Safety
}

type figureJSON struct {
	Unit   string        `json:"unit"`
	Better metric.Better `json:"better,omitempty"`
	estimateJSON
}

type limitJSON struct {
	Threshold *compare.Threshold `json:"threshold"`
	Figure    string             `json:"figure"`
	Value     *float64           `json:"value"` // that was judged: the median of the trials, of a count the worst
	Bound     float64            `json:"limit"`
	compare.Result
	Text string `json:"text"` // all of it in words
}

// ComparisonJSON writes a comparison.
func ComparisonJSON(w io.Writer, c *compare.Comparison) error {
	whole := *c
	whole.Base.Revisions, whole.Head.Revisions = notNull(c.Base.Revisions), notNull(c.Head.Revisions)
	whole.Notes, whole.Missing, whole.Added = notNull(c.Notes), notNull(c.Missing), notNull(c.Added)
	return JSON(w, comparisonJSON{schema, c.Verdict, notNull(c.Reasons()), &whole, each(c.Cells, comparedOf)})
}

func comparedOf(c compare.Cell) comparedJSON {
	c.Notes = notNull(c.Notes)
	return comparedJSON{c, each(c.Base, id), each(c.Head, id), each(c.Figures, func(r compare.Result) changeJSON {
		m, c := r.Figure, r.Change
		return changeJSON{m.Name, m.Unit.Word, m.Better, estimateOf(c.Base), estimateOf(c.Head),
			known(c.Ratio - 1), known(c.Low - 1), known(c.High - 1), known(c.P), known(r.P), r}
	})}
}

// CheckJSON writes a run by itself, judged by absolute thresholds.
func CheckJSON(w io.Writer, c *compare.Check) error {
	reasons, cells := notNull(c.Reasons()), each(c.Cells, checkedOf)
	return JSON(w, checkJSON{schema, c.Verdict, reasons, notNull(c.Thresholds), notNull(c.Missing), cells})
}

func checkedOf(c compare.CheckedCell) checkedJSON {
	r, exclusion, figures := c.First(), c.Limits[0], map[string]figureJSON{}
	for _, m := range metric.All() {
		if e := stats.Of(m.Values(c.Trials)); e.N > 0 {
			figures[m.Name] = figureJSON{m.Unit.Word, m.Better, estimateOf(e)}
		}
	}
	limits := each(c.Limits[1:], func(l compare.Result) limitJSON {
		t := l.Threshold
		return limitJSON{t, t.Figure.Name, known(l.Value), t.Value, l, l.Sentence()}
	})
	return checkedJSON{c.Label, c.Verdict, r.Plan.Command, r.Plan, r.Server, r.Traits, each(c.Trials, id), c.Partial(),
		c.Limit().By, exclusionJSON{exclusion.Verdict, exclusion.Reason, exclusion.Sentence(), c.Safety},
		notNull(view.Marks(c.Cell)), notNull(c.Warnings), figures, limits}
}

// JSON writes v indented, and < as it is.
func JSON[T any](w io.Writer, v T) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

func estimateOf(e stats.Estimate) estimateJSON {
	return estimateJSON{e.N, known(e.Median), known(e.Low), known(e.High), known(e.Min), known(e.Max)}
}

// known returns v, or null where JSON has no number for it.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// notNull returns a list that is never null.
func notNull[T any](list []T) []T { return append([]T{}, list...) }

func id(r *results.Record) string { return r.ID }
