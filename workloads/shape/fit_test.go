// Tests of goodness of fit.

package shape

import (
	"math"
	"slices"
)

// The tests draw from fixed seeds, so each score is the same in every run. It is a standard normal number if the samplers are
// right. A wrong distribution must be far above bad, or the test would not notice it.
const (
	good = 4
	bad  = 7
)

// chiSquare returns the score of Pearson's test that counts come from a distribution with those probabilities, by Wilson and
// Hilferty's approximation. Cells that expect few are merged with their neighbours, as the test wants it.
func chiSquare(counts []int, probabilities []float64) float64 {
	const enough = 10
	n := 0
	for _, c := range counts {
		n += c
	}
	statistic, cells := 0.0, 0.0
	observed, expected := 0.0, 0.0
	left := float64(n) // expected of the cells that are to come
	for i, c := range counts {
		if c > 0 && probabilities[i] == 0 {
			return math.Inf(1)
		}
		e := probabilities[i] * float64(n)
		observed, expected, left = observed+float64(c), expected+e, left-e
		if expected >= enough && left >= enough || i == len(counts)-1 {
			statistic += (observed - expected) * (observed - expected) / expected
			cells++
			observed, expected = 0, 0
		}
	}
	if cells < 2 {
		return 0
	}
	v := 2 / (9 * (cells - 1))
	return (math.Cbrt(statistic/(cells-1)) - 1 + v) / math.Sqrt(v)
}

// kolmogorov returns the score of the test of Kolmogorov and Smirnov that a sample comes from the distribution cdf, which must be
// continuous: twice the greatest distance, in units of 1/√n.
func kolmogorov(sample []float64, cdf func(float64) float64) float64 {
	slices.Sort(sample)
	n := float64(len(sample))
	distance := 0.0
	for i, x := range sample {
		f := cdf(x)
		distance = max(distance, f-float64(i)/n, float64(i+1)/n-f)
	}
	return 2 * math.Sqrt(n) * distance
}
