// How much of the load goes to one key, which tells what the keys can give at best.

package shape

import "github.com/lockbench/lockbench/results/spec"

// Share returns the share of the draws of all clients together that fall on a key, if each client draws as often as any other
// from a distribution of these parts.
func Share(parts []spec.KeyPart, key, keys, clients int) (share float64) {
	for _, p := range parts {
		share += p.Weight * shareOf(p, key, keys, clients)
	}
	return share
}

// Shares adds the share of each key to those that shares has for them already; see Share. Weight is a factor on all.
func Shares(shares []float64, parts []spec.KeyPart, clients int, weight float64) {
	for _, p := range parts {
		first, size := p.Span(len(shares))
		all := shares[first : first+size]
		switch {
		case p.Kind == spec.KeysZipf: // whose sum takes long
			z := newZipf(p.Exponent, size)
			sum := z.sum()
			for i := range all {
				all[i] += weight * p.Weight * z.weight(float64(i+1)) / sum
			}
		default:
			for i := range all {
				all[i] += weight * p.Weight * shareOf(p, first+i, len(shares), clients)
			}
		}
	}
}

func shareOf(p spec.KeyPart, key, keys, clients int) float64 {
	first, size := p.Span(keys)
	in := inSpan(key, first, size)
	switch p.Kind {
	case spec.KeysZipf:
		z := newZipf(p.Exponent, size)
		return in * z.weight(float64(max(0, key-first)+1)) / z.sum()
	case spec.KeysHot:
		if key < first+p.Hot {
			return in * p.Share / float64(p.Hot)
		}
		return in * (1 - p.Share) / float64(size-p.Hot)
	case spec.KeysOwn:
		return inSpan(key, first, min(size, clients)) / float64(clients)
	}
	return in / float64(size) // uniform; sequential, where each client goes through all of them
}

func inSpan(key, first, size int) float64 {
	if first <= key && key < first+size {
		return 1
	}
	return 0
}

// Peaks returns keys one of which has the greatest share; those of several distributions over the same keys together hold the
// one that has the greatest of any weighted sum of them, since from one of them to the next no share rises.
func Peaks(parts []spec.KeyPart, keys int) []int {
	peaks := []int{0}
	for _, p := range parts {
		first, size := p.Span(keys)
		peaks = append(peaks, first)
		if after := first + p.Hot; p.Kind == spec.KeysHot && after < first+size {
			peaks = append(peaks, after) // the others may have more, each, than the hot ones
		}
		if end := first + size; end < keys {
			peaks = append(peaks, end)
		}
	}
	return peaks
}

// exactTerms of the sum are added up; from there on the formula of Euler and Maclaurin gives the rest, whose first
// neglected term is below the last bit there.
const exactTerms = 1000

// sum returns the sum of all weights, the generalised harmonic number.
func (z *zipf) sum() (sum float64) {
	n := min(z.n, exactTerms)
	for k := n; k >= 1; k-- { // the small ones first
		sum += z.weight(k)
	}
	if z.n > exactTerms {
		sum += z.integral(z.n) - z.integral(n) + (z.weight(z.n)-z.weight(n))/2 + z.s/12*(z.weight(n)/n-z.weight(z.n)/z.n)
	}
	return sum
}
