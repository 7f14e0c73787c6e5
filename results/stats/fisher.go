package stats

import "math"

// Fisher returns the probability that chance alone makes at least as many of n attempts fail as did, if m others, of which some
// failed, are of the same kind: Fisher's exact test, one-sided (Fisher 1935), the upper tail of the hypergeometric distribution.
// It is 1 if there is nothing to compare.
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
