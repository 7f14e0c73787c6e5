package stats

import (
	"math"
	"math/rand/v2"
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

// TestCoverage counts how often the interval holds the true median of a skewed distribution: at least 95 times in 100.
func TestCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const runs = 4000
	held := 0
	for range runs {
		values := make([]float64, 9)
		for i := range values {
			values[i] = rng.ExpFloat64()
		}
		if e := Of(values); e.Low <= math.Ln2 && math.Ln2 <= e.High {
			held++
		}
	}
	// Orders 2 and 8 of 9 hold it with 1 − 2 × 10/512 = 96.1 %.
	if share := float64(held) / runs; math.Abs(share-0.961) > 0.01 {
		t.Errorf("%.1f %% of the intervals hold the median", 100*share)
	}
}

func TestTrials(t *testing.T) {
	var recs []*results.Record
	for i := range 6 {
		recs = append(recs, &results.Record{Fairness: results.Fairness{Jain: float64(i)}})
	}
	if e := Trials(recs, func(r *results.Record) float64 { return r.Fairness.Jain }); e.N != 6 || e.Median != 2.5 || e.High != 5 {
		t.Errorf("%+v", e)
	}
}
