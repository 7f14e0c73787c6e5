package spec_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]string{
		"5000":             "5000",
		"5k":               "5000",
		"0.5":              "0.5",
		"0.57k":            "570",
		"1.5M":             "1500000",
		"007":              "7",
		"1.50":             "1.5",
		"0.001":            "0.001",
		"10M":              "10000000",
		"1k:50k:10s":       "1000:50000:10s",
		"50k:1k:1m":        "50000:1000:1m",
		"1:2:90s":          "1:2:1m30s",
		"1:2:2h":           "1:2:2h",
		"0.5:1:1ms":        "0.5:1:1ms",
		"steps:1k:50k:10":  "steps:1000:50000:10",
		"steps:50k:1k:2":   "steps:50000:1000:2",
		"ladder:1k:50k:10": "ladder:1000:50000:10",
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
	for _, tt := range []struct{ text, wrong, right string }{
		{"", "is empty", "5k"},
		{"0", "out of range", "0.001"},
		{"0.0009", "out of range", "0.001"},
		{"10000001", "out of range", "10000000"},
		{"99999999M", "out of range", "10000000"},
		{"1" + strings.Repeat("0", 400), "out of range", "10000000"},
		{"-5", "no number", "5k"},
		{"+5", "no number", "5k"},
		{" 5", "no number", "5k"},
		{"5 ", "no number", "5k"},
		{"5K", "no number", "5k"},
		{"5kk", "no number", "5k"},
		{"k", "no number", "5k"},
		{".5", "no number", "0.5"},
		{"5.", "no number", "0.5"},
		{"1.5.5", "no number", "0.5"},
		{"1e3", "no number", "5k"},
		{"0x10", "no number", "5k"},
		{"1_000", "no number", "5k"},
		{"NaN", "no number", "5k"},
		{"inf", "no number", "5k"},
		{"100/s", "without /s", "5k"},
		{"many", "no number", "5k"},
		{"1k:50k", "2 parts", "1k:50k:10s"},
		{"1k:50k:10s:5", "4 parts", "1k:50k:10s"},
		{"1k::10s", `"" is no number`, "5k"},
		{"1k:50k:10", `"10" is no time`, "10s"},
		{"1k:50k:", `"" is no time`, "10s"},
		{"1k:50k:-10s", "-10s", "from 1ms"},
		{"1k:50k:1us", "1µs", "from 1ms"},
		{"1k:50k:200h", "200h", "to 168h"},
		{"1k:1000:10s", "the same rate", "write just 1k"},
		{"steps", "0 parts", "steps:1k:50k:10"},
		{"steps:1k:50k", "2 parts", "steps:1k:50k:10"},
		{"steps:1k:50k:1", `"1" steps`, "from 2 to 1000"},
		{"steps:1k:50k:1001", `"1001" steps`, "from 2 to 1000"},
		{"steps:1k:50k:10s", `"10s" steps`, "whole number"},
		{"steps:1k:50k:+9", `"+9" steps`, "whole number"},
		{"steps:5k:5k:3", "the same rate", "two different ones"},
		{"ladder:1k:50k", "2 parts after ladder", "ladder:1k:50k:10"},
		{"stairs:1k:50k:10", "4 parts", "1k:50k:10s"},
		{"Steps:1k:10s", `"Steps" is no number`, "5k"},
	} {
		r, err := spec.ParseRate(tt.text)
		switch {
		case err == nil:
			t.Errorf("%q was read as %v", tt.text, r)
		case !strings.Contains(err.Error(), tt.wrong) || !strings.Contains(err.Error(), tt.right):
			t.Errorf("%.30q: %q, want it to say %q and %q", tt.text, err, tt.wrong, tt.right)
		case r != spec.Rate{}:
			t.Errorf("%q: a rate comes with the error: %v", tt.text, r)
		}
	}
}

