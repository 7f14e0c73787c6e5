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
			n := Compare(lognormal(rng, c.trials, 100, c.cv), lognormal(rng, c.trials, 100, c.cv)).Needed(0.05, c.alpha)
			if n == 0 || Compare(lognormal(rng, n, 100, c.cv), lognormal(rng, n, 105, c.cv)).P < c.alpha {
				seen++
			}
		}
		if share := float64(seen) / runs; share < 0.72 || share > 0.93 {
			t.Errorf("%+v: asked for 80 %%, got %.0f %%", c, 100*share)
		}
	}
}

// TestPairsPower does what it is told, as TestPower does, on a machine that drifts; and where nothing has changed it sees
// something no more often than alpha allows.
func TestPairsPower(t *testing.T) {
	simulates(t)
	for _, c := range planned[1:] { // 5 pairs have no interval
		rng := rand.New(rand.NewPCG(9, 10))
		const runs = 300
		seen, wrong := 0, 0
		for range runs {
			found := ComparePairs(drifting(rng, c.trials, c.cv, 1))
			n := found.Needed(0.05, c.alpha)
			if n == 0 || ComparePairs(drifting(rng, n, c.cv, 1.05)).P < c.alpha {
				seen++
			}
			if found.P < c.alpha {
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

// TestNeeded has known answers: an interval that is as wide as the effect both ways takes (1.96+0.84)²/1.96² times as many.
func TestNeeded(t *testing.T) {
	ten, nan := Estimate{N: 10}, math.NaN()
	for _, c := range []struct {
		change        Change
		effect, alpha float64
		want          int
	}{
		{Change{Base: ten, Head: ten, Low: 1 / 1.05, High: 1.05}, 0.05, 0.05, 21}, // 20.4
		{Change{Base: ten, Head: ten, Pairs: 10, Low: 1 / 1.05, High: 1.05}, 1/1.05 - 1, 0.05, 21},
		{Change{Base: ten, Head: Estimate{N: 30}, Low: 1 / 1.05, High: 1.05}, 0.05, 0.05, 31}, // 15 a side
		{Change{Base: ten, Head: ten, Low: 1, High: 1}, 0.05, 0.05, 4},
		{Change{Base: ten, Head: ten, Low: 1, High: 1}, 0.05, 0.0025, 6},
		{Change{Base: ten, Head: ten, Pairs: 10, Low: 1, High: 1}, 0.05, 0.0025, 10},
		{Change{Base: ten, Head: ten, Low: nan, High: nan}, 0.05, 0.05, 0},
		{Change{Base: ten, Head: ten, Low: 1, High: 1}, 0, 0.05, 0},
		{Change{Base: ten, Head: ten, Low: 1, High: 1}, -1, 0.05, 0},
		{Change{Base: ten, Head: ten, Low: 1, High: 1}, 0.05, 0, 0},
		{Change{Base: ten, Head: ten, Low: 1, High: 1}, 0.05, 1, 0},
	} {
		if got := c.change.Needed(c.effect, c.alpha); got != c.want {
			t.Errorf("%+v, %v, %v: %d, want %d", c.change, c.effect, c.alpha, got, c.want)
		}
	}
}
