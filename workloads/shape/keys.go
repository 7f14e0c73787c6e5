package shape

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lockbench/lockbench/results/spec"
)

// KeySampler draws keys for one client.
type KeySampler struct {
	*spec.Keys
	keys int
	at   int       // the client's own key: the next one, or the only one
	upTo []float64 // of zipf, of a key and those before it: their share; the same for all clients
}

// KeySamplers returns those of clients, client i's at i, with keys that Check has found to be enough.
func KeySamplers(k spec.Keys, keys, clients int) []KeySampler {
	var upTo []float64
	if k.Kind == spec.KeysZipf {
		upTo = Shares(k, keys, clients)
		for i := 1; i < keys; i++ {
			upTo[i] += upTo[i-1]
		}
		upTo[keys-1] = 1 // but for rounding errors
	}
	samplers := make([]KeySampler, clients)
	for i := range samplers {
		samplers[i] = KeySampler{&k, keys, i, upTo}
		if k.Kind == spec.KeysSequential {
			samplers[i].at = int(int64(i) * int64(keys) / int64(clients))
		}
	}
	return samplers
}

// Next draws a key.
func (s *KeySampler) Next(rng *rand.PCG) (key int) {
	switch s.Kind {
	case spec.KeysOwn:
		return s.at
	case spec.KeysSequential:
		key, s.at = s.at, (s.at+1)%s.keys
	case spec.KeysZipf:
		key, _ = slices.BinarySearch(s.upTo, Unit(rng))
	case spec.KeysHot:
		if key = int(below(rng, uint64(s.Hot))); Unit(rng) >= s.Share {
			key = s.Hot + int(below(rng, uint64(s.keys-s.Hot)))
		}
	default:
		key = int(below(rng, uint64(s.keys)))
	}
	return key
}

// Shares returns the share of all draws that each key gets, if each client draws as often as any other.
func Shares(k spec.Keys, keys, clients int) []float64 {
	shares, sum := make([]float64, keys), 0.0
	for i := range shares {
		switch {
		case k.Kind == spec.KeysZipf:
			shares[i] = math.Pow(float64(i+1), -k.Exponent)
		case k.Kind == spec.KeysHot && i < k.Hot:
			shares[i] = k.Share / float64(k.Hot)
		case k.Kind == spec.KeysHot:
			shares[i] = (1 - k.Share) / float64(keys-k.Hot)
		case k.Kind != spec.KeysOwn || i < clients: // sequential: each client goes through all of them
			shares[i] = 1
		}
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}
