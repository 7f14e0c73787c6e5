package queue

import (
	"math"
	"math/rand/v2"
	"testing"
)

func zipf(s float64, n int) []float64 {
	p := make([]float64, n)
	sum := 0.0
	for i := range p {
		p[i] = math.Pow(float64(i+1), -s)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func uniform(n int) []float64 { return zipf(0, n) }

// near fails the test unless got is within the tolerance, as a share of want.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s is %v, want %v within %v", what, got, want, tolerance)
	}
}

// simulate returns the share of the arrivals at one key that wait for longer than t, and the mean wait, by Lindley's
// recursion.
func simulate(rate float64, service func(*rand.Rand) float64, t float64) (late, mean float64) {
	const arrivals = 2_000_000
	r := rand.New(rand.NewPCG(1, 2))
	wait := 0.0
	for range arrivals {
		if wait > t {
			late++
		}
		mean += wait
		wait = math.Max(0, wait+service(r)-r.ExpFloat64()/rate)
	}
	return late / arrivals, mean / arrivals
}

func exponential(r *rand.Rand) float64 { return r.ExpFloat64() }

// mm1 is the tail for exponential times of service.
var mm1 = Kingman(1)

// mg1Mean returns the mean wait for times of service with the squared coefficient of variation scv (Pollaczek and Khinchine).
func mg1Mean(rate, service, scv float64) float64 {
	rho := rate * service
	return rho * service * (1 + scv) / (2 * (1 - rho))
}

func TestMM1(t *testing.T) {
	rate := Rate(mm1, Keys{{Share: 1, Count: 1}}, 1, 20, 0.01)
	near(t, "the rate at T = 20 S", rate, 0.7820, 1e-4)
	near(t, "ln(100 rho)", math.Log(100*rate), (1-rate)*20, 1e-9)
	near(t, "the share at that rate", mm1(rate, 1, 20), 0.01, 1e-9)
	late, mean := simulate(0.7, exponential, 5)
	near(t, "simulated share", late, mm1(0.7, 1, 5), 0.03)
	near(t, "simulated mean", mean, mg1Mean(0.7, 1, 1), 0.03)
	if got := mm1(1.1, 1, 5); got != 1 {
		t.Errorf("an overloaded key is late with %v, want 1", got)
	}
}

func TestZipf(t *testing.T) {
	keys := NewKeys(zipf(1.1, 100))
	near(t, "the hottest share", keys.Hottest(), 0.234, 2e-3)
	near(t, "its utilisation", Utilisation(3000, keys.Hottest(), 5e-3), 3.51, 2e-3)
	near(t, "the limit of stability", Capacity(keys.Hottest(), 5e-3), 856, 1e-3)
	// A wait in a first-come-first-served line with a fixed hold, over all keys: not the hottest alone, which would be
	// held to 1 % of its own arrivals.
	near(t, "the ceiling", Rate(Kingman(0.5), keys, 5e-3, 20e-3, 0.01), 582, 0.05)
}

func TestKeys(t *testing.T) {
	if keys := NewKeys(uniform(1000)); len(keys) != 1 || keys[0].Count != 1000 {
		t.Errorf("equal shares are %v, want one group", keys)
	}
	shares := zipf(1.1, 1_000_000)
	keys := NewKeys(shares)
	count, sum := 0, 0.0
	for _, g := range keys {
		count += g.Count
		sum += g.Share * float64(g.Count)
	}
	if count != len(shares) || len(keys) > 120 {
		t.Errorf("%d groups of %d keys", len(keys), count)
	}
	near(t, "the sum of the shares", sum, 1, 1e-9)
	// The same without groups.
	small := zipf(0.7, 3000)
	alone := make(Keys, len(small))
	for i, s := range small {
		alone[i] = Group{s, 1}
	}
	for _, tail := range []Tail{mm1, Kingman(0.5), Kingman(2)} {
		near(t, "the rate by groups", Rate(tail, NewKeys(small), 1, 10, 0.01), Rate(tail, alone, 1, 10, 0.01), 1e-3)
	}
	shuffled := []float64{0.2, 0.5, 0.3}
	if keys := NewKeys(shuffled); keys.Hottest() != 0.5 || shuffled[0] != 0.2 {
		t.Errorf("unsorted shares give %v, and are now %v", keys, shuffled)
	}
}

func TestRateOfNothing(t *testing.T) {
	one := NewKeys(uniform(1))
	if got := Rate(mm1, one, 1, -1, 0.01); got != 0 {
		t.Errorf("a limit below 0 allows a rate of %v", got)
	}
	// All that finds its key taken is late.
	near(t, "the rate without waiting", Rate(Kingman(0.5), one, 1, 0, 0.01), 0.01, 1e-9)
	near(t, "the rate of two groups of which one may be late",
		Rate(mm1, Keys{{0.5, 1}, {0.05, 10}}, 1, 1e6, 0.6), 20, 1e-3)
}

func TestCapacity(t *testing.T) {
	near(t, "equal keys", Capacity(NewKeys(uniform(10)).Hottest(), 2e-3), 10/2e-3, 1e-12)
	near(t, "a hot key", Capacity(0.5, 2e-3), 1000, 1e-12)
}
