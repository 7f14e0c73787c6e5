// A metric's distribution as a Prometheus histogram: a native one and, for scrapers that do not know these, a classic one.

package observe

import (
	"fmt"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/metric"
)

// schema is the resolution of native histograms: 2^5 buckets for each power of two, each 2.2 % wide. A value goes where
// the middle of its slot belongs, which is within 0.05 % of it; so a quantile that Prometheus calculates is within 2.2 % of
// the record's, which is exact to 0.1 %, and a value as close as that to a bucket's bound may be counted on its other side.
const schema = 5

// classicBounds are in seconds: 1, 2 and 5 of each power of ten from 10 µs to 50 s. Prometheus leaves them out where it
// scrapes native histograms; the text format knows no others.
var classicBounds = func() (bounds []float64) {
	for power := -5; power <= 1; power++ {
		for _, digit := range []float64{1, 2, 5} {
			bounds = append(bounds, digit*math.Pow10(power))
		}
	}
	return bounds
}()

// histogram is one metric at the time of a scrape.
type histogram struct {
	prometheus.Metric // the native one
	classic           []*dto.Bucket
}

// Write adds the classic buckets to the native ones.
func (h histogram) Write(out *dto.Metric) error {
	if err := h.Metric.Write(out); err != nil {
		return err
	}
	out.Histogram.Bucket = h.classic
	return nil
}

// newHistogram makes lockbench_<metric>_seconds of values that were counted since began.
func newHistogram(m results.Metric, v results.Values, began time.Time, labels []string) prometheus.Metric {
	mean, _ := metric.Named(string(m) + ".mean")
	desc := prometheus.NewDesc(fmt.Sprintf("lockbench_%s_seconds", m),
		"Seconds in the measured window so far: "+mean.About+".", trialLabels, nil)
	buckets := map[int]int64{}
	classic := make([]*dto.Bucket, len(classicBounds))
	sum, below, next := 0.0, uint64(0), 0
	fill := func(seconds float64) { // the bounds below it: slots come in order
		for ; next < len(classicBounds) && classicBounds[next] < seconds; next++ {
			bound, count := classicBounds[next], below
			classic[next] = &dto.Bucket{UpperBound: &bound, CumulativeCount: &count}
		}
	}
	for value, n := range v.All() {
		seconds := value.Seconds()
		fill(seconds)
		buckets[bucket(seconds)] += n
		sum += seconds * float64(n)
		below += uint64(n)
	}
	fill(math.Inf(1))
	native := prometheus.MustNewConstNativeHistogram(desc, uint64(v.Count()), sum, buckets, nil, 0, schema, zeroThreshold, began, labels...)
	return histogram{native, classic}
}

// zeroThreshold is what Prometheus counts as zero; no latency is as small.
const zeroThreshold = prometheus.DefNativeHistogramZeroThreshold

// bucket returns the number of the native bucket in which a value falls: number i reaches from base^(i-1), exclusive, to base^i,
// where base is 2^(2^-schema).
func bucket(seconds float64) int { return int(math.Ceil(math.Log2(seconds) * (1 << schema))) }
