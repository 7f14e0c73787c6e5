package stats

// What became of a figure whose trials took turns in pairs: what both trials of a pair have in common, such as the speed of
// the machine at that time, does not count.

import (
	"cmp"
	"math"
	"slices"
)

// same is by how much two logarithms of ratios, or two differences as a share of the largest value, may differ and be equal: both
// are rounded, and ln 6 − ln 3 is not ln 2 − ln 1.
const same = 1e-12

// exactPairs is up to how many pairs the distribution of the signed ranks is exact.
const exactPairs = 100

// ComparePairs sets each trial of head against the one of base that it took turns with, base[i] against head[i]. Where one
// of them is NaN there is no pair, and the other one counts for the estimate of its side alone. Nothing is said of a change
// if no more than half of the values of either side are in pairs: the medians would be those of others.
//
// P is that of the signed-rank test (Wilcoxon, Individual comparisons by ranking methods, 1945) on the logarithms of the
// ratios, or on the differences where a value is not positive. Equal ones share the mean of their ranks, and those that are
// zero are ranked with the others before they are left out (Pratt, Remarks on zeros and ties in the Wilcoxon signed rank
// procedures, 1959). It is exact up to 100 pairs, and above by the normal approximation, corrected for continuity and ties.
//
// Ratio is the median of the geometric means of the ratios of any two pairs, a pair and itself among them (Hodges and
// Lehmann, 1963). Low and High are the k-th smallest and the k-th largest of these means, which inverts the test (Tukey;
// Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 2014, sections 3.2 and 3.3): the interval does
// without 1 just where P is at most 5 %, unless ratios are equal. It takes 6 pairs. Where a value is not positive Ratio is
// that of the medians, and there is no interval.
func ComparePairs(base, head []float64) Change {
	c := Change{Base: Of(base), Head: Of(head), Ratio: math.NaN(), Low: math.NaN(), High: math.NaN(), P: 1}
	base, head = both(base, head)
	c.Pairs = len(base)
	if 2*c.Pairs <= min(c.Base.N, c.Head.N) {
		return c
	}
	if d, ok := logRatios(base, head); ok {
		c.P = signedRank(d, same)
		low, mid, high := walsh(d)
		c.Low, c.Ratio, c.High = math.Exp(low), math.Exp(mid), math.Exp(high)
		c.settle()
		return c
	}
	c.settle()
	d, largest := make([]float64, len(base)), 0.0
	for i := range base {
		d[i] = head[i] - base[i]
		largest = max(largest, math.Abs(base[i]), math.Abs(head[i]))
	}
	c.P = signedRank(d, same*largest)
	return c
}

// both returns the values of those pairs of which both are known.
func both(base, head []float64) (b, h []float64) {
	for i := range base {
		if !math.IsNaN(base[i]) && !math.IsNaN(head[i]) {
			b, h = append(b, base[i]), append(h, head[i])
		}
	}
	return b, h
}

// logRatios returns the logarithms of what became of each pair, sorted, if all values are positive and finite.
func logRatios(base, head []float64) (d []float64, ok bool) {
	for i := range base {
		if !positive([]float64{min(base[i], head[i]), max(base[i], head[i])}) {
			return nil, false
		}
		d = append(d, math.Log(head[i])-math.Log(base[i])) // the same but for its sign with the sides exchanged
	}
	slices.Sort(d)
	return d, true
}

