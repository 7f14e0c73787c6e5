package spec

import (
	"math"
	"testing"
)

func TestParseTimes(t *testing.T) {
	for in, want := range map[string]string{
		"5ms":                   "5ms",
		"0":                     "0s",
		"+1500us":               "1.5ms",
		"24h":                   "24h0m0s",
		"uniform:1ms:9ms":       "uniform:1ms:9ms",
		"uniform:0:1000ms":      "uniform:0s:1s",
		"exp:0.5s":              "exp:500ms",
		"lognormal:5ms:50ms":    "lognormal:5ms:50ms",
		"file:/a dir/holds:2":   "file:/a dir/holds:2",
		"file:h#0123456789ab":   "file:h#0123456789ab",
		"file:a#b#0123456789ab": "file:a#b#0123456789ab",
		"file:a#b":              "file:a#b",
	} {
		if got, err := ParseTimes(in); err != nil || got.String() != want {
			t.Errorf("%q is %q, %v; want %q", in, got.String(), err, want)
		}
	}
	if got := Must(ParseTimes("file:h#0123456789ab")); got.Path != "h" || got.Digest != "0123456789ab" {
		t.Errorf("%+v", got)
	}
}

func TestParseTimesErrors(t *testing.T) {
	const (
		duration = "must be a time such as 250us, 1.5ms, 30s or 2m"
		longer   = "must have a second time that is longer than the first; a fixed time is written 5ms"
		file     = "must be file: and the path of a file of milliseconds, one number a line"
	)
	for in, want := range map[string]string{
		"": timeForms, "hello": timeForms, "weibull:1ms:2": timeForms, ":5ms": timeForms, "EXP:5ms": timeForms, " 5ms": timeForms,
		"5ms:9ms": duration, "5parsecs": duration, "exp": duration, "exp:": duration, "exp:1ms:2ms": duration, "uniform": duration,
		"uniform:1ms": duration, "uniform:1ms:2ms:3ms": duration, "lognormal:5ms:": duration,
		"5": "must have a unit, as in 5s or 5ms", "exp:5": "must have a unit, as in 5s or 5ms",
		"-1s": "must be 0s to 24h", "25h": "must be 0s to 24h", "lognormal:5ms:99h": "must be 0s to 24h",
		"exp:0s":          "must be exp:5ms, with a mean of more than 0s",
		"uniform:9ms:1ms": longer, "uniform:9ms:9ms": longer, "lognormal:5ms:4ms": longer,
		"lognormal:0s:5ms": "must be lognormal:5ms:50ms, with a median of more than 0s",
		"file:":            file, "file:a\nb": file,
	} {
		if got, err := ParseTimes(in); err == nil || err.Error() != want || !got.IsZero() {
			t.Errorf("%q is %q, %v\nwant %s", in, got.String(), err, want)
		}
	}
}

func TestSCV(t *testing.T) {
	for text, want := range map[string]float64{"5ms": 0, "exp:5ms": 1, "uniform:0s:9ms": 1.0 / 3, "uniform:4ms:8ms": 1.0 / 27, "file:x": 0} {
		if got := Must(ParseTimes(text)).SCV(); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	// The moments of a lognormal time, by adding up over its quantiles.
	lognormal := Must(ParseTimes("lognormal:5ms:50ms"))
	mu, sigma := lognormal.Normal()
	first, second, weight := 0.0, 0.0, 0.0
	for z := -10.0; z < 10; z += 1e-3 {
		w, x := math.Exp(-z*z/2), math.Exp(mu+sigma*z)
		first, second, weight = first+w*x, second+w*x*x, weight+w
	}
	if got, want := lognormal.SCV(), second*weight/(first*first)-1; math.Abs(got/want-1) > 1e-6 {
		t.Errorf("lognormal: %v, want %v", got, want)
	}
}
