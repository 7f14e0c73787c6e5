package stats

// What became of a figure from base to head whose trials are not of pairs.

import (
	"math"
	"slices"

	moremath "github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// Change is what became of a figure from base to head; each value is one trial's. What follows holds for Compare; see
// ComparePairs for what is otherwise in pairs.
//
// Ratio is the factor by which the trials of base have to be multiplied to look like those of head: the median of the
// ratios of all pairs (Hodges and Lehmann, 1963), which Low and High enclose. It is not exactly that of the medians,
// which benchstat has.
type Change struct {
	Base, Head Estimate

	Pairs int // of trials that both know it, which ComparePairs has compared; 0: they were not compared in pairs

	// Ratio is that of the medians where a value is not positive. It is NaN if a side has no value, if the median of base
	// is not positive, or if Opposed.
	Ratio float64

	// Opposed: the medians went one way and the trials by pairs the other, by 2 % or more each, so that no ratio stands
	// for both.
	Opposed bool

	// Low and High are the 95 % interval of the ratio (see Confidence). They are NaN where a value is not positive, or
	// where there are too few trials for any interval: 4 and 4, 3 and 5 or 2 and 8 are the least.
	Low, High float64

	// P is the two-sided p of the test of Mann and Whitney (1947): how often trials of one and the same distribution
	// differ by as much. It is 1 where there is nothing to tell, be it that a side has no value or that all are equal.
	P float64
}

// Compare sets the trials of head against those of base; NaN values are left out.
//
// P is what benchstat prints for the same values (but for one exception, see lower): exact up to 50 trials a side, or 25 where
// values are equal, and by the normal approximation with corrections for continuity and ties above. Low and High invert the test
// on the ratios of all pairs (Moses; Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 2014, section 4.3): the
// interval does without 1 just where P is at most 5 %; ties make it wider than it needs to be.
func Compare(base, head []float64) Change {
	base, head = known(base), known(head)
	c := Change{Base: Of(base), Head: Of(head), Ratio: math.NaN(), P: 1}
	a := benchmath.NewSample(base, &benchmath.DefaultThresholds)
	b := benchmath.NewSample(head, &benchmath.DefaultThresholds)
	c.Low, c.Ratio, c.High = ratios(a.Values, b.Values)
	c.settle()
	if lower(b.Values, a.Values) {
		a, b = b, a
	}
	// Twice the tail is more than 1 in the middle of a distribution that ties have made lopsided.
	c.P = min(1, benchmath.AssumeNothing.Compare(a, b).P)
	return c
}

// settle takes the medians for a ratio that is not known, and withdraws one that they contradict.
func (c *Change) settle() {
	medians := math.NaN()
	if c.Base.Median > 0 {
		medians = c.Head.Median / c.Base.Median
	}
	if math.IsNaN(c.Ratio) {
		c.Ratio = medians
	}
	const least = 0.02
	if c.Opposed = min(medians, c.Ratio) <= 1-least && max(medians, c.Ratio) >= 1+least; c.Opposed {
		c.Ratio = math.NaN()
	}
}

// known returns a copy without NaN.
func known(values []float64) []float64 { return slices.DeleteFunc(slices.Clone(values), math.IsNaN) }

// positive reports whether values, which are sorted, are all positive and finite. There is none in an empty slice.
func positive(values []float64) bool {
	return len(values) > 0 && values[0] > 0 && !math.IsInf(values[len(values)-1], 1)
}

// lower reports whether the values of a tend to be below those of b, both sorted. The one that does has to come first in the
// exact test: it takes the tail of the first side's U at the smaller of both U. Where values are equal and the sides are
// not of one size those tails differ, and 1 1 1 1 1 against 0 1 1 1 has p = 0 as benchstat has it, in truth 0.89.
func lower(a, b []float64) bool {
	below, equal, i, j := 0, 0, 0, 0
	for _, v := range b {
		for i < len(a) && a[i] < v {
			i++
		}
		for j = max(i, j); j < len(a) && a[j] == v; j++ {
		}
		below, equal = below+i, equal+j-i
	}
	return 2*below+equal > len(a)*len(b) // more pairs below than above
}

// ratios returns the median ratio of all pairs of head over base, both sorted, and its interval: the k-th smallest
// and the k-th largest.
func ratios(base, head []float64) (low, mid, high float64) {
	low, mid, high = math.NaN(), math.NaN(), math.NaN()
	if !positive(base) || !positive(head) {
		return low, mid, high
	}
	// A million pairs are not sorted but counted: from one value of base to the next, the values of head that stay below
	// the ratio only become more.
	upTo := func(ratio float64) (pairs int) {
		j := 0
		for _, b := range base {
			for j < len(head) && head[j]/b <= ratio {
				j++
			}
			pairs += j
		}
		return pairs
	}
	all := len(base) * len(head)
	at := func(k int) float64 { return smallest(k, head[0]/base[len(base)-1], head[len(head)-1]/base[0], upTo) }
	mid = math.Sqrt(at((all+1)/2) * at(all/2+1))
	if k := inner(len(base), len(head)); k > 0 {
		low, high = at(k), at(all+1-k)
	}
	return low, mid, high
}

// inner returns the largest k for which fewer than k pairs on one side of the truth are so seldom that the interval from the
// k-th smallest to the k-th largest pair has the confidence: P(U ≤ k−1) ≤ 2.5 %. It is 0 if there is none.
func inner(n, m int) int {
	const tail = (1 - Confidence) / 2
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

// z returns the p-quantile of the standard normal distribution.
func z(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// Order statistics of pairs, of which there are too many to be written down and sorted.

// smallest returns the k-th smallest, from 1, of numbers from least to most that are known by how many are at most a given
// one. It halves the floating-point numbers of that range until one is left, which takes 64 counts at the most.
func smallest(k int, least, most float64, upTo func(float64) int) float64 {
	low, high := ordinal(least), ordinal(most)
	for low < high {
		mid := low + (high-low)/2
		if upTo(number(mid)) >= k {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return number(low)
}

// ordinal numbers the floating-point numbers in their order, and number is its inverse. The bits of positive ones are in
// order already, those of negative ones the wrong way round.
func ordinal(x float64) uint64 {
	b := math.Float64bits(x)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

func number(o uint64) float64 {
	if o>>63 == 1 {
		return math.Float64frombits(o &^ (1 << 63))
	}
	return math.Float64frombits(^o)
}
