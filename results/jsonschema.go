package results

// The JSON schema of a record. What its type does not say (which names there are, and what a number can be) stands here and
// is what Validate asks for, as far as a schema can: that quantiles rise, or that counts do not contradict each other,
// Validate alone sees.

import "reflect"

// SchemaID names the schema; it is no address.
const SchemaID = "https://github.com/lockbench/lockbench/results/record.schema.json"

// kinds are the values of Server.Kind.
var kinds = []string{"private", "embedded", "external", "in-process"}

// recordFields say of fields what their types do not; see Schema.Fields.
var recordFields = map[string]jsonObject{
	"schema":                 {"minimum": 1, "maximum": SchemaVersion, "description": "version of the record"},
	"id":                     {"minLength": 1, "description": "unique to the record"},
	"run":                    {"description": "the invocation of lockbench that it belongs to"},
	"cell":                   {"description": "its place in that run's matrix, from 0"},
	"trial":                  {"minimum": 1},
	"side":                   {"enum": sides},
	"partial":                {"description": "why this is less than a whole trial; absent from a whole one"},
	"plan.driver":            {"minLength": 1},
	"plan.lock":              {"minLength": 1},
	"plan.durability":        {"enum": durabilities},
	"plan.server":            {"enum": kinds},
	"plan.command":           {"description": "the command line that makes this cell again"},
	"server.kind":            {"enum": kinds},
	"server.durability":      {"enum": durabilities},
	"cores":                  {"description": "the logical processors that lockbench and a private server were kept on (-pin); absent if they were not"},
	"server_thread":          {"description": "shares of the window in which the busiest thread that executes commands ran, or waited for a core; absent if not known"},
	"server_thread.ran":      {"maximum": 1},
	"server_thread.waited":   {"maximum": 1},
	"elapsed_ns":             {"description": "the measured window, warm-up excluded"},
	"latency":                {"description": "by metric; later versions may know more of them"},
	"fairness.jain":          {"maximum": 1},
	"classes[].jain":         {"maximum": 1},
	"safety.power":           {"description": "what the oracle could have seen; absent from records of earlier versions"},
	"safety.ended":           {"description": "holds that were gone because the service had ended the session of their holder, by its reason"},
	"safety.explained":       {"description": "why lost_early and fence_regress prove nothing here; absent if nothing explains them"},
	"steady.p":               {"maximum": 1},
	"generator.machine":      {"maximum": 1},
	"bound.by":               {"enum": []string{"", "keys", "clients", "connections", "rate"}},
	"cost":                   {"description": "of one granted lock; a negative number is not known"},
	"*latency{}.hdr":         {"contentEncoding": "base64", "description": "HdrHistogram V2, deflated; values in ns"},
	"*latency{}.overflow":    {"description": "values beyond the range, counted at its end"},
	"plan.classes[].name":    {"minLength": 1},
	"classes[].name":         {"minLength": 1},
	"plan.arrival":           {"enum": []string{"", "constant", "poisson"}},
	"plan.classes[].arrival": {"enum": []string{"", "constant", "poisson"}},
}

// JSONSchema returns the schema (draft 2020-12) of a line of a file of records.
func JSONSchema() ([]byte, error) {
	var metrics []string
	for _, m := range Metrics {
		metrics = append(metrics, string(m))
	}
	return Schema{
		ID: SchemaID, Title: "lockbench record",
		Description: "One trial of one cell, a line of what lockbench -o writes. Names say the units: _ns, _us, _bytes, _per_s.",
		Fields:      recordFields,
		Shared: map[reflect.Type][2]string{
			reflect.TypeFor[Latency](): {"latency", "*latency{}"},
			reflect.TypeFor[Counts]():  {"counts", "*counts"},
		},
		Keys:     map[reflect.Type][]string{reflect.TypeFor[Metric](): metrics},
		Negative: negativeAllowed,
	}.Of(reflect.TypeFor[Record](), jsonObject{
		// A whole trial takes time; one that was stopped at once may have taken none.
		"anyOf": []any{
			jsonObject{"required": []string{"partial"}},
			jsonObject{"properties": jsonObject{"elapsed_ns": jsonObject{"exclusiveMinimum": 0}}},
		},
	})
}
