package capacity

import "math"

// keys are the keys of a load, those with about the same share of the arrivals together, the most wanted first.
type keys []keyGroup

// keyGroup is a number of keys, each with the same share of all arrivals.
type keyGroup struct {
	share float64
	count int
}

// A key beyond the first closeKeys joins one whose share is not more than closeShare times its own.
const (
	closeKeys  = 16
	closeShare = 1.15
)

// newKeys groups the shares, the greatest first. Beyond the hottest ones it takes shares within 15 % for equal, and
// their mean for all: what is late comes from the hottest. A million keys of a Zipf distribution make about 100 groups.
func newKeys(shares []float64) (list keys) {
	for i := 0; i < len(shares) && shares[i] > 0; {
		first, near, sum, n := shares[i], closeShare, 0.0, 0
		if len(list) < closeKeys {
			near = 1 + 1e-9
		}
		for ; i < len(shares) && shares[i] > 0 && first <= shares[i]*near; i++ {
			sum, n = sum+shares[i], n+1
		}
		list = append(list, keyGroup{sum / float64(n), n})
	}
	return list
}

// hottest returns the share of the most wanted key.
func (k keys) hottest() float64 {
	if len(k) == 0 {
		return 0
	}
	return k[0].share
}

// late returns the share of all arrivals that wait for longer than t, at rate arrivals a second over all keys, each a first-
// come-first-served line with times of service of any distribution (Kingman 1962, On queues in heavy traffic):
//
//	P(W>t) ≈ ρ·exp(−(1−ρ)t/(c²·S))
//
// where c² is the mean of the squared coefficients of variation of the times of service and between arrivals. It is exact for
// M/M/1, where c² = 1 (Kleinrock, Queueing Systems I, 1975, §5.12), and in the limit of ρ = 1; with Poisson arrivals and a
// fixed time of service c² is 0.5.
func (k keys) late(rate, service, c2, t float64) float64 {
	late, rest := 0.0, 1.0
	for _, g := range k {
		one, rho := 1.0, rate*g.share*service
		if rho < 1 {
			one = rho * math.Exp(-(1-rho)*t/(c2*service))
		}
		if one*rest < 1e-4*late {
			break // colder keys have shorter queues
		}
		all := g.share * float64(g.count)
		late += all * one
		rest -= all
	}
	return late
}

// rate returns the most arrivals a second over all keys for which no larger share than late waits for longer than t.
func (k keys) rate(service, c2, t, late float64) float64 {
	high := 1 / (k.hottest() * service)
	for k.late(high, service, c2, t) <= late && high < math.MaxInt64 {
		high *= 2
	}
	return bisect(0, high, 1e-12, func(rate float64) bool { return k.late(rate, service, c2, t) <= late })
}
