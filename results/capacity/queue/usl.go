package queue

import (
	"errors"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// USL is the universal scalability law, C(N) = γN/(1+σ(N−1)+κN(N−1)): what N nodes or lockers do together, when they wait
// for each other (contention σ) and tell each other (coherency κ; Gunther 1993, and Guerrilla Capacity Planning, 2007).
type USL struct {
	Gamma float64 // what one does
	Sigma float64
	Kappa float64

	KappaLow, KappaHigh float64 // 95 % interval

	most float64 // the largest N of the fit
}

// uslLeast is the least number of points to fit: three parameters leave three degrees of freedom.
const uslLeast = 6

// ErrFewPoints is the error of FitUSL for too few different points.
var ErrFewPoints = errors.New("queue: universal scalability law: at least 6 points with 6 different numbers are needed")

// FitUSL fits the law to the throughputs c[i] of n[i] nodes or lockers. It solves N/C = (1+σ(N−1)+κN(N−1))/γ, which is
// linear in 1/γ, σ/γ and κ/γ, by least squares of the relative errors. A negative σ or κ would be an artefact, and is left
// out of the law.
func FitUSL(n, c []float64) (USL, error) {
	distinct := slices.Compact(slices.Sorted(slices.Values(n)))
	if len(distinct) < uslLeast || len(n) != len(c) {
		return USL{}, ErrFewPoints
	}
	for i := range n {
		if n[i] < 1 || c[i] <= 0 {
			return USL{}, errors.New("queue: universal scalability law: a number below 1, or no throughput")
		}
	}
	b, deviation, ok := uslSolve(n, c, [3]bool{true, true, true})
	if !ok || b[0] <= 0 {
		return USL{}, errors.New("queue: universal scalability law: the points do not follow it")
	}
	t := stats.InvCDF(stats.TDist{V: float64(len(n) - 3)})(0.975)
	u := USL{KappaLow: (b[2] - t*deviation) / b[0], KappaHigh: (b[2] + t*deviation) / b[0], most: slices.Max(n)}
	if b[2] < 0 {
		b, _, _ = uslSolve(n, c, [3]bool{true, true, false})
	}
	if b[1] < 0 {
		b, _, _ = uslSolve(n, c, [3]bool{true, false, b[2] > 0})
	}
	u.Gamma, u.Sigma, u.Kappa = 1/b[0], b[1]/b[0], max(0, b[2]/b[0])
	return u, nil
}

// At returns C(n), and false beyond twice the range that was measured.
func (u USL) At(n float64) (float64, bool) {
	return u.Gamma * n / (1 + u.Sigma*(n-1) + u.Kappa*n*(n-1)), n <= 2*u.most
}

// Peak returns the N beyond which more do less, sqrt((1−σ)/κ), and false if none has been shown: the interval of κ holds
// 0, or the peak lies beyond twice the range that was measured.
func (u USL) Peak() (float64, bool) {
	if u.KappaLow <= 0 || u.Kappa <= 0 {
		return 0, false
	}
	peak := math.Sqrt(math.Max(0, 1-u.Sigma) / u.Kappa)
	return peak, peak <= 2*u.most
}

// uslSolve returns the least squares of those parameters that are to be used, the others being 0, and the standard
// deviation of the last one.
func uslSolve(n, c []float64, use [3]bool) (b [3]float64, deviation float64, ok bool) {
	row := func(i int) (x [3]float64) { // relative: the left side is 1
		w := c[i] / n[i]
		x = [3]float64{w, w * (n[i] - 1), w * n[i] * (n[i] - 1)}
		for j := range x {
			if !use[j] {
				x[j] = 0
			}
		}
		return x
	}
	// Normal equations and the unit matrix beside them, by Gauss and Jordan. Columns are scaled to 1 first.
	var m [3][7]float64
	var scale [3]float64
	for i := range n {
		x := row(i)
		for j := range x {
			scale[j] += x[j] * x[j]
		}
	}
	for j := range scale {
		scale[j] = math.Sqrt(scale[j])
		if scale[j] == 0 {
			scale[j] = 1
		}
	}
	for i := range n {
		x := row(i)
		for j := range x {
			for k := range x {
				m[j][k] += x[j] * x[k] / (scale[j] * scale[k])
			}
			m[j][3] += x[j] / scale[j]
		}
	}
	for j := range use {
		m[j][4+j] = 1
		if !use[j] {
			m[j][j] = 1
		}
	}
	for j := range m {
		if m[j][j] < 1e-12 {
			return b, 0, false
		}
		for k := 6; k >= j; k-- {
			m[j][k] /= m[j][j]
		}
		for i := range m {
			if i != j {
				for k := 6; k >= j; k-- {
					m[i][k] -= m[i][j] * m[j][k]
				}
			}
		}
	}
	for j := range b {
		b[j] = m[j][3] / scale[j]
	}
	squares, free := 0.0, len(n)
	for i := range n {
		x := row(i)
		off := 1 - b[0]*x[0] - b[1]*x[1] - b[2]*x[2]
		squares += off * off
	}
	for _, u := range use {
		if u {
			free--
		}
	}
	return b, math.Sqrt(squares/float64(free)*m[2][6]) / scale[2], true
}
