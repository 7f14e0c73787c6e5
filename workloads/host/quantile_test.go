package host

import (
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// TestQuantileRank: a quantile has the rank that histograms of records give it.
func TestQuantileRank(t *testing.T) {
	for _, n := range []int{1, 2, 3, 49, 50, 51, 149, 150, 151, 500, 551} {
		h, hdr := Histogram{Buckets: []float64{0}}, hdrhistogram.New(1, 3600, 3)
		for i := 1; i <= n; i++ {
			h.Counts, h.Buckets = append(h.Counts, 1), append(h.Buckets, float64(i))
			hdr.RecordValue(int64(i))
		}
		for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 1} {
			if got, want := h.Quantile(q), time.Duration(hdr.ValueAtPercentile(100*q))*time.Second; got != want {
				t.Errorf("%v of %d values: %v, want %v", q, n, got, want)
			}
		}
	}
}
