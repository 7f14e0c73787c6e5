package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// planned are trials from which it is estimated how many it takes, with their scatter and alpha.
var planned = []struct {
	trials    int
	cv, alpha float64
}{{5, 0.05, 0.05}, {10, 0.02, 0.05}, {10, 0.05, 0.05}, {10, 0.05, 0.0025}, {20, 0.1, 0.05}}

// TestPower does what it is told: it estimates from a few trials, makes as many as it takes and counts how often it sees
// the change. The estimates are uncertain themselves, so that the share is that over many of them.
func TestPower(t *testing.T) {
	simulates(t)
	for _, c := range planned {
		rng := rand.New(rand.NewPCG(9, 10))
		const runs = 150
		seen := 0
		for range runs {
			n := TrialsNeeded(lognormal(rng, c.trials, 100, c.cv), lognormal(rng, c.trials, 100, c.cv), 0.05, c.alpha, 0.8)
			if n == 0 || Compare(lognormal(rng, n, 100, c.cv), lognormal(rng, n, 105, c.cv)).P < c.alpha {
				seen++
			}
		}
		if share := float64(seen) / runs; share < 0.75 || share > 0.9 {
			t.Errorf("%+v: asked for 80 %%, got %.0f %%", c, 100*share)
		}
	}
}

// TestNoether has known answers. Every pair of 100 and 110 differs by less than 20 %, so that p is 1 and what is left of
// the formula is 1.96²/6 / 0.25 = 2.6: the test itself needs 4. And where one pair of six does, p is 7/12.
func TestNoether(t *testing.T) {
	calm := []float64{100, 110, 100, 110}
	wild := []float64{100, 101, 10, 1000}
	q := (1.9599640 + 0.8416212) * (1.9599640 + 0.8416212)
	for _, c := range []struct {
		name                 string
		base, head           []float64
		effect, alpha, power float64
		want                 int
	}{
		{"calm", calm, calm, 0.2, 0.05, 0.8, 4},
		{"calm, many cells", calm, calm, 0.2, 0.0025, 0.8, 7},
		{"wild", wild, wild, 0.05, 0.05, 0.8, int(math.Ceil(q * 24))}, // 1/6(p−½)² = 24
		{"down is as up", wild, wild, 1/1.05 - 1, 0.05, 0.8, int(math.Ceil(q * 24))},
		{"one side", wild, nil, 0.05, 0.05, 0.8, int(math.Ceil(q * 24))},
		{"unknown ones", append([]float64{math.NaN()}, wild...), nil, 0.05, 0.05, 0.8, int(math.Ceil(q * 24))},
		{"all equal", []float64{5, 5, 5}, []float64{6, 6, 6}, 0.05, 0.05, 0.8, 4},
		{"no pair so near", []float64{10, 100, 1000}, nil, 0.05, 0.05, 0.8, 0},
		{"too few", []float64{5, 6}, []float64{5, 6}, 0.05, 0.05, 0.8, 0},
		{"nothing", nil, nil, 0.05, 0.05, 0.8, 0},
		{"zero", []float64{0, 1, 2}, calm, 0.05, 0.05, 0.8, 0},
		{"infinite", calm, []float64{1, math.Inf(1)}, 0.05, 0.05, 0.8, 0},
		{"no effect", calm, calm, 0, 0.05, 0.8, 0},
		{"less than nothing left", calm, calm, -1, 0.05, 0.8, 0},
		{"nonsense", calm, calm, -2, 0.05, 0.8, 0},
		{"just the effect", []float64{100, 105, 1000}, nil, 0.05, 0.05, 0.8, 0}, // not closer than it
		{"alpha", calm, calm, 0.05, 0, 0.8, 0},
		{"alpha of one", calm, calm, 0.05, 1, 0.8, 0},
		{"power", calm, calm, 0.05, 0.05, 1, 0},
		{"no power", calm, calm, 0.05, 0.05, 0, 0},
		{"NaN", calm, calm, math.NaN(), 0.05, 0.8, 0},
	} {
		if got := TrialsNeeded(c.base, c.head, c.effect, c.alpha, c.power); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
