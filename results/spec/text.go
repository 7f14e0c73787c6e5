// Numbers, times and shares: how they are read, and written as people type them.

package spec

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Must returns v, and panics if err is not nil: it is for values that are written into a program.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// unread returns what a reader of records says if err is not nil. It does not repeat what stands there: anybody may
// have written that.
func unread(err error, must string) error {
	if err == nil {
		return nil
	}
	return errors.New(must)
}

func ifSet(set bool, text string) string {
	if set {
		return text
	}
	return ""
}

// ParseInt reads a whole number, which may be grouped (1_000) and carry k or M for thousands and millions (10k). The
// error says what would be right, without the setting's name.
func ParseInt(text string) (int, error) {
	digits := strings.TrimRight(text, "kKM")
	factor := map[string]int{"": 1, "k": 1_000, "K": 1_000, "M": 1_000_000}[text[len(digits):]]
	n, err := strconv.Atoi(strings.ReplaceAll(digits, "_", ""))
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && factor > 0 && n*factor/factor != n:
		return 0, errors.New("too large a number")
	case err != nil || factor == 0:
		return 0, errors.New("must be a whole number such as 64, 1_000 or 10k")
	}
	return n * factor, nil
}

// ParseSeed reads a seed: any number of 64 bits.
func ParseSeed(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 0, 64)
	return n, unread(err, "must be a number from 0 to 2^64-1")
}

// ParseTime reads a time as Go writes it. A number without a unit is refused: it means seconds to some and
// milliseconds to others. The error says what would be right, without the setting's name.
func ParseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if _, numeric := strconv.ParseFloat(text, 64); numeric == nil {
		return 0, fmt.Errorf("must have a unit, as in %ss or %sms", text, text)
	}
	return 0, errors.New("must be a time such as 250us, 1.5ms, 30s or 2m")
}

var zeroParts = regexp.MustCompile(`([hm])(0m)?0s$`)

// Brief writes 1h0m0s as 1h, as a user would.
func Brief(d time.Duration) string { return zeroParts.ReplaceAllString(d.String(), "$1") }

// formatTime writes a time as it is typed: brief, and in ASCII.
func formatTime(d time.Duration) string { return ascii(Brief(d)) }

func ascii(time string) string { return strings.ReplaceAll(time, "µs", "us") }

// ParseShare reads a share of a whole, 80% or 0.8, as 0.8. A number of 1 or more wants its percent sign, since 1 might
// be all of it or a hundredth. The error says what would be right, without the flag's name.
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	number = strings.TrimSpace(number)
	written := number
	if percent {
		written += "e-2" // the conversion is exact, where a division by 100 would round once more
	}
	share, err := strconv.ParseFloat(written, 64)
	switch {
	case strings.Trim(number, "0123456789.") != "" || errors.Is(err, strconv.ErrSyntax):
		return 0, errors.New("must be a share such as 10% or 0.1")
	case !percent && share >= 1 && share <= 100:
		return 0, fmt.Errorf("must have a percent sign: %s%%", number)
	case err != nil || share > 1:
		return 0, errors.New("must be 0% to 100%")
	}
	return share, nil
}

// FormatShare returns the canonical spelling of a share: 80%. ParseShare reads the same share from it again. It moves
// the digits, so that nothing is rounded.
func FormatShare(share float64) string {
	whole, rest, _ := strings.Cut(strconv.FormatFloat(share, 'f', -1, 64), ".")
	rest += "00"
	number := cmp.Or(strings.TrimLeft(whole+rest[:2], "0"), "0") + "." + strings.TrimRight(rest[2:], "0")
	return strings.TrimSuffix(number, ".") + "%"
}
