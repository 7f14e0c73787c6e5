package stats

// How many trials it takes to see a change.

import (
	"cmp"
	"math"
	"slices"
)

// TrialsNeeded returns how many trials a side it takes until a change by the factor 1+effect has a two-sided p of Mann and
// Whitney below alpha with probability power, for the scatter seen in both sides:
//
//	n = (z(1−alpha/2) × √(1/6) + z(power) × √min(1/6, p(1−p)))² / (p−½)²
//
// where p is the chance that of two trials the one that is higher by the effect is indeed the higher one, counted over the
// pairs of each side (Noether, Sample size determination for some common nonparametric tests, 1987; Noether has 1/6 in both
// places, which asks for too much where the sides hardly overlap: the variance is at most p(1−p)/n, van Dantzig, 1951).
//
// From 10 trials a side it is within half and twice the right answer eight times in ten. It is never less than LeastTrials, and 0
// if it cannot be told: values that are not positive, fewer than three on both sides, no pair that is closer than the effect, no
// effect, or a power or alpha that is not a probability.
func TrialsNeeded(base, head []float64, effect, alpha, power float64) int {
	shift, ok := logShift(effect, alpha, power)
	base, fine := logs(base)
	head, fineToo := logs(head)
	if !ok || !fine || !fineToo || max(len(base), len(head)) < 3 {
		return 0
	}
	inside, all := 0, 0
	for _, side := range [][]float64{base, head} {
		all += len(side) * (len(side) - 1) / 2
		inside += within(side, shift)
	}
	if inside == 0 {
		return 0
	}
	return max(LeastTrials(alpha), int(math.Ceil(noether(inside, all, alpha, power))))
}

// logShift returns how far apart the logarithms are of values that differ by the effect. It is not ok if there is no
// effect, or if power or alpha is not a probability.
func logShift(effect, alpha, power float64) (_ float64, ok bool) {
	shift := math.Abs(math.Log1p(effect))
	return shift, alpha > 0 && alpha < 1 && power > 0 && power < 1 && shift > 0 && !math.IsInf(shift, 0)
}

// noether returns n as in TrialsNeeded, with p from how many of all pairs are closer than the effect: they differ by d or
// −d, and shifted they are in the order that the effect makes if d is smaller.
func noether(inside, all int, alpha, power float64) float64 {
	p := 0.5 + float64(inside)/float64(all)/2
	q := z(1-alpha/2)*math.Sqrt(1./6) + z(power)*math.Sqrt(min(1./6, p*(1-p)))
	return q * q / ((p - 0.5) * (p - 0.5))
}

// logs returns the logarithms of the known values, sorted, if all of them are positive and finite.
func logs(values []float64) (_ []float64, ok bool) {
	values = known(values)
	slices.Sort(values)
	if len(values) > 0 && !positive(values) {
		return nil, false
	}
	for i, v := range values {
		values[i] = math.Log(v)
	}
	return values, true
}

// within counts the pairs of sorted logarithms that differ by less than by.
func within(values []float64, by float64) (pairs int) {
	i := 0
	for j := range values {
		for values[j]-values[i] >= by-same {
			i++
		}
		pairs += j - i
	}
	return pairs
}

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
	return leastBelow(alpha, 1, func(n int) float64 { return MinP(n, n) })
}

// leastBelow returns the first number from n on whose p is below alpha.
func leastBelow(alpha float64, n int, p func(n int) float64) int {
	if !(alpha > 0) {
		return 0
	}
	for p(n) >= alpha {
		n++
	}
	return n
}

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
