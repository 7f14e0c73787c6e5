package shape

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

func mustTimes(t testing.TB, text string) Times {
	t.Helper()
	d, err := ParseTimes(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return d
}

func TestParseTimes(t *testing.T) {
	for in, want := range map[string]string{
		"5ms":                   "5ms",
		"0":                     "0s",
		"0s":                    "0s",
		"+1500us":               "1.5ms",
		"60s":                   "1m0s",
		"24h":                   "24h0m0s",
		"uniform:1ms:9ms":       "uniform:1ms:9ms",
		"uniform: 0 : 1000ms":   "uniform:0s:1s",
		"exp:5ms":               "exp:5ms",
		"exp:0.5s":              "exp:500ms",
		"lognormal:5ms:50ms":    "lognormal:5ms:50ms",
		"file:holds.txt":        "file:holds.txt",
		"file:/a dir/holds:2":   "file:/a dir/holds:2",
		"file:h#0123456789AB":   "file:h#0123456789ab",
		"file:a#b#0123456789ab": "file:a#b#0123456789ab",
		"file:h #" + digest(64): "file:h#" + digest(12),
		" file: x ":             "file:x",
	} {
		if got, err := ParseTimes(in); err != nil || got.String() != want {
			t.Errorf("%q is %q, %v; want %q", in, got.String(), err, want)
		}
	}
	if got := (Times{}).String(); got != "0s" {
		t.Errorf("no time is %q", got)
	}
}

func digest(digits int) string { return strings.Repeat("0123456789abcdef", 4)[:digits] }

const (
	wantTimes    = "must be a time such as 5ms, or one of uniform:1ms:9ms, exp:5ms, lognormal:5ms:50ms, file:PATH"
	wantDuration = "must be a time such as 250us, 1.5ms, 30s or 2m"
)

func TestParseTimesErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                     wantTimes,
		"hello":                wantTimes,
		"weibull:1ms:2":        wantTimes,
		":5ms":                 wantTimes,
		"5ms:9ms":              wantTimes,
		"5":                    "must have a unit, as in 5s or 5ms",
		"5parsecs":             wantDuration,
		"-1s":                  "must be 0s to 24h",
		"25h":                  "must be 0s to 24h",
		"9999999999h":          wantDuration,
		"fixed:5ms":            "must be written 5ms here",
		"normal:5ms:1ms":       "must not be normal, which has negative times: lognormal:5ms:50ms has none",
		"exponential:5ms":      "must be written exp:5ms here",
		"EXP:5ms":              "must be written exp:5ms here",
		"exp":                  "must be written exp:5ms here",
		"uniform":              "must be written uniform:1ms:9ms here",
		"exp:":                 "nothing at character 5: " + wantDuration,
		"exp:5":                `"5" at character 5: must have a unit, as in 5s or 5ms`,
		"exp:0s":               `"0s" at character 5: must be more than 0s`,
		"exp:-5ms":             `"-5ms" at character 5: must be 0s to 24h`,
		"exp:1ms:2ms":          `"1ms:2ms" at character 5: ` + wantDuration,
		"uniform:1ms":          `"1ms" at character 9: must be two times, from and to, as in uniform:1ms:9ms`,
		"uniform:":             `nothing at character 9: must be two times, from and to, as in uniform:1ms:9ms`,
		"uniform:9ms:1ms":      `"1ms" at character 13: must be longer than the first, 9ms; a fixed time is written 9ms`,
		"uniform:9ms:9ms":      `"9ms" at character 13: must be longer than the first, 9ms; a fixed time is written 9ms`,
		"uniform:1ms:2ms:3ms":  `"2ms:3ms" at character 13: ` + wantDuration,
		"uniform:1ms:":         `nothing at character 13: ` + wantDuration,
		"lognormal:5ms":        `"5ms" at character 11: must be two times, median and 99th percentile, as in lognormal:5ms:50ms`,
		"lognormal:0s:5ms":     `"0s" at character 11: must be more than 0s`,
		"lognormal:5ms:4ms":    `"4ms" at character 15: must be longer than the median, 5ms; a fixed time is written 5ms`,
		"lognormal:5ms:99h":    `"99h" at character 15: must be 0s to 24h`,
		"file:":                "nothing at character 6: must be the path of a file of milliseconds, one number a line, as in file:holds.txt",
		"file:a,b":             `"a,b" at character 6: must be a path without a comma, which separates the values of a flag: rename the file`,
		"file:a\nb":            `"a\nb" at character 6: must be a path without control characters`,
		"file:\xff":            `"\xff" at character 6: must be a path without control characters`,
		"file:a#":              "nothing at character 8: must be the first 12 digits of the SHA-256 of the file, or all 64",
		"file:a#xyz":           `"xyz" at character 8: must be the first 12 digits of the SHA-256 of the file, or all 64`,
		"file:#0123456789ab":   `"#0123456789ab" at character 6: must have a path before the digest, as in file:holds.txt#0123456789ab`,
		"file:ä#0123456789abc": `"0123456789abc" at character 8: must be the first 12 digits of the SHA-256 of the file, or all 64`,
	} {
		if got, err := ParseTimes(in); err == nil || err.Error() != want {
			t.Errorf("%q is %q, %v\nwant %s", in, got.String(), err, want)
		}
	}
}

