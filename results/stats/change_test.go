package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// lognormal draws n values around a median with a coefficient of variation.
func lognormal(rng *rand.Rand, n int, center, cv float64) []float64 {
	sigma := math.Sqrt(math.Log1p(cv * cv))
	values := make([]float64, n)
	for i := range values {
		values[i] = center * math.Exp(sigma*rng.NormFloat64())
	}
	return values
}

// near reports whether got is want to so many places, or both are NaN.
func near(got, want, within float64) bool {
	return math.Abs(got-want) <= within || math.IsNaN(got) && math.IsNaN(want)
}

func TestCompare(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name                string
		base, head          []float64
		ratio, low, high, p float64
	}{
		{"apart", []float64{100, 102, 101, 103}, []float64{80, 82, 81, 83}, math.Sqrt(81. / 101 * 82. / 102), 80. / 103, 83. / 100, 2. / 70},
		{"below one", []float64{0.25, 0.255, 0.2525, 0.2575}, []float64{0.2, 0.205, 0.2025, 0.2075}, math.Sqrt(81. / 101 * 82. / 102), 80. / 103, 83. / 100, 2. / 70},
		{"3 and 5", []float64{1, 2, 3}, []float64{4, 5, 6, 7, 8}, 3, 4. / 3, 8, 2. / 56},
		{"too few for an interval", []float64{1, 2, 3}, []float64{4, 5, 6}, 2.5, nan, nan, 0.1},
		{"one each", []float64{4}, []float64{5}, 1.25, nan, nan, 1},
		{"all equal", []float64{7, 7, 7, 7}, []float64{7, 7, 7, 7}, 1, 1, 1, 1},
		// Of the C(8, 4) = 70 ways to divide 1 1 1 2 2 2 2 2, five put all three of 1 on one given side.
		{"ties", []float64{1, 1, 1, 2}, []float64{2, 2, 2, 2}, 2, 1, 2, 2 * 5. / 70},
		{"ties, unequal sizes", []float64{1, 1, 1, 1, 1}, []float64{0, 1, 1, 1}, 1, nan, nan, 2 * 4. / 9},
		{"ties, unequal sizes, the other way", []float64{0, 1, 1, 1}, []float64{1, 1, 1, 1, 1}, 1, nan, nan, 2 * 4. / 9},
		{"more than all", []float64{2}, []float64{1, 1, 1, 1, 1}, 0.5, nan, nan, 2. / 6},
		{"no violation", []float64{0, 0, 0, 0}, []float64{0, 0, 0, 0}, nan, nan, nan, 1},
		{"violations appear", []float64{0, 0, 0, 0}, []float64{3, 4, 5, 6}, nan, nan, nan, 2. / 70},
		{"violations vanish", []float64{3, 4, 5, 6}, []float64{0, 0, 0, 0}, 0, nan, nan, 2. / 70},
		{"negative", []float64{-3, -4, -5, -6}, []float64{3, 4, 5, 6}, nan, nan, nan, 2. / 70},
		{"infinite", []float64{1, 2, 3, 4}, []float64{5, 6, 7, inf}, 2.6, nan, nan, 2. / 70},
		{"unknown ones", []float64{nan, 100, 102, nan, 101, 103}, []float64{80, 82, nan, 81, 83}, math.Sqrt(81. / 101 * 82. / 102), 80. / 103, 83. / 100, 2. / 70},
		{"only unknown", []float64{nan, nan}, []float64{1, 2}, nan, nan, nan, 1},
		{"nothing", nil, nil, nan, nan, nan, 1},
	} {
		got := Compare(c.base, c.head)
		if !near(got.Ratio, c.ratio, 1e-12) || !near(got.Low, c.low, 1e-12) || !near(got.High, c.high, 1e-12) || !near(got.P, c.p, 1e-9) {
			t.Errorf("%s: %+v, want ratio %v, %v to %v, p %v", c.name, got, c.ratio, c.low, c.high, c.p)
		}
		if got.Base.N != len(known(c.base)) || got.Head.N != len(known(c.head)) {
			t.Errorf("%s: %d and %d values", c.name, got.Base.N, got.Head.N)
		}
	}
}

// TestPublished is the example of Hollander, Wolfe and Chicken (table 4.1), which R has in its help for wilcox.test, too:
// how permeable amnion is at term and before. Its differences are the logarithms of our ratios.
func TestPublished(t *testing.T) {
	term := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	before := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	for _, values := range [][]float64{term, before} {
		for i, v := range values {
			values[i] = math.Exp(v)
		}
	}
	c := Compare(before, term)
	if !near(c.P, 2*0.1272, 1e-4) || !near(math.Log(c.Low), -0.15, 1e-9) || !near(math.Log(c.High), 0.76, 1e-9) {
		t.Errorf("p %.4f, %v to %v", c.P, math.Log(c.Low), math.Log(c.High))
	}
}

