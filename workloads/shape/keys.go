// Drawing keys.

package shape

import (
	"math"
	"math/rand/v2"

	"github.com/lockbench/lockbench/results/spec"
)

// KeySampler draws keys for one client.
type KeySampler struct {
	parts []keySource // the same for all clients
	at    []int       // the client's own key of each part, counted from the part's first: the next one, or the only one
}

// keySource is a part of a distribution, made ready to draw from.
type keySource struct {
	kind     spec.KeyKind
	upTo     uint64 // of 2^64: random numbers below this, and not below that of the part before, choose this part
	first    int
	size     uint64
	hot      uint64
	hotShare uint64 // of 2^64
	zipf     zipf
}

// KeySamplers returns those of clients that have that many keys to choose from, client i's at i. They share what is the same
// for all of them. Check has found that keys and clients fit.
func KeySamplers(k spec.Keys, keys, clients int) []KeySampler {
	parts := k.Parts()
	sources, moving := newSources(parts, keys)
	samplers := make([]KeySampler, clients)
	var places []int
	if moving {
		places = make([]int, clients*len(parts)) // all in one piece of memory
	}
	for i := range samplers {
		samplers[i].parts = sources
		if !moving {
			continue
		}
		samplers[i].at, places = places[:len(parts):len(parts)], places[len(parts):]
		for j, source := range sources {
			samplers[i].at[j] = i // own; the others do not look
			if source.kind == spec.KeysSequential {
				samplers[i].at[j] = spread(i, clients, int(source.size))
			}
		}
	}
	return samplers
}

// newSources makes the parts ready. It also tells whether one of them has places of each client's own.
func newSources(parts []spec.KeyPart, keys int) (sources []keySource, moving bool) {
	sum := 0.0
	for _, p := range parts {
		sum += p.Weight
		first, size := p.Span(keys)
		source := keySource{
			kind: p.Kind, upTo: portion(sum), first: first, size: uint64(size),
			hot: uint64(p.Hot), hotShare: portion(p.Share),
		}
		if p.Kind == spec.KeysZipf {
			source.zipf = newZipf(p.Exponent, size)
		}
		moving = moving || p.Kind == spec.KeysSequential || p.Kind == spec.KeysOwn
		sources = append(sources, source)
	}
	return sources, moving
}

// spread returns the place of number i of n who share a circle of that size out evenly.
func spread(i, n, size int) int { return int(int64(i) * int64(size) / int64(n)) }

// portion returns a share of 2^64.
func portion(share float64) uint64 {
	if share >= 1 {
		return math.MaxUint64
	}
	return uint64(share * 0x1p64)
}

// Next draws a key.
func (s *KeySampler) Next(rng *rand.PCG) int {
	i := 0
	if last := len(s.parts) - 1; last > 0 {
		for u := rng.Uint64(); i < last && u >= s.parts[i].upTo; {
			i++
		}
	}
	p := &s.parts[i]
	switch p.kind {
	case spec.KeysZipf:
		return p.first + p.zipf.next(rng)
	case spec.KeysHot:
		if rng.Uint64() < p.hotShare {
			return p.first + int(below(rng, p.hot))
		}
		return p.first + int(p.hot+below(rng, p.size-p.hot))
	case spec.KeysSequential:
		key := s.at[i]
		if s.at[i]++; s.at[i] == int(p.size) {
			s.at[i] = 0
		}
		return p.first + key
	case spec.KeysOwn:
		return p.first + s.at[i]
	}
	return p.first + int(below(rng, p.size))
}
