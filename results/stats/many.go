package stats

// What p-values are worth when there are many of them, and when there are few trials.

import (
	"cmp"
	"math"
	"slices"
)

// Holm adjusts p-values for their number (Holm, 1979): those at most alpha afterwards hold one false alarm or more with
// probability alpha at the most, however the figures that they are of depend on each other. They are returned in the
// order given. NaN, a test that was not made, stays NaN and does not count.
func Holm(ps []float64) []float64 {
	order := make([]int, 0, len(ps))
	adjusted := make([]float64, len(ps))
	for i, p := range ps {
		adjusted[i] = math.NaN()
		if !math.IsNaN(p) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ps[i], ps[j]) })
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, float64(len(order)-rank)*ps[i]))
		adjusted[i] = least
	}
	return adjusted
}

// MinP returns the smallest two-sided p of the test of Mann and Whitney that so many trials can have: that of sides which do
// not overlap, 2/C(base+head, base). It is 1 without any trial.
func MinP(base, head int) float64 {
	if base < 1 || head < 1 {
		return 1
	}
	ways := 1.0 // whole at every step, so that a p of 0.1 is no less than that
	for i := range min(base, head) {
		ways = ways * float64(max(base, head)+i+1) / float64(i+1)
	}
	return min(1, 2/ways)
}

// LeastTrials returns how many trials a side it takes for MinP to be below alpha: with fewer no difference is ever
// significant. It is 0 if alpha is not positive, as no number will do.
func LeastTrials(alpha float64) int {
	if !(alpha > 0) {
		return 0
	}
	n := 1
	for MinP(n, n) >= alpha {
		n++
	}
	return n
}
