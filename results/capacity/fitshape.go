package capacity

import "math"

// shape is the share of late arrivals, and how they cluster, as functions of the level, of S and of c².
type shape interface {
	late(rate, service, c2 float64) float64

	// cluster returns how many late arrivals come together, relative to other rates: a factor on the variance of their
	// number.
	cluster(rate, service float64) float64

	// scatter are the values of c² that it is fitted with, the most likely first: as many as priorC2.
	scatter() []float64
}

func newShape(objective Objective, shares []float64, prior FitPrior) shape {
	line := poisson{newKeys(shares), max(0, objective.Limit-prior.Fixed).Seconds()}
	switch {
	case prior.Closed:
		return loop{line, prior.Think.Seconds()}
	case prior.Burst > 0:
		return bursts{line, prior.Burst.Seconds()}
	}
	return line
}

// poisson is the shape for arrivals that come one by one at random.
type poisson struct {
	keys keys
	wait float64 // seconds after which an arrival is late: T−t₀
}

func (poisson) scatter() []float64 { return []float64{0.5, 0.8, 1.28, 2.05, 3.28, 5.25} }

func (p poisson) late(rate, service, c2 float64) float64 {
	return p.keys.late(rate, service, c2, p.wait)
}

// fullest is the least 1−ρ of a key in the size of its clusters. Without it a trial in which a key of 2 % is overloaded
// would say nothing, as all late arrivals might be one cluster, and the fit would end 15 % too high: with more keys
// than a few, such a trial is not censored.
const fullest = 0.1

// cluster is 1/(1−ρ)², like the relaxation time of the hottest key's queue. In simulated M/M/1 trials of 3,000 S the
// variance of the late arrivals is 3.2 times that of independent ones, times this: within 10 % for ρ from 0.7 to 0.8,
// and 2.1 times at 0.9.
func (p poisson) cluster(rate, service float64) float64 {
	free := max(fullest, 1-rate*p.keys.hottest()*service)
	return 1 / (free * free)
}

// bursts is the shape for arrivals that all come at once, every so often: of those at a key, the ones behind position
// T/S are late.
type bursts struct {
	poisson
	every float64 // seconds from one burst to the next
}

func (b bursts) late(rate, service, c2 float64) float64 {
	if rate*b.keys.hottest()*service >= 1 {
		return 1
	}
	n := rate * b.every
	late := 0.0
	for _, g := range b.keys {
		one := b.behind(n*g.share, b.wait/service, c2)
		if one < 1e-9 {
			break
		}
		late += float64(g.count) * one
	}
	return min(1, late/n)
}

// behind returns the mean number of arrivals behind position, of a Poisson number with the given mean. The position
// that is served in time scatters too, by c²·position. Both are taken for normal, and the result for as many as there
// are numbers of two and more: an arrival alone never waits. The sum over all numbers is closer for the few, but takes
// a second for a grid.
func (bursts) behind(mean, position, c2 float64) float64 {
	deviation := math.Sqrt(mean + c2*position)
	d := (mean - position) / deviation
	density := math.Exp(-d*d/2) / math.Sqrt(2*math.Pi)
	over := deviation*density + (mean-position)*0.5*math.Erfc(-d/math.Sqrt2)
	return over * (1 - math.Exp(-mean)*(1+mean))
}

func (bursts) cluster(float64, float64) float64 { return 1 }

// loop is the shape for the clients of a closed loop. The mean number of them at each key is Schweitzer's approximation
// of mean value analysis (Schweitzer 1979), exact for one key or equal ones without think time; their waits are
// lognormal, with a squared coefficient of variation of c²: near 0 in a line, 1 and more where those who wait try again
// by themselves.
type loop struct {
	poisson
	think float64 // seconds
}

func (loop) scatter() []float64 { return []float64{0.4, 0.1, 1, 2.5, 0.02, 6} }

func (l loop) late(clients, service, c2 float64) float64 {
	if l.wait <= 0 {
		return 1
	}
	others := max(0, clients-1) / max(1, clients) // of the clients at a key, those that an arrival finds
	at := func(busy float64) float64 { return busy / (1 - busy*others) }
	// The throughput is that at which the clients are all at some key, or thinking.
	throughput := bisect(0, 1/(l.keys.hottest()*service*max(others, 1e-9)), 1e-6, func(rate float64) bool {
		sum := rate * l.think
		for _, g := range l.keys {
			sum += float64(g.count) * at(rate*g.share*service)
		}
		return sum < clients
	})
	spread, late := math.Sqrt(math.Log1p(c2)), 0.0
	for _, g := range l.keys {
		mean := others * at(throughput*g.share*service) * service
		if mean <= 0 {
			break
		}
		late += float64(g.count) * g.share * 0.5 * math.Erfc((math.Log(l.wait/mean)/spread+spread/2)/math.Sqrt2)
	}
	return min(1, late)
}

func (loop) cluster(float64, float64) float64 { return 1 }
