// How long something takes: the distributions, how they are written, and what is known of them beforehand.

package shape

import (
	"cmp"
	"math"
	"math/bits"
	"strings"
	"time"
)

// MaxTime is the longest time that is ever drawn, or accepted. What an exponential or log-normal distribution draws
// beyond it is cut to it, which Mean knows.
const MaxTime = 24 * time.Hour

// Times is a distribution of durations. The zero value is a fixed time of 0. Compare by String.
//
//	5ms                    fixed
//	uniform:1ms:9ms        from … to, both included
//	exp:5ms                exponential, of that mean
//	lognormal:5ms:50ms     of that median and 99th percentile
//	file:PATH              replayed from a file of milliseconds, see ReadTimes
//	file:PATH#SHA256       the same, and it must have that content (the first 12 digits)
//
// Times are drawn to the nanosecond, the nearest one.
type Times struct {
	kind timeKind
	a, b time.Duration // the two times in the text, or the one

	path   string
	digest string          // wanted; of what was read, once it is loaded
	replay []time.Duration // loaded
	mean   time.Duration   // of replay
	max    time.Duration
}

type timeKind string

const (
	fixed       timeKind = ""
	evenly      timeKind = "uniform"
	exponential timeKind = "exp"
	lognormal   timeKind = "lognormal"
	file        timeKind = "file"
)

const timeForms = "a time such as 5ms, or one of uniform:1ms:9ms, exp:5ms, lognormal:5ms:50ms, file:PATH"

var timeExamples = map[timeKind]string{
	evenly: "uniform:1ms:9ms", exponential: "exp:5ms", lognormal: "lognormal:5ms:50ms", file: "file:PATH",
}

// otherTimeNames are what other tools call them, and what people ask for.
var otherTimeNames = map[string]string{
	"fixed": "5ms", "const": "5ms", "constant": "5ms", "unif": "uniform:1ms:9ms", "random": "uniform:1ms:9ms",
	"exponential": "exp:5ms", "poisson": "exp:5ms", "log-normal": "lognormal:5ms:50ms",
	"replay": "file:PATH", "trace": "file:PATH",
}

// z99 is the 99th percentile of the standard normal distribution.
var z99 = math.Sqrt2 * math.Erfinv(2*0.99-1)

// ParseTimes reads a distribution; it opens no file. The error says what is wrong, where, and what would be right,
// without the flag's name.
func ParseTimes(text string) (Times, error) {
	w := whole(text)
	name, args, named := w.cut(":")
	t := Times{kind: timeKind(name.text)}
	if !named && looksLikeTime(w.text) {
		d, err := w.duration()
		return Times{a: d}, err
	}
	if named {
		switch t.kind {
		case evenly:
			return t.parsePair(args, "from and to", "the first")
		case lognormal:
			return t.parsePair(args, "median and 99th percentile", "the median")
		case exponential:
			return t.parseMean(args)
		case file:
			return t.parseFile(args)
		}
	}
	lower := strings.ToLower(name.text)
	if lower == "normal" || lower == "gauss" || lower == "gaussian" {
		return Times{}, w.must("not be %s, which has negative times: lognormal:5ms:50ms has none", lower)
	}
	if right := cmp.Or(timeExamples[timeKind(lower)], otherTimeNames[lower]); right != "" {
		return Times{}, w.must("be written %s here", right)
	}
	return Times{}, w.must("be %s", timeForms)
}

func looksLikeTime(text string) bool {
	return text != "" && strings.IndexByte("+-.0123456789", text[0]) >= 0
}

// parsePair reads two times, of which the second is the longer one.
func (t Times) parsePair(args part, what, first string) (Times, error) {
	a, b, found := args.cut(":")
	if !found {
		return Times{}, args.must("be two times, %s, as in %s", what, timeExamples[t.kind])
	}
	var err error
	if t.a, err = a.duration(); err != nil {
		return Times{}, err
	}
	if t.b, err = b.duration(); err != nil {
		return Times{}, err
	}
	switch {
	case t.b <= t.a:
		return Times{}, b.must("be longer than %s, %v; a fixed time is written %v", first, t.a, t.a)
	case t.kind == lognormal && t.a == 0:
		return Times{}, a.must("be more than 0s")
	}
	return t, nil
}

