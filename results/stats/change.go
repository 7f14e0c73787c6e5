package stats

// What became of a figure from base to head.

import (
	"cmp"
	"math"
	"slices"

	moremath "github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// Change is what became of a figure from base to head; each value is one trial's.
//
// Ratio is the median of the ratios of all pairs of a trial of the base and one of the head (Hodges and Lehmann, 1963).
// Where trials took turns (Pairs > 0) it is the median of the geometric means of any two of the pairs' ratios, a pair
// and itself among them. Low and High are its 95 % interval, which inverts the test (Moses; Tukey; Hollander, Wolfe
// and Chicken, Nonparametric Statistical Methods, 2014, sections 4.3 and 3.3): it does without 1 just where P is at
// most 5 %, unless values are equal, or more than a thousand. So Low ≤ Ratio ≤ High, and what is judged is bounded.
type Change struct {
	Base, Head Estimate

	Pairs int // of trials that both know it, which ComparePairs has compared; 0: they were not compared in pairs

	// Ratio is that of the medians where a value is not positive. It is NaN if a side has no value, if the median of
	// base is not positive, or if Opposed.
	Ratio float64

	// Opposed: the medians went one way and the trials the other, and are 4 % apart or more, so that no ratio stands
	// for both.
	Opposed bool

	// Low and High are NaN where a value is not positive, or where there are too few trials for any interval: 4 and 4,
	// 3 and 5, 2 and 8, or 6 pairs are the least.
	Low, High float64

	// P is two-sided. It is 1 where there is nothing to tell: a side has no value, or all are equal.
	P float64
}

// exactPairs is up to how many pairs the distribution of the signed ranks is exact.
const exactPairs = 100

// same is by how much two logarithms of ratios, or two differences as a share of the largest value, may differ and be
// equal: both are rounded, and ln 6 − ln 3 is not ln 2 − ln 1.
const same = 1e-12

// Compare sets the trials of head against those of base; NaN values are left out. P is that of Mann and Whitney (1947)
// as benchstat prints it, but for one exception, see lower: exact up to 50 trials a side, or 25 where values are equal,
// else by the normal approximation.
func Compare(base, head []float64) Change {
	base, head = known(base), known(head)
	c := Change{Base: Of(base), Head: Of(head)}
	a := benchmath.NewSample(base, &benchmath.DefaultThresholds)
	b := benchmath.NewSample(head, &benchmath.DefaultThresholds)
	from, ok := logs(base)
	to, okToo := logs(head)
	var ratios []float64
	for _, v := range from {
		for _, w := range to {
			ratios = append(ratios, w-v)
		}
	}
	c.enclose(ratios, inner(len(from), len(to)), ok && okToo)
	if lower(b.Values, a.Values) {
		a, b = b, a
	}
	// Twice the tail is more than 1 in the middle of a distribution that ties have made lopsided.
	c.P = min(1, benchmath.AssumeNothing.Compare(a, b).P)
	return c
}

// ComparePairs sets each trial of head against the one of base that it took turns with, base[i] against head[i]. Where
// one of them is NaN there is no pair, and the other one counts for the estimate of its side alone. Nothing is said of
// a change if no more than half of the values of either side are in pairs: the medians would be those of others.
//
// P is that of the signed-rank test (Wilcoxon, 1945) on the logarithms of the ratios, or on the differences where a
// value is not positive; see signedRank.
func ComparePairs(base, head []float64) Change {
	c := Change{Base: Of(base), Head: Of(head), Ratio: math.NaN(), Low: math.NaN(), High: math.NaN(), P: 1}
	var ratios, differences []float64
	largest, positive := 0.0, true
	for i, b := range base {
		if h := head[i]; !math.IsNaN(b) && !math.IsNaN(h) {
			ratios, differences = append(ratios, math.Log(h)-math.Log(b)), append(differences, h-b)
			largest = max(largest, math.Abs(b), math.Abs(h))
			positive = positive && min(b, h) > 0 && !math.IsInf(max(b, h), 1)
		}
	}
	c.Pairs = len(ratios)
	switch {
	case 2*c.Pairs <= min(c.Base.N, c.Head.N):
		return c
	case positive:
		c.P = signedRank(ratios, same)
	default:
		c.P = signedRank(differences, same*largest)
	}
	var means []float64
	slices.Sort(ratios)
	ratios = thinned(ratios)
	for i, d := range ratios {
		for _, e := range ratios[i:] {
			means = append(means, d/2+e/2)
		}
	}
	c.enclose(means, innerPairs(len(ratios)), positive)
	return c
}

// enclose sets the ratio and its interval: the median, the k-th smallest and the k-th largest of logarithms. If they
// are not fine, the ratio is that of the medians.
func (c *Change) enclose(of []float64, k int, fine bool) {
	c.Low, c.Ratio, c.High = math.NaN(), math.NaN(), math.NaN()
	if c.Base.Median > 0 {
		c.Ratio = c.Head.Median / c.Base.Median
	}
	n, medians := len(of), c.Ratio
	if !fine || n == 0 {
		return
	}
	slices.Sort(of)
	c.Ratio = math.Exp(of[(n-1)/2]/2 + of[n/2]/2)
	if k > 0 {
		c.Low, c.High = math.Exp(of[k-1]), math.Exp(of[n-k])
	}
	if c.Opposed = (medians-1)*(c.Ratio-1) < 0 && math.Abs(math.Log(medians/c.Ratio)) >= 0.04; c.Opposed {
		c.Ratio = math.NaN()
	}
}

// thinned returns a thousand of sorted values or fewer, at even distances: more have too many pairs.
func thinned(values []float64) (some []float64) {
	for i := 0; i < len(values); i += 1 + (len(values)-1)/1000 {
		some = append(some, values[i])
	}
	return some
}

// known returns a copy without NaN.
func known(values []float64) []float64 { return slices.DeleteFunc(slices.Clone(values), math.IsNaN) }

// logs returns the logarithms of sorted values, thinned, and whether there are any and all are positive and finite.
func logs(values []float64) (list []float64, ok bool) {
	for _, v := range thinned(values) {
		list = append(list, math.Log(v))
	}
	return list, len(values) > 0 && values[0] > 0 && !math.IsInf(values[len(values)-1], 1)
}

// lower reports whether the values of a tend to be below those of b, both sorted. The one that does has to come first
// in the exact test: it takes the tail of the first side's U at the smaller of both U. Where values are equal and the
// sides are not of one size those tails differ, and 1 1 1 1 1 against 0 1 1 1 has p = 0 as benchstat has it, in truth
// 0.89.
func lower(a, b []float64) bool {
	below := 0 // pairs, less those above
	for _, v := range b {
		i, _ := slices.BinarySearch(a, v)
		j, _ := slices.BinarySearchFunc(a, v, func(x, v float64) int { return map[bool]int{true: -1, false: 1}[x <= v] })
		below += i - (len(a) - j)
	}
	return below > 0
}

const tail = (1 - Confidence) / 2

// inner returns the largest k for which fewer than k pairs on one side of the truth are so seldom that the interval
// from the k-th smallest to the k-th largest pair has the confidence: P(U ≤ k−1) ≤ 2.5 %. It is 0 if there is
// none.
func inner(n, m int) int {
	mean, sigma := float64(n)*float64(m)/2, math.Sqrt(float64(n)*float64(m)*float64(n+m+1)/12)
	k := max(0, int(math.Floor(mean+0.5-z(1-tail)*sigma)))
	if n > moremath.MannWhitneyExactLimit || m > moremath.MannWhitneyExactLimit {
		return k
	}
	// The approximation is never too large for so few, and too small by a pair or two.
	u := moremath.UDist{N1: n, N2: m}
	for u.CDF(float64(k)) <= tail {
		k++
	}
	return k
}

// innerPairs is inner for the means of n pairs, where W, the sum of the ranks of those that are positive, stands for U.
func innerPairs(n int) (k int) {
	if n > exactPairs {
		m := float64(n)
		return int(math.Floor(m*(m+1)/4 + 0.5 - z(1-tail)*math.Sqrt(m*(m+1)*(2*m+1)/24)))
	}
	var ranks []int
	for i := range n {
		ranks = append(ranks, i+1)
	}
	sum := 0.0
	for _, p := range rankSums(ranks) {
		if sum += p; sum > tail {
			break
		}
		k++
	}
	return k
}

// z returns the p-quantile of the standard normal distribution.
func z(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// signedRank returns the two-sided p of differences. Those that are no farther apart than the tolerance are equal,
// and share the mean of their ranks; those that are zero are ranked with the others before they are left out (Pratt,
// Remarks on zeros and ties in the Wilcoxon signed rank procedures, 1959). It is exact up to 100 pairs, and above by
// the normal approximation, corrected for continuity and ties. It is 1 if all of them are zero.
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
	less := min(above, all-above)
	switch {
	case len(ranks) == 0:
		return 1
	case len(ranks) > exactPairs:
		return min(1, math.Erfc(max(0, float64(all)/2-float64(less)-1)/math.Sqrt(squares/4)/math.Sqrt2))
	}
	tail := 0.0
	for _, p := range rankSums(ranks)[:less+1] {
		tail += p
	}
	return min(1, 2*tail)
}

// rankSums returns the probabilities of the sums 0, 1, 2 and so on of those ranks that a toss of a coin each has
// chosen.
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
