// Package shape draws what makes a load look like a real one: which key a client wants next, and how long it holds and
// thinks. Distributions are written as text, one canonical spelling each. They are read and checked once, before the
// load; the samplers that come of them belong to one client each, take no lock and allocate nothing. What a sampler
// draws depends on nothing but the distribution, its client's number and the generator that is passed to it.
package shape

import (
	"math/bits"
	"math/rand/v2"
)

// below draws from 0 to n-1, n > 0: Lemire's multiplication without the rejection. Its bias is below n/2^64.
func below(rng *rand.PCG, n uint64) uint64 {
	high, _ := bits.Mul64(rng.Uint64(), n)
	return high
}

// Unit draws from the open interval (0, 1), evenly and symmetrically: neither a logarithm of it nor one of its
// complement is infinite.
func Unit(rng *rand.PCG) float64 { return centre(rng.Uint64()) }

// centre returns the middle of the interval that the upper 52 bits choose of 2^52 equal ones.
func centre(bits uint64) float64 { return (float64(bits>>12) + 0.5) * 0x1p-52 }
