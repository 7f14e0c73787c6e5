package spec

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// MaxTime is the longest time that is ever drawn, or accepted. What a distribution draws beyond it is cut to it.
const MaxTime = 24 * time.Hour

// Times is a distribution of durations. The zero value is a fixed time of 0. Equal distributions are equal values.
//
//	5ms                    fixed
//	uniform:1ms:9ms        from … to, both included
//	exp:5ms                exponential, of that mean
//	lognormal:5ms:50ms     of that median and 99th percentile
//	file:PATH              any of those in a file of milliseconds, one a line
//	file:PATH#SHA256       the same, and it must have that content (the first 12 digits)
type Times struct {
	Kind string        // "" for a fixed time
	A, B time.Duration // the two times in the text, or the one
	Path string        // of a file, perhaps with its digest
}

const TimesUniform, TimesExp, TimesLognormal, TimesFile = "uniform", "exp", "lognormal", "file"

const timeForms = "must be a time with its unit such as 5ms, or uniform:1ms:9ms, exp:5ms (mean), " +
	"lognormal:5ms:50ms (median, p99) or file:PATH, with times from 0s to 24h"

// ParseTimes reads a distribution; it opens no file. The error does not repeat the text.
func ParseTimes(text string) (Times, error) {
	kind, args, drawn := strings.Cut(text, ":")
	if kind == TimesFile && args != "" && !strings.ContainsFunc(args, unicode.IsControl) {
		return Times{Kind: kind, Path: args}, nil
	}
	if !drawn {
		kind, args = "", text
	}
	first, second, two := strings.Cut(args, ":")
	a, err := time.ParseDuration(first)
	b, noSecond := time.ParseDuration(second)
	fits := map[string]bool{
		"": !drawn, TimesExp: !two && 0 < a, TimesUniform: a < b, TimesLognormal: 0 < a && a < b,
	}
	if !fits[kind] || err != nil || (noSecond == nil) != two || a < 0 || max(a, b) > MaxTime {
		return Times{}, errors.New(timeForms)
	}
	return Times{Kind: kind, A: a, B: b}, nil
}

var withDigest = regexp.MustCompile(`#[0-9a-f]{12}$`)

// File returns the path of a file without its digest.
func (t Times) File() string { return withDigest.ReplaceAllString(t.Path, "") }

// String returns the canonical spelling; a fixed time is written as Go writes it.
func (t Times) String() string {
	switch t.Kind {
	case "":
		return t.A.String()
	case TimesExp:
		return "exp:" + t.A.String()
	case TimesFile:
		return "file:" + t.Path
	}
	return t.Kind + ":" + t.A.String() + ":" + t.B.String()
}

func (t Times) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

func (t *Times) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTimes(string(text))
	return err
}

// At returns the time that a share u of all times is not longer than, 0 < u < 1, and 0 for a file, which only its
// reader knows.
func (t Times) At(u float64) time.Duration {
	ns := float64(t.A)
	switch t.Kind {
	case TimesUniform:
		return min(t.B, t.A+time.Duration(u*float64(t.B-t.A+1)))
	case TimesExp:
		ns *= -math.Log1p(-u)
	case TimesLognormal:
		ns *= math.Exp(t.sigma() * math.Sqrt2 * math.Erfinv(2*u-1))
	}
	return rounded(ns)
}

// rounded rounds nanoseconds to whole ones, MaxTime at the most.
func rounded(ns float64) time.Duration { return time.Duration(min(ns, float64(MaxTime)) + 0.5) }

// sigma returns the standard deviation of the logarithm of a log-normal time.
func (t Times) sigma() float64 {
	const z99 = 2.3263478740408408 // of them lie between the median and the 99th percentile
	return math.Log1p(float64(t.B-t.A)/float64(t.A)) / z99
}

// Moments returns the mean of the distribution and its squared coefficient of variation, variance by squared mean: 0
// if all times are the same, 1 if they are exponential. Of a file they are 0.
func (t Times) Moments() (mean time.Duration, scv float64) {
	switch t.Kind {
	case TimesUniform:
		ratio := float64(t.B-t.A) / float64(t.A+t.B)
		return t.A + (t.B-t.A)/2, ratio * ratio / 3
	case TimesExp:
		return t.A, 1
	case TimesLognormal:
		variance := t.sigma() * t.sigma()
		return rounded(float64(t.A) * math.Exp(variance/2)), math.Expm1(variance)
	}
	return t.A, 0
}
