// How long something takes: the distributions, how they are written, and what is known of them beforehand.

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
	Kind TimeKind
	A, B time.Duration // the two times in the text, or the one

	// Of a file: its path, and the digest that its content must have or has, or "".
	Path, Digest string
}

// TimeKind is the kind of a distribution of times.
type TimeKind string

const (
	TimesFixed     TimeKind = ""
	TimesUniform   TimeKind = "uniform"
	TimesExp       TimeKind = "exp"
	TimesLognormal TimeKind = "lognormal"
	TimesFile      TimeKind = "file"
)

const timeForms = "must be a time such as 5ms, or one of uniform:1ms:9ms, exp:5ms, lognormal:5ms:50ms, file:PATH"

var withDigest = regexp.MustCompile(`^(.+)#([0-9a-f]{12})$`)

// z99 is the 99th percentile of the standard normal distribution.
var z99 = math.Sqrt2 * math.Erfinv(2*0.99-1)

// ParseTimes reads a distribution; it opens no file. The error says what would be right, without the flag's name.
func ParseTimes(text string) (t Times, err error) {
	name, args, _ := strings.Cut(text, ":")
	switch t.Kind = TimeKind(name); t.Kind {
	case TimesExp:
		if t.A, err = parseDrawn(args); err == nil && t.A == 0 {
			err = errors.New("must be exp:5ms, with a mean of more than 0s")
		}
	case TimesUniform, TimesLognormal:
		a, b, _ := strings.Cut(args, ":")
		if t.A, err = parseDrawn(a); err == nil {
			t.B, err = parseDrawn(b)
		}
		switch {
		case err != nil:
		case t.B <= t.A:
			err = errors.New("must have a second time that is longer than the first; a fixed time is written 5ms")
		case t.Kind == TimesLognormal && t.A == 0:
			err = errors.New("must be lognormal:5ms:50ms, with a median of more than 0s")
		}
	case TimesFile:
		t.Path = args
		if parts := withDigest.FindStringSubmatch(args); parts != nil {
			t.Path, t.Digest = parts[1], parts[2]
		}
		if t.Path == "" || strings.ContainsFunc(t.Path, unicode.IsControl) {
			err = errors.New("must be file: and the path of a file of milliseconds, one number a line")
		}
	default:
		t.Kind = TimesFixed
		if t.A, err = parseDrawn(text); err != nil && !strings.ContainsAny(text[:min(1, len(text))], "+-.0123456789") {
			err = errors.New(timeForms)
		}
	}
	if err != nil {
		return Times{}, err
	}
	return t, nil
}

func parseDrawn(text string) (time.Duration, error) {
	d, err := ParseTime(text)
	if err == nil && (d < 0 || d > MaxTime) {
		err = errors.New("must be 0s to 24h")
	}
	return d, err
}

// String returns the canonical spelling; a fixed time is written as Go writes it, and a file with its digest if that is known.
func (t Times) String() string {
	switch t.Kind {
	case TimesFixed:
		return t.A.String()
	case TimesExp:
		return "exp:" + t.A.String()
	case TimesFile:
		if t.Digest == "" {
			return "file:" + t.Path
		}
		return "file:" + t.Path + "#" + t.Digest
	}
	return string(t.Kind) + ":" + t.A.String() + ":" + t.B.String()
}

func (t Times) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

func (t *Times) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTimes(string(text))
	return unread(err, "hold_dist and think_dist "+timeForms)
}

// IsZero reports whether t is the fixed time of 0, which in a Load stands for a time that is not drawn.
func (t Times) IsZero() bool { return t == Times{} }

// Fixed reports whether every time is the same, and which.
func (t Times) Fixed() (time.Duration, bool) { return t.A, t.Kind == TimesFixed }

// Mean returns the mean of the distribution, and 0 for a file, which only its reader knows.
func (t Times) Mean() time.Duration {
	switch t.Kind {
	case TimesUniform:
		return t.A + (t.B-t.A)/2
	case TimesLognormal:
		mu, sigma := t.Normal()
		return time.Duration(min(float64(MaxTime), math.Round(math.Exp(mu+sigma*sigma/2))))
	}
	return t.A
}

// SCV returns the squared coefficient of variation, variance by squared mean: 0 if all times are the same, 1 if they are
// exponential. It returns 0 for a file, which only its reader knows.
func (t Times) SCV() float64 {
	switch t.Kind {
	case TimesUniform:
		mean, width := float64(t.A)/2+float64(t.B)/2, float64(t.B-t.A)
		return width * width / (12 * mean * mean)
	case TimesExp:
		return 1
	case TimesLognormal:
		_, sigma := t.Normal()
		return math.Expm1(sigma * sigma)
	}
	return 0
}

// Normal returns the mean and the standard deviation of the logarithm, in nanoseconds, of a log-normal distribution: log of
// the median, since the logarithm keeps the order; and the 99th percentile lies z99 standard deviations above it.
func (t Times) Normal() (mu, sigma float64) {
	return math.Log(float64(t.A)), math.Log1p(float64(t.B-t.A)/float64(t.A)) / z99
}

// Beyond returns the share of the times that are longer than d, which is more than 0. For a file it returns 0.
func (t Times) Beyond(d time.Duration) float64 {
	switch t.Kind {
	case TimesUniform:
		return min(1, max(0, float64(t.B-d)/float64(t.B-t.A+1)))
	case TimesExp:
		return math.Exp(-float64(d) / float64(t.A))
	case TimesLognormal:
		mu, sigma := t.Normal()
		return math.Erfc((math.Log(float64(d))-mu)/(sigma*math.Sqrt2)) / 2
	case TimesFixed:
		if t.A > d {
			return 1
		}
	}
	return 0
}
