package host

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
)

// TestQuantileRank: a quantile has the rank that histograms of records give it.
func TestQuantileRank(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 49, 50, 51, 149, 150, 151, 500, 551} {
		h, rec := Histogram{Buckets: []float64{0}}, results.NewRecorder(1)
		for i := int64(1); i <= n; i++ {
			h.Counts, h.Buckets = append(h.Counts, 1), append(h.Buckets, float64(i))
			shard := rec.Borrow()
			shard.Record(results.HoldIndex, time.Duration(i))
			rec.Return(shard)
		}
		all := results.Total(results.Source{Recorder: rec, Metric: results.HoldIndex}).Histogram()
		for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 1} {
			if got, want := h.Quantile(q), results.Quantile(all, q)*time.Second; got != want {
				t.Errorf("%v of %d values: %v, want %v", q, n, got, want)
			}
		}
	}
}
