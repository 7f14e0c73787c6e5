package stats

// How many trials it takes to see a change, and how far one of many tests can be believed.

import (
	"cmp"
	"math"
	"slices"
)

// Needed returns how many trials a side, or pairs of them, it takes until a change by the factor 1+effect has a p below
// alpha with a probability of 80 %, for the scatter seen in c. The half width of an interval of 95 % is 1.96 standard
// errors, and an error shrinks with the root of the number of trials:
//
//	n = trials × ((z(1−alpha/2) + z(0.8)) × ln(High/Low) / (2 × 1.96 × ln(1+effect)))²
//
// It is never less than what makes any difference significant, and 0 if it cannot be told: there is no interval or no
// effect, or alpha is not a probability.
func (c Change) Needed(effect, alpha float64) int {
	shift, width := math.Abs(math.Log1p(effect)), math.Log(c.High/c.Low)
	if !(alpha > 0 && alpha < 1) || !(shift > 0) || math.IsInf(shift, 0) || math.IsNaN(width) {
		return 0
	}
	n := float64(c.Pairs)
	if c.Pairs == 0 { // a side: the harmonic mean of both
		n = 2 / (1/float64(c.Base.N) + 1/float64(c.Head.N))
	}
	errors := (z(1-alpha/2) + z(0.8)) / z(1-tail) * width / 2 / shift
	return max(LeastTrials(alpha, c.Pairs > 0), int(min(math.Ceil(n*errors*errors), 1e6)))
}

// MinP returns the smallest p that the trials of c can have.
func (c Change) MinP() float64 {
	if c.Pairs > 0 {
		return MinP(c.Pairs, c.Pairs, true)
	}
	return MinP(c.Base.N, c.Head.N, false)
}

// MinP returns the smallest two-sided p that so many trials can have: 2/C(base+head, base), where sides do not
// overlap; of pairs 2/2ⁿ, where all changed in one direction. It is 1 without any trial.
func MinP(base, head int, pairs bool) float64 {
	n := min(base, head)
	if pairs || n < 1 {
		return min(1, math.Ldexp(2, -n))
	}
	ways := 1.0 // whole at every step, so that a p of 0.1 is no less than that
	for i := range n {
		ways = ways * float64(max(base, head)+i+1) / float64(i+1)
	}
	return min(1, 2/ways)
}

// LeastTrials returns how many trials a side, or how many pairs, it takes for any difference to have a p below alpha.
// It is 0 if alpha is not positive, as no number will do.
func LeastTrials(alpha float64, pairs bool) (n int) {
	for alpha > 0 && MinP(n, n, pairs) >= alpha {
		n++
	}
	return n
}

// Holm adjusts p-values for their number (Holm, 1979): those at most alpha afterwards hold one false alarm or more with
// probability alpha at the most, however the figures that they are of depend on each other. They are returned in the
// order given. NaN, a test that was not made, stays NaN and does not count.
func Holm(ps []float64) []float64 {
	var order []int
	adjusted := slices.Clone(ps)
	for i, p := range ps {
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

// Fisher returns the probability that chance alone makes at least as many of n attempts fail as did, if m others, of
// which some failed, are of the same kind: Fisher's exact test, one-sided (Fisher 1935), the upper tail of the
// hypergeometric distribution. It is 1 if there is nothing to compare.
func Fisher(failed, n, failedOfOthers, m int) (p float64) {
	fails := failed + failedOfOthers
	for k := failed; k <= min(n, fails); k++ {
		if fails-k <= m {
			p += math.Exp(choices(n, k) + choices(m, fails-k) - choices(n+m, fails))
		}
	}
	return min(1, p)
}

// choices returns the logarithm of the number of ways to choose k of n.
func choices(n, k int) float64 {
	log := func(n int) float64 {
		l, _ := math.Lgamma(float64(n + 1))
		return l
	}
	return log(n) - log(k) - log(n-k)
}
