package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// fivePercent is the usual chance of a false step.
const fivePercent = 0.05

// nile is the flow of the Nile at Aswan from 1871 to 1970, in 10⁸ m³ (Cobb, 1978; R has it as Nile).
var nile = []float64{
	1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140,
	1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969,
	831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759,
	781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890,
	744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
}

// TestNile finds the step that all the literature has: 1898 is the last year before it.
func TestNile(t *testing.T) {
	steps := Steps(nile, 1, fivePercent)
	if len(steps) != 1 || steps[0].At != 1899-1871 || steps[0].P > 0.005 {
		t.Fatalf("%+v", steps)
	}
}

// stairs returns a series of levels, each so many values long, with scatter.
func stairs(rng *rand.Rand, cv float64, length int, levels ...float64) (values []float64) {
	for _, level := range levels {
		values = append(values, lognormal(rng, length, level, cv)...)
	}
	return values
}

func at(steps []Step) (places []int) {
	for _, s := range steps {
		places = append(places, s.At)
	}
	return places
}

func TestSteps(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name   string
		values []float64
		want   []int
	}{
		{"nothing", nil, nil},
		{"too short", []float64{1, 1, 9, 9, 9}, nil},
		{"the shortest ones can tell nothing", []float64{1, 1, 1, 9, 9, 9}, nil},
		{"all equal", slices.Repeat([]float64{5}, 50), nil},
		{"never anything", make([]float64, 50), nil},
		{"exact", []float64{1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}, []int{6}},
		{"from nothing", []float64{0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2}, []int{6}},
		{"below zero", []float64{-2, -2, -2, -2, -2, -2, 2, 2, 2, 2, 2, 2}, []int{6}},
		{"places hold", []float64{nan, 1, 1, 1, inf, 1, 1, 1, nan, 2, 2, 2, 2, 2, 2}, []int{9}},
		{"outliers are no step", []float64{5, 5, 5, 5, 5, 5, 5, 50, 5, 5, 5, 5, 5, 5, 5, 40, 5, 5, 5, 5}, nil},
		{"up and down", stairs(rng, 0.01, 20, 100, 110, 100), []int{20, 40}},
		{"a short rise", slices.Concat(stairs(rng, 0.01, 60, 100), stairs(rng, 0.01, 8, 110), stairs(rng, 0.01, 80, 100)), []int{60, 68}},
		{"a stair", stairs(rng, 0.01, 15, 100, 110, 120, 130), []int{15, 30, 45}},
		{"a small step in a calm stretch", slices.Concat(stairs(rng, 0.2, 40, 300), stairs(rng, 0.005, 20, 100, 103)), []int{40, 60}},
		{"the last three", slices.Concat(stairs(rng, 0.01, 40, 100), stairs(rng, 0.01, 3, 120)), []int{40}},
		{"a long one", stairs(rng, 0.01, 80, 100, 110, 100), []int{80, 160}},
	} {
		before := slices.Clone(c.values)
		got := Steps(c.values, 1, fivePercent)
		if !slices.Equal(at(got), c.want) {
			t.Errorf("%s: %+v, want steps at %v", c.name, got, c.want)
		}
		if !slices.EqualFunc(before, c.values, func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
			t.Errorf("%s: the caller's values were changed", c.name)
		}
		if len(c.values) <= 60 && !slices.Equal(at(got), at(Steps(c.values, 1, fivePercent))) {
			t.Errorf("%s: another answer the second time", c.name)
		}
	}
}

// share returns how many of so many histories have a step.
func share(runs int, history func(*rand.Rand) []float64) float64 {
	rng := rand.New(rand.NewPCG(3, 4))
	some := 0
	for i := range runs {
		if len(Steps(history(rng), uint64(i), fivePercent)) > 0 {
			some++
		}
	}
	return float64(some) / float64(runs)
}

// wander is noise in which neighbours are alike: autoregressive of the first order.
func wander(rng *rand.Rand, n int, rho, cv float64) []float64 {
	values := make([]float64, n)
	x := rng.NormFloat64()
	for i := range values {
		values[i] = 100 * math.Exp(cv*x)
		x = rho*x + math.Sqrt(1-rho*rho)*rng.NormFloat64()
	}
	return values
}

