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
		if want := math.Sqrt(means[(len(means)-1)/2] * means[len(means)/2]); math.Abs(c.Ratio/want-1) > 1e-9 {
			t.Fatalf("%d pairs: ratio %v, want %v", n, c.Ratio, want)
		}
		if known := n >= 6; math.IsNaN(c.Low) == known {
			t.Fatalf("%d pairs: interval %v to %v", n, c.Low, c.High)
		} else if out := c.Low > 1 || c.High < 1; known && out != (c.P <= 0.05) {
			t.Fatalf("%d pairs: p %v, interval %v to %v", n, c.P, c.Low, c.High)
		}
		if swapped := ComparePairs(head, base); swapped.P != c.P || math.Abs(swapped.Ratio*c.Ratio-1) > 1e-9 {
			t.Fatalf("%d pairs: %+v, and the other way round %+v", n, c, swapped)
		}
	}
}

func TestLeastPairs(t *testing.T) {
	for alpha, want := range map[float64]int{0.05: 6, 0.025: 7, 2. / 64: 7, 0.5: 3, 1: 2, 0: 0, math.NaN(): 0} {
		if n := MinPairs(alpha); n != want {
			t.Errorf("alpha %v: %d pairs, want %d", alpha, n, want)
		}
	}
	if p := MinPairsP(0); p != 1 {
		t.Errorf("p %v without any pair", p)
	}
	base, head := lognormal(rand.New(rand.NewPCG(1, 1)), 9, 100, 0.01), []float64(nil)
	for _, v := range base {
		head = append(head, 2*v)
	}
	if p := ComparePairs(base, head).P; p != MinPairsP(9) {
		t.Errorf("p %v, and the least is %v", p, MinPairsP(9))
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

// TestPairsPower does what it is told, as TestPower does, on a machine that drifts; and where nothing has changed it sees
// something no more often than alpha allows.
func TestPairsPower(t *testing.T) {
	simulates(t)
	for _, c := range planned {
		rng := rand.New(rand.NewPCG(9, 10))
		const runs = 300
		seen, wrong := 0, 0
		for range runs {
			base, head := drifting(rng, c.trials, c.cv, 1)
			n := PairsNeeded(base, head, 0.05, c.alpha, 0.8)
			if n == 0 || ComparePairs(drifting(rng, n, c.cv, 1.05)).P < c.alpha {
				seen++
			}
			if ComparePairs(base, head).P < c.alpha {
				wrong++
			}
		}
		if share := float64(seen) / runs; share < 0.72 || share > 0.93 {
			t.Errorf("%+v: asked for 80 %%, got %.0f %%", c, 100*share)
		}
		if most := c.alpha*runs + 2*math.Sqrt(c.alpha*runs); float64(wrong) > most {
			t.Errorf("%+v: %d of %d alarms where nothing has changed", c, wrong, runs)
		}
	}
}

func TestPairsNeeded(t *testing.T) {
	even := []float64{100, 100, 100, 100}
	for name, c := range map[string]struct {
		base, head []float64
		effect     float64
		want       int
	}{
		"no scatter": {even, even, 0.05, 6},
		// Three of the six changes differ by less than twice the effect: p is 3/4, and 2p(1−p) more than 1/3.
		"some":         {even, []float64{97, 99, 101, 104}, 0.0155, int(math.Ceil(math.Pow(1.9599640+0.8416212, 2) / 3 * 16))},
		"two pairs":    {even[:2], even[:2], 0.05, 0},
		"one is zero":  {even, []float64{0, 1, 2, 3}, 0.05, 0},
		"no effect":    {even, even, 0, 0},
		"none so near": {even, []float64{1, 10, 1000, 1e9}, 0.05, 0},
	} {
		if n := PairsNeeded(c.base, c.head, c.effect, 0.05, 0.8); n != c.want {
			t.Errorf("%s: %d, want %d", name, n, c.want)
		}
	}
}
