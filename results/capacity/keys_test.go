package capacity

import (
	"math"
	"math/rand/v2"
	"testing"
)

// simulate returns the share of the arrivals at one key that wait for longer than t, by Lindley's recursion.
func simulate(rate float64, service func(*rand.Rand) float64, t float64) (late float64) {
	const arrivals = 2_000_000
	r := rand.New(rand.NewPCG(1, 2))
	wait := 0.0
	for range arrivals {
		if wait > t {
			late++
		}
		wait = math.Max(0, wait+service(r)-r.ExpFloat64()/rate)
	}
	return late / arrivals
}

func TestMM1(t *testing.T) {
	one := newKeys([]float64{1})
	rate := one.rate(1, 1, 20, 0.01)
	within(t, "the rate at T = 20 S", rate, 0.7820, 1e-4)
	within(t, "ln(100 rho)", math.Log(100*rate), (1-rate)*20, 1e-9)
	within(t, "the share at that rate", one.late(rate, 1, 1, 20), 0.01, 1e-9)
	within(t, "simulated share", simulate(0.7, (*rand.Rand).ExpFloat64, 5), one.late(0.7, 1, 1, 5), 0.03)
	within(t, "simulated share of fixed times", simulate(0.9, func(*rand.Rand) float64 { return 1 }, 10), one.late(0.9, 1, 0.5, 10), 0.15)
	if got := one.late(1.1, 1, 1, 5); got != 1 {
		t.Errorf("an overloaded key is late with %v, want 1", got)
	}
	within(t, "the rate of two groups of which one may be late",
		keys{{0.5, 1}, {0.05, 10}}.rate(1, 1, 1e6, 0.6), 20, 1e-3)
}

func TestKeys(t *testing.T) {
	if keys := newKeys(zipf(1000, 0)); len(keys) != 1 || keys[0].count != 1000 {
		t.Errorf("equal shares are %v, want one group", keys)
	}
	shares := zipf(1_000_000, 1.1)
	count, sum, list := 0, 0.0, newKeys(shares)
	for _, g := range list {
		count += g.count
		sum += g.share * float64(g.count)
	}
	if count != len(shares) || len(list) > 120 {
		t.Errorf("%d groups of %d keys", len(list), count)
	}
	within(t, "the sum of the shares", sum, 1, 1e-9)
	small := zipf(3000, 0.7)
	alone := make(keys, len(small))
	for i, s := range small {
		alone[i] = keyGroup{s, 1}
	}
	for _, c2 := range []float64{0.5, 1, 2} {
		within(t, "the rate by groups", newKeys(small).rate(1, c2, 10, 0.01), alone.rate(1, c2, 10, 0.01), 1e-3)
	}
}
