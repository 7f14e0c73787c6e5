package export

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/report"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/capacity/capacitytest"
	"github.com/lockbench/lockbench/results/pagetest"
)

// TestPlanGoldens pins what every format looks like.
func TestPlanGoldens(t *testing.T) {
	five, paper, violated := capacitytest.Answer("five"), capacitytest.Answer("paper"), capacitytest.Answer("violated")
	for name, write := range map[string]func(io.Writer) error{
		"plan.json":               func(w io.Writer) error { return PlanJSON(w, capacitytest.Answer("partial")) },
		"plan.csv":                func(w io.Writer) error { return PlanCSV(w, five) },
		"plan.junit.xml":          func(w io.Writer) error { return JUnit(w, report.Plan(five).Judged) },
		"plan.paper.junit.xml":    func(w io.Writer) error { return JUnit(w, report.Plan(paper).Judged) },
		"plan.violated.junit.xml": func(w io.Writer) error { return JUnit(w, report.Plan(violated).Judged) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		pagetest.Golden(t, name, b.String())
	}
}

func planSchemaOf(t *testing.T) *jsonschema.Schema {
	t.Helper()
	return compiled(t, results.SchemaID("plan"), PlanSchema)
}

func planOf(t *testing.T, a *capacity.Answer) any {
	t.Helper()
	return document(t, func(w io.Writer) error { return PlanJSON(w, a) })
}

// TestPlanSchemaTakes answers of every kind, of nothing and with texts of all kinds, and what is read back is the answer.
func TestPlanSchemaTakes(t *testing.T) {
	s := planSchemaOf(t)
	for _, name := range capacitytest.Names {
		a := capacitytest.Answer(name)
		if err := s.Validate(planOf(t, a)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var b bytes.Buffer
		if err := PlanJSON(&b, a); err != nil {
			t.Fatal(err)
		}
		var back capacity.Answer
		if err := json.Unmarshal(b.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		if name != "hostile" && !reflect.DeepEqual(&back, a.Known()) { // whose texts are no UTF-8
			t.Errorf("%s: read back, it is another answer: %s", name, b.String())
		}
	}
	for i, text := range weird {
		a := capacitytest.Answer("five")
		a.Candidates[0].Name, a.Candidates[1].Why, a.Advice, a.Warnings = text, text, text, []string{text}
		if err := s.Validate(planOf(t, a)); err != nil {
			t.Errorf("text %d: %v", i, err)
		}
	}
}

// TestPlanSchemaRefusesDamage damages an answer with one of everything. What is made of types of records is held to their schema.
func TestPlanSchemaRefusesDamage(t *testing.T) {
	a := capacitytest.Answer("paper")
	a.MaxRate, a.Partial, a.Forced, a.Unseen, a.Breaks, a.Spent = 9000, "stopped", true, "much", "the key", 1
	a.Warnings, a.Skipped, a.Scaling = []string{"w"}, []string{"s"}, capacitytest.Answer("most").Scaling[1:]
	c := capacitytest.Answer("five").Candidates[2]
	c.AtLeast, c.Floor, c.Resources = true, 0.01, c.Resources[:2]
	c.Points, c.Curve = c.Points[7:8], c.Curve[:1]
	a.Candidates = []capacity.CandidateAnswer{c}
	refusesDamage(t, planSchemaOf(t), planOf(t, a),
		`^\.(rate|max_rate|partial|forced|warnings|skipped|scaling)$|\.(rtt_ns|utilisation|impossible|fits_hold_ns|fits_share)$|`+
			`\.(wrong|why|remedy|binding|at_least|headroom|floor|resources|connections|points|curve|peak|response_ns)$|\.(p99_ns|arrivals|stage|left_out)$`,
		`\.(plan|load|env|server|traits|cost)$`)
}

// TestPlanSchemaRefusesNonsense: what has the right type, and is impossible.
func TestPlanSchemaRefusesNonsense(t *testing.T) {
	s := planSchemaOf(t)
	var b bytes.Buffer
	if err := PlanJSON(&b, capacitytest.Answer("partial")); err != nil {
		t.Fatal(err)
	}
	refusesNonsense(t, s, b.String(), map[string]string{
		`"schema": 1`: `"schema": 2`, `"verdict": "undecided"`: `"verdict": "unclear"`, `"rate": 3000`: `"rate": -3000`,
		`"stage": "pilot"`: `"stage": "egress"`, `"hottest_share": 0.234`: `"hottest_share": 1.234`, `"clients": 64`: `"clients": -64`,
	})
}

// TestPlanJUnit counts the cases of every answer, and reads back what is made of texts that could break it.
func TestPlanJUnit(t *testing.T) {
	for name, want := range map[string][3]int{ // cases, failures, skipped
		"five": {5, 1, 2}, "one": {1, 0, 0}, "most": {2, 0, 0}, "paper": {3, 3, 0}, "noslo": {2, 2, 0}, "violated": {2, 1, 0},
		"undecided": {1, 0, 1}, "atleast": {1, 0, 1}, "partial": {1, 0, 1}, "floor": {1, 1, 0}, "failed": {2, 0, 2},
		"crowd": {12, 0, 10}, "hostile": {3, 2, 1}, "wild": {1, 0, 0}, "nothing": {0, 0, 0},
	} {
		var b bytes.Buffer
		if err := JUnit(&b, report.Plan(capacitytest.Answer(name)).Judged); err != nil {
			t.Fatal(err)
		}
		var back junitSuites
		if err := xml.Unmarshal(b.Bytes(), &back); err != nil || strings.ContainsAny(b.String(), "\x00\x1b") {
			t.Errorf("%s: %v in %q", name, err, b.String())
			continue
		}
		if u := back.Suites[0]; [3]int{len(u.Cases), u.Failures, u.Skipped} != want {
			t.Errorf("%s: %d cases, %d failures, %d skipped, want %v", name, len(u.Cases), u.Failures, u.Skipped, want)
		}
		for _, bad := range []string{"NaN", "Inf"} {
			if strings.Contains(b.String(), bad) {
				t.Errorf("%s: %s in %s", name, bad, b.String())
			}
		}
	}
}
