// How much of the traffic the most wanted key gets: it is what limits a load whose keys are not alike.

package shape

import "math"

// Hottest is the share of the traffic that the most wanted of so many keys gets, from that many clients who draw
// equally often; 1/keys if all are alike. A lock that changes hands once in a time T grants no more than 1/(T ×
// Hottest) a second in all, as long as every client waits for the key that it has drawn.
func (k Keys) Hottest(keys, clients int) float64 {
	parts := k.parts
	if len(parts) == 0 {
		return 1 / float64(keys)
	}
	chances := make([]func(int) float64, len(parts))
	var candidates []int
	for i, p := range parts {
		chances[i] = p.chances(keys, clients)
		// Each part rises nowhere but at its first key and behind its hot ones, and so does their sum.
		first, _ := p.span(keys)
		candidates = append(candidates, first)
		if p.kind == hot {
			candidates = append(candidates, first+p.hot)
		}
	}
	most := 0.0
	for _, key := range candidates {
		sum := 0.0
		for i, p := range parts {
			sum += p.weight * chances[i](key)
		}
		most = max(most, sum)
	}
	return most
}

// chances tells the probability of each key in the part alone.
func (p keyPart) chances(keys, clients int) func(key int) float64 {
	first, size := p.span(keys)
	each := 1 / float64(size)
	sum := 0.0
	switch p.kind {
	case own:
		size, each = clients, 1/float64(clients)
	case zipfian:
		sum = harmonic(size, p.s)
	}
	return func(key int) float64 {
		rank := key - first
		switch {
		case rank < 0 || rank >= size:
			return 0
		case p.kind == zipfian:
			return math.Pow(float64(rank+1), -p.s) / sum
		case p.kind == hot && rank < p.hot:
			return p.share / float64(p.hot)
		case p.kind == hot:
			return (1 - p.share) / float64(size-p.hot)
		}
		return each
	}
}

// harmonic is the sum of k^-s for k from 1 to n, the generalised harmonic number: term by term at first, then by the
// formula of Euler and Maclaurin, whose first neglected term is below the last bit there.
func harmonic(n int, s float64) float64 {
	const exact = 1000
	sum := 0.0
	for k := min(n, exact); k >= 1; k-- { // the small ones first
		sum += math.Pow(float64(k), -s)
	}
	if n <= exact {
		return sum
	}
	a, b := float64(exact), float64(n)
	f := func(x float64) float64 { return math.Pow(x, -s) }
	z := zipf{s: s}
	return sum + z.integral(b) - z.integral(a) + (f(b)-f(a))/2 + s/12*(f(a)/a-f(b)/b)
}