func FuzzParseTimes(f *testing.F) {
	for _, seed := range []string{
		"5ms", "0", "uniform:1ms:9ms", "exp:5ms", "lognormal:5ms:50ms", "file:a", "file:a#0123456789ab", "lognormal:1ns:24h",
		"exp:24h", "exp:1ns", "uniform:0s:24h", ":", "#", "file:#", "file:a#b#0123456789ab", "uniform:1ms:2h45m",
	} {
		f.Add(seed, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		d, err := ParseTimes(text)
		if err != nil {
			if !strings.Contains(err.Error(), "must ") || strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("%q: %q does not say what it must be in one line", text, err)
			}
			return
		}
		again, err := ParseTimes(d.String())
		if err != nil || again.String() != d.String() {
			t.Fatalf("%q is %q, which is %q, %v", text, d.String(), again.String(), err)
		}
		if d.Mean() < 0 || d.Mean() > d.Max() || d.Max() > MaxTime {
			t.Errorf("%q: mean %v, max %v", d.String(), d.Mean(), d.Max())
		}
		if path, _ := d.File(); path != "" {
			return
		}
		rng := rand.NewPCG(seed, 0)
		s := &d.Samplers(1)[0]
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

func draw(d Times, n int) (sample []float64, mean float64) {
	rng := rand.NewPCG(11, 12)
	s := &d.Samplers(1)[0]
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
		d := mustTimes(t, tt.text)
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
	sample, _ := draw(mustTimes(t, "uniform:3ns:6ns"), 40_000)
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
	low, high := math.Log(1e-6), math.Log(float64(MaxTime))
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
		if got := float64(mustTimes(t, text).Mean()); math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s: mean %v, want %v", text, time.Duration(got), time.Duration(want))
		}
	}
	// 24 h × (1 - 1/e), by hand
	if got, want := mustTimes(t, "exp:24h").Mean(), 15*time.Hour+10*time.Minute; got.Truncate(time.Minute) != want {
		t.Errorf("exp:24h has the mean %v, want about %v", got, want)
	}
}

// A narrow log-normal distribution keeps its digits, though the logarithms of its two times hardly differ.
func TestTimesNarrow(t *testing.T) {
	d := mustTimes(t, "lognormal:1s:1.000001s")
	sample, _ := draw(d, 20_000)
	if p := kolmogorov(sample, lognormalCDF(time.Second, time.Second+us)); p < good {
		t.Errorf("%v: p = %.2g", d, p)
	}
	_, sigma := mustTimes(t, "lognormal:1s:1.000000001s").normal()
	if want := 1e-9 / z99; math.Abs(sigma-want) > 1e-8*want {
		t.Errorf("sigma is %v, want %v", sigma, want)
	}
	if got := d.Mean(); got != time.Second {
		t.Errorf("%v: mean %v", d, got)
	}
}

func TestTimesBeyond(t *testing.T) {
	replay, err := mustTimes(t, "file:x").Load(strings.NewReader("1\n2\n3\n4\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		d    Times
		than time.Duration
		want float64
	}{
		{mustTimes(t, "5ms"), 5*ms - 1, 1},
		{mustTimes(t, "5ms"), 5 * ms, 0},
		{Times{}, 0, 0},
		{Times{}, -1, 1},
		{mustTimes(t, "uniform:1ms:9ms"), 0, 1},
		{mustTimes(t, "uniform:1ms:9ms"), 3 * ms, 0.75},
		{mustTimes(t, "uniform:1ms:9ms"), 9 * ms, 0},
		{mustTimes(t, "uniform:3ns:6ns"), 3, 0.75},
		{mustTimes(t, "uniform:3ns:6ns"), 2, 1},
		{mustTimes(t, "exp:5ms"), 0, 1},
		{mustTimes(t, "exp:5ms"), 5 * ms, 1 / math.E},
		{mustTimes(t, "exp:5ms"), 24 * time.Hour, 0},
		{mustTimes(t, "lognormal:5ms:50ms"), 0, 1},
		{mustTimes(t, "lognormal:5ms:50ms"), 5 * ms, 0.5},
		{mustTimes(t, "lognormal:5ms:50ms"), 50 * ms, 0.01},
		{mustTimes(t, "file:x"), ms, 0},
		{replay, 0, 1},
		{replay, ms, 0.75},
		{replay, 4 * ms, 0},
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
		"exp:5ms":            {false, MaxTime},
		"lognormal:5ms:50ms": {false, MaxTime},
		"file:x":             {false, MaxTime},
	} {
		d := mustTimes(t, text)
		at, fixed := d.Fixed()
		if fixed != want.fixed || fixed && at != want.max || d.Max() != want.max {
			t.Errorf("%s: fixed %t (%v), max %v; want %+v", text, fixed, at, d.Max(), want)
		}
	}
	s := &mustTimes(t, "5ms").Samplers(2)[1]
	if got := s.Next(rand.NewPCG(0, 0)); got != 5*ms {
		t.Errorf("5ms draws %v", got)
	}
}

var benchTimes = []string{"5ms", "uniform:1ms:9ms", "exp:5ms", "lognormal:5ms:50ms", "file:x"}

func benchSampler(t testing.TB, text string) (*TimeSampler, *rand.PCG) {
	d := mustTimes(t, text)
	if path, _ := d.File(); path != "" {
		var err error
		if d, err = d.Load(strings.NewReader(strings.Repeat("1.5\n", 1000))); err != nil {
			t.Fatal(err)
		}
	}
	return &d.Samplers(64)[5], rand.NewPCG(1, 2)
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
