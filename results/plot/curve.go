package plot

import (
	"math"
	"time"

	"github.com/lockbench/lockbench/results"
)

// Point is one of a percentile curve.
type Point struct {
	Nines       float64 // of the share of values that are at most so long; see Nine
	Nanoseconds float64
}

const (
	mostNines   = 6
	pointsANine = 10
)

// Curve returns a latency by nines, as far as there are values enough for a quantile. One that has lost its histogram has the
// quantiles that are spelt out.
func Curve(l results.Latency) (at []Point) {
	h, err := l.Histogram()
	if err != nil || l.Count == 0 {
		for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
			if t := l.Quantile(q); !math.IsNaN(t) {
				at = append(at, Point{Nine(q), t})
			}
		}
		return at
	}
	var percentiles []float64
	for i := 0; i <= mostNines*pointsANine; i++ {
		q := 1 - math.Pow(10, -float64(i)/pointsANine)
		if !results.Enough(l.Count, q) {
			break
		}
		percentiles = append(percentiles, 100*q)
	}
	values := h.ValueAtPercentilesSlice(percentiles)
	for i, v := range values {
		at = append(at, Point{float64(i) / pointsANine, float64(max(time.Duration(v), l.Min))})
	}
	return at
}
