package pace_test

// Goodness of fit: Poisson arrivals are what they claim to be, by tests that constant arrivals and wrong rates fail.

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/pace"
)

// chiSquare is Pearson's statistic.
func chiSquare(counts []int, expected []float64) (x float64) {
	for i, n := range counts {
		d := float64(n) - expected[i]
		x += d * d / expected[i]
	}
	return x
}

// chiSquareLimit returns what chi-square of that many degrees of freedom exceeds in one of 1000 cases, by Wilson and
// Hilferty (1931).
func chiSquareLimit(degrees int) float64 {
	k, z := float64(degrees), 3.0902
	c := 1 - 2/(9*k) + z*math.Sqrt(2/(9*k))
	return k * c * c * c
}

// kolmogorov returns the greatest distance of the sample from the distribution whose values under its distribution function
// are even between 0 and 1, times √n; over 1.95 in one of 1000 cases (Kolmogorov 1933).
func kolmogorov(even []float64) float64 {
	slices.Sort(even)
	n, d := float64(len(even)), 0.0
	for i, u := range even {
		d = max(d, u-float64(i)/n, float64(i+1)/n-u)
	}
	return d * math.Sqrt(n)
}

const kolmogorovLimit = 1.95

// exponential tests the distances of arrivals of a rate: whether they are exponential, and whether neighbours are
// independent, which is tested by the sums of two (Erlang).
func exponential(list []time.Duration, rate float64) (distances, pairs float64) {
	var one, two []float64
	for i := 1; i < len(list); i++ {
		x := rate * (list[i] - list[i-1]).Seconds()
		one = append(one, 1-math.Exp(-x))
		if i%2 == 0 {
			x = rate * (list[i] - list[i-2]).Seconds()
			two = append(two, 1-math.Exp(-x)*(1+x))
		}
	}
	return kolmogorov(one), kolmogorov(two)
}

// counts tests the numbers of arrivals in intervals in each of which as many are expected, by Pearson's test against
// Poisson's distribution: cells below low and from high on are joined.
func counts(list []time.Duration, edges []time.Duration, mean float64, low, high int) (x, limit float64) {
	cells := make([]int, high-low+2)
	i := 0
	for e := 1; e < len(edges); e++ {
		n := 0
		for ; i < len(list) && list[i] < edges[e]; i++ {
			if list[i] >= edges[e-1] {
				n++
			}
		}
		cells[max(0, min(high, n)-low+1)]++
	}
	expected := make([]float64, len(cells))
	rest, p := 1.0, math.Exp(-mean)
	for n := 0; n < high; n++ {
		expected[max(0, n-low+1)] += p
		rest -= p
		p *= mean / float64(n+1)
	}
	expected[len(cells)-1] = rest
	for i := range expected {
		expected[i] *= float64(len(edges) - 1)
	}
	return chiSquare(cells, expected), chiSquareLimit(len(cells) - 1)
}

// every returns the edges of intervals of that length.
func every(length, from, to time.Duration) (edges []time.Duration) {
	for at := from; at <= to; at += length {
		edges = append(edges, at)
	}
	return edges
}

// TestPoisson: arrivals at random are Poisson by all tests. Each control fails the tests that must see it.
func TestPoisson(t *testing.T) {
	w := pace.Window{Warmup: time.Second, Duration: 99 * time.Second}
	grid := every(10*time.Millisecond, 0, 100*time.Second)
	arrivals := func(rate, kind string, seed uint64) []time.Duration {
		return all(t, pace.Arrivals(spec.Must(spec.ParseRate(rate)), kind, w, seed))
	}
	spread := arrivals("1k", spec.Poisson, 1)
	var sorted []time.Duration // distances are exponential, but not independent: the short ones come in rows of ten
	for i := 10; i < len(spread); i += 10 {
		var d []time.Duration
		for j := i - 9; j <= i; j++ {
			d = append(d, spread[j]-spread[j-1])
		}
		slices.Sort(d)
		at := spread[i-10]
		for _, step := range d {
			at += step
			sorted = append(sorted, at)
		}
	}
	for _, tt := range []struct {
		name  string
		list  []time.Duration
		fails string
	}{
		{"seed 0", arrivals("1k", spec.Poisson, 0), ""},
		{"seed 2", arrivals("1k", spec.Poisson, 2), ""},
		{"seed 3", arrivals("1k", spec.Poisson, 3), ""},
		{"constant arrivals", arrivals("1k", spec.Constant, 1), "distances pairs counts"},
		{"a rate 3 % too high", arrivals("1030", spec.Poisson, 1), "distances pairs counts"},
		{"a rate that changes", arrivals("800:1200:100s", spec.Poisson, 1), "counts"},
		{"dependent distances", sorted, "pairs"},
	} {
		one, two := exponential(tt.list, 1000)
		x, limit := counts(tt.list, grid, 10, 4, 18)
		for test, failed := range map[string]bool{"distances": one > kolmogorovLimit, "pairs": two > kolmogorovLimit, "counts": x > limit} {
			if must := strings.Contains(tt.fails, test); failed != must && (must || tt.fails == "") {
				t.Errorf("%s: the test of %s fails: %t; KS %.2f, of pairs %.2f, chi-square %.1f, limit %.1f", tt.name, test, failed, one, two, x, limit)
			}
		}
	}
}

// Where the rate changes, arrivals are Poisson in the time that the integral of the rate makes: intervals of the same
// expectation have counts of one distribution, which intervals of the same length have not.
func TestPoissonFollowsTheRate(t *testing.T) {
	const length = 200 * time.Second
	w := pace.Window{Duration: length}
	ramp := func(seed uint64) []time.Duration {
		return all(t, pace.Arrivals(spec.Must(spec.ParseRate("100:1900:200s")), spec.Poisson, w, seed))
	}
	// N(t) = 100 t + 4.5 t² is 200,000 at the end: 20,000 intervals of 10 each.
	edges := []time.Duration{0}
	for n := 10.0; n <= 200_000; n += 10 {
		edges = append(edges, seconds((-100+math.Sqrt(10_000+18*n))/9))
	}
	for seed := range uint64(2) {
		if x, limit := counts(ramp(seed), edges, 10, 4, 18); x > limit {
			t.Errorf("ramp, seed %d: chi-square %.1f over %.1f", seed, x, limit)
		}
	}
	if x, limit := counts(ramp(0), every(10*time.Millisecond, 0, length), 10, 4, 18); x < limit {
		t.Errorf("a ramp passes as steady: chi-square %.1f under %.1f", x, limit)
	}
}

// The first arrival is as far from the load's begin as each is from the one before it: nothing is due at 0.
func TestPoissonBeginsAtRandom(t *testing.T) {
	var even []float64
	for seed := range uint64(5000) {
		due, _ := pace.Arrivals(spec.Must(spec.ParseRate("1k")), spec.Poisson, pace.Window{}, seed).Next()
		even = append(even, 1-math.Exp(-1000*due.Seconds()))
	}
	if ks := kolmogorov(even); ks > kolmogorovLimit {
		t.Errorf("the first arrivals of 5000 seeds are not exponential: KS %.2f", ks)
	}
}
