// Shares of a whole, 80% or 0.8, and what reading has in common.

package spec

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Must returns v, and panics if err is not nil: it is for values that are written into a program.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// unread returns what a reader of records says if err is not nil. It does not repeat what stands there: anybody may have written
// that.
func unread(err error, must string) error {
	if err == nil {
		return nil
	}
	return errors.New(must)
}

// minShare is the smallest share but for none at all. It is less than one in whatever a trial counts.
const minShare = 1e-9

// ParseShare reads a share of a whole, 80% or 0.8, as 0.8. A number of 1 or more wants its percent sign, since 1 might
// be all of it or a hundredth. The error says what would be right, without the flag's name.
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	number = strings.TrimSpace(number)
	if strings.Trim(number, "0123456789.") != "" {
		return 0, errors.New("must be a share such as 10% or 0.1")
	}
	written := number
	if percent {
		written += "e-2" // the conversion is exact, where a division by 100 would round once more
	}
	share, err := strconv.ParseFloat(written, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return 0, errors.New("must be a share such as 10% or 0.1")
	case !percent && share >= 1 && share <= 100:
		return 0, fmt.Errorf("must have a percent sign: %s%%", number)
	case err != nil || share > 1:
		return 0, errors.New("must be 0% to 100%")
	case share > 0 && share < minShare:
		return 0, errors.New("must be 0% or at least " + FormatShare(minShare))
	}
	return share, nil
}

// FormatShare returns the canonical spelling of a share: 80%. ParseShare reads the same share from it again. It moves the digits, so
// that nothing is rounded.
func FormatShare(share float64) string {
	whole, rest, _ := strings.Cut(strconv.FormatFloat(share, 'f', -1, 64), ".")
	rest += "00"
	number := cmp.Or(strings.TrimLeft(whole+rest[:2], "0"), "0") + "." + strings.TrimRight(rest[2:], "0")
	return strings.TrimSuffix(number, ".") + "%"
}
