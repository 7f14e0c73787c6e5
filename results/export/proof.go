package export

import (
	"io"
	"reflect"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/safety"
)

// ProofJSON writes a report of lockbench prove.
func ProofJSON(w io.Writer, r *safety.Report) error { return encode(w, r) }

// ProofSchemaID names the schema; it is no address.
const ProofSchemaID = "https://github.com/lockbench/lockbench/results/proof.schema.json"

// ProofSchema returns the schema (draft 2020-12) of what ProofJSON writes; see ComparisonSchema.
func ProofSchema() ([]byte, error) {
	return results.Schema{
		ID: ProofSchemaID, Title: "lockbench prove",
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
