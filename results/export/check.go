package export

// A run by itself, judged by absolute thresholds, for CI servers and for programs.

import (
	"io"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

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
