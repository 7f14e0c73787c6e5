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

// drawable returns a distribution that needs no file.
func drawable(text string) *Times { return spec.Must(OpenTimes(spec.Must(spec.ParseTimes(text)))) }

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
			return
		}
		if again, err := spec.ParseTimes(d.String()); err != nil || again != d {
			t.Fatalf("%q is %q, which is %q, %v", text, d, again, err)
		}
		if mean, scv := d.Moments(); mean < 0 || mean > spec.MaxTime || !(scv >= 0) {
			t.Errorf("%q: mean %v, variation %v", d, mean, scv)
		}
		if d.Kind == spec.TimesFile {
			return
		}
		rng, times := rand.NewPCG(seed, 0), drawable(d.String())
		for range 20 {
			if got := times.Next(rng); got < 0 || got > spec.MaxTime {
				t.Fatalf("%q draws %v", d, got)
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

// TestTimes: times are drawn as often as the formulas say. Each case has a control that is near it.
func TestTimes(t *testing.T) {
	for _, tt := range []struct {
		text       string
		cdf, wrong func(float64) float64
	}{
		{"uniform:1ms:9ms", uniformCDF(1*ms, 9*ms), uniformCDF(1*ms, 9200*us)},
		{"uniform:0s:24h", uniformCDF(0, 24*time.Hour), uniformCDF(0, 25*time.Hour)},
		{"exp:5ms", expCDF(5 * ms), expCDF(5200 * us)},
		{"exp:10s", expCDF(10 * time.Second), lognormalCDF(6931*ms, 46051*ms)}, // of that median and p99
		{"lognormal:5ms:50ms", lognormalCDF(5*ms, 50*ms), lognormalCDF(5*ms, 60*ms)},
		{"lognormal:5ms:50ms", lognormalCDF(5*ms, 50*ms), lognormalCDF(5500*us, 50*ms)},
		{"lognormal:1s:1.000001s", lognormalCDF(time.Second, time.Second+us), lognormalCDF(time.Second, time.Second+2*us)},
	} {
		rng, times := rand.NewPCG(11, 12), drawable(tt.text)
		var sample []float64
		for range 100_000 {
			sample = append(sample, float64(times.Next(rng)))
		}
		if score := kolmogorov(sample, tt.cdf); score > good {
			t.Errorf("%s: %.2g", tt.text, score)
		}
		if score := kolmogorov(sample, tt.wrong); score < bad {
			t.Errorf("%s passes for another distribution: %.2g", tt.text, score)
		}
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
	if err := Fill(&l); err != nil || l.Hold != 25125*us || !strings.Contains(l.HoldDist.Path, "#") {
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
	if score := chiSquare(drawn, flat(4, 0, 4, 1)); score > good || len(counts) != 4 {
		t.Errorf("%v: %.2g", counts, score)
	}
	if err := os.WriteFile(l.HoldDist.File(), []byte("10\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenTimes(l.HoldDist); err == nil || !strings.Contains(err.Error(), "the file has changed: now it is file:") {
		t.Errorf("another content: %v", err)
	}
}

func TestFileErrors(t *testing.T) {
	const number = "must be a number of milliseconds such as 12.5, from 0 to 86400000"
	for in, want := range map[string]string{
		"": "there is no time in it", "\n# nothing\n": "there is no time in it", "1\n-2\n": "line 2: " + number, "1\n\n#\nx\n": "line 4: " + number,
		"NaN": "line 1: " + number, "1e400": "line 1: " + number, "5ms": "line 1: " + number, "86400001": "line 1: " + number,
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

// TestDraws: a draw allocates nothing.
func TestDraws(t *testing.T) {
	rng := rand.NewPCG(1, 2)
	for _, text := range []string{"5ms", "uniform:1ms:9ms", "exp:5ms", "lognormal:5ms:50ms"} {
		times := drawable(text)
		if n := testing.AllocsPerRun(100, func() { times.Next(rng) }); n != 0 {
			t.Errorf("%s: %v allocations a draw", text, n)
		}
	}
	for _, text := range []string{"", "zipf:1.1", "hot:80%:10", "sequential", "own"} {
		keys := &KeySamplers(spec.Must(spec.ParseKeys(text)), 1000, 10)[3]
		if n := testing.AllocsPerRun(100, func() { keys.Next(rng) }); n != 0 {
			t.Errorf("%s: %v allocations a draw", text, n)
		}
	}
}

// TestUnit: no random number becomes 0 or 1, of which the logarithms are infinite.
func TestUnit(t *testing.T) {
	if low, high := centre(0), centre(math.MaxUint64); low != 0x1p-53 || high != 1-0x1p-53 {
		t.Errorf("numbers are from %v to %v", low, high)
	}
}
