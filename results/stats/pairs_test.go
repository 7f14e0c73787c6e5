package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSignedRank has known answers, by hand.
func TestSignedRank(t *testing.T) {
	for _, c := range []struct {
		d    []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4, 5, 6}, 2. / 64},
		{[]float64{-1, 2, 3, 4, 5, 6}, 4. / 64},
		{[]float64{1, 2, 3, 4, 5, 6, 7, -8}, 2 * 25. / 256}, // 25 of 256 sums are at most 8
		{[]float64{2, 2, 2, 2}, 2. / 16},
		{[]float64{0, 0, 1, -2, 3}, 2 * 3. / 8}, // ranks 3, 4 and 5: of eight sums 0, 3 and 4 are at most 4
		{[]float64{0, 0, 0}, 1},
		{[]float64{1, -1}, 1},
		{nil, 1},
	} {
		base := make([]float64, len(c.d))
		got := ComparePairs(append(base, 1, math.NaN()), append(slices.Clone(c.d), math.NaN(), 1))
		if math.Abs(got.P-c.want) > 1e-15 || got.Pairs != len(c.d) || !math.IsNaN(got.Low) {
			t.Errorf("%v: %+v, want p %v", c.d, got, c.want)
		}
	}
}

// TestPairsOfZeros has differences of values of which one is zero: no size of the values is too large or too small for them.
func TestPairsOfZeros(t *testing.T) {
	const tenth = 0.1
	for _, c := range []struct {
		name       string
		base, head []float64
		ratio, p   float64
	}{
		{"a nanosecond each", []float64{0, 1e-9, 2e-9, 3e-9, 4e-9, 5e-9}, []float64{1e-9, 2e-9, 3e-9, 4e-9, 5e-9, 6e-9}, 3.5 / 2.5, 2. / 64},
		// Ranks 3 six times, where they are equal, so that one of six that falls has the place of any other: 1 + 6 of 64.
		{"a tenth of a million", []float64{0, 1e6, 2e6, 3e6, 4e6, 5e6 + tenth}, []float64{tenth, 1e6 + tenth, 2e6 + tenth, 3e6 + tenth, 4e6 + tenth, 5e6}, 1, 2 * 7. / 64},
		{"from nothing", make([]float64, 6), []float64{1, 2, 3, 4, 5, 6}, math.NaN(), 2. / 64},
		{"below nothing", []float64{-1, -1, -1, -1, -1, -1}, []float64{1, 2, 3, 4, 5, 6}, math.NaN(), 2. / 64},
	} {
		if got := ComparePairs(c.base, c.head); !near(got.Ratio, c.ratio, 1e-6) || !near(got.P, c.p, 1e-12) || !math.IsNaN(got.Low) || !math.IsNaN(got.High) {
			t.Errorf("%s: %+v, want ratio %v, p %v", c.name, got, c.ratio, c.p)
		}
	}
}

// TestPublishedPairs is the example of Hollander, Wolfe and Chicken (table 3.1), which R has in its help for wilcox.test,
// too: the depression of nine patients before and after tranquilizers. Its differences are the logarithms of our ratios.
func TestPublishedPairs(t *testing.T) {
	before := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	after := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	for _, values := range [][]float64{before, after} {
		for i, v := range values {
			values[i] = math.Exp(v)
		}
	}
	for _, c := range []struct {
		got            Change
		low, mid, high float64
	}{{ComparePairs(before, after), -0.786, -0.46, -0.010}, {ComparePairs(after, before), 0.010, 0.46, 0.786}} {
		low, mid, high := math.Log(c.got.Low), math.Log(c.got.Ratio), math.Log(c.got.High)
		if !near(low, c.low, 1e-9) || !near(mid, c.mid, 1e-9) || !near(high, c.high, 1e-9) || !near(c.got.P, 2*0.01953, 1e-5) {
			t.Errorf("%.4f, %.4f to %.4f, p %.4f, want %.3f, %.3f to %.3f", mid, low, high, c.got.P, c.mid, c.low, c.high)
		}
	}
}

