package stats

// How many trials it takes to see a change.

import (
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
// The answer is as uncertain as the scatter of a few trials is: from 10 a side it is within half and twice the right one
// eight times in ten, and the power that it leads to is 72 to 91 % where 80 % are asked for. It is never less than
// LeastTrials, and 0 if it cannot be told: values that are not positive, fewer than three on both sides, no pair that is
// closer than the effect, no effect, or a power or alpha that is not a probability.
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
