package export

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/capacity/capacitytest"
	"github.com/lockbench/lockbench/results/pagetest"
)

// TestPlanGolden pins what an answer in JSON looks like.
func TestPlanGolden(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, capacitytest.Answer("partial")); err != nil {
		t.Fatal(err)
	}
	pagetest.Golden(t, "plan.json", b.String())
}

// TestPlanReadsBack: what is read of an answer in JSON is the answer.
func TestPlanReadsBack(t *testing.T) {
	for _, name := range capacitytest.Names {
		a := capacitytest.Answer(name)
		var b bytes.Buffer
		if err := JSON(&b, a); err != nil {
			t.Fatal(err)
		}
		var back capacity.Answer
		if err := json.Unmarshal(b.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		if name != "hostile" && !reflect.DeepEqual(&back, a) { // whose texts are no UTF-8
			t.Errorf("%s: read back, it is another answer: %s", name, b.String())
		}
	}
}
