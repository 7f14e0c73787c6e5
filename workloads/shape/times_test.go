package shape

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

func FuzzParseTimes(f *testing.F) {
	for _, seed := range []string{
		"5ms", "0", "uniform:1ms:9ms", "exp:5ms", "lognormal:5ms:50ms", "file:a", "file:a#0123456789ab", "lognormal:1ns:24h",
		"exp:24h", "exp:1ns", "uniform:0s:24h", ":", "#", "file:#", "file:a#b#0123456789ab", "uniform:1ms:2h45m",
	} {
		f.Add(seed, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		d, err := spec.ParseTimes(text)
		if err != nil {
			if !strings.Contains(err.Error(), "must ") || strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("%q: %q does not say what it must be in one line", text, err)
			}
			return
		}
		again, err := spec.ParseTimes(d.String())
		if err != nil || again.String() != d.String() {
			t.Fatalf("%q is %q, which is %q, %v", text, d.String(), again.String(), err)
		}
		if d.Mean() < 0 || d.Mean() > d.Max() || d.Max() > spec.MaxTime {
			t.Errorf("%q: mean %v, max %v", d.String(), d.Mean(), d.Max())
		}
		if d.Kind == spec.TimesFile {
			return
		}
		rng := rand.NewPCG(seed, 0)
		s := &(Times{Times: d}).Samplers(1)[0]
		for range 20 {
			if got := s.Next(rng); got < 0 || got > d.Max() {
				t.Fatalf("%q draws %v, max %v", d.String(), got, d.Max())
			}
		}
	})
}

// normalCDF is here by its definition, apart from what the package uses.
func normalCDF(z float64) float64 { return 0.5 + math.Erf(z/math.Sqrt2)/2 }

func lognormalCDF(median, p99 time.Duration) func(float64) float64 {
	sigma := math.Log(float64(p99)/float64(median)) / 2.3263478740408408
	return func(x float64) float64 { return normalCDF(math.Log(x/float64(median)) / sigma) }
}

func expCDF(mean time.Duration) func(float64) float64 {
	return func(x float64) float64 { return 1 - math.Exp(-x/float64(mean)) }
}

func uniformCDF(from, to time.Duration) func(float64) float64 {
	return func(x float64) float64 { return max(0, min(1, (x-float64(from))/float64(to-from))) }
}

// drawable returns a distribution that replays no file.
func drawable(text string) Times { return Times{Times: spec.Must(spec.ParseTimes(text))} }

func draw(d spec.Times, n int) (sample []float64, mean float64) {
	rng := rand.NewPCG(11, 12)
	s := &(Times{Times: d}).Samplers(1)[0]
	for range n {
		x := float64(s.Next(rng))
		sample = append(sample, x)
		mean += x / float64(n)
	}
	return sample, mean
}

func TestTimesFit(t *testing.T) {
	const draws = 100_000
	for _, tt := range []struct {
		text        string
		cdf, wrong  func(float64) float64
		mean, sigma float64 // in milliseconds
	}{
		{"uniform:1ms:9ms", uniformCDF(1*ms, 9*ms), uniformCDF(1*ms, 9200*us), 5, 8 / math.Sqrt(12)},
		{"uniform:0s:24h", uniformCDF(0, 24*time.Hour), uniformCDF(0, 25*time.Hour), 12 * 3.6e6, 24 * 3.6e6 / math.Sqrt(12)},
		{"exp:5ms", expCDF(5 * ms), expCDF(5200 * us), 5, 5},
		{"exp:10s", expCDF(10 * time.Second), lognormalCDF(6931*ms, 46051*ms), 10_000, 10_000}, // of that median and p99
		{"lognormal:5ms:50ms", lognormalCDF(5*ms, 50*ms), lognormalCDF(5*ms, 60*ms), 8.160255, 10.52},
		{"lognormal:5ms:50ms", lognormalCDF(5*ms, 50*ms), lognormalCDF(5500*us, 50*ms), 8.160255, 10.52},
		{"lognormal:1s:1100ms", lognormalCDF(1000*ms, 1100*ms), lognormalCDF(1002*ms, 1100*ms), 1000.8396, 41.1},
	} {
		d := spec.Must(spec.ParseTimes(tt.text))
		sample, mean := draw(d, draws)
		if p := kolmogorov(sample, tt.cdf); p < good {
			t.Errorf("%s: p = %.2g", tt.text, p)
		}
		if p := kolmogorov(sample, tt.wrong); p > bad {
			t.Errorf("%s passes for another distribution: p = %.2g", tt.text, p)
		}
		if got := float64(d.Mean()) / 1e6; math.Abs(got-tt.mean) > 1e-6*tt.mean {
			t.Errorf("%s: mean %v ms, want %v", tt.text, got, tt.mean)
		}
		if off := (mean/1e6 - tt.mean) / (tt.sigma / math.Sqrt(draws)); math.Abs(off) > 4 {
			t.Errorf("%s: the sample's mean is %.1f standard errors off", tt.text, off)
		}
	}
}

