package export

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"reflect"
	"strings"
	"testing"

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
		"plan.junit.xml":          func(w io.Writer) error { return JUnitPlan(w, five) },
		"plan.paper.junit.xml":    func(w io.Writer) error { return JUnitPlan(w, paper) },
		"plan.violated.junit.xml": func(w io.Writer) error { return JUnitPlan(w, violated) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		pagetest.Golden(t, name, b.String())
	}
}

// TestPlanReadsBack: what is read of an answer in JSON is the answer.
func TestPlanReadsBack(t *testing.T) {
	for _, name := range capacitytest.Names {
		a := capacitytest.Answer(name)
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
}

// TestPlanJUnit counts the cases of every answer, and reads back what is made of texts that could break it.
func TestPlanJUnit(t *testing.T) {
	for name, want := range map[string][3]int{ // cases, failures, skipped
		"five": {5, 1, 2}, "one": {1, 0, 0}, "most": {2, 0, 0}, "paper": {3, 3, 0}, "noslo": {2, 2, 0}, "violated": {2, 1, 0},
		"undecided": {1, 0, 1}, "atleast": {1, 0, 1}, "partial": {1, 0, 1}, "floor": {1, 1, 0}, "failed": {2, 0, 2},
		"crowd": {12, 0, 10}, "hostile": {3, 2, 1}, "wild": {1, 0, 0}, "nothing": {0, 0, 0},
	} {
		var b bytes.Buffer
		if err := JUnitPlan(&b, capacitytest.Answer(name)); err != nil {
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