func (t Times) parseMean(args part) (Times, error) {
	var err error
	if t.a, err = args.duration(); err != nil {
		return Times{}, err
	}
	if t.a == 0 {
		return Times{}, args.must("be more than 0s")
	}
	return t, nil
}

// String is the canonical spelling; a fixed time is written as Go writes it, and a file with its digest if that is
// known.
func (t Times) String() string {
	switch t.kind {
	case fixed:
		return t.a.String()
	case exponential:
		return string(t.kind) + ":" + t.a.String()
	case file:
		if t.digest == "" {
			return string(t.kind) + ":" + t.path
		}
		return string(t.kind) + ":" + t.path + "#" + t.digest
	}
	return string(t.kind) + ":" + t.a.String() + ":" + t.b.String()
}

// Fixed tells whether every time is the same, and which.
func (t Times) Fixed() (time.Duration, bool) { return t.a, t.kind == fixed }

// Mean is the expected value, of what is drawn: what is cut to MaxTime counts as that. Of a file it is 0 before Load.
func (t Times) Mean() time.Duration {
	const limit = float64(MaxTime)
	switch t.kind {
	case evenly:
		return t.a + (t.b-t.a)/2
	case exponential:
		// E[min(X, c)] is the integral of P(X > x) = exp(-x/m) from 0 to c.
		m := float64(t.a)
		return time.Duration(math.Round(-m * math.Expm1(-limit/m)))
	case lognormal:
		// E[X; X < c] + c P(X > c). The first is exp(mu + sigma²/2) times the normal distribution at (log c - mu -
		// sigma²)/sigma, by completing the square (Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1,
		// 1994, ch. 14).
		mu, sigma := t.normal()
		z := (math.Log(limit) - mu) / sigma
		below := math.Exp(mu+sigma*sigma/2) * phi(z-sigma)
		return time.Duration(math.Round(below + limit*phi(-z)))
	case file:
		return t.mean
	}
	return t.a
}

// normal are the mean and the standard deviation of the logarithm, in nanoseconds, of a log-normal distribution: log of
// the median, since the logarithm keeps the order; and the 99th percentile lies z99 standard deviations above it.
func (t Times) normal() (mu, sigma float64) {
	return math.Log(float64(t.a)), math.Log1p(float64(t.b-t.a)/float64(t.a)) / z99
}

// phi is the standard normal distribution function.
func phi(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// Beyond is the share of the times that are longer than d; of a file it is 0 before Load.
func (t Times) Beyond(d time.Duration) float64 {
	if d >= t.Max() {
		return 0
	}
	if d < 0 {
		return 1
	}
	switch t.kind {
	case evenly:
		return min(1, float64(t.b-d)/float64(t.b-t.a+1))
	case exponential:
		return math.Exp(-float64(d) / float64(t.a))
	case lognormal:
		mu, sigma := t.normal()
		return phi((mu - math.Log(float64(d))) / sigma)
	case file:
		n := 0
		for _, r := range t.replay {
			if r > d {
				n++
			}
		}
		return float64(n) / float64(max(1, len(t.replay)))
	}
	return 1
}

// Max is a bound: no longer time is drawn. Distributions without an end, and files not loaded, have MaxTime.
func (t Times) Max() time.Duration {
	switch t.kind {
	case fixed:
		return t.a
	case evenly:
		return t.b
	case file:
		if t.replay != nil {
			return t.max
		}
	}
	return MaxTime
}

// mean is the arithmetic mean of times that are not negative, rounded down. Their sum may take more than 64 bits.
func mean(times []time.Duration) time.Duration {
	var high, low, carry uint64
	for _, d := range times {
		low, carry = bits.Add64(low, uint64(d), 0)
		high += carry
	}
	quotient, _ := bits.Div64(high, low, uint64(len(times)))
	return time.Duration(quotient)
}
