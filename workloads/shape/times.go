// Drawing times, and replaying those of files: what was measured in production.

package shape

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// TimeSampler draws times for one client.
type TimeSampler struct {
	source *timeSource // the same for all clients
	at     int         // file: the next one
}

// timeSource is a distribution, made ready to draw from.
type timeSource struct {
	kind      spec.TimeKind
	from      time.Duration // fixed: the time
	span      uint64        // uniform: how many times there are to choose from
	mean      float64       // exponential
	mu, sigma float64       // log-normal
	replay    []time.Duration
}

// Samplers returns those of that many clients, client i's at i. Clients replay a file, which has to be loaded, from places
// of their own, spread evenly over it, round and round.
func (t Times) Samplers(clients int) []TimeSampler {
	source := &timeSource{kind: t.Kind, from: t.A, span: uint64(t.B-t.A) + 1, mean: float64(t.A), replay: t.replay}
	if t.Kind == spec.TimesLognormal {
		source.mu, source.sigma = t.Normal()
	}
	samplers := make([]TimeSampler, clients)
	for i := range samplers {
		samplers[i] = TimeSampler{source, spread(i, clients, len(t.replay))}
	}
	return samplers
}

// Next draws a time. Random ones are made by inverting the distribution function, so that each takes one random
// number: the exponential one by a logarithm, the log-normal one by the inverse of the error function, which is exact
// to the last digits (M. Wichura, Algorithm AS 241, Applied Statistics 37, 1988).
func (s *TimeSampler) Next(rng *rand.PCG) time.Duration {
	t := s.source
	switch t.kind {
	case spec.TimesUniform:
		return t.from + time.Duration(below(rng, t.span))
	case spec.TimesExp:
		return cut(-t.mean * math.Log(unit(rng)))
	case spec.TimesLognormal:
		z := math.Sqrt2 * math.Erfinv(2*unit(rng)-1)
		return cut(math.Exp(t.mu + t.sigma*z))
	case spec.TimesFile:
		d := t.replay[s.at]
		if s.at++; s.at == len(t.replay) {
			s.at = 0
		}
		return d
	}
	return t.from
}

// cut rounds nanoseconds to whole ones, spec.MaxTime at the most.
func cut(ns float64) time.Duration {
	if ns >= float64(spec.MaxTime) {
		return spec.MaxTime
	}
	return time.Duration(ns + 0.5)
}

const (
	maxLines = 10_000_000 // 80 MB of times
	maxLine  = 4096
)

// Times is a distribution of times with what it takes to draw from it: the content of the file that it replays.
type Times struct {
	spec.Times
	replay    []time.Duration
	mean, max time.Duration // of replay
}

// Load reads the times that t replays. They go under its path and the digest of what was read. It is an error if that is
// not the digest that t wants. The caller puts the path before the error.
func Load(t spec.Times, r io.Reader) (Times, error) {
	if t.Kind != spec.TimesFile {
		return Times{}, fmt.Errorf("%v replays no file", t)
	}
	times, digest, err := ReadTimes(r)
	if err != nil {
		return Times{}, err
	}
	if t.Digest != "" && t.Digest != digest {
		return Times{}, fmt.Errorf("its SHA-256 begins with %s, and #%s is wanted: this is not the content that was meant",
			digest, t.Digest)
	}
	t.Digest = digest
	return Times{t, times, mean(times), slices.Max(times)}, nil
}

// Mean returns the expected value, of a file too; see spec.Times.
func (t Times) Mean() time.Duration {
	if t.replay != nil {
		return t.mean
	}
	return t.Times.Mean()
}

// Max returns a bound, of a file too: no longer time is drawn.
func (t Times) Max() time.Duration {
	if t.replay != nil {
		return t.max
	}
	return t.Times.Max()
}

// ReadTimes reads a file of milliseconds: one number a line, fractions allowed, empty lines and lines that begin with #
// left out; at most 10 million lines, and no time over spec.MaxTime. The error names the line. The digest is the first 12
// hexadecimal digits of the SHA-256 of the content, as sha256sum prints them.
func ReadTimes(r io.Reader) (times []time.Duration, digest string, err error) {
	return readTimes(r, maxLines)
}