// TestInnerPairs has the printed tables of the critical values of the signed-rank test, two-sided 5 % (McCornack, 1965):
// the largest sum of ranks that is significant, one less than the place of the mean.
func TestInnerPairs(t *testing.T) {
	for n, critical := range map[int]int{5: -1, 6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 15: 25, 20: 52, 25: 89, 50: 434, 100: 1955} {
		if got := innerPairs(n); got != critical+1 {
			t.Errorf("%d pairs: %d, want %d", n, got, critical+1)
		}
	}
	// Counted by another program; of more than 100 the approximation may miss one.
	for _, c := range []struct{ n, want, off int }{{101, 1998, 1}, {120, 2882, 0}, {200, 8445, 1}} {
		if got := innerPairs(c.n); got > c.want || got < c.want-c.off {
			t.Errorf("%d pairs: %d, want %d", c.n, got, c.want)
		}
	}
}

// TestFewPairs: what a few pairs say is no change of sides most of whose values are not in them.
func TestFewPairs(t *testing.T) {
	nan := math.NaN()
	if c := ComparePairs([]float64{nan, 50, 50, 9000}, []float64{140, nan, nan, 70}); c.Pairs != 1 || !math.IsNaN(c.Ratio) || c.P != 1 {
		t.Errorf("one pair of values that are two and three: %+v", c)
	}
	if c := ComparePairs([]float64{2, 4, nan}, []float64{4, 8, 8}); c.Pairs != 2 || !near(c.Ratio, 2, 1e-9) {
		t.Errorf("two pairs: %+v", c)
	}
}

// TestSigns tries all signs of differences with ties and zeros.
func TestSigns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		d := make([]float64, 1+rng.IntN(9))
		for i := range d {
			d[i] = float64(rng.IntN(9) - 4)
		}
		least := func(d []float64) float64 { // the smaller of both sums of ranks
			var up, down float64
			for _, v := range d {
				rank := 0.5
				for _, w := range d {
					if math.Abs(w) < math.Abs(v) {
						rank++
					} else if math.Abs(w) == math.Abs(v) {
						rank += 0.5
					}
				}
				if v > 0 {
					up += rank
				} else if v < 0 {
					down += rank
				}
			}
			return min(up, down)
		}
		n := 0
		for signs := range 1 << len(d) {
			other := slices.Clone(d)
			for i := range d {
				if signs>>i&1 == 1 {
					other[i] = -d[i]
				}
			}
			if least(other) <= least(d) {
				n++
			}
		}
		if p, want := signedRank(d, 0), float64(n)/float64(int(1)<<len(d)); math.Abs(p-want) > 1e-12 {
			t.Errorf("%v: p %v, want %v", d, p, want)
		}
	}
}

// TestEqualRatios: ratios are equal whatever the values are that they are of, and so are differences.
func TestEqualRatios(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		n := 6 + rng.IntN(5)
		base, head, d := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			power := rng.IntN(5) - 2 // of two: whole numbers, whose logarithms are not
			d[i] = float64(power)
			base[i] = float64(4 * (1 + rng.IntN(1000)))
			head[i] = math.Ldexp(base[i], power)
		}
		want := signedRank(d, 0)
		if got := ComparePairs(base, head); math.Abs(got.P-want) > 1e-12 {
			t.Fatalf("%v to %v: p %v, want %v", base, head, got.P, want)
		}
		for i := range n { // differences of tenths, one of them from 0
			base[i] = float64(rng.IntN(100)) / 10
			head[i] = (base[i]*10 + d[i]) / 10
		}
		base[0], head[0] = 0, d[0]/10
		if got := ComparePairs(base, head); math.Abs(got.P-want) > 1e-12 {
			t.Fatalf("%v to %v: p %v, want %v", base, head, got.P, want)
		}
	}
}

