package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestDrift(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	// z to p, two-sided
	p := func(s, variance float64) float64 { return math.Erfc((s - 1) / math.Sqrt(variance) / math.Sqrt2) }
	for _, c := range []struct {
		name     string
		values   []float64
		slope, p float64
	}{
		{"nothing", nil, nan, 1},
		{"two", []float64{1, 2}, nan, 1},
		// Gilbert, section 16.4.1: S = 4 (five pairs rise, one falls). Slopes 5, 2, 10/3, −1, 2.5, 6.
		{"Gilbert", []float64{10, 15, 14, 20}, (2.5 + 10./3) / 2 / 14.5, p(4, 4*3*13/18.)},
		{"straight", []float64{100, 101, 102, 103, 104}, 1. / 102, p(10, 5*4*15/18.)},
		{"down", []float64{104, 103, 102, 101, 100}, -1. / 102, p(10, 5*4*15/18.)},
		{"an outlier changes little", []float64{100, 101, 102, 1030, 104, 105, 106}, 1. / 104, p(15, 7*6*19/18.)},
		// Ties: S = 11, and two groups, of 2 and of 3, take 2×1×9 + 3×2×11 off. The 8th of 15 slopes is 1/3.
		{"ties", []float64{1, 1, 2, 2, 2, 3}, 1. / 3 / 2, p(11, (6*5*17-18-66)/18.)},
		{"all equal", []float64{5, 5, 5, 5}, 0, 1},
		{"never anything", []float64{0, 0, 0, 0}, nan, 1},
		{"places hold", []float64{100, nan, 102, inf, nan, 105}, 1. / 102, p(3, 3*2*11/18.)},
		{"a median of zero", []float64{-1, 0, 1}, nan, p(3, 3*2*11/18.)},
		{"no median", []float64{-5, -4, -3, -2}, nan, p(6, 4*3*13/18.)},
	} {
		got := Drift(c.values)
		if !near(got.Slope, c.slope, 1e-9) || !near(got.P, c.p, 1e-9) {
			t.Errorf("%s: %+v, want %v, p %v", c.name, got, c.slope, c.p)
		}
		if math.IsNaN(got.Growth) != math.IsNaN(c.slope) {
			t.Errorf("%s: growth %v", c.name, got.Growth)
		}
	}
}

func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"doubles", []float64{100, 200, 400, 800}, 2},
		{"doubles, below one", []float64{0.01, 0.02, 0.04, 0.08}, 2},
		{"halves, below one", []float64{0.08, 0.04, 0.02, 0.01}, 0.5},
		{"all equal", []float64{5, 5, 5}, 1},
		// In order the factors are 14/15, √(20/15), √(14/10), ∛(20/10), 20/14 and 15/10.
		{"Gilbert", []float64{10, 15, 14, 20}, math.Sqrt(math.Sqrt(1.4) * math.Cbrt(2))},
		// A value that is not positive: 1 + Slope.
		{"from nothing", []float64{0, 1, 2, 3}, 1 + 1/1.5},
		{"to nothing", []float64{3, 2, 1, 0}, 1 - 1/1.5},
		{"to less than nothing", []float64{10, 1, -8}, 0}, // a slope of −9, and the median is 1
	} {
		if got := Drift(c.values).Growth; !near(got, c.want, 1e-9) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestSlopesOfAllPairs holds the counted median against the sorted slopes.
func TestSlopesOfAllPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		values := lognormal(rng, 3+rng.IntN(40), 100, 0.3)
		if rng.IntN(2) == 0 {
			for i := range values {
				values[i] = math.Round(values[i] / 10)
			}
		}
		var slopes []float64
		for j := range values {
			for i := range j {
				slopes = append(slopes, (values[j]-values[i])/float64(j-i))
			}
		}
		if got, want := Drift(values).Slope, median(slopes)/median(values); !near(got, want, 1e-9) {
			t.Fatalf("%v: %v, want %v", values, got, want)
		}
	}
}

// TestDriftOfTheNile sees the step of 1899 as a trend: S = −1387 with a variance of 112,728.3, and −2.6 a year, as counted
// pair by pair by another program.
func TestDriftOfTheNile(t *testing.T) {
	got := Drift(nile)
	if !near(got.P, 3.658263e-05, 1e-10) || !near(got.Slope*median(nile), -2.6, 1e-9) {
		t.Errorf("%+v", got)
	}
}

func TestDriftAlarms(t *testing.T) {
	simulates(t)
	rng := rand.New(rand.NewPCG(3, 4))
	const runs = 1000
	idle, slow := 0, 0
	for range runs {
		values := lognormal(rng, 30, 100, 0.02)
		if Drift(values).P < 0.05 {
			idle++
		}
		for i := range values {
			values[i] *= 1 + 0.05*float64(i)/29
		}
		if Drift(values).P < 0.05 {
			slow++
		}
	}
	if idle < runs*3/100 || idle > runs*7/100 || slow < runs*9/10 {
		t.Errorf("%d of %d idle histories and %d of the slow ones have a trend", idle, runs, slow)
	}
}

func TestFalls(t *testing.T) {
	values := []float64{3, 1, 2, 2, 3}
	// 3 before 1, 2, 2 and 3, and 2 before 2.
	if got := falls(values, make([]float64, 0, 5)); got != 5 || !slices.IsSorted(values) {
		t.Errorf("%d, and %v", got, values)
	}
}

func TestOrdinals(t *testing.T) {
	numbers := []float64{math.Inf(-1), -1e300, -2, -1, -5e-324, 0, 5e-324, 1, 2, 1e300, math.Inf(1)}
	for i, x := range numbers {
		if number(ordinal(x)) != x || i > 0 && ordinal(numbers[i-1]) >= ordinal(x) {
			t.Errorf("%v is %d", x, ordinal(x))
		}
	}
	sorted := []float64{-3, -3, 0, 1, 7}
	for k := range sorted {
		got := smallest(k+1, -3, 7, func(v float64) int {
			return len(slices.DeleteFunc(slices.Clone(sorted), func(x float64) bool { return x > v }))
		})
		if got != sorted[k] {
			t.Errorf("the %d. is %v, want %v", k+1, got, sorted[k])
		}
	}
}
