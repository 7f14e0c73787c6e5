package spec

import (
	"math"
	"strings"
	"testing"
)

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

func digest(digits int) string { return strings.Repeat("0123456789abcdef", 4)[:digits] }

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
