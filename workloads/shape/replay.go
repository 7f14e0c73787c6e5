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
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxLines     = 10_000_000 // 80 MB of times
	maxLine      = 4096
	digestDigits = 12
)

// parseFile takes the path and the digest apart.
func (t Times) parseFile(args part) (Times, error) {
	t.path = args.text
	switch {
	case t.path == "":
		return Times{}, args.must("be the path of a file of milliseconds, one number a line, as in file:holds.txt")
	case !utf8.ValidString(t.path) || strings.ContainsFunc(t.path, unicode.IsControl):
		return Times{}, args.must("be a path without control characters")
	case strings.Contains(t.path, ","):
		return Times{}, args.must("be a path without a comma, which separates the values of a flag: rename the file")
	}
	at := strings.LastIndexByte(t.path, '#')
	if at < 0 {
		return t, nil
	}
	digest := part{args.whole, args.from + at + 1, t.path[at+1:]}.trim()
	t.path, t.digest = strings.TrimRight(t.path[:at], " \t"), strings.ToLower(digest.text)
	if t.path == "" {
		return Times{}, args.must("have a path before the digest, as in file:holds.txt#%s", quoted(digest.text))
	}
	if !isDigest(t.digest) {
		return Times{}, digest.must("be the first %d digits of the SHA-256 of the file, or all %d",
			digestDigits, 2*sha256.Size)
	}
	t.digest = t.digest[:digestDigits]
	return t, nil
}

func isDigest(text string) bool {
	return (len(text) == digestDigits || len(text) == 2*sha256.Size) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
}

// File is the path of a replayed file, and the digest that it is expected to have, or has; each empty if there is none.
func (t Times) File() (path, digest string) { return t.path, t.digest }

// Load reads the times that t replays and makes the distribution that knows them, under its path and the digest of what
// was read. It is an error if that is not the digest that t wants. The caller puts the path before the error.
func (t Times) Load(r io.Reader) (Times, error) {
	if t.kind != file {
		return t, fmt.Errorf("%v replays no file", t)
	}
	times, digest, err := ReadTimes(r)
	if err != nil {
		return t, err
	}
	if t.digest != "" && t.digest != digest {
		return t, fmt.Errorf("its SHA-256 begins with %s, and #%s is wanted: this is not the content that was meant",
			digest, t.digest)
	}
	t.replay, t.digest = times, digest
	t.mean, t.max = mean(times), slices.Max(times)
	return t, nil
}

// ReadTimes reads a file of milliseconds: one number a line, fractions allowed, empty lines and lines that begin with #
// left out; at most 10 million lines, and no time over MaxTime. The error names the line. The digest is the first 12
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
	return times, hex.EncodeToString(hash.Sum(nil))[:digestDigits], nil
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
	case ms < 0 || ms > float64(MaxTime.Milliseconds()):
		return wrong("must be 0 to 86400000 milliseconds (24h)")
	}
	return time.Duration(math.Round(ms * 1e6)), nil
}

func quoted(text string) string {
	if text == "" {
		return strings.Repeat("0", digestDigits)
	}
	return text
}
