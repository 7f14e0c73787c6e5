// How long something takes: the distributions, how they are written, and what is known of them beforehand.

package spec

import (
	"cmp"
	"crypto/sha256"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxTime is the longest time that is ever drawn, or accepted. What an exponential or log-normal distribution draws
// beyond it is cut to it, which Mean knows.
const MaxTime = 24 * time.Hour

// Times is a distribution of durations. The zero value is a fixed time of 0. Equal distributions are equal values.
//
//	5ms                    fixed
//	uniform:1ms:9ms        from … to, both included
//	exp:5ms                exponential, of that mean
//	lognormal:5ms:50ms     of that median and 99th percentile
//	file:PATH              replayed from a file of milliseconds, one a line
//	file:PATH#SHA256       the same, and it must have that content (the first 12 digits)
//
// Times are drawn to the nanosecond, the nearest one.
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

const timeForms = "a time such as 5ms, or one of uniform:1ms:9ms, exp:5ms, lognormal:5ms:50ms, file:PATH"

var timeExamples = map[TimeKind]string{
	TimesUniform: "uniform:1ms:9ms", TimesExp: "exp:5ms", TimesLognormal: "lognormal:5ms:50ms", TimesFile: "file:PATH",
}

// otherTimeNames are what other tools call them, and what people ask for.
var otherTimeNames = map[string]string{
	"fixed": "5ms", "const": "5ms", "constant": "5ms", "unif": "uniform:1ms:9ms", "random": "uniform:1ms:9ms",
	"exponential": "exp:5ms", "poisson": "exp:5ms", "log-normal": "lognormal:5ms:50ms",
	"replay": "file:PATH", "trace": "file:PATH",
}

// DigestDigits is how many hexadecimal digits of a file's SHA-256 stand in the text of a distribution.
const DigestDigits = 12

// z99 is the 99th percentile of the standard normal distribution.
var z99 = math.Sqrt2 * math.Erfinv(2*0.99-1)

// ParseTimes reads a distribution; it opens no file. The error says what is wrong, where, and what would be right,
// without the flag's name.
func ParseTimes(text string) (Times, error) {
	w := whole(text)
	name, args, named := w.cut(":")
	t := Times{Kind: TimeKind(name.text)}
	if !named && looksLikeTime(w.text) {
		d, err := w.duration()
		return Times{A: d}, err
	}
	if named {
		switch t.Kind {
		case TimesUniform:
			return t.parsePair(args, "from and to", "the first")
		case TimesLognormal:
			return t.parsePair(args, "median and 99th percentile", "the median")
		case TimesExp:
			return t.parseMean(args)
		case TimesFile:
			return t.parseFile(args)
		}
	}
	lower := strings.ToLower(name.text)
	if lower == "normal" || lower == "gauss" || lower == "gaussian" {
		return Times{}, w.must("not be %s, which has negative times: lognormal:5ms:50ms has none", lower)
	}
	if right := cmp.Or(timeExamples[TimeKind(lower)], otherTimeNames[lower]); right != "" {
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
		return Times{}, args.must("be two times, %s, as in %s", what, timeExamples[t.Kind])
	}
	var err error
	if t.A, err = a.duration(); err != nil {
		return Times{}, err
	}
	if t.B, err = b.duration(); err != nil {
		return Times{}, err
	}
	switch {
	case t.B <= t.A:
		return Times{}, b.must("be longer than %s, %v; a fixed time is written %v", first, t.A, t.A)
	case t.Kind == TimesLognormal && t.A == 0:
		return Times{}, a.must("be more than 0s")
	}
	return t, nil
}

func (t Times) parseMean(args part) (Times, error) {
	var err error
	if t.A, err = args.duration(); err != nil {
		return Times{}, err
	}
	if t.A == 0 {
		return Times{}, args.must("be more than 0s")
	}
	return t, nil
}

// String returns the canonical spelling; a fixed time is written as Go writes it, and a file with its digest if that is known.
func (t Times) String() string {
	switch t.Kind {
	case TimesFixed:
		return t.A.String()
	case TimesExp:
		return string(t.Kind) + ":" + t.A.String()
	case TimesFile:
		if t.Digest == "" {
			return string(t.Kind) + ":" + t.Path
		}
		return string(t.Kind) + ":" + t.Path + "#" + t.Digest
	}
	return string(t.Kind) + ":" + t.A.String() + ":" + t.B.String()
}

func (t Times) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

func (t *Times) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTimes(string(text))
	return unread(err, "hold_dist and think_dist must be "+timeForms)
}

