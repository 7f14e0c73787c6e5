// Drawing keys.

package shape

import (
	"math"
	"math/rand/v2"

	"github.com/lockbench/lockbench/results/spec"
)

// KeySampler draws keys for one client.
type KeySampler struct {
	*keySource     // the same for all clients
	at         int // the client's own key: the next one, or the only one
}

// keySource is a distribution, made ready to draw from.
type keySource struct {
	spec.Keys
	keys uint64
	zipf zipf
}

// KeySamplers returns those of clients that have that many keys to choose from, client i's at i. Check has found that keys and
// clients fit.
func KeySamplers(k spec.Keys, keys, clients int) []KeySampler {
	source := &keySource{Keys: k, keys: uint64(keys)}
	if k.Kind == spec.KeysZipf {
		source.zipf = newZipf(k.Exponent, keys)
	}
	samplers := make([]KeySampler, clients)
	for i := range samplers {
		samplers[i] = KeySampler{source, i}
		if k.Kind == spec.KeysSequential {
			samplers[i].at = int(int64(i) * int64(keys) / int64(clients))
		}
	}
	return samplers
}

// Next draws a key.
func (s *KeySampler) Next(rng *rand.PCG) int {
	switch s.Kind {
	case spec.KeysZipf:
		return s.zipf.next(rng)
	case spec.KeysHot:
		if hot := uint64(s.Hot); unit(rng) >= s.Share {
			return int(hot + below(rng, s.keys-hot))
		}
		return int(below(rng, uint64(s.Hot)))
	case spec.KeysSequential:
		key := s.at
		if s.at++; s.at == int(s.keys) {
			s.at = 0
		}
		return key
	case spec.KeysOwn:
		return s.at
	}
	return int(below(rng, s.keys))
}

// Shares adds to each key the share of all draws that it gets, times weight, if each client draws as often as any other.
func Shares(shares []float64, k spec.Keys, clients int, weight float64) {
	keys, sum := float64(len(shares)), 0.0
	if k.Kind == spec.KeysZipf {
		for i := len(shares); i > 0; i-- { // the small ones first
			sum += math.Pow(float64(i), -k.Exponent)
		}
	}
	for i := range shares {
		share := 1 / keys // sequential: each client goes through all of them
		switch {
		case k.Kind == spec.KeysZipf:
			share = math.Pow(float64(i+1), -k.Exponent) / sum
		case k.Kind == spec.KeysHot && i < k.Hot:
			share = k.Share / float64(k.Hot)
		case k.Kind == spec.KeysHot:
			share = (1 - k.Share) / (keys - float64(k.Hot))
		case k.Kind == spec.KeysOwn && i < clients:
			share = 1 / float64(clients)
		case k.Kind == spec.KeysOwn:
			share = 0
		}
		shares[i] += weight * share
	}
}
