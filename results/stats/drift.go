package stats

// Slow change over a history.

import (
	"math"
	"slices"
)

// Trend is what a series does in the long run.
type Trend struct {
	// Slope is the median of the slopes between all pairs of values (Theil, 1950; Sen, 1968), by which the series changes
	// from one value to the next, as a share of the median: 0.001 is 0.1 % a revision. It is NaN for fewer than three
	// values or a median that is not positive.
	Slope float64

	// Growth is the factor by which the series changes from one value to the next: the same median for the logarithms of the
	// values, or 1 + Slope if one of them is not positive. It is NaN where Slope is.
	Growth float64

	// P is the two-sided p of the test of Mann (1945) and Kendall (1975) that the order of the values means nothing. It
	// is 1 where there is nothing to tell.
	P float64
}

// Drift looks for a slow change in one direction. Values that are NaN or infinite are left out, but keep their place. P is
// by the normal approximation with the corrections for ties and continuity (Gilbert, Statistical Methods for Environmental
// Pollution Monitoring, 1987, section 16.4). It takes values that are independent of one another: a machine whose speed
// wanders shows trends that mean nothing. A step is a trend, too: look for steps first. n values cost n log n.
func Drift(values []float64) Trend {
	var at, ys []float64
	for i, v := range values {
		if finite(v) {
			at, ys = append(at, float64(i)), append(ys, v)
		}
	}
	t := Trend{Slope: math.NaN(), Growth: math.NaN(), P: 1}
	if len(ys) < 3 {
		return t
	}
	t.P = mannKendall(ys)
	if m := median(ys); m > 0 {
		t.Slope = theilSen(at, ys) / m
		t.Growth = max(0, 1+t.Slope)
		if positive([]float64{slices.Min(ys)}) {
			t.Growth = math.Exp(theilSen(at, each(ys, math.Log)))
		}
	}
	return t
}

func each(values []float64, f func(float64) float64) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = f(v)
	}
	return all
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// median returns the median of at least one value.
func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// theilSen returns the median of the slopes of all pairs of points, whose x are ascending. A slope is at most v if the point on
// the right is not above the line of slope v through the one on the left.
func theilSen(xs, ys []float64) float64 {
	below, scratch := make([]float64, len(xs)), make([]float64, 0, len(xs))
	upTo := func(v float64) int {
		for i := range xs {
			below[i] = ys[i] - v*xs[i]
		}
		return falls(below, scratch)
	}
	pairs := len(xs) * (len(xs) - 1) / 2
	steepest := slices.Max(ys) - slices.Min(ys)
	low := smallest((pairs+1)/2, -steepest, steepest, upTo)
	if pairs%2 == 1 { // which is the median itself
		return low
	}
	return (low + smallest(pairs/2+1, -steepest, steepest, upTo)) / 2
}

// mannKendall returns the two-sided p of S, the number of pairs that rise less the number that fall.
func mannKendall(values []float64) float64 {
	scratch := make([]float64, 0, len(values))
	up, down := slices.Clone(values), slices.Clone(values)
	for i := range up {
		up[i] = -up[i]
	}
	s := float64(falls(up, scratch) - falls(down, scratch)) // pairs that are equal are in both
	n := float64(len(values))
	variance := n * (n - 1) * (2*n + 5)
	for i := 0; i < len(down); {
		j := i
		for j < len(down) && down[j] == down[i] {
			j++
		}
		t := float64(j - i)
		variance -= t * (t - 1) * (2*t + 5)
		i = j
	}
	if s == 0 {
		return 1
	}
	return math.Erfc((math.Abs(s) - 1) / math.Sqrt(variance/18) / math.Sqrt2)
}