// TestFalseSteps draws histories in which nothing happens. That neighbours which are alike make for more alarms than were
// promised stands here, too, as the docs say it.
func TestFalseSteps(t *testing.T) {
	simulates(t)
	for _, c := range []struct {
		n, runs          int
		rho, least, most float64
	}{
		{n: 10, runs: 400, most: 0.07, least: 0.01},
		{n: 30, runs: 200, most: 0.085, least: 0.015},
		{n: 30, runs: 60, rho: 0.3, least: 0.12, most: 0.4},
	} {
		got := share(c.runs, func(rng *rand.Rand) []float64 { return wander(rng, c.n, c.rho, 0.05) })
		if got < c.least || got > c.most {
			t.Errorf("%d values, autocorrelation %v: %.1f %% have a step, want %.1f to %.1f %%", c.n, c.rho, 100*got, 100*c.least, 100*c.most)
		}
	}
}

// TestStepsSeen draws histories with a step of 5 %.
func TestStepsSeen(t *testing.T) {
	simulates(t)
	for _, c := range []struct {
		cv    float64
		n, at int
		least float64
	}{{0.02, 30, 15, 0.95}, {0.02, 30, 25, 0.85}, {0.05, 30, 15, 0.3}, {0.05, 100, 50, 0.7}} {
		got := share(20, func(rng *rand.Rand) []float64 {
			return slices.Concat(lognormal(rng, c.at, 100, c.cv), lognormal(rng, c.n-c.at, 105, c.cv))
		})
		if got < c.least {
			t.Errorf("%+v: %.0f %%", c, 100*got)
		}
	}
}

// TestStepsOfMany is for one of a hundred series: what could be chance is not said any more, what could not be, is.
func TestStepsOfMany(t *testing.T) {
	simulates(t)
	rng := rand.New(rand.NewPCG(7, 8))
	found, still := 0, 0
	for i := range uint64(20) {
		values := stairs(rng, 0.05, 15, 100, 105)
		found += len(Steps(values, i, fivePercent))
		still += len(Steps(values, i, fivePercent/100))
	}
	if found < 5 || still > found/3 {
		t.Errorf("%d steps of 5 %%, %d of them in one of a hundred series", found, still)
	}
	if steps := Steps(nile, 1, fivePercent/100); len(steps) != 1 || steps[0].P > fivePercent/100 {
		t.Errorf("the Nile: %+v", steps)
	}
}

// TestBestCut holds the sums against the definition, in which every mean is written out.
func TestBestCut(t *testing.T) {
	values := lognormal(rand.New(rand.NewPCG(5, 6)), 17, 10, 0.5) // too few for more windows than the whole
	wantAt, want := 0, 0.0
	for cut := leastSegment; cut <= len(values)-leastSegment; cut++ {
		x, y := values[:cut], values[cut:]
		n, m := float64(len(x)), float64(len(y))
		if d := n * m / (n + m) * math.Pow(mean(x)-mean(y), 2); d > want {
			wantAt, want = cut, d
		}
	}
	if at, d := bestCut(values); at != wantAt || !near(d, want, 1e-9) {
		t.Errorf("%v at %d, want %v at %d", d, at, want, wantAt)
	}
}

// TestBestWindow has cuts that no window sees as well as one of nine values, the fifth of those of 36, which is 3 times 0
// and 6 times 6: 3×6/(3+6) × 6² = 72. And of two cuts that are as good as each other it takes the first.
func TestBestWindow(t *testing.T) {
	for _, c := range []struct {
		name     string
		values   []float64
		at       int
		distance float64
	}{
		{"the fifth of 36", slices.Concat(slices.Repeat([]float64{3}, 18), make([]float64, 3), slices.Repeat([]float64{6}, 6), slices.Repeat([]float64{3}, 9)), 21, 72},
		{"up and down alike", []float64{5, 5, 5, 9, 9, 9, 5, 5, 5}, 3, 8}, // 3×6/(3+6) × (5−7)²
	} {
		if at, d := bestCut(c.values); at != c.at || !near(d, c.distance, 1e-9) {
			t.Errorf("%s: %v at %d, want %v at %d", c.name, d, at, c.distance, c.at)
		}
	}
}

