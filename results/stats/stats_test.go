package stats

import (
	"math"
	"testing"

	"github.com/lockbench/lockbench/results"
)

// simulates leaves a test out with -short, which draws series by the hundred in one goroutine: the race detector makes
// that ten times as long, and can find nothing there.
func simulates(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a simulation, with -short")
	}
}

// TestIntervals has known answers: the least order statistics that hold the median with 95 %, by the binomial
// distribution. For 8 the narrower ones are not symmetric: 1 − (1+9)/256 = 96.1 %.
func TestIntervals(t *testing.T) {
	for _, c := range []struct{ n, low, high int }{{6, 1, 6}, {7, 1, 7}, {8, 1, 7}, {9, 2, 8}, {10, 2, 9}, {15, 4, 12}, {20, 6, 15}} {
		var values []float64
		for i := range c.n {
			values = append(values, float64(c.n-i)) // backwards: the order must not matter
		}
		e := Of(values)
		if !e.Known() || e.N != c.n || e.Low != float64(c.low) || e.High != float64(c.high) || e.Min != 1 || e.Max != float64(c.n) {
			t.Errorf("%d trials: %+v, want %d to %d", c.n, e, c.low, c.high)
		}
		if want := float64(c.n+1) / 2; math.Abs(e.Median-want) > 1e-9 {
			t.Errorf("%d trials: median %v, want %v", c.n, e.Median, want)
		}
		if values[0] != float64(c.n) {
			t.Error("the values were sorted in the caller's slice")
		}
	}
}

func TestTooFewTrials(t *testing.T) {
	e := Of([]float64{5, math.NaN(), 1, 2, 4, 3})
	if e.Known() || e.N != 5 || e.Median != 3 || !math.IsNaN(e.Low) || !math.IsNaN(e.High) || e.Min != 1 || e.Max != 5 {
		t.Errorf("%+v", e)
	}
	if e := Of(nil); e.N != 0 || e.Known() || !math.IsNaN(e.Median) {
		t.Errorf("%+v of no trial", e)
	}
}

func TestTrials(t *testing.T) {
	recs := []*results.Record{{Fairness: results.Fairness{Jain: 1}}, {}, {Fairness: results.Fairness{Jain: 4}}}
	if e := Trials(recs, func(r *results.Record) float64 { return r.Fairness.Jain }); e.N != 3 || e.Median != 1 || e.Max != 4 {
		t.Errorf("%+v", e)
	}
}