func readTimes(r io.Reader, most int) (times []time.Duration, digest string, err error) {
	hash := sha256.New()
	lines := bufio.NewScanner(io.TeeReader(r, hash))
	lines.Buffer(make([]byte, 0, maxLine), maxLine)
	n := 0
	for lines.Scan() {
		if n++; n > most {
			return nil, "", fmt.Errorf("more than %d lines: replay a part of it", most)
		}
		text := lines.Bytes()
		if n == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors' byte order mark
		}
		text = bytes.TrimSpace(text)
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		d, err := parseMillis(string(text))
		if err != nil {
			return nil, "", fmt.Errorf("line %d: %w", n, err)
		}
		times = append(times, d)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, "", fmt.Errorf("line %d: longer than %d bytes: there must be one number a line", n+1, maxLine)
	case err != nil:
		return nil, "", fmt.Errorf("line %d: %w", n+1, err)
	case len(times) == 0:
		return nil, "", errors.New("there is no time in it: there must be one number a line, in milliseconds")
	}
	return times, hex.EncodeToString(hash.Sum(nil))[:spec.DigestDigits], nil
}

// parseMillis reads a number of milliseconds. The error says what was expected, and not what is there: a wrong path may
// name a file whose content is secret.
func parseMillis(text string) (time.Duration, error) {
	ms, err := strconv.ParseFloat(text, 64)
	wrong := func(want string) (time.Duration, error) { return 0, errors.New(want) }
	switch {
	case errors.Is(err, strconv.ErrRange):
		return wrong("must be 0 to 86400000 milliseconds (24h)")
	case err != nil:
		if _, err := time.ParseDuration(text); err == nil {
			return wrong("must be a number of milliseconds, without a unit")
		}
		if strings.Count(text, ",") == 1 {
			return wrong("must be one number, with a point if it has a fraction")
		}
		return wrong("must be a number of milliseconds such as 12.5")
	case math.IsNaN(ms), strings.ContainsAny(text, "xX_"):
		return wrong("must be a number of milliseconds such as 12.5")
	case ms < 0 || ms > float64(spec.MaxTime.Milliseconds()):
		return wrong("must be 0 to 86400000 milliseconds (24h)")
	}
	return time.Duration(math.Round(ms * 1e6)), nil
}

// mean returns the arithmetic mean of times that are not negative, rounded down. Their sum may take more than 64 bits.
func mean(times []time.Duration) time.Duration {
	var high, low, carry uint64
	for _, d := range times {
		low, carry = bits.Add64(low, uint64(d), 0)
		high += carry
	}
	quotient, _ := bits.Div64(high, low, uint64(len(times)))
	return time.Duration(quotient)
}

// Files are the files of times that loads replay, each read once. The zero value has read none. It is for one goroutine.
type Files struct {
	written map[spec.Times]Times // by what was written
	loaded  map[spec.Times]Times // by what plans hold
}

// Fill reads the files that a load replays. The load then holds their digests, so that a plan refuses a file that has changed.
// The caller puts the path before the error.
func (f *Files) Fill(l *spec.Load) error {
	if err := f.fill(&l.Hold, &l.HoldDist); err != nil {
		return err
	}
	return f.fill(&l.Think, &l.ThinkDist)
}

func (f *Files) fill(mean *time.Duration, dist *spec.Times) error {
	if dist.Kind != spec.TimesFile {
		return nil
	}
	t, known := f.loaded[*dist]
	if !known {
		t, known = f.written[*dist]
	}
	if !known {
		var err error
		if t, err = open(*dist); err != nil {
			return err
		}
		if f.loaded == nil {
			f.written, f.loaded = map[spec.Times]Times{}, map[spec.Times]Times{}
		}
		f.written[*dist], f.loaded[t.Times] = t, t
	}
	*mean, *dist = t.Mean(), t.Times
	return nil
}

func open(t spec.Times) (Times, error) {
	file, err := os.Open(t.Path)
	if fault, ok := errors.AsType[*fs.PathError](err); ok {
		return Times{}, fault.Err
	}
	if err != nil {
		return Times{}, err
	}
	defer file.Close()
	return Load(t, file)
}

// Of returns the files that a plan replays.
func (f *Files) Of(p *spec.Plan) map[spec.Times]Times {
	used := map[spec.Times]Times{}
	for _, c := range p.Groups() {
		for _, dist := range []spec.Times{c.HoldDist, c.ThinkDist} {
			if t, ok := f.loaded[dist]; ok {
				used[dist] = t
			}
		}
	}
	return used
}
