package spec_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]string{
		"5000":       "5000",
		"5k":         "5000",
		"1_000":      "1000",
		"0.5":        "0.5",
		"0.57k":      "570",
		"1.5M":       "1500000",
		"007":        "7",
		"1.50":       "1.5",
		"0.001":      "0.001",
		"10M":        "10000000",
		"1k:50k:10s": "1000:50000:10s",
		"50k:1k:1m":  "50000:1000:1m",
		"1:2:90s":    "1:2:1m30s",
		"1:2:2h":     "1:2:2h",
		"0.5:1:1ms":  "0.5:1:1ms",
	} {
		if got := spec.Must(spec.ParseRate(text)).String(); got != want {
			t.Errorf("%s is written %q, want %q", text, got, want)
		}
	}
	if got := (spec.Rate{}).String(); got != "" {
		t.Errorf("no rate is written %q", got)
	}
}

func TestParseRateErrors(t *testing.T) {
	for _, text := range []string{
		"", "0", "0.0009", "10000001", "99999999M", "1" + strings.Repeat("0", 400), "-5", " 5", "5 ", "5K", "5kk", "k", "1.5.5", "_1", "1_", "1__0", "1k_", "1e3", "1e3k",
		"0x10", "NaN", "inf", "100/s", "many", "1k:50k", "1k:50k:10s:5", "1k::10s", "1k:50k:10", "1k:50k:", "1k:50k:-10s",
		"1k:50k:1us", "1k:50k:200h", "1k:1000:10s", "stairs:1k:50k:10", "Steps:1k:10s",
	} {
		r, err := spec.ParseRate(text)
		if err == nil || r != (spec.Rate{}) || !strings.Contains(err.Error(), "5000, 5k or 0.5 (0.001 to 10M), or change from one rate to another in a time as in 1k:50k:10s") {
			t.Errorf("%.30q is %v, %v", text, r, err)
		}
	}
}

// Whatever is read is written in one spelling, which means the same.
func FuzzParseRate(f *testing.F) {
	for _, text := range []string{"5000", "5k", "0.57k", "1.5M", "1k:50k:10s", "steps:1k:50k:10",
		"1k:50k", "1:2:1h1m1.5s", "::", "0.30000000000000004"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := spec.ParseRate(text)
		if err != nil {
			if err.Error() == "" || r != (spec.Rate{}) {
				t.Errorf("%q: error %q with %v", text, err, r)
			}
			return
		}
		again, err := spec.ParseRate(r.String())
		if err != nil || again != r || again.String() != r.String() {
			t.Errorf("%q is written %q, which is read as %q, %v", text, r, again, err)
		}
		if r.Max() < 0.001 || r.Max() > 10e6 || r.Mean(time.Minute) > r.Max() {
			t.Errorf("%q: highest %v, mean %v", text, r.Max(), r.Mean(time.Minute))
		}
	})
}

func TestRateFigures(t *testing.T) {
	for _, tt := range []struct {
		text      string
		window    time.Duration
		max, mean float64
	}{
		{"5k", time.Minute, 5000, 5000},
		{"5k", 0, 5000, 5000},
		{"1k:50k:10s", 10 * time.Second, 50000, 25500},
		{"1k:50k:10s", 20 * time.Second, 50000, 37750},
		{"1k:51k:10s", 5 * time.Second, 51000, 13500},
		{"50k:1k:10s", 10 * time.Second, 50000, 25500},
		{"1k:50k:10s", 0, 50000, 50000},
	} {
		r := spec.Must(spec.ParseRate(tt.text))
		if r.Max() != tt.max || math.Abs(r.Mean(tt.window)-tt.mean) > 1e-6 {
			t.Errorf("%s over %v: highest %v, mean %v, want %v, %v", tt.text, tt.window, r.Max(), r.Mean(tt.window),
				tt.max, tt.mean)
		}
	}
}
