// Tests of goodness of fit, and proof that they reckon right.

package shape

import (
	"math"
	"slices"
	"testing"
)

// The tests draw from fixed seeds, so each p-value is the same in every run. They are independent and even from 0 to 1
// if the samplers are right: of about a hundred, none is likely to be below good. A wrong distribution must be far
// below bad, or the test would not notice it.
const (
	good = 1e-4
	bad  = 1e-9
)

// chiSquare returns the p-value of Pearson's test that counts come from a distribution with those probabilities. Cells that
// expect few are merged with their neighbours, as the test wants it.
func chiSquare(counts []int, probabilities []float64) float64 {
	const enough = 10
	n := 0
	for _, c := range counts {
		n += c
	}
	statistic, cells := 0.0, 0
	observed, expected := 0.0, 0.0
	left := float64(n) // expected of the cells that are to come
	for i, c := range counts {
		if c > 0 && probabilities[i] == 0 {
			return 0
		}
		e := probabilities[i] * float64(n)
		observed, expected, left = observed+float64(c), expected+e, left-e
		if expected >= enough && left >= enough || i == len(counts)-1 {
			statistic += (observed - expected) * (observed - expected) / expected
			cells++
			observed, expected = 0, 0
		}
	}
	if cells < 2 {
		return 1
	}
	return upperGamma(float64(cells-1)/2, statistic/2)
}

// upperGamma returns the regularised incomplete gamma function Q(a, x): its series below a+1 and its continued fraction
// above (Abramowitz & Stegun 6.5.29, 6.5.31, the latter by Lentz's method).
func upperGamma(a, x float64) float64 {
	if x <= 0 {
		return 1
	}
	lg, _ := math.Lgamma(a)
	front := math.Exp(a*math.Log(x) - x - lg)
	if x < a+1 {
		term := 1 / a
		sum := term
		for n := 1; math.Abs(term) > 1e-16*sum; n++ {
			term *= x / (a + float64(n))
			sum += term
		}
		return 1 - front*sum
	}
	const tiny = 1e-300
	b := x + 1 - a
	c, d := 1/tiny, 1/b
	h := d
	for i := 1; i < 10_000; i++ {
		an := -float64(i) * (float64(i) - a)
		b += 2
		if d = an*d + b; math.Abs(d) < tiny {
			d = tiny
		}
		if c = b + an/c; math.Abs(c) < tiny {
			c = tiny
		}
		d = 1 / d
		h *= d * c
		if math.Abs(d*c-1) < 1e-15 {
			break
		}
	}
	return front * h
}

// kolmogorov returns the p-value of the test of Kolmogorov and Smirnov that a sample comes from the distribution cdf, which
// must be continuous. The asymptotic distribution has Stephens's correction (JRSS B 32, 1970).
func kolmogorov(sample []float64, cdf func(float64) float64) float64 {
	slices.Sort(sample)
	n := float64(len(sample))
	distance := 0.0
	for i, x := range sample {
		f := cdf(x)
		distance = max(distance, f-float64(i)/n, float64(i+1)/n-f)
	}
	return kolmogorovTail((math.Sqrt(n) + 0.12 + 0.11/math.Sqrt(n)) * distance)
}

func kolmogorovTail(lambda float64) float64 {
	if lambda < 0.2 {
		return 1 // to 12 digits, where the series is slow
	}
	sum := 0.0
	for k := 1; k < 100; k++ {
		term := math.Exp(-2 * float64(k*k) * lambda * lambda)
		if k%2 == 0 {
			term = -term
		}
		sum += term
	}
	return min(1, max(0, 2*sum))
}

// The critical values that every table has.
func TestFitKnownAnswers(t *testing.T) {
	for _, tt := range []struct {
		what      string
		got, want float64
	}{
		{"chi-square 3.841, 1 degree", upperGamma(0.5, 3.841459/2), 0.05},
		{"chi-square 18.307, 10 degrees", upperGamma(5, 18.307038/2), 0.05},
		{"chi-square 29.588, 10 degrees", upperGamma(5, 29.588298/2), 0.001},
		{"chi-square 77.929, 100 degrees", upperGamma(50, 77.929465/2), 0.95},
		{"chi-square 124.342, 100 degrees", upperGamma(50, 124.342113/2), 0.05},
		{"Kolmogorov 1.358", kolmogorovTail(1.358099), 0.05},
		{"Kolmogorov 1.628", kolmogorovTail(1.627624), 0.01},
		{"Kolmogorov 0.828", kolmogorovTail(0.827574), 0.5},
		{"a die", chiSquare([]int{20, 20, 20, 20, 20, 20}, []float64{1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6}), 1},
		// (30-20)²/20 + (10-20)²/20 = 10 with 1 degree of freedom
		{"a coin", chiSquare([]int{30, 10}, []float64{0.5, 0.5}), 0.00156540},
		{"the impossible", chiSquare([]int{1000, 1000, 1}, []float64{0.5, 0.5, 0}), 0},
	} {
		if math.Abs(tt.got-tt.want) > 1e-5 {
			t.Errorf("%s: p = %.6f, want %.6f", tt.what, tt.got, tt.want)
		}
	}
}
