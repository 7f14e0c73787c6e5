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
	unjudged := "absent of a figure that is shown, and judged by no threshold"
	return results.Schema{
		Name: "comparison", Title: "lockbench comparison",
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
			"cells[].figures[].unit":          {"enum": units()},
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
		Shared: map[reflect.Type]string{
			reflect.TypeFor[sideJSON]():     "side",
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
			"schema":                   {"minimum": 1, "maximum": reportSchema, "description": "version of this form"},
			"verdict":                  {"enum": compare.CheckVerdicts, "description": "the worst of all; absent if there is no threshold and exclusion was not violated"},
			"reasons":                  {"description": "of all that is inconclusive, each once"},
			"reasons[]":                {"enum": compare.CheckReasons},
			"thresholds":               {"description": "as -fail-on has them"},
			"thresholds[]":             {"minLength": 1},
			"missing":                  {"description": "cells that were asked for and have no trial"},
			"cells[].label":            {"description": "what tells it from the other cells; empty if there is only one"},
			"cells[].verdict":          {"enum": compare.CheckVerdicts},
			"cells[].command":          {"description": "that makes it again"},
			"cells[].plan":             {"description": "of the first trial; lockbench schema record says more of its fields"},
			"cells[].trials":           {"description": "IDs of the records"},
			"cells[].partial":          {"description": "why the only trial ended early; absent from whole ones"},
			"cells[].limited_by":       {"description": "what held the load up; absent if nothing is known to have"},
			"cells[].exclusion":        {"description": "what the oracle saw, all trials together"},
			"cells[].exclusion.reason": reason,
			"cells[].exclusion.verdict": {
				"enum": []compare.Verdict{compare.Violated, compare.Inconclusive, compare.Passed},
			},
			"cells[].flags":              {"description": "words that mark the figures"},
			"cells[].flags[].doubt":      {"description": "the figures are not to be believed as they stand"},
			"cells[].warnings":           {"description": "of all trials, each once"},
			"cells[].figures":            {"description": "that are known, by the names of -fail-on"},
			"cells[].figures{}.unit":     {"enum": units()},
			"cells[].figures{}.better":   {"enum": []string{"higher", "lower"}, "description": "absent if neither is"},
			"cells[].figures{}.n":        {"description": "trials that know the figure"},
			"cells[].figures{}.median":   {"description": "over the trials"},
			"cells[].figures{}.low":      {"description": "of its 95 % interval"},
			"cells[].figures{}.high":     {"description": "of its 95 % interval"},
			"cells[].limits":             {"description": "one for each threshold"},
			"cells[].limits[].threshold": {"minLength": 1},
			"cells[].limits[].figure":    {"enum": metric.Names()},
			"cells[].limits[].value":     {"description": "that was judged: the median of the trials, of a count the worst; null if it was not measured"},
			"cells[].limits[].verdict":   {"enum": []compare.Verdict{compare.Missed, compare.Inconclusive, compare.Passed}},
			"cells[].limits[].reason":    reason,
			"cells[].limits[].text":      {"description": "all of it in words"},
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
			"load":             {"description": "what all candidates have in common; lockbench schema record says more of its fields"},
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
			"scaling[].kappa":  {"description": "coherency, with its interval"},
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

			"candidates[].plan":        {"description": "with the most clients that it took"},
			"candidates[].traits":      {"description": "what the design claims"},
			"candidates[].wrong":       {"description": "what is wrong with the design, the main risk first"},
			"candidates[].verdict":     {"enum": append(verdicts, "")},
			"candidates[].why":         {"description": "of a verdict other than sustains, in words"},
			"candidates[].remedy":      {"description": "what would decide it, in words"},
			"candidates[].binding":     {"description": "the objective that allows the lowest rate, of several"},
			"candidates[].sustains":    {"description": "arrivals a second under the SLO"},
			"candidates[].at_least":    {"description": "lockbench, its machine or max_rate was the limit: low is all that is known"},
			"candidates[].headroom":    {"description": "sustains.low by the rate asked for"},
			"candidates[].floor":       {"maximum": 1, "description": "share of late arrivals at a low rate, if that alone breaks the SLO"},
			"candidates[].occupies_ns": {"description": "for how long a lock occupies its key: hold and hand-off"},
			"candidates[].noise":       {"description": "relative scatter of occupies_ns between trials"},
			"candidates[].resources":   {"description": "the first to saturate first"},
			"candidates[].clients":     {"description": "that the sustained rate took"},
			"candidates[].cost":        {"description": "of a lock at the highest rate that kept the SLO; a negative number is not known"},
			"candidates[].predicted":   {"description": "share of late arrivals in the confirmation, by the fit of the trials before it"},
			"candidates[].measured":    {"description": "share of late arrivals in the confirmation"},
			"candidates[].points":      {"description": "its trials"},
			"candidates[].curve":       {"description": "the fit; share only"},

			"candidates[].resources[].demand":  {"description": "of one arrival, in seconds of one unit"},
			"candidates[].resources[].units":   {"description": "cores, connections; 0: nobody knows"},
			"candidates[].resources[].used":    {"description": "share at the rate asked for, or at sustains.low"},
			"candidates[].resources[].full":    {"description": "arrivals a second at which it is used up"},
			"candidates[].resources[].double":  {"description": "share used at twice that rate; above 1 it is not possible"},
			"candidates[].resources[].tenfold": {"description": "share used at ten times that rate; above 1 it is not possible"},

			"*point.share":    {"description": "of late arrivals"},
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
