package stats

// Order statistics of pairs, of which there are too many to be written down and sorted.

import "math"

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

// falls counts the pairs i < j with values[j] ≤ values[i], and sorts the values, as a merge sort sees them.
func falls(values, scratch []float64) (pairs int) {
	if len(values) < 2 {
		return 0
	}
	mid := len(values) / 2
	left, right := values[:mid], values[mid:]
	pairs = falls(left, scratch) + falls(right, scratch)
	merged := scratch[:0]
	i := 0
	for _, r := range right {
		for i < len(left) && left[i] < r {
			merged = append(merged, left[i])
			i++
		}
		pairs += len(left) - i // all that are left in left are at least r
		merged = append(merged, r)
	}
	merged = append(merged, left[i:]...)
	copy(values, merged)
	return pairs
}