// Uniform times have both their ends, and no others.
func TestTimesUniformEnds(t *testing.T) {
	counts := make([]int, 10)
	sample, _ := draw(spec.Must(spec.ParseTimes("uniform:3ns:6ns")), 40_000)
	for _, x := range sample {
		counts[int(x)]++
	}
	if p := chiSquare(counts, flat(10, 3, 7, 1)); p < good {
		t.Errorf("%v: p = %.2g", counts, p)
	}
	if p := chiSquare(counts, flat(10, 3, 6, 1)); p > bad {
		t.Errorf("%v passes without the upper end: p = %.2g", counts, p)
	}
}

// survival integrates P(X > x) from 0 to the cut by Simpson's rule, on a logarithmic scale: that is the mean, whatever
// the formula says.
func survival(cdf func(float64) float64) float64 {
	const n = 200_000
	low, high := math.Log(1e-6), math.Log(float64(spec.MaxTime))
	step := (high - low) / n
	sum := 0.0
	for i := range n + 1 {
		x := math.Exp(low + float64(i)*step)
		weight := 2 + 2*float64(i%2)
		if i == 0 || i == n {
			weight = 1
		}
		sum += weight * (1 - cdf(x)) * x
	}
	return sum * step / 3
}

func TestTimesMeanOfWhatIsCut(t *testing.T) {
	for text, cdf := range map[string]func(float64) float64{
		"exp:5ms":            expCDF(5 * ms),
		"exp:1h":             expCDF(time.Hour),
		"exp:24h":            expCDF(24 * time.Hour),
		"lognormal:5ms:50ms": lognormalCDF(5*ms, 50*ms),
		"lognormal:1s:24h":   lognormalCDF(time.Second, 24*time.Hour),
		"lognormal:1us:24h":  lognormalCDF(us, 24*time.Hour),
		"lognormal:1ns:24h":  lognormalCDF(1, 24*time.Hour),
		"lognormal:23h:24h":  lognormalCDF(23*time.Hour, 24*time.Hour),
	} {
		want := survival(cdf)
		if got := float64(spec.Must(spec.ParseTimes(text)).Mean()); math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s: mean %v, want %v", text, time.Duration(got), time.Duration(want))
		}
	}
	// 24 h × (1 - 1/e), by hand
	if got, want := spec.Must(spec.ParseTimes("exp:24h")).Mean(), 15*time.Hour+10*time.Minute; got.Truncate(time.Minute) != want {
		t.Errorf("exp:24h has the mean %v, want about %v", got, want)
	}
}

// A narrow log-normal distribution keeps its digits, though the logarithms of its two times hardly differ.
func TestTimesNarrow(t *testing.T) {
	d := spec.Must(spec.ParseTimes("lognormal:1s:1.000001s"))
	sample, _ := draw(d, 20_000)
	if p := kolmogorov(sample, lognormalCDF(time.Second, time.Second+us)); p < good {
		t.Errorf("%v: p = %.2g", d, p)
	}
	_, sigma := spec.Must(spec.ParseTimes("lognormal:1s:1.000000001s")).Normal()
	if want := 1e-9 / 2.3263478740408408; math.Abs(sigma-want) > 1e-8*want {
		t.Errorf("sigma is %v, want %v", sigma, want)
	}
	if got := d.Mean(); got != time.Second {
		t.Errorf("%v: mean %v", d, got)
	}
}

