package capacity

import (
	"math"
	"testing"
	"time"
)

// TestScaling has locks whose rate follows a law over their lockers, and too few of another lock.
func TestScaling(t *testing.T) {
	const sigma, kappa = 0.05, 0.01
	counts := []int{1, 2, 4, 8, 12, 16}
	q := asked(p99Under20ms, 0, len(counts)+2)
	var meters []meter
	for i := range q.Candidates {
		c := &q.Candidates[i]
		c.Plan.Lock, c.Plan.Wait, c.Plan.Lockers = "one", "queue", 3*i
		m := mm1
		if i < len(counts) {
			n := float64(counts[i])
			c.Plan.Lock, c.Plan.Lockers = "law", counts[i]
			m.hold = time.Duration(float64(m.hold) * (1 + sigma*(n-1) + kappa*n*(n-1)) / n)
			m.handoff = time.Duration(float64(m.handoff) * (1 + sigma*(n-1) + kappa*n*(n-1)) / n)
		}
		meters = append(meters, m)
	}
	a, _ := run(t, q, meters...)
	if len(a.Scaling) != 1 {
		t.Fatalf("%+v", a.Scaling)
	}
	got, peak := a.Scaling[0], math.Sqrt((1-sigma)/kappa)
	if got.Of != "lockers" || got.Lock != "fake law queue" || got.Least != 1 || got.Most != 16 || got.Kappa.Low > kappa || got.Kappa.High < kappa {
		t.Errorf("%+v", got)
	}
	if math.Abs(got.Peak-peak) > 0.3*peak || got.Double <= 0 {
		t.Errorf("a peak at %v, want %v; %v/s at the double", got.Peak, peak, got.Double)
	}
}
