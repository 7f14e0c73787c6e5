package workloads

import (
	"math"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// TestKeyLimit: of four keys the hottest gets half of the locks, so that it lets 2/(hold + round trip) through, and all four
// together 4/(hold + round trip): the latter if more than 1 % were refused or gave up.
func TestKeyLimit(t *testing.T) {
	const rtt, hold = 0.001, 9 * time.Millisecond
	for _, c := range []struct {
		acquired, contended, timedOut int64
		want                          float64
	}{
		{990, 0, 0, 200}, {990, 10, 0, 200}, {990, 5, 5, 200}, {990, 11, 0, 400}, {990, 5, 6, 400}, {990, 0, 990, 400},
	} {
		r := &results.Record{Counts: results.Counts{Acquired: c.acquired, Contended: c.contended, TimedOut: c.timedOut}}
		r.Plan.Keys = 4
		kinds := []kind{{Load: spec.Load{KeyDist: spec.Must(spec.ParseKeys("hot:50%:1"))}, share: 1, hold: hold}}
		if got := keyLimit(r, kinds, rtt); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%d granted, %d refused, %d timed out: %v, want %v", c.acquired, c.contended, c.timedOut, got, c.want)
		}
	}
}
