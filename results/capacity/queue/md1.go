package queue

import "math"

// exact is the number of times of service up to which MD1 adds up the series. There the asymptote differs by less than
// 1e-9 from it, relative to a tail that is not itself below 1e-9.
const exact = 20

// MD1 is the Tail for a fixed time of service D (Erlang 1909). For (k−1)D ≤ t < kD and y = λ(kD−t),
//
//	P(W≤t) = exp(−y) Σ_{j<k} P(L ≤ k−j) y^j/j!
//
// where L is the number of customers in the system (Franx 2001, A simple solution for the M/D/c waiting time
// distribution). All terms are positive, which Erlang's own alternating series is not: that one loses all digits by
// t = 20D. For longer waits it is the exponential asymptote (Cramér and Lundberg), exp(−θt)(1−ρ)/(ρ·exp(θD)−1) with
// λ(exp(θD)−1) = θ.
func MD1(rate, service, t float64) float64 {
	rho := rate * service
	switch {
	case rho >= 1:
		return 1
	case rho <= 0:
		return 0
	case t < 0:
		return 1
	}
	t /= service // D is 1 from here on, and λ is ρ
	if t >= exact {
		return md1Asymptote(rho, t)
	}
	k := int(t) + 1
	y := rho * (float64(k) - t)
	under := md1Length(rho, k)
	p, term := 0.0, math.Exp(-y)
	for j := range k {
		p += under[k-j] * term
		term *= y / float64(j+1)
	}
	if late := 1 - p; late > 1e-9 {
		return late
	}
	return md1Asymptote(rho, t) // 1−p has lost its digits
}

// md1Length returns P(L ≤ n) for n from 0 to the given one. It balances the flow up across each level with that down
// across it (p_{n+1}·P(A=0) = p_0·P(A>n) + Σ_i p_i·P(A>n+1−i), with A arrivals in one time of service), so that nothing is
// subtracted.
func md1Length(rho float64, n int) []float64 {
	over := make([]float64, n+2) // P(A > m)
	for m := range over {
		over[m] = poissonOver(rho, m)
	}
	none := math.Exp(-rho)
	p := make([]float64, n+1)
	p[0] = 1 - rho
	for level := range n {
		flow := p[0] * over[level]
		for i := 1; i <= level; i++ {
			flow += p[i] * over[level+1-i]
		}
		p[level+1] = flow / none
	}
	for i := 1; i <= n; i++ {
		p[i] += p[i-1]
	}
	return p
}

// poissonOver returns the probability that a Poisson variable with the given mean is greater than m.
func poissonOver(mean float64, m int) float64 {
	log, _ := math.Lgamma(float64(m + 2))
	term := math.Exp(float64(m+1)*math.Log(mean) - mean - log)
	sum := 0.0
	for k := m + 2; term > sum*1e-17; k++ {
		sum += term
		term *= mean / float64(k)
	}
	return sum
}

// md1Asymptote returns P(W>t) for large t, in times of service.
func md1Asymptote(rho, t float64) float64 {
	// θ = ρ(e^θ−1) by Newton's method from above, where it converges without a step too far: the function is convex.
	theta := 2*(1-rho)/rho + 1
	for range 100 {
		f := rho*math.Expm1(theta) - theta
		step := f / (rho*math.Exp(theta) - 1)
		theta -= step
		if math.Abs(step) < 1e-15*theta {
			break
		}
	}
	return math.Min(1, math.Exp(-theta*t)*(1-rho)/(rho*math.Exp(theta)-1))
}