func TestTimesBeyond(t *testing.T) {
	for _, tt := range []struct {
		d    spec.Times
		than time.Duration
		want float64
	}{
		{spec.Must(spec.ParseTimes("5ms")), 5*ms - 1, 1},
		{spec.Must(spec.ParseTimes("5ms")), 5 * ms, 0},
		{spec.Times{}, 0, 0},
		{spec.Times{}, -1, 1},
		{spec.Must(spec.ParseTimes("uniform:1ms:9ms")), 0, 1},
		{spec.Must(spec.ParseTimes("uniform:1ms:9ms")), 3 * ms, 0.75},
		{spec.Must(spec.ParseTimes("uniform:1ms:9ms")), 9 * ms, 0},
		{spec.Must(spec.ParseTimes("uniform:3ns:6ns")), 3, 0.75},
		{spec.Must(spec.ParseTimes("uniform:3ns:6ns")), 2, 1},
		{spec.Must(spec.ParseTimes("exp:5ms")), 0, 1},
		{spec.Must(spec.ParseTimes("exp:5ms")), 5 * ms, 1 / math.E},
		{spec.Must(spec.ParseTimes("exp:5ms")), 24 * time.Hour, 0},
		{spec.Must(spec.ParseTimes("lognormal:5ms:50ms")), 0, 1},
		{spec.Must(spec.ParseTimes("lognormal:5ms:50ms")), 5 * ms, 0.5},
		{spec.Must(spec.ParseTimes("lognormal:5ms:50ms")), 50 * ms, 0.01},
		{spec.Must(spec.ParseTimes("file:x")), ms, 0},
	} {
		if got := tt.d.Beyond(tt.than); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%v beyond %v: %v, want %v", tt.d, tt.than, got, tt.want)
		}
	}
}

func TestTimesFixedAndMax(t *testing.T) {
	for text, want := range map[string]struct {
		fixed bool
		max   time.Duration
	}{
		"0":                  {true, 0},
		"5ms":                {true, 5 * ms},
		"uniform:1ms:9ms":    {false, 9 * ms},
		"exp:5ms":            {false, spec.MaxTime},
		"lognormal:5ms:50ms": {false, spec.MaxTime},
		"file:x":             {false, spec.MaxTime},
	} {
		d := spec.Must(spec.ParseTimes(text))
		at, fixed := d.Fixed()
		if fixed != want.fixed || fixed && at != want.max || d.Max() != want.max {
			t.Errorf("%s: fixed %t (%v), max %v; want %+v", text, fixed, at, d.Max(), want)
		}
	}
	s := &drawable("5ms").Samplers(2)[1]
	if got := s.Next(rand.NewPCG(0, 0)); got != 5*ms {
		t.Errorf("5ms draws %v", got)
	}
}

var benchTimes = []string{"5ms", "uniform:1ms:9ms", "exp:5ms", "lognormal:5ms:50ms", "file:x"}

func benchSampler(t testing.TB, text string) (*TimeSampler, *rand.PCG) {
	d := spec.Must(spec.ParseTimes(text))
	drawn := Times{Times: d}
	if d.Kind == spec.TimesFile {
		var err error
		if drawn, err = Load(d, strings.NewReader(strings.Repeat("1.5\n", 1000))); err != nil {
			t.Fatal(err)
		}
	}
	return &drawn.Samplers(64)[5], rand.NewPCG(1, 2)
}

func TestTimesAllocateNothing(t *testing.T) {
	for _, text := range benchTimes {
		s, rng := benchSampler(t, text)
		if n := testing.AllocsPerRun(100, func() { s.Next(rng) }); n != 0 {
			t.Errorf("%s: %v allocations a draw", text, n)
		}
	}
}

func BenchmarkTimes(b *testing.B) {
	for _, text := range benchTimes {
		b.Run(text, func(b *testing.B) {
			s, rng := benchSampler(b, text)
			b.ReportAllocs()
			for b.Loop() {
				s.Next(rng)
			}
		})
	}
}
