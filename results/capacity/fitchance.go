package capacity

import "math"

// impossible is a probability that does not count.
const impossible = 1e-30

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
	c := chance{n: n, k: k, m: m, constant: lgamma(m) - lgamma(n+m), over: over}
	if k > 0 {
		c.constant += lgamma(n+1) - lgamma(k+1) - lgamma(n-k+1)
	}
	return c
}

// of returns the probability.
func (c *chance) of(late float64) float64 {
	late = min(max(late, 1e-12), 1-1e-9)
	a, b := late*c.m, (1-late)*c.m
	if c.k > c.over*c.n {
		return betaAbove(a, b, c.over)
	}
	p := c.constant + lgamma(c.n-c.k+b) - lgamma(b)
	if c.k > 0 {
		p += lgamma(c.k+a) - lgamma(a)
	}
	if p < math.Log(impossible) {
		return 0
	}
	return math.Exp(p)
}

func lgamma(x float64) float64 {
	l, _ := math.Lgamma(x)
	return l
}

// betaAbove returns the probability that a variable of the beta distribution is above x, by the continued fraction of
// the incomplete beta function (DLMF 8.17.22), with Lentz's method. Rounding leaves nothing beyond 0 and 1.
func betaAbove(a, b, x float64) float64 {
	front := math.Exp(lgamma(a+b) - lgamma(a) - lgamma(b) + a*math.Log(x) + b*math.Log1p(-x))
	if x > (a+1)/(a+b+2) {
		return min(1, front*betaFraction(b, a, 1-x)/b)
	}
	return max(0, 1-front*betaFraction(a, b, x)/a)
}

func betaFraction(a, b, x float64) float64 {
	const tiny = 1e-300
	c, d := 1.0, 1-(a+b)*x/(a+1)
	if math.Abs(d) < tiny {
		d = tiny
	}
	d = 1 / d
	h := d
	for i := 1; i < 300; i++ {
		m := float64(i)
		for _, term := range [2]float64{
			m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1)),
		} {
			d, c = 1+term*d, 1+term/c
			if math.Abs(d) < tiny {
				d = tiny
			}
			if math.Abs(c) < tiny {
				c = tiny
			}
			d = 1 / d
			h *= d * c
		}
		if math.Abs(d*c-1) < 1e-10 {
			break
		}
	}
	return h
}
