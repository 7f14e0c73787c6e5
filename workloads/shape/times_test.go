package shape

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
		if d.Mean() < 0 || d.Mean() > spec.MaxTime {
			t.Errorf("%q: mean %v", d.String(), d.Mean())
		}
		if d.Kind == spec.TimesFile {
			return
		}
		rng := rand.NewPCG(seed, 0)
		s := drawable(d.String())
		for range 20 {
			if got := s.Next(rng); got < 0 || got > spec.MaxTime {
				t.Fatalf("%q draws %v", d.String(), got)
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

// drawable returns a distribution that needs no file.
func drawable(text string) *Times { return spec.Must(OpenTimes(spec.Must(spec.ParseTimes(text)))) }

func draw(d spec.Times, n int) (sample []float64, mean float64) {
	rng := rand.NewPCG(11, 12)
	s := drawable(d.String())
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
		{spec.Must(spec.ParseTimes("uniform:1ms:9ms")), 0, 1},
		{spec.Must(spec.ParseTimes("uniform:1ms:9ms")), 3 * ms, 0.75},
		{spec.Must(spec.ParseTimes("uniform:1ms:9ms")), 9 * ms, 0},
		{spec.Must(spec.ParseTimes("uniform:3ns:6ns")), 3, 0.75},
		{spec.Must(spec.ParseTimes("uniform:3ns:6ns")), 2, 1},
		{spec.Must(spec.ParseTimes("exp:5ms")), 5 * ms, 1 / math.E},
		{spec.Must(spec.ParseTimes("exp:5ms")), 24 * time.Hour, 0},
		{spec.Must(spec.ParseTimes("lognormal:5ms:50ms")), 5 * ms, 0.5},
		{spec.Must(spec.ParseTimes("lognormal:5ms:50ms")), 50 * ms, 0.01},
		{spec.Must(spec.ParseTimes("file:x")), ms, 0},
	} {
		if got := tt.d.Beyond(tt.than); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%v beyond %v: %v, want %v", tt.d, tt.than, got, tt.want)
		}
	}
}

func TestTimesFixed(t *testing.T) {
	if got := drawable("5ms").Next(rand.NewPCG(0, 0)); got != 5*ms {
		t.Errorf("5ms draws %v", got)
	}
}

// measured writes times to a file of milliseconds and returns the distribution that reads them.
func measured(t testing.TB, content string) spec.Times {
	path := filepath.Join(t.TempDir(), "holds.txt")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return spec.Times{Kind: spec.TimesFile, Path: path}
}

// TestFile: times of a file are drawn alike, and the load says which content they are of.
func TestFile(t *testing.T) {
	l := spec.Load{HoldDist: measured(t, "# of Monday\n\n10\n 20 \r\n30\n40.5\n")}
	if err := Fill(&l); err != nil || l.Hold != 25125*us || l.HoldDist.Digest == "" {
		t.Fatalf("%v, %v, %v", l.Hold, l.HoldDist, err)
	}
	times, err := OpenTimes(l.HoldDist)
	if err != nil {
		t.Fatal(err)
	}
	counts, rng := map[time.Duration]int{}, rand.NewPCG(1, 2)
	for range 40_000 {
		counts[times.Next(rng)]++
	}
	drawn := []int{counts[10*ms], counts[20*ms], counts[30*ms], counts[40500*us]}
	if p := chiSquare(drawn, flat(4, 0, 4, 1)); p < good || len(counts) != 4 {
		t.Errorf("%v: p = %.2g", counts, p)
	}
	if err := os.WriteFile(l.HoldDist.Path, []byte("10\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenTimes(l.HoldDist); err == nil || !strings.Contains(err.Error(), "this is not the content that was meant") {
		t.Errorf("another content: %v", err)
	}
}

func TestFileErrors(t *testing.T) {
	const number = "must be a number of milliseconds such as 12.5, from 0 to 86400000, and one of 10 million at most"
	for in, want := range map[string]string{
		"": "there is no time in it", "\n# nothing\n": "there is no time in it", "1\n-2\n": "line 2: " + number, "1\n\n#\nx\n": "line 4: " + number,
		"NaN": "line 1: " + number, "1e400": "line 1: " + number, "5ms": "line 1: " + number, "86400001": "line 1: " + number,
		strings.Repeat("0", 100_000): "line 1: bufio.Scanner: token too long",
	} {
		_, err := OpenTimes(measured(t, in))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", in, err, want)
		}
	}
	if _, err := OpenTimes(spec.Times{Kind: spec.TimesFile, Path: "none"}); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("without a file: %v", err)
	}
}

var benchTimes = []string{"5ms", "uniform:1ms:9ms", "exp:5ms", "lognormal:5ms:50ms"}

func TestTimesAllocateNothing(t *testing.T) {
	for _, text := range benchTimes {
		s, rng := drawable(text), rand.NewPCG(1, 2)
		if n := testing.AllocsPerRun(100, func() { s.Next(rng) }); n != 0 {
			t.Errorf("%s: %v allocations a draw", text, n)
		}
	}
}

func BenchmarkTimes(b *testing.B) {
	for _, text := range benchTimes {
		b.Run(text, func(b *testing.B) {
			s, rng := drawable(text), rand.NewPCG(1, 2)
			b.ReportAllocs()
			for b.Loop() {
				s.Next(rng)
			}
		})
	}
}