// Whatever is read is written in one spelling, which means the same.
func FuzzParseRate(f *testing.F) {
	for _, text := range []string{"5000", "5k", "0.57k", "1.5M", "1k:50k:10s", "steps:1k:50k:10", "ladder:0.5:1:2",
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

func TestRamp(t *testing.T) {
	for _, tt := range []struct {
		text  string
		ramp  time.Duration
		after time.Duration
		at    float64
	}{
		{"1k:50k:10s", 10 * time.Second, 0, 1000},
		{"1k:50k:10s", 10 * time.Second, 5 * time.Second, 25500},
		{"50k:1k:10s", 10 * time.Second, 2 * time.Second, 40200},
		{"1k:50k:10s", 10 * time.Second, time.Minute, 50000},
		{"5k", 0, time.Second, 5000},
	} {
		r := spec.Must(spec.ParseRate(tt.text))
		if r.Ramp() != tt.ramp || math.Abs(r.At(tt.after)-tt.at) > 1e-6 {
			t.Errorf("%s: %v long, and %v a second after %v; want %v, %v", tt.text, r.Ramp(), r.At(tt.after), tt.after, tt.ramp, tt.at)
		}
	}
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
		{"steps:1k:3k:3", time.Minute, 3000, 2000},
		{"ladder:3k:1k:3", time.Minute, 3000, 2000},
	} {
		r := spec.Must(spec.ParseRate(tt.text))
		if r.Max() != tt.max || math.Abs(r.Mean(tt.window)-tt.mean) > 1e-6 {
			t.Errorf("%s over %v: highest %v, mean %v, want %v, %v", tt.text, tt.window, r.Max(), r.Mean(tt.window),
				tt.max, tt.mean)
		}
		if stepped := strings.HasPrefix(tt.text, "steps") || strings.HasPrefix(tt.text, "ladder"); r.Stepped() != stepped {
			t.Errorf("%s: stepped %t", tt.text, r.Stepped())
		}
	}
}

func TestSteps(t *testing.T) {
	got := spec.Must(spec.ParseRate("steps:1k:3k:3")).Steps(10*time.Second, 1)
	want := []spec.Step{
		{0, 3333333333, 1000}, {3333333333, 6666666666, 2000}, {6666666666, 10 * time.Second, 3000},
	}
	if !slices.Equal(got, want) {
		t.Errorf("steps %v, want %v", got, want)
	}
	for _, text := range []string{"5k", "1k:2k:5s"} {
		if got := spec.Must(spec.ParseRate(text)).Steps(time.Second, 1); got != nil {
			t.Errorf("%s has the steps %v", text, got)
		}
	}
	if got := spec.Must(spec.ParseRate("steps:1k:3k:3")).Steps(0, 1); got != nil {
		t.Errorf("steps %v in a window without an end", got)
	}
	// Long windows in many steps must not overflow.
	list := spec.Must(spec.ParseRate("ladder:1:1000:1000")).Steps(7*24*time.Hour, 1)
	if last := list[len(list)-1]; last.To != 7*24*time.Hour || last.From >= last.To {
		t.Errorf("the last step of a week is %v", last)
	}
}

// A ladder has each step twice, the second half mirrors the first, and the order is the seed's.
func TestLadder(t *testing.T) {
	r := spec.Must(spec.ParseRate("ladder:1k:10k:10"))
	orders := map[string]bool{}
	for seed := range uint64(20) {
		list := r.Steps(20*time.Second, seed)
		if len(list) != 20 {
			t.Fatalf("%d steps, want 20", len(list))
		}
		var up []float64
		var order strings.Builder
		for i, s := range list {
			if s.From != time.Duration(i)*time.Second || s.To != s.From+time.Second {
				t.Errorf("step %d goes from %v to %v", i, s.From, s.To)
			}
			if s.Rate != list[19-i].Rate {
				t.Errorf("seed %d: step %d is %v, its mirror image %v", seed, i, s.Rate, list[19-i].Rate)
			}
			if i < 10 {
				up = append(up, s.Rate)
				fmt.Fprint(&order, s.Rate, " ")
			}
		}
		slices.Sort(up)
		for i, rate := range up {
			if rate != float64(i+1)*1000 {
				t.Errorf("seed %d: the steps are %v", seed, up)
				break
			}
		}
		orders[order.String()] = true
		if !slices.Equal(list, r.Steps(20*time.Second, seed)) {
			t.Errorf("seed %d: two orders", seed)
		}
	}
	if len(orders) < 15 {
		t.Errorf("20 seeds make %d orders", len(orders))
	}
}
