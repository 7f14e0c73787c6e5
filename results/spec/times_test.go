package spec

import (
	"math"
	"testing"
	"time"
)

func TestParseTimes(t *testing.T) {
	for in, want := range map[string]string{
		"5ms": "5ms", "0": "0s", "+1500us": "1.5ms", "24h": "24h0m0s", "uniform:0:1000ms": "uniform:0s:1s", "exp:0.5s": "exp:500ms",
		"lognormal:5ms:50ms": "lognormal:5ms:50ms", "file:/a dir/holds:2": "file:/a dir/holds:2", "file:h#0123456789ab": "file:h#0123456789ab",
	} {
		got, err := ParseTimes(in)
		if err != nil || got.String() != want {
			t.Errorf("%q is %q, %v; want %q", in, got, err, want)
		}
		if again, err := ParseTimes(got.String()); err != nil || again != got {
			t.Errorf("%q is %+v, and read again %+v, %v", in, got, again, err)
		}
	}
	for _, in := range []string{
		"", "hello", "weibull:1ms:2ms", ":5ms", "EXP:5ms", " 5ms", "5ms:9ms", "5parsecs", "5", "-1s", "25h", "file:", "file:a\nb",
		"exp", "exp:", "exp:5", "exp:0s", "exp:1ms:2ms", "uniform", "uniform:1ms", "uniform:1ms:2ms:3ms", "uniform:9ms:9ms", "uniform:-1ms:9ms",
		"lognormal:5ms:", "lognormal:5ms:99h", "lognormal:5ms:4ms", "lognormal:0s:5ms",
	} {
		if got, err := ParseTimes(in); err == nil || err.Error() != timeForms || got != (Times{}) {
			t.Errorf("%q is %q, %v", in, got, err)
		}
	}
}

// TestTimesAt: the quantiles are those of the formulas, and the moments are those of the quantiles.
func TestTimesAt(t *testing.T) {
	for _, tt := range []struct {
		text string
		u    float64
		want time.Duration
	}{
		{"5ms", 0.1, 5e6}, {"5ms", 0.9, 5e6}, {"file:x", 0.5, 0},
		{"uniform:3ns:6ns", 1e-9, 3}, {"uniform:3ns:6ns", 0.74, 5}, {"uniform:3ns:6ns", 1 - 1e-9, 6},
		{"exp:5ms", 1 - 1/math.E, 5e6}, {"exp:5ms", 1 - 1/math.E/math.E, 10e6}, {"exp:24h", 0.99, MaxTime},
		{"lognormal:5ms:50ms", 0.5, 5e6}, {"lognormal:5ms:50ms", 0.99, 50e6}, {"lognormal:5ms:50ms", 0.01, 500e3},
		{"lognormal:1h:20h", 1 - 1e-15, MaxTime}, {"lognormal:1s:1.000001s", 0.99, 1000001e3},
	} {
		if got := Must(ParseTimes(tt.text)).At(tt.u); got != tt.want {
			t.Errorf("%s: %v is below %v, want %v", tt.text, tt.u, got, tt.want)
		}
	}
	for _, text := range []string{"5ms", "exp:5ms", "uniform:0s:9ms", "uniform:4ms:8ms", "lognormal:5ms:50ms", "lognormal:1s:1.1s"} {
		const n = 2e5
		d, first, second := Must(ParseTimes(text)), 0.0, 0.0
		for i := 0.5; i < n; i++ {
			x := float64(d.At(i / n))
			first, second = first+x/n, second+x*x/n
		}
		mean, scv := d.Moments()
		if want := second/first/first - 1; math.Abs(float64(mean)/first-1) > 1e-3 || math.Abs(scv-want) > 5e-3*max(1, want) {
			t.Errorf("%s: mean %v and variation %v, want %v and %v", text, mean, scv, time.Duration(first), want)
		}
	}
}