// signedRank returns the two-sided p of differences, those taken as equal that are no farther apart than the tolerance. It is 1 if
// all of them are zero.
func signedRank(d []float64, tolerance float64) float64 {
	d = slices.SortedFunc(slices.Values(d), func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	var ranks []int
	above, all, squares := 0, 0, 0.0
	for i := 0; i < len(d); {
		j, least := i, math.Abs(d[i])
		for j < len(d) && math.Abs(d[j])-least <= tolerance {
			j++
		}
		rank := i + 1 + j // doubled, so that the mean of two is whole
		for ; i < j && least > tolerance; i++ {
			ranks = append(ranks, rank)
			all += rank
			squares += float64(rank) * float64(rank)
			if d[i] > 0 {
				above += rank
			}
		}
		i = j
	}
	if len(ranks) == 0 {
		return 1
	}
	less := min(above, all-above)
	if len(ranks) > exactPairs {
		return min(1, math.Erfc(max(0, float64(all)/2-float64(less)-1)/math.Sqrt(squares/4)/math.Sqrt2))
	}
	tail := 0.0
	for _, p := range rankSums(ranks)[:less+1] {
		tail += p
	}
	return min(1, 2*tail)
}

// rankSums returns the probabilities of the sums 0, 1, 2 and so on of those ranks that a toss of a coin each has chosen.
func rankSums(ranks []int) []float64 {
	all := 0
	for _, r := range ranks {
		all += r
	}
	p := make([]float64, all+1)
	p[0] = 1
	for _, r := range ranks {
		for sum := all; sum >= 0; sum-- {
			p[sum] /= 2
			if sum >= r {
				p[sum] += p[sum-r] / 2
			}
		}
	}
	return p
}

// walsh returns the median of the means of any two of sorted values, each with itself too, and its interval.
func walsh(d []float64) (low, mid, high float64) {
	n := len(d)
	means := n * (n + 1) / 2
	at := func(k int) float64 {
		return smallest(k, d[0], d[n-1], func(v float64) (pairs int) {
			j := n - 1
			for i := range d {
				for j >= i && d[i]/2+d[j]/2 > v {
					j--
				}
				if j < i {
					break
				}
				pairs += j - i + 1
			}
			return pairs
		})
	}
	low, mid, high = math.NaN(), (at((means+1)/2)+at(means/2+1))/2, math.NaN()
	if k := innerPairs(n); k > 0 {
		low, high = at(k), at(means+1-k)
	}
	return low, mid, high
}

// innerPairs returns the largest k for which the interval from the k-th smallest to the k-th largest of the means has the
// confidence: P(W ≤ k−1) ≤ 2.5 %, where W is the sum of the ranks of n differences that are positive. It is 0 if there is none.
func innerPairs(n int) (k int) {
	const tail = (1 - Confidence) / 2
	if n > exactPairs {
		m := float64(n)
		return int(math.Floor(m*(m+1)/4 + 0.5 - z(1-tail)*math.Sqrt(m*(m+1)*(2*m+1)/24)))
	}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	sum := 0.0
	for _, p := range rankSums(ranks) {
		if sum += p; sum > tail {
			return k
		}
		k++
	}
	return k
}

// MinPairsP returns the smallest two-sided p of the signed-rank test that so many pairs can have: that of pairs which all
// changed in one direction, 2/2ⁿ. It is 1 without any pair.
func MinPairsP(pairs int) float64 { return min(1, math.Ldexp(2, -pairs)) }

// PairsNeeded is TrialsNeeded for pairs:
//
//	n = (z(1−alpha/2) × √(1/3) + z(power) × √min(1/3, 2p(1−p)))² / (p−½)²
//
// where p is the chance that two pairs have changed together in the direction of the effect, counted over the pairs at
// hand (Noether, 1987, has 1/3 in both places; the variance is at most 2p(1−p)/n, Hoeffding, A class of statistics
// with asymptotically normal distribution, 1948). It is never less than MinPairs, and 0 where TrialsNeeded is, or with
// fewer than three pairs.
func PairsNeeded(base, head []float64, effect, alpha, power float64) int {
	shift, ok := logShift(effect, alpha, power)
	d, fine := logRatios(both(base, head))
	if !ok || !fine || len(d) < 3 {
		return 0
	}
	// Shifted by the effect, two pairs have gone its way together unless their mean is farther off. The difference of two
	// changes is distributed as their sum is around the middle, and it does without the middle, which is not known.
	inside, all := within(d, 2*shift), len(d)*(len(d)-1)/2
	if inside == 0 {
		return 0
	}
	return max(MinPairs(alpha), int(math.Ceil(2*noether(inside, all, alpha, power))))
}

// MinPairs returns how many pairs it takes for MinPairsP to be below alpha. It is 0 if alpha is not positive.
func MinPairs(alpha float64) int { return leastBelow(alpha, 0, MinPairsP) }
