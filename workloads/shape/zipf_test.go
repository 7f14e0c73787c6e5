package shape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

var (
	exponents = []float64{0.001, 0.5, 0.99, 1, 1.1, 2.5, 20}
	sizes     = []int{1, 2, 3, 10, 1000, 50_000}
)

// zipfTable returns what the sampler avoids: every probability, each by its definition.
func zipfTable(s float64, n int) []float64 {
	table := make([]float64, n)
	sum := 0.0
	for k := n; k >= 1; k-- {
		table[k-1] = math.Pow(float64(k), -s)
		sum += table[k-1]
	}
	for i := range table {
		table[i] /= sum
	}
	return table
}

func zipfCounts(s float64, n, draws int) []int {
	z, rng := newZipf(s, n), rand.NewPCG(1, 2)
	counts := make([]int, n)
	for range draws {
		counts[z.next(rng)]++
	}
	return counts
}

// octaves sums up what belongs to ranks of about the same size: 100 single ones, then a tenth more each time. A wrong
// exponent shows in the long run of the ranks, and is lost among a million cells of a few draws each.
func octaves[T int | float64](ranks []T) []T {
	var sums []T
	for from := 0; from < len(ranks); {
		to := min(max(from+1, from*11/10-9), len(ranks))
		var sum T
		for _, v := range ranks[from:to] {
			sum += v
		}
		sums = append(sums, sum)
		from = to
	}
	return sums
}

func TestZipfFits(t *testing.T) {
	const draws = 100_000
	for _, s := range exponents {
		for _, n := range sizes {
			counts := octaves(zipfCounts(s, n, draws))
			if p := chiSquare(counts, octaves(zipfTable(s, n))); p < good {
				t.Errorf("zipf:%v over %d keys: p = %.2g", s, n, p)
			}
			// The control: an exponent that is wrong by 0.15. At 20 all lies on the first key, whatever it is.
			wrong := s + 0.15
			if n == 1 || s > 10 {
				continue
			}
			if p := chiSquare(counts, octaves(zipfTable(wrong, n))); p > bad {
				t.Errorf("draws of zipf:%v over %d keys pass for zipf:%v: p = %.2g", s, n, wrong, p)
			}
		}
	}
	// Other controls: a key too few, a rank left out, and the generator that is off by one.
	counts := zipfCounts(0.99, 1000, draws)
	if p := chiSquare(counts, append(zipfTable(0.99, 900), make([]float64, 100)...)); p > bad {
		t.Errorf("draws from 1000 keys pass for draws from 900: p = %.2g", p)
	}
	if p := chiSquare(counts[1:], zipfTable(0.99, 999)); p > bad {
		t.Errorf("draws shifted by a rank pass: p = %.2g", p)
	}
}

// The integral and its inverse go smoothly through s = 1. The naive (x^(1-s) - 1)/(1-s) is off by 1e-4 here.
func TestZipfNearTheLogarithm(t *testing.T) {
	for _, d := range []float64{0, 1e-15, -1e-15, 1e-12, -1e-12, 0.99e-8, 1.01e-8, 1e-7, -1e-7, 1e-6} {
		z := zipf{s: 1 - d}
		d = 1 - z.s // as it is after rounding
		for _, x := range []float64{1.5, 2.5, 10.5, 1e4, 1e7} {
			// H is log x + (1-s) log²x/2 + (1-s)² log³x/6 + …
			log := math.Log(x)
			want := log + d*log*log/2 + d*d*log*log*log/6
			if got := z.integral(x); math.Abs(got-want) > 1e-13*want {
				t.Errorf("s = 1%+g: H(%g) = %.17g, want %.17g", -d, x, got, want)
			}
			if got := z.inverse(want); math.Abs(got-x) > 1e-13*x {
				t.Errorf("s = 1%+g: the inverse of H(%g) is %.17g", -d, x, got)
			}
		}
	}
}

func TestZipfInverse(t *testing.T) {
	for _, s := range []float64{0.001, 0.5, 0.99, 1, 1.1, 2.5} {
		z := zipf{s: s}
		for _, x := range []float64{0.6, 1, 1.5, 2, 10.5, 1000.5} {
			if got := z.inverse(z.integral(x)); math.Abs(got-x) > 1e-9*x {
				t.Errorf("s = %v: the inverse of H(%v) is %.12g", s, x, got)
			}
		}
	}
}

// What is accepted without the test would have passed it: else ranks that the rounding favours would come too often, by
// less than any sample shows.
func TestZipfShortcut(t *testing.T) {
	rng := rand.NewPCG(3, 4)
	for _, s := range exponents {
		for _, n := range sizes {
			z := newZipf(s, n)
			for range 2000 {
				x := z.inverse(z.high + unit(rng)*(z.low-z.high))
				k := max(1, min(math.Floor(x+0.5), z.n))
				if k-x > z.sure || x > k+0.5 {
					continue
				}
				if floor := z.integral(k+0.5) - z.weight(k); z.integral(x) < floor-1e-9*math.Abs(floor) {
					t.Fatalf("zipf:%v over %d keys: x = %v is taken for %v, and belongs to the rejected", s, n, x, k)
				}
			}
		}
	}
}

// The share of draws that are rejected is what the weights leave of the range of H.
func TestZipfRejectsFew(t *testing.T) {
	worst, where := 1.0, ""
	for s := 0.05; s <= 20; s *= 1.1 {
		for _, n := range []int{1, 2, 3, 4, 5, 6, 8, 10, 100, 10_000} {
			z, sum := newZipf(s, n), 0.0
			for k := 1; k <= n; k++ {
				sum += z.weight(float64(k))
			}
			if share := sum / (z.high - z.low); share < worst {
				worst, where = share, fmt.Sprintf("zipf:%.3g over %d keys", s, n)
			}
		}
	}
	t.Logf("%s accepts %.3f", where, worst)
	if worst < 0.98 {
		t.Errorf("%s accepts only %.3f", where, worst)
	}
}
