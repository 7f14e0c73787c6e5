package compare

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/metric"
)

func TestParseThresholds(t *testing.T) {
	for text, want := range map[string]struct {
		figure         string
		less, relative bool
		value          float64
		canonical      string
	}{
		"locks/s<-5%":          {"locks/s", true, true, -0.05, "locks/s<-5%"},
		"  locks/s  <  -7% ":   {"locks/s", true, true, -0.07, "locks/s<-7%"},
		"locks/s\t<\r\n-7%\n":  {"locks/s", true, true, -0.07, "locks/s<-7%"}, // a block of YAML
		"acquire.p99>+10%":     {"acquire.p99", false, true, 0.1, "acquire.p99>+10%"},
		"acquire.p99>+250%":    {"acquire.p99", false, true, 2.5, "acquire.p99>+250%"},
		"acquire.p99>+0.5%":    {"acquire.p99", false, true, 0.005, "acquire.p99>+0.5%"},
		"locks/s>+5%":          {"locks/s", false, true, 0.05, "locks/s>+5%"}, // an alarm at any change
		"violations>0":         {"violations", false, false, 0, "violations>0"},
		"errors>1.5k":          {"errors", false, false, 1500, "errors>1.5k"},
		"locks/s<50k":          {"locks/s", true, false, 50_000, "locks/s<50k"},
		"locks/s<2M":           {"locks/s", true, false, 2e6, "locks/s<2M"},
		"acquire.p99>20ms":     {"acquire.p99", false, false, 20e6, "acquire.p99>20ms"},
		"acquire.p99>0.02s":    {"acquire.p99", false, false, 20e6, "acquire.p99>20ms"},
		"acquire.p50>250µs":    {"acquire.p50", false, false, 250e3, "acquire.p50>250us"},
		"longest-wait>1m":      {"longest-wait", false, false, 60e9, "longest-wait>1m"},
		"efficiency<80%":       {"efficiency", true, false, 0.8, "efficiency<80%"},
		"efficiency<-7%":       {"efficiency", true, true, -0.07, "efficiency<-7%"},
		"jain<0.9":             {"jain", true, false, 0.9, "jain<0.9"},
		"server-cpu/lock>20us": {"server-cpu/lock", false, false, 20, "server-cpu/lock>20us"},
		"commands/lock>5.5":    {"commands/lock", false, false, 5.5, "commands/lock>5.5"},
		"memory>64MB":          {"memory", false, false, 64e6, "memory>64MB"},
		"hold.p50>+1%":         {"hold.p50", false, true, 0.01, "hold.p50>+1%"},
		"acquire.p999>90s":     {"acquire.p999", false, false, 90e9, "acquire.p999>1.5m"},
	} {
		list, err := ParseThresholds(text)
		if err != nil || len(list) != 1 {
			t.Errorf("%q: %d conditions, %v", text, len(list), err)
			continue
		}
		got := list[0]
		if got.Figure.Name != want.figure || got.Less != want.less || got.Relative != want.relative || got.Value != want.value {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
		if written := strings.TrimSpace(strings.Map(blank, text)); got.Text != written || got.String() != want.canonical {
			t.Errorf("%q: written %q and %q, want %q", text, got.Text, got, want.canonical)
		}
	}
}

// blank makes one blank of each character that counts as one.
func blank(r rune) rune {
	if strings.ContainsRune(" \t\r\n", r) {
		return ' '
	}
	return r
}

func TestParseSeveral(t *testing.T) {
	list, err := ParseThresholds("locks/s<-5%, locks/s>+5% ,locks/s<10k,violations>0")
	if err != nil || len(list) != 4 || list[1].String() != "locks/s>+5%" || list[3].Figure.Name != "violations" {
		t.Errorf("%v, %v", list, err)
	}
}

func TestThresholdErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "a condition that must not come true is missing, such as locks/s<-5%",
		"  ":                       "a condition that must",
		"locks/s<-5%,":             "a condition that must",
		"locks/s<-5%,,jain<1":      "a condition that must",
		"<-5%":                     "a condition that must",
		"violations>0, aquire>1ms": `no figure is called "aquire"`,
		"locks<-5%":                `no figure is called "locks"`,
		"locks/s":                  "after locks/s belongs < or >, and a value",
		"locks/s -5%":              `no figure is called "locks/s -5%"`,
		"locks/s=-5%":              "conditions that must not come true are written with < or > alone",
		"locks/s<=-5%":             "conditions that must not come true are written with < or > alone",
		"locks/s<>5%":              "conditions that must not come true are written with < or > alone",
		"locks/s<":                 "after locks/s< belongs a value: a change such as -5% or +10%, or an amount such as 50k",
		"locks/s<5%":               "a percentage has a sign here: +5% for a rise, -5% for a fall",
		"locks/s<-5":               `"-5" is no change such as -5% or +10%`,
		"locks/s>-5%":              "< is for a fall, and > for a rise: write <-5%, or >+5%",
		"acquire.p99<+5%":          "< is for a fall, and > for a rise: write <-5%, or >+5%",
		"locks/s<--5%":             `"--5%" is no change such as -5% or +10%`,
		"locks/s<-%":               `"-%" is no change such as -5% or +10%`,
		"locks/s<-1e3%":            `"-1e3%" is no change such as -5% or +10%`,
		"locks/s<-NaN%":            `"-NaN%" is no change such as -5% or +10%`,
		"locks/s<-0%":              `"-0%" is no change such as -5% or +10%`,
		"locks/s<-100%":            `"-100%" is no change such as -5% or +10%`,
		"locks/s<0":                "nothing is below 0",
		"locks/s<1e9":              `"1e9" is no value of locks/s`,
		"locks/s<Inf":              `"Inf" is no value of locks/s`,
		"locks/s<50ms":             `"50ms" is no value of locks/s: a change such as -5% or +10%, or an amount such as 50k`,
		"acquire.p99>20":           `"20" is no value of acquire.p99: a change such as -5% or +10%, or an amount such as 20ms`,
		"acquire.p99> +20ms":       `"+20ms" is no change such as -5% or +10%`,
		"memory>64MiB":             `"64MiB" is no value of memory`,
		"µlocks<-5%, é>1":          `no figure is called "µlocks"`,
		"violations>0,é µ>1,":      `no figure is called "é µ"`,
	} {
		_, err := ParseThresholds(text)
		var fault *ThresholdError
		if !errors.As(err, &fault) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if !strings.HasPrefix(fault.What, want) {
			t.Errorf("%q: %s, want %s", text, fault.What, want)
		}
	}
}

