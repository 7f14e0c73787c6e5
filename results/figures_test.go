package results

import (
	"testing"
	"time"
)

func TestEnough(t *testing.T) {
	for q, least := range map[float64]int64{0.5: 6, 0.9: 36, 0.99: 368, 0.999: 3688} {
		if Enough(least-1, q) || !Enough(least, q) {
			t.Errorf("the least number of values for quantile %v is not %d", q, least)
		}
	}
	if Enough(0, 0.5) {
		t.Error("no value is enough")
	}
}

// TestThroughput: a trial that ended before its window has a rate of nothing.
func TestThroughput(t *testing.T) {
	for r, want := range map[*Record]float64{
		{Counts: Counts{Acquired: 500}, Elapsed: 2500 * time.Millisecond}: 200, {Counts: Counts{Acquired: 5}}: 0, {}: 0,
	} {
		if got := r.Throughput(); got != want {
			t.Errorf("%d locks in %v: %v/s, want %v", r.Counts.Acquired, r.Elapsed, got, want)
		}
	}
}
