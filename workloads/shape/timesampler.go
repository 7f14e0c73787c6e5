// Drawing times.

package shape

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// TimeSampler draws times for one client.
type TimeSampler struct {
	source *timeSource // the same for all clients
	at     int         // file: the next one
}

// timeSource is a distribution, made ready to draw from.
type timeSource struct {
	kind      spec.TimeKind
	from      time.Duration // fixed: the time
	span      uint64        // uniform: how many times there are to choose from
	mean      float64       // exponential
	mu, sigma float64       // log-normal
	replay    []time.Duration
}

// Samplers returns those of that many clients, client i's at i. Clients replay a file, which has to be loaded, from places
// of their own, spread evenly over it, round and round.
func (t Times) Samplers(clients int) []TimeSampler {
	source := &timeSource{kind: t.Kind, from: t.A, span: uint64(t.B-t.A) + 1, mean: float64(t.A), replay: t.replay}
	if t.Kind == spec.TimesLognormal {
		source.mu, source.sigma = t.Normal()
	}
	samplers := make([]TimeSampler, clients)
	for i := range samplers {
		samplers[i] = TimeSampler{source, spread(i, clients, len(t.replay))}
	}
	return samplers
}

// Next draws a time. Random ones are made by inverting the distribution function, so that each takes one random
// number: the exponential one by a logarithm, the log-normal one by the inverse of the error function, which is exact
// to the last digits (M. Wichura, Algorithm AS 241, Applied Statistics 37, 1988).
func (s *TimeSampler) Next(rng *rand.PCG) time.Duration {
	t := s.source
	switch t.kind {
	case spec.TimesUniform:
		return t.from + time.Duration(below(rng, t.span))
	case spec.TimesExp:
		return cut(-t.mean * math.Log(unit(rng)))
	case spec.TimesLognormal:
		z := math.Sqrt2 * math.Erfinv(2*unit(rng)-1)
		return cut(math.Exp(t.mu + t.sigma*z))
	case spec.TimesFile:
		d := t.replay[s.at]
		if s.at++; s.at == len(t.replay) {
			s.at = 0
		}
		return d
	}
	return t.from
}

// cut rounds nanoseconds to whole ones, spec.MaxTime at the most.
func cut(ns float64) time.Duration {
	if ns >= float64(spec.MaxTime) {
		return spec.MaxTime
	}
	return time.Duration(ns + 0.5)
}