// TestStrings writes thresholds that nobody has typed.
func TestStrings(t *testing.T) {
	for _, f := range metric.All() {
		for _, v := range []float64{0.1, 0.3, 1, 1.0 / 1024, 999.5, 12345.678, 1e7} {
			for _, relative := range []bool{false, true} {
				want := Threshold{Figure: f, Relative: relative, Value: v}
				list, err := ParseThresholds(want.String())
				if err != nil || len(list) != 1 || math.Abs(list[0].Value-v) > 1e-12*v {
					t.Errorf("%v: %v, %v", want, list, err)
				}
			}
		}
	}
}

// FuzzThresholds: what is read can be written and read again, and a fault is where the text is.
func FuzzThresholds(f *testing.F) {
	for _, text := range []string{DefaultThresholds, "locks/s<-5%", " jain < 0.9,memory>1.5GB", "efficiency<80%,locks/s>+5%", "é>1", "a<b<c,", "locks/s<-0.000000001%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseThresholds(text)
		if err != nil {
			var fault *ThresholdError
			if !errors.As(err, &fault) || fault.What == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		var parts []string
		for _, one := range list {
			if math.IsNaN(one.Value) || math.IsInf(one.Value, 0) {
				t.Fatalf("%q: %v", text, one.Value)
			}
			parts = append(parts, one.String())
		}
		again, err := ParseThresholds(strings.Join(parts, ","))
		if err != nil || len(again) != len(list) {
			t.Fatalf("%q was written as %q: %v", text, parts, err)
		}
		for i := range list {
			a, b := list[i], again[i]
			if a.Figure.Name != b.Figure.Name || a.Less != b.Less || a.Relative != b.Relative || math.Abs(a.Value-b.Value) > 1e-9*math.Abs(a.Value) {
				t.Fatalf("%q: %+v was written as %q and read as %+v", text, a, parts[i], b)
			}
		}
	})
}
