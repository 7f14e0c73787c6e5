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
			"schema":           {"minimum": 1, "maximum": capacity.AnswerVersion, "description": "version of this form"},
			"slo":              {"description": "what must be true of the arrivals; mutual exclusion is always part of it"},
			"rate":             {"description": "arrivals that were asked for; absent: the most was wanted"},
			"max_rate":         {"description": "that no trial exceeded; absent: no limit"},
			"spent_ns":         {"description": "of the budget: windows and warm-ups"},
			"partial":          {"description": "why it ended before its time"},
			"forced":           {"description": "measured although no lock can do it"},
			"verdict":          {"enum": append(verdicts, "")},
			"analysis":         {"description": "what is known without a server, one for each load among the candidates"},
			"advice":           {"description": "one sentence"},
			"scaling":          {"description": "over lockers or nodes, by the universal scalability law; absent if there are too few candidates"},
			"scaling[].of":     {"enum": []string{"lockers", "nodes", ""}},
			"scaling[].lock":   {"description": "driver, design and way of waiting"},
			"scaling[].sigma":  {"description": "contention"},
			"scaling[].peak":   {"description": "the number that carries the most; absent if none has been shown"},
			"scaling[].double": {"description": "arrivals a second at twice the most"},
			"breaks":           {"description": "what breaks first, and at what rate"},
			"unseen":           {"description": "what cannot have been seen"},
			"warnings":         {"description": "what changes how the figures are read"},
			"skipped":          {"description": "candidates that could not run, and why"},
			"candidates":       {"description": "ranked, the best first"},

			"analysis[].load":            {"description": "in words"},
			"analysis[].rtt_ns":          {"description": "assumed in each hand-off; absent before one was measured"},
			"analysis[].hottest_share":   share,
			"analysis[].utilisation":     {"description": "of the hottest key at the rate asked for; 1 or more: no lock can do it"},
			"analysis[].stability_limit": {"description": "arrivals a second at which the hottest key is always busy"},
			"analysis[].ceiling":         {"description": "arrivals a second at which a FIFO lock with free hand-off still meets the SLO; 0: none"},
			"analysis[].rough":           {"description": "why the ceiling is an approximation for this load; absent if it is not"},
			"analysis[].impossible":      {"description": "why no lock can carry the rate, or meet the SLO at any"},
			"analysis[].fits_hold_ns":    {"description": "the hold that would make the rate possible"},
			"analysis[].fits_share":      {"maximum": 1, "description": "the share of the hottest key that would make the rate possible"},

			"candidates[].traits":    {"description": "what the design claims"},
			"candidates[].wrong":     {"description": "what is wrong with the design, the main risk first"},
			"candidates[].verdict":   {"enum": append(verdicts, "")},
			"candidates[].why":       {"description": "of a verdict other than sustains, in words"},
			"candidates[].remedy":    {"description": "what would decide it, in words"},
			"candidates[].binding":   {"description": "the objective that allows the lowest rate, of several"},
			"candidates[].at_least":  {"description": "lockbench, its machine or max_rate was the limit: low is all that is known"},
			"candidates[].headroom":  {"description": "sustains.low by the rate asked for"},
			"candidates[].floor":     {"maximum": 1, "description": "share of late arrivals at a low rate, if that alone breaks the SLO"},
			"candidates[].noise":     {"description": "relative scatter of occupies_ns between trials"},
			"candidates[].resources": {"description": "the first to saturate first"},
			"candidates[].clients":   {"description": "that the sustained rate took"},
			"candidates[].cost":      {"description": "of a lock at the highest rate that kept the SLO; a negative number is not known"},
			"candidates[].points":    {"description": "its trials"},
			"candidates[].curve":     {"description": "the fit; share only"},

			"candidates[].resources[].units": {"description": "cores, connections; 0: nobody knows"},

			"*point.p99_ns":   {"description": "of the response"},
			"*point.stage":    {"enum": []capacity.Stage{capacity.StagePilot, capacity.StageSearch, capacity.StageConfirm}},
			"*point.left_out": {"description": "why the trial does not count"},

			"*range.low":  {"description": "of the 95 % interval"},
			"*range.high": {"description": "of the 95 % interval"},
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
			"schema":                     {"minimum": 1, "maximum": safety.Version, "description": "version of this form"},
			"partial":                    {"description": "why it ended before its time"},
			"baseline":                   {"description": "the file of an earlier report that the cells were held against"},
			"hazards":                    {"description": "that were run, in the order of their numbers"},
			"asked":                      {"description": "what was named: each has to be exercised"},
			"hazards[].after":            {"description": "the hazard as what goes before a loss"},
			"hazards[].control":          {"description": "why nothing that the hazard shows is to be believed; absent if its controls are as they have to be"},
			"hazards[].wrong":            {"description": "a control has the wrong verdict; otherwise control says why none is known"},
			"cells[].missing":            {"description": "what has to be installed to exercise it"},
			"cells[].control":            {"description": "it is there only as a control"},
			"cells[].doubted":            {"description": "its verdict is not to be believed; control of its hazard says why"},
			"cells[].more":               {"description": "in which way it fails more than in the baseline"},
			"cells":                      {"description": "a lock under a hazard each, those of a hazard together"},
			"cells[].verdict":            {"enum": safety.Verdicts},
			"cells[].why":                {"description": "in words"},
			"cells[].listed":             {"description": "the design says that it loses to this hazard"},
			"cells[].before":             {"enum": safety.Verdicts, "description": "its verdict in the baseline; absent if it is not there"},
			"cells[].attempts":           {"description": "that count"},
			"cells[].gaps":               {"description": "places at which the fault can strike: attempt n strikes at place n modulo gaps; absent: one"},
			"cells[].tried":              {"description": "of the gaps, by an attempt that counts"},
			"cells[].failed":             {"description": "of the attempts that count"},
			"cells[].left":               {"description": "attempts that do not count: the fault did not strike, or the machine was too slow for the lease"},
			"cells[].lost_at":            {"description": "the gaps at which an attempt failed, from 0"},
			"cells[].bound":              {"maximum": 1, "description": "share of failures that attempts without one leave possible, with 95 % confidence"},
			"cells[].longest_overlap_ns": {"description": "for which two clients held the key"},
			"cells[].recovery_ns":        {"description": "the longest, from the fault to the next grant"},
			"cells[].never":              {"description": "the key does not come free"},
			"cells[].ttl_ns":             {"description": "the lease, or the time-out of a session"},
			"cells[].command":            {"description": "that makes the cell again"},
			"cells[].seed":               {"description": "number of the attempt of the story; prove -seed makes it again"},
			"cells[].story":              {"description": "of the first attempt that fails, or else the first one"},
			"cells[].story[].at_ns":      {"description": "since the attempt began, on one clock for all clients"},
			"cells[].story[].client":     {"description": "absent of what befalls the server or the way to it"},
			"cells[].story[].kind":       {"enum": safety.Kinds},
			"cells[].story[].until_ns":   {"description": "of a grant: until when the lease lasts, as the lock has told its holder"},
		},
	}.Of(reflect.TypeFor[safety.Report](), nil)
}
