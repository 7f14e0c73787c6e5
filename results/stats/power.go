package stats

// How many trials it takes to see a change.

import (
	"math"
	"slices"
)

// TrialsNeeded is how many trials a side it takes until a change by the factor 1+effect has a two-sided p of Mann and
// Whitney below alpha with probability power, for the scatter seen in both sides: n = (z_α/2 + z_power)² / 6(p−½)², where
// p is the chance that a trial of the side that is higher by the effect is indeed the higher one of a pair (Noether,
// Sample size determination for some common nonparametric tests, 1987).
//
// It is never less than LeastTrials, and 0 if it cannot be told: values that are not positive, fewer than three trials on
// both sides, no effect or a power or alpha that is not a probability.
func TrialsNeeded(base, head []float64, effect, alpha, power float64) int {
	shift := math.Abs(math.Log1p(effect))
	if !(alpha > 0 && alpha < 1 && power > 0 && power < 1) || !(shift > 0) || math.IsInf(shift, 0) {
		return 0
	}
	base, head = logs(base), logs(head)
	if base == nil || head == nil || max(len(base), len(head)) < 3 {
		return 0
	}
	within, all := 0, 0
	for _, side := range [][]float64{base, head} {
		all += len(side) * (len(side) - 1) / 2
		within += closer(side, shift)
	}
	// A pair of trials of one side differs by d or −d; shifted, the order is as the effect has it if d is smaller.
	p := 0.5 + float64(within)/float64(all)/2
	if p == 0.5 {
		return 0
	}
	q := z(1-alpha/2) + z(power)
	return max(LeastTrials(alpha), int(math.Ceil(q*q/(6*(p-0.5)*(p-0.5)))))
}

// logs are the logarithms of the known values, sorted; nil if one is not positive and finite.
func logs(values []float64) []float64 {
	values = known(values)
	slices.Sort(values)
	if len(values) > 0 && !positive(values) {
		return nil
	}
	for i, v := range values {
		values[i] = math.Log(v)
	}
	return values
}

// closer counts the pairs of sorted values that differ by less than by.
func closer(values []float64, by float64) (pairs int) {
	i := 0
	for j := range values {
		for values[j]-values[i] >= by {
			i++
		}
		pairs += j - i
	}
	return pairs
}
