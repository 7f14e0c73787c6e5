package results

import (
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

func TestHoldsLasted(t *testing.T) {
	const ms = time.Millisecond
	fixed, drawn := spec.Load{Hold: ms}, spec.Load{Hold: ms, HoldDist: spec.Must(spec.ParseTimes("exp:1ms"))}
	coarse := Latency{Count: 20_000, P50: 2 * ms, Mean: 3 * ms}
	few := Latency{Count: 9, P50: 2 * ms, Mean: 3 * ms}
	for _, c := range []struct {
		name  string
		load  spec.Load
		holds Latency
		want  time.Duration
	}{
		{"fixed: the median", fixed, coarse, 2 * ms},
		{"drawn: the mean", drawn, coarse, 3 * ms},
		{"none", spec.Load{}, coarse, 0},
		{"too few", fixed, few, 0},
		{"too few of a distribution", drawn, Latency{Count: 9999, Mean: 3 * ms}, 0},
	} {
		r := &Record{Plan: spec.Plan{Load: c.load}, Latency: map[Metric]Latency{Hold: c.holds}}
		if got := r.HoldsLasted(); !slices.Equal(got, []time.Duration{c.want}) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	r := &Record{
		Plan:    spec.Plan{Classes: []spec.Class{{Name: "a", Load: fixed}, {Name: "b"}}},
		Classes: []ClassResult{{Latency: map[Metric]Latency{Hold: coarse}}},
	}
	if got := r.HoldsLasted(); !slices.Equal(got, []time.Duration{2 * ms, 0}) {
		t.Errorf("classes: %v", got)
	}
	for lasted, want := range map[time.Duration]bool{0: false, 1100: false, 1101: true, 900: false, 899: true} {
		if Apart(1000, lasted) != want || Apart(0, lasted) {
			t.Errorf("1000 asked and %d lasted: apart is %t", lasted, !want)
		}
	}
}
