package export

// The JSON schemas of a comparison and of a run by itself, made from the types that are written.

import (
	"io"
	"reflect"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/spec"
)

// ComparisonSchema returns the schema (draft 2020-12) of what ComparisonJSON writes. Programs that read comparisons have to expect
// fields that it does not name: later versions add some. The error is that of encoding/json, and none in fact.
func ComparisonSchema() ([]byte, error) {
	return results.Schema{
		Name: "comparison", Title: "lockbench comparison",
		Description: "What lockbench compare -format json writes. Figures are in their base units; null is not known.",
		Fields: map[string]map[string]any{
			"schema":          {"minimum": 1, "maximum": comparisonSchema},
			"verdict":         {"enum": compare.Verdicts},
			"reasons[]":       {"enum": compare.Reasons},
			"alpha":           {"exclusiveMinimum": 0, "maximum": 0.5},
			"cells[].verdict": {"enum": compare.Verdicts},

			"cells[].figures[]": {
				"dependentRequired": map[string][]string{"threshold": {"verdict"}, "verdict": {"threshold"}},
				"if": map[string]any{
					"properties": map[string]any{"verdict": map[string]any{"const": compare.Inconclusive}}, "required": []string{"verdict"},
				},
				"then": map[string]any{"required": []string{"reason"}},
				"else": map[string]any{"properties": map[string]any{"reason": false}},
			},
			"cells[].figures[].figure":      {"minLength": 1},
			"cells[].figures[].unit":        {"enum": units()},
			"cells[].figures[].better":      {"enum": []string{"higher", "lower"}},
			"cells[].figures[].change":      {"minimum": -1},
			"cells[].figures[].change_low":  {"minimum": -1},
			"cells[].figures[].change_high": {"minimum": -1},
			"cells[].figures[].p":           {"maximum": 1},
			"cells[].figures[].p_adjusted":  {"maximum": 1},
			"cells[].figures[].threshold":   {"minLength": 1},
			"cells[].figures[].verdict":     {"enum": compare.Verdicts},
			"cells[].figures[].reason":      {"enum": compare.Reasons},
		},
		Shared: map[reflect.Type]string{
			reflect.TypeFor[compare.Side](): "side",
			reflect.TypeFor[estimateJSON](): "estimate",
		},
	}.Of(reflect.TypeFor[comparisonJSON](), nil)
}

// ReportSchema returns the schema (draft 2020-12) of what CheckJSON writes; see ComparisonSchema.
func ReportSchema() ([]byte, error) {
	reason := map[string]any{"enum": compare.CheckReasons, "description": "of inconclusive, and absent from all others"}
	return results.Schema{
		Name: "report", Title: "lockbench report",
		Description: "What lockbench run -format json and report -format json write. Figures are in their base units; null is not known.",
		Fields: map[string]map[string]any{
			"schema":                   {"minimum": 1, "maximum": reportSchema},
			"verdict":                  {"enum": compare.CheckVerdicts},
			"reasons[]":                {"enum": compare.CheckReasons},
			"thresholds[]":             {"minLength": 1},
			"cells[].verdict":          {"enum": compare.CheckVerdicts},
			"cells[].exclusion.reason": reason,
			"cells[].exclusion.verdict": {
				"enum": []compare.Verdict{compare.Violated, compare.Inconclusive, compare.Passed},
			},
			"cells[].figures{}.unit":     {"enum": units()},
			"cells[].figures{}.better":   {"enum": []string{"higher", "lower"}},
			"cells[].limits[].threshold": {"minLength": 1},
			"cells[].limits[].figure":    {"enum": metric.Names()},
			"cells[].limits[].verdict":   {"enum": []compare.Verdict{compare.Missed, compare.Inconclusive, compare.Passed}},
			"cells[].limits[].reason":    reason,
		},
	}.Of(reflect.TypeFor[reportJSON](), nil)
}

// units returns the words for the base units of all figures.
func units() (list []string) {
	for _, f := range metric.All() {
		if unit := f.Unit.Word; !slices.Contains(list, unit) {
			list = append(list, unit)
		}
	}
	return list
}

// PlanSchema returns the schema (draft 2020-12) of what PlanJSON writes; see ComparisonSchema.
func PlanSchema() ([]byte, error) {
	verdicts := []capacity.Verdict{capacity.Sustains, capacity.RulesOut, capacity.Undecided, capacity.Violated, capacity.Dropped, capacity.Failed}
	share := map[string]any{"maximum": 1}
	return results.Schema{
		Name: "plan", Title: "lockbench plan",
		Description: "What lockbench plan -format json writes. Names say the units: _ns; rates are a second, shares from 0 to 1. 0 is not known.",
		Fields: map[string]map[string]any{
			"schema":       {"minimum": 1, "maximum": capacity.AnswerVersion},
			"verdict":      {"enum": append(verdicts, "")},
			"scaling[].of": {"enum": []string{"lockers", "nodes", ""}},

			"analysis[].hottest_share": share,
			"analysis[].fits_share":    {"maximum": 1},

			"candidates[].verdict": {"enum": append(verdicts, "")},
			"candidates[].floor":   {"maximum": 1},

			"*point.stage": {"enum": []capacity.Stage{capacity.StagePilot, capacity.StageSearch, capacity.StageConfirm}},
		},
		Shared: map[reflect.Type]string{
			reflect.TypeFor[capacity.Range](): "range",
			reflect.TypeFor[capacity.Point](): "point",
			reflect.TypeFor[spec.Plan]():      "plan",
		},
	}.Of(reflect.TypeFor[capacity.Answer](), nil)
}

// ProofJSON writes a report of lockbench prove.
func ProofJSON(w io.Writer, r *safety.Report) error { return encode(w, r) }

// ProofSchema returns the schema (draft 2020-12) of what ProofJSON writes; see ComparisonSchema.
func ProofSchema() ([]byte, error) {
	return results.Schema{
		Name: "proof", Title: "lockbench prove",
		Description: "What lockbench prove -format json writes. Names say the units: _ns are nanoseconds. Absent is not known.",
		Fields: map[string]map[string]any{
			"schema":               {"minimum": 1, "maximum": safety.Version},
			"cells[].verdict":      {"enum": safety.Verdicts},
			"cells[].before":       {"enum": safety.Verdicts},
			"cells[].bound":        {"maximum": 1},
			"cells[].story[].kind": {"enum": safety.Kinds},
		},
	}.Of(reflect.TypeFor[safety.Report](), nil)
}
