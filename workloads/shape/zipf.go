// Zipf's law: a few keys that everybody wants, and a long tail.

package shape

import (
	"math"
	"math/rand/v2"
)

// zipf draws ranks 1 to n with probabilities in proportion to 1/rank^s, for any s > 0, by rejection-inversion: W.
// Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", ACM
// TOMACS 6(3), 1996. It inverts the integral H of the continuous density x^-s, rounds to the nearest rank, and rejects
// what the rounding has got too much of. It is exact, keeps a few numbers however many keys there are, and draws again
// in one case of fifty at the most, whatever n and s are.
// rand.Zipf has the same idea and wants s > 1, where the usual loads have 0.6 to 1.2.
type zipf struct {
	n         float64
	s         float64
	low, high float64 // H(3/2) - 1 and H(n + 1/2)
	sure      float64 // what is rounded up by no more than this needs no test
}

func newZipf(s float64, n int) zipf {
	z := zipf{n: float64(n), s: s}
	z.low = z.integral(1.5) - 1
	z.high = z.integral(z.n + 0.5)
	z.sure = 2 - z.inverse(z.integral(2.5)-z.weight(2))
	return z
}

// next draws a rank, less 1.
func (z *zipf) next(rng *rand.PCG) int {
	for {
		u := z.high + unit(rng)*(z.low-z.high)
		x := z.inverse(u)
		// At the ends, rounding errors of H and its inverse may lead over the edge by a hair.
		if k := max(1, min(math.Floor(x+0.5), z.n)); k-x <= z.sure || u >= z.integral(k+0.5)-z.weight(k) {
			return int(k) - 1
		}
	}
}

func (z *zipf) weight(x float64) float64 { return math.Exp(-z.s * math.Log(x)) }

// integral returns H(x), the integral of t^-s from 1 to x: (x^(1-s) - 1) / (1-s), and log x for s = 1.
func (z *zipf) integral(x float64) float64 {
	log := math.Log(x)
	return expm1Over((1-z.s)*log) * log
}

// inverse returns the x for which integral(x) is u: (1 + (1-s)u)^(1/(1-s)), and exp(u) for s = 1.
func (z *zipf) inverse(u float64) float64 {
	t := max(-1, (1-z.s)*u) // less is a rounding error at the upper end
	return math.Exp(log1pOver(t) * u)
}

// expm1Over returns (exp(x) - 1) / x. Both it and log1pOver go smoothly through 0, where s is 1: near it, the first terms of
// the series are exact to the last bit and the quotient would be 0/0.
func expm1Over(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Expm1(x) / x
	}
	return 1 + x/2*(1+x/3)
}

// log1pOver returns log(1 + x) / x.
func log1pOver(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Log1p(x) / x
	}
	return 1 - x*(0.5-x/3)
}