// TestStepP has steps that no permutation comes near: their p is that of the series itself, one of all rounds. There are
// 20/alpha of them for up to 400,000 values looked at, and for more values fewer, down to 5/alpha.
func TestStepP(t *testing.T) {
	for _, c := range []struct {
		n     int
		alpha float64
		want  float64
	}{{100, 0.05, 1. / 400}, {100, 0.01, 1. / 2000}, {2000, 0.05, 1. / 200}, {10_000, 0.05, 1. / 100}} {
		values := slices.Concat(slices.Repeat([]float64{1}, c.n/2), slices.Repeat([]float64{2}, c.n/2))
		work := stepWork
		if at, p := permute(values, c.alpha, rand.New(rand.NewPCG(1, 2)), &work); at != c.n/2 || p != c.want {
			t.Errorf("%d values, alpha %v: p %v at %d, want %v", c.n, c.alpha, p, at, c.want)
		}
	}
}

// TestStepOfJustAlpha: a step whose p is alpha, no less, is one. It tries generators until a permutation test has it.
func TestStepOfJustAlpha(t *testing.T) {
	values := []float64{4, 2, 5, 1, 3, 6, 2, 7, 9, 5, 7, 4, 8, 6, 3, 5} // 16, so that a share of alpha by length is not rounded
	for seed := range uint64(1000) {
		rng, work := rand.New(rand.NewPCG(seed, uint64(len(values)))), stepWork
		logs := each(values, math.Log)
		if _, p := permute(logs, fivePercent, rng, &work); p != fivePercent {
			continue
		}
		if steps := Steps(values, seed, fivePercent); len(steps) != 1 || steps[0].P != fivePercent {
			t.Errorf("seed %d: %+v", seed, steps)
		}
		return
	}
	t.Error("no generator has a p of just alpha")
}

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}

// TestStepsAreBounded gives up when the work is used up.
func TestStepsAreBounded(t *testing.T) {
	work := 200 * 30
	values := stairs(rand.New(rand.NewPCG(1, 2)), 0.01, 100, 100, 120)
	if _, p := permute(values, fivePercent, rand.New(rand.NewPCG(1, 2)), &work); p < 1 || work >= 0 || work < -200 {
		t.Errorf("p %v with %d left", p, work)
	}
	// Noise is given up well before all of the 399 permutations.
	work = stepWork
	if _, p := permute(lognormal(rand.New(rand.NewPCG(1, 2)), 30, 100, 0.1), fivePercent, rand.New(rand.NewPCG(1, 2)), &work); p < 1 || stepWork-work > 30*200 {
		t.Errorf("p %v after %d values", p, stepWork-work)
	}
	// 400 permutations of 80 values, and as many values for each of its parts, which has more permutations: there is work for
	// two or three of them, and the longest is the first.
	short, long := stairs(rand.New(rand.NewPCG(3, 4)), 0.01, 10, 100, 120), stairs(rand.New(rand.NewPCG(5, 6)), 0.01, 30, 200, 220)
	nested := slices.Concat(stairs(rand.New(rand.NewPCG(3, 4)), 0.01, 15, 100, 120, 150, 150), stairs(rand.New(rand.NewPCG(5, 6)), 0.01, 10, 300, 360))
	for _, c := range []struct {
		values []float64
		parts  int
		want   []int
	}{{slices.Concat(short, long), 2, []int{20, 50}}, {slices.Concat(long, short), 2, []int{30, 60}}, {nested, 3, []int{15, 30, 60}}} {
		if got := search(c.values, 1, fivePercent, c.parts*80*400+8000); !slices.Equal(at(got), c.want) {
			t.Errorf("%+v, want steps at %v", got, c.want)
		}
	}
}
