package stats

import (
	"math"
	"testing"
)

// TestHolm has the answers of R's p.adjust(…, "holm").
func TestHolm(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ ps, want []float64 }{
		{[]float64{0.01, 0.02, 0.03, 0.04, 0.05}, []float64{0.05, 0.08, 0.09, 0.09, 0.09}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}}, // in the order given, monotone
		{[]float64{0.01, nan, 0.04, 0.03, nan, 0.005}, []float64{0.03, nan, 0.06, 0.06, nan, 0.02}},
		{[]float64{0.6, 0.7, 1}, []float64{1, 1, 1}},
		{[]float64{0.02, 0.02}, []float64{0.04, 0.04}},
		{[]float64{0.04}, []float64{0.04}},
		{[]float64{nan}, []float64{nan}},
		{nil, nil},
	} {
		got := Holm(c.ps)
		if len(got) != len(c.want) {
			t.Fatalf("%v: %v", c.ps, got)
		}
		for i := range got {
			if !near(got[i], c.want[i], 1e-12) {
				t.Errorf("%v: %v, want %v", c.ps, got, c.want)
				break
			}
		}
	}
}

func TestLeastP(t *testing.T) {
	for _, c := range []struct {
		base, head int
		want       float64
	}{{1, 1, 1}, {1, 5, 2. / 6}, {5, 1, 2. / 6}, {2, 2, 2. / 6}, {3, 3, 0.1}, {4, 4, 2. / 70}, {3, 5, 2. / 56}, {5, 3, 2. / 56}, {10, 10, 2. / 184756}, {0, 9, 1}, {9, 0, 1}} {
		if got := MinP(c.base, c.head, false); !near(got, c.want, 1e-12) {
			t.Errorf("%d and %d: %v, want %v", c.base, c.head, got, c.want)
		}
	}
	// The real test agrees that this is the least.
	if p := Compare([]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10, 11}).P; !near(p, MinP(5, 6, false), 1e-12) {
		t.Errorf("%v, want %v", p, MinP(5, 6, false))
	}
}

func TestLeastTrials(t *testing.T) {
	for alpha, want := range map[float64]int{0.05: 4, 0.1: 4, 0.11: 3, 0.01: 5, 0.05 / 20: 6, 0.05 / 200: 8, 1: 2, 2: 0, 0: 0, -1: 0, math.NaN(): 0} {
		if got := LeastTrials(alpha, false); got != want {
			t.Errorf("alpha %v: %d, want %d", alpha, got, want)
		}
	}
}
