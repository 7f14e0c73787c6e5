// Package queue holds what queueing theory says of a lock before one is measured. A key is a server, a request for it is
// a customer, and the time from one grant to the next under contention (hold and hand-off) is the time of service.
//
// All formulas are closed, and assume Poisson arrivals, a first-come-first-served line for each key and a steady state.
// A lock whose waiters back off and retry has the same mean wait at best, and a longer tail. Times are seconds and rates
// are a second, but any other unit does as well.
package queue

import "math"

// A Tail returns the share of arrivals at one key that wait for longer than t, where rate arrivals a second come to the
// key and each occupies it for service seconds on average. It is 1 if the key cannot keep up.
type Tail func(rate, service, t float64) float64

// Kingman returns the Tail for times of service, and times between arrivals, of any distribution:
// P(W>t) ≈ ρ·exp(−(1−ρ)t/(c2·S)), where c2 is the mean of the squared coefficients of variation of both (Kingman 1962, On
// queues in heavy traffic). It is exact for M/M/1, where c2 = 1 (Kleinrock, Queueing Systems I, 1975, §5.12), and in the limit of ρ = 1. With Poisson arrivals and a
// fixed time of service c2 is 0.5.
func Kingman(c2 float64) Tail {
	return func(rate, service, t float64) float64 {
		rho := rate * service
		if rho >= 1 {
			return 1
		}
		return rho * math.Exp(-(1-rho)*t/(c2*service))
	}
}

// Utilisation returns the share of the time for which the hottest key is occupied, when hottest is its share of all
// arrivals. No lock carries a load for which it is 1 or more (utilisation law: Denning and Buzen 1978).
func Utilisation(rate, hottest, service float64) float64 {
	return rate * hottest * service
}

// Capacity returns the rate at which the hottest key is always occupied: 1/(hottest·service). For keys with equal shares
// that is keys/service.
func Capacity(hottest, service float64) float64 {
	return 1 / (hottest * service)
}
