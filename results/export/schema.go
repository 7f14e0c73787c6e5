package export

// The JSON schema of a comparison, made from the types that are written.

import (
	"reflect"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/metric"
)

// ComparisonSchemaID names the schema; it is no address.
const ComparisonSchemaID = "https://github.com/lockbench/lockbench/results/comparison.schema.json"

// ComparisonSchema returns the schema (draft 2020-12) of what ComparisonJSON writes. Programs that read comparisons have to expect
// fields that it does not name: later versions add some. The error is that of encoding/json, and none in fact.
func ComparisonSchema() ([]byte, error) {
	var units []string
	for _, f := range metric.All() {
		if unit := f.Unit.Word; !slices.Contains(units, unit) {
			units = append(units, unit)
		}
	}
	unjudged := "absent of a figure that is shown, and judged by no threshold"
	return results.Schema{
		ID: ComparisonSchemaID, Title: "lockbench comparison",
		Description: "What lockbench compare -format json writes. Figures are in their base units; null is not known.",
		Fields: map[string]map[string]any{
			"schema":          {"minimum": 1, "maximum": comparisonSchema, "description": "version of this form"},
			"verdict":         {"enum": compare.Verdicts, "description": "of the whole: the worst of all, and of cells that the head lacks"},
			"reasons":         {"description": "of all that is inconclusive, each once"},
			"reasons[]":       {"enum": compare.Reasons},
			"alpha":           {"exclusiveMinimum": 0, "maximum": 0.5, "description": "how often a comparison may report a regression if nothing has changed"},
			"tests":           {"description": "for which p_adjusted is corrected (Holm)"},
			"paired":          {"description": "the trials of both sides took turns in one run, and were compared pair by pair"},
			"notes":           {"description": "what a reader must know of the whole, in words"},
			"missing":         {"description": "cells of the base that the head does not have"},
			"added":           {"description": "cells of the head that the base does not have"},
			"*side.trials":    {"description": "that were compared"},
			"*side.partial":   {"description": "records that ended early, and were left out"},
			"*side.revisions": {"description": "what was under test; else the builds of lockbench"},
			"cells[].label":   {"description": "what tells it from the other cells; empty if there is only one"},
			"cells[].verdict": {"enum": compare.Verdicts},
			"cells[].command": {"description": "that makes the head again"},

			"cells[].base_trials": {"description": "IDs of the records"},
			"cells[].head_trials": {"description": "IDs of the records"},

			"cells[].figures[]": {
				"dependentRequired": map[string][]string{"threshold": {"verdict"}, "verdict": {"threshold"}},
				"if": map[string]any{
					"properties": map[string]any{"verdict": map[string]any{"const": compare.Inconclusive}}, "required": []string{"verdict"},
				},
				"then": map[string]any{"required": []string{"reason"}},
				"else": map[string]any{"properties": map[string]any{"reason": false}},
			},
			"cells[].figures[].figure":        {"minLength": 1, "description": "as -fail-on names it"},
			"cells[].figures[].unit":          {"enum": units},
			"cells[].figures[].better":        {"enum": []string{"higher", "lower"}, "description": "absent if neither is"},
			"cells[].figures[].change":        {"minimum": -1, "description": "from base to head, as a ratio less one: of the medians, or the middle of the pairs (Hodges and Lehmann) if paired"},
			"cells[].figures[].change_low":    {"minimum": -1, "description": "of its 95 % interval"},
			"cells[].figures[].change_high":   {"minimum": -1, "description": "of its 95 % interval"},
			"cells[].figures[].p":             {"maximum": 1, "description": "two-sided: Mann and Whitney, or Wilcoxon's signed ranks if paired"},
			"cells[].figures[].p_adjusted":    {"maximum": 1, "description": "by which it was judged; null if it was not tested"},
			"cells[].figures[].threshold":     {"minLength": 1, "description": "as -fail-on has it; " + unjudged},
			"cells[].figures[].verdict":       {"enum": compare.Verdicts, "description": unjudged},
			"cells[].figures[].reason":        {"enum": compare.Reasons, "description": "of inconclusive, and absent from all others; why says it in words"},
			"cells[].figures[].why":           {"description": "in words; absent if nothing is to be said"},
			"cells[].figures[].needed_trials": {"description": "a side, that would tell; absent if that is not known"},

			"*estimate.n":      {"description": "trials that know the figure"},
			"*estimate.median": {"description": "over the trials"},
			"*estimate.low":    {"description": "of its 95 % interval"},
			"*estimate.high":   {"description": "of its 95 % interval"},
		},
		Shared: map[reflect.Type][2]string{
			reflect.TypeFor[sideJSON]():     {"side", "*side"},
			reflect.TypeFor[estimateJSON](): {"estimate", "*estimate"},
		},
		Negative: func(path string) bool { return strings.HasPrefix(path, "cells[].figures[].change") },
	}.Of(reflect.TypeFor[comparisonJSON](), nil)
}
