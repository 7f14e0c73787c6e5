package capacity

import (
	"math"

	"github.com/aclements/go-moremath/mathx"
)

// impossible is a probability that does not count.
const impossible = 1e-30

// largest is the largest sum of the parameters of a beta distribution that BetaInc takes. Beyond it the distribution is
// so narrow that it makes no difference.
const largest = 1e4

// chance is the probability of an observation as a function of the share that is late in the long run, if late arrivals
// come in clusters: then their number has a beta-binomial distribution.
type chance struct {
	n, k     float64
	m        float64 // sum of the parameters: the lower, the larger the clusters
	constant float64 // log of what does not depend on the share
	over     float64 // share above which only "above" counts; see censored
}

// newChance returns the chance if the variance of the number of late arrivals is packed times that of independent ones.
func newChance(o Observation, packed, over float64) chance {
	n, k := float64(o.Arrivals), float64(o.Late)
	// packed = (m+n)/(m+1)
	m := math.Max(0.5, (n-packed)/math.Max(1e-6, packed-1))
	constant := lgamma(m) - lgamma(n+m) + lgamma(n+1) - lgamma(k+1) - lgamma(n-k+1)
	return chance{n: n, k: k, m: m, constant: constant, over: over}
}

// of returns the probability.
func (c *chance) of(late float64) float64 {
	late = min(max(late, 1e-12), 1-1e-9)
	if c.k > c.over*c.n {
		m := min(c.m, largest)
		return mathx.BetaInc(1-c.over, (1-late)*m, late*m) // of the complement, whose smallest values are exact
	}
	a, b := late*c.m, (1-late)*c.m
	return math.Exp(c.constant + lgamma(c.n-c.k+b) - lgamma(b) + lgamma(c.k+a) - lgamma(a))
}

func lgamma(x float64) float64 {
	l, _ := math.Lgamma(x)
	return l
}
