// Times from a file: what was measured in production, replayed.

package shape

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

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