// IsZero reports whether t is the fixed time of 0, which in a Load stands for a time that is not drawn.
func (t Times) IsZero() bool { return t == Times{} }

// Fixed reports whether every time is the same, and which.
func (t Times) Fixed() (time.Duration, bool) { return t.A, t.Kind == TimesFixed }

// Mean returns the mean of the distribution. Times above MaxTime count as MaxTime. It returns 0 for a file, which only its
// reader knows.
func (t Times) Mean() time.Duration {
	const limit = float64(MaxTime)
	switch t.Kind {
	case TimesUniform:
		return t.A + (t.B-t.A)/2
	case TimesExp:
		// E[min(X, c)] is the integral of P(X > x) = exp(-x/m) from 0 to c.
		m := float64(t.A)
		return time.Duration(math.Round(-m * math.Expm1(-limit/m)))
	case TimesLognormal:
		// E[X; X < c] + c P(X > c). The first is exp(mu + sigma²/2) times the normal distribution at (log c - mu -
		// sigma²)/sigma, by completing the square (Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1,
		// 1994, ch. 14).
		mu, sigma := t.Normal()
		z := (math.Log(limit) - mu) / sigma
		below := math.Exp(mu+sigma*sigma/2) * phi(z-sigma)
		return time.Duration(math.Round(below + limit*phi(-z)))
	case TimesFile:
		return 0
	}
	return t.A
}

// SCV returns the squared coefficient of variation, variance by squared mean: 0 if all times are the same, 1 if they are
// exponential. Times that would be cut to MaxTime count as drawn. It returns 0 for a file, which only its reader knows.
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

// phi returns the standard normal distribution function.
func phi(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// Beyond returns the share of the times that are longer than d. For a file it returns 0.
func (t Times) Beyond(d time.Duration) float64 {
	if d >= t.Max() {
		return 0
	}
	if d < 0 {
		return 1
	}
	switch t.Kind {
	case TimesUniform:
		return min(1, float64(t.B-d)/float64(t.B-t.A+1))
	case TimesExp:
		return math.Exp(-float64(d) / float64(t.A))
	case TimesLognormal:
		mu, sigma := t.Normal()
		return phi((mu - math.Log(float64(d))) / sigma)
	case TimesFile:
		return 0
	}
	return 1
}

// Max returns a bound: no longer time is drawn. Distributions without an end, and files, have MaxTime.
func (t Times) Max() time.Duration {
	switch t.Kind {
	case TimesFixed:
		return t.A
	case TimesUniform:
		return t.B
	}
	return MaxTime
}

// parseFile takes the path and the digest apart.
func (t Times) parseFile(args part) (Times, error) {
	t.Path = args.text
	switch {
	case t.Path == "":
		return Times{}, args.must("be the path of a file of milliseconds, one number a line, as in file:holds.txt")
	case !utf8.ValidString(t.Path) || strings.ContainsFunc(t.Path, unicode.IsControl):
		return Times{}, args.must("be a path without control characters")
	case strings.Contains(t.Path, ","):
		return Times{}, args.must("be a path without a comma, which separates the values of a flag: rename the file")
	}
	at := strings.LastIndexByte(t.Path, '#')
	if at < 0 {
		return t, nil
	}
	digest := part{args.whole, args.from + at + 1, t.Path[at+1:]}.trim()
	t.Path, t.Digest = strings.TrimRight(t.Path[:at], " \t"), strings.ToLower(digest.text)
	if t.Path == "" {
		return Times{}, args.must("have a path before the digest, as in file:holds.txt#%s", quoted(digest.text))
	}
	if !isDigest(t.Digest) {
		return Times{}, digest.must("be the first %d digits of the SHA-256 of the file, or all %d",
			DigestDigits, 2*sha256.Size)
	}
	t.Digest = t.Digest[:DigestDigits]
	return t, nil
}

func isDigest(text string) bool {
	return (len(text) == DigestDigits || len(text) == 2*sha256.Size) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
}

func quoted(text string) string {
	if text == "" {
		return strings.Repeat("0", DigestDigits)
	}
	return text
}