// TestManyPairs: where the approximation begins it is hardly another p, and hardly another interval.
func TestManyPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, shift := range []float64{0, 0.1, 0.2, 0.3} {
		d, ranks, above := make([]float64, exactPairs+1), []int(nil), 0
		for i := range d {
			d[i] = shift + rng.NormFloat64()
		}
		slices.SortFunc(d, func(a, b float64) int { return int(math.Copysign(1, math.Abs(a)-math.Abs(b))) })
		for i, v := range d {
			ranks = append(ranks, i+1)
			if v < 0 {
				above += i + 1
			}
		}
		exact := 0.0
		for sum, p := range rankSums(ranks) {
			if sum <= min(above, len(d)*(len(d)+1)/2-above) {
				exact += 2 * p
			}
		}
		if p := signedRank(d, 0); math.Abs(p-min(1, exact)) > 0.002 {
			t.Errorf("shift %v: p %v, exactly %v", shift, p, exact)
		}
	}
	if a, b, c := innerPairs(exactPairs-1), innerPairs(exactPairs), innerPairs(exactPairs+1); math.Abs(float64(c-b)-float64(b-a)) > 3 {
		t.Errorf("the interval begins at %d, %d and, approximately, %d", a, b, c)
	}
}

// TestWalsh sorts all means, and holds the interval to the p of the test.
func TestWalsh(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		n := 1 + rng.IntN(14)
		base, head := lognormal(rng, n, 100, 0.3), lognormal(rng, n, 115, 0.3)
		var means []float64
		for i := range n {
			for j := range i + 1 {
				means = append(means, math.Sqrt(head[i]/base[i]*head[j]/base[j]))
			}
		}
		slices.Sort(means)
		c := ComparePairs(base, head)
		if want := math.Sqrt(means[(len(means)-1)/2] * means[len(means)/2]); !c.Opposed && math.Abs(c.Ratio/want-1) > 1e-9 {
			t.Fatalf("%d pairs: ratio %v, want %v", n, c.Ratio, want)
		}
		if known := n >= 6; math.IsNaN(c.Low) == known {
			t.Fatalf("%d pairs: interval %v to %v", n, c.Low, c.High)
		} else if out := c.Low > 1 || c.High < 1; known && out != (c.P <= 0.05) {
			t.Fatalf("%d pairs: p %v, interval %v to %v", n, c.P, c.Low, c.High)
		}
		if swapped := ComparePairs(head, base); swapped.P != c.P || !c.Opposed && !swapped.Opposed && math.Abs(swapped.Ratio*c.Ratio-1) > 1e-9 {
			t.Fatalf("%d pairs: %+v, and the other way round %+v", n, c, swapped)
		}
	}
}

func TestLeastPairs(t *testing.T) {
	for alpha, want := range map[float64]int{0.05: 6, 0.025: 7, 2. / 64: 7, 0.5: 3, 1: 2, 0: 0, math.NaN(): 0} {
		if n := LeastTrials(alpha, true); n != want {
			t.Errorf("alpha %v: %d pairs, want %d", alpha, n, want)
		}
	}
	if p := MinP(0, 0, true); p != 1 {
		t.Errorf("p %v without any pair", p)
	}
	for _, n := range []int{9, exactPairs} {
		base, head := lognormal(rand.New(rand.NewPCG(1, 1)), n, 100, 0.01), []float64(nil)
		for _, v := range base {
			head = append(head, 2*v)
		}
		if p := ComparePairs(base, head).P; p != math.Ldexp(2, -n) || p != MinP(n, n, true) {
			t.Errorf("%d pairs: p %v, and the least is %v", n, p, MinP(n, n, true))
		}
	}
}

// drifting are pairs on a machine that becomes slower by a third, and another factor between the sides.
func drifting(rng *rand.Rand, n int, cv, factor float64) (base, head []float64) {
	base, head = lognormal(rng, n, 100, cv), lognormal(rng, n, 100*factor, cv)
	for i := range n {
		drift := 1 - 0.33*float64(i)/float64(n)
		base[i], head[i] = base[i]*drift, head[i]*drift
	}
	return base, head
}