// TestInner has the printed tables of U's critical values, two-sided 5 %: those are the largest U that is significant, one
// less than the place of the pair.
func TestInner(t *testing.T) {
	for _, c := range []struct{ n, m, critical int }{
		{3, 3, -1}, {3, 5, 0}, {4, 4, 0}, {2, 8, 0}, {1, 38, -1}, {1, 39, 0}, {5, 5, 2}, {5, 9, 7}, {8, 8, 13}, {8, 12, 22}, {10, 10, 23}, {15, 15, 64}, {20, 20, 127},
	} {
		if got := inner(c.n, c.m); got != c.critical+1 {
			t.Errorf("%d and %d: %d, want %d", c.n, c.m, got, c.critical+1)
		}
	}
	// Beyond the tables, counted by another program; of those with more than 50 the approximation may miss one pair.
	for _, c := range []struct{ n, m, want, off int }{{10, 50, 152, 0}, {50, 10, 152, 0}, {50, 50, 966, 0}, {51, 50, 987, 1}, {60, 60, 1427, 1}, {30, 80, 908, 1}, {100, 100, 4198, 1}} {
		if got := inner(c.n, c.m); got > c.want || got < c.want-c.off {
			t.Errorf("%d and %d: %d, want %d", c.n, c.m, got, c.want)
		}
	}
}

// TestRatiosOfAllPairs holds the counted order statistics against sorted ones.
func TestRatiosOfAllPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		base, head := lognormal(rng, 4+rng.IntN(60), 100, 0.3), lognormal(rng, 4+rng.IntN(60), 80, 0.3)
		if rng.IntN(2) == 0 { // ties
			for i := range base {
				base[i] = math.Ceil(base[i] / 10)
			}
			for i := range head {
				head[i] = math.Ceil(head[i] / 10)
			}
		}
		var all []float64
		for _, b := range base {
			for _, h := range head {
				all = append(all, h/b)
			}
		}
		slices.Sort(all)
		k := inner(len(base), len(head))
		if c := Compare(base, head); !near(c.Low, all[k-1], 1e-12) || !near(c.High, all[len(all)-k], 1e-12) {
			t.Fatalf("%d and %d values: %v to %v, want %v to %v", len(base), len(head), c.Low, c.High, all[k-1], all[len(all)-k])
		}
	}
}

// TestExactP holds p against all ways to divide the values, for ties of every kind.
func TestExactP(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 1000 {
		values := make([]float64, 4+rng.IntN(6))
		n, kinds := 2+rng.IntN(len(values)-3), 1+rng.IntN(6)
		for i := range values {
			values[i] = float64(rng.IntN(kinds))
		}
		if got, want := Compare(values[:n], values[n:]).P, dividedP(values, n); !near(got, want, 1e-9) {
			t.Fatalf("%v against %v: p %v, want %v", values[:n], values[n:], got, want)
		}
	}
}

// dividedP is twice the share of the divisions in which the first n have a U as far out as they have, or farther, on the
// side where they are.
func dividedP(values []float64, n int) float64 {
	u := func(set int) (sum float64) {
		for i, x := range values {
			for j, y := range values {
				switch {
				case set>>i&1 == 0 || set>>j&1 == 1:
				case x > y:
					sum++
				case x == y:
					sum += 0.5
				}
			}
		}
		return sum
	}
	mean := float64(n*(len(values)-n)) / 2
	seen := u(1<<n - 1)
	far, all := 0, 0
	for set := range 1 << len(values) {
		if bits.OnesCount(uint(set)) != n {
			continue
		}
		all++
		if v := u(set); seen <= mean && v <= seen || seen > mean && v >= seen {
			far++
		}
	}
	if seen == mean {
		return 1
	}
	return min(1, 2*float64(far)/float64(all))
}

// TestIntervalAndPAgree holds both to one verdict.
func TestIntervalAndPAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	significant := 0
	for range 500 {
		c := Compare(lognormal(rng, 4+rng.IntN(20), 100, 0.1), lognormal(rng, 4+rng.IntN(20), 108, 0.1))
		apart := c.Low > 1 || c.High < 1
		if apart != (c.P <= 0.05) {
			t.Errorf("%v to %v with p %v", c.Low, c.High, c.P)
		}
		if apart {
			significant++
		}
	}
	if significant < 100 || significant > 400 {
		t.Errorf("%d of 500 are significant: the test looks at one side only", significant)
	}
}

// TestChangeCoverage counts how often the interval holds the true ratio: 95.7 % for 10 trials a side, whatever the scatter.
func TestChangeCoverage(t *testing.T) {
	simulates(t)
	for _, cv := range []float64{0.02, 0.3} {
		rng := rand.New(rand.NewPCG(5, 6))
		const runs = 2000
		held := 0
		for range runs {
			if c := Compare(lognormal(rng, 10, 100, cv), lognormal(rng, 10, 105, cv)); c.Low <= 1.05 && 1.05 <= c.High {
				held++
			}
		}
		if share := float64(held) / runs; share < 0.94 || share > 0.97 {
			t.Errorf("scatter of %v: %.1f %% of the intervals hold the ratio", cv, 100*share)
		}
	}
}
