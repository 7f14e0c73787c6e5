// Shares of a whole: 80%, or 0.8.

package spec

import (
	"strconv"
	"strings"
)

// minShare is the smallest share but for none at all. It is less than one in whatever a trial counts.
const minShare = 1e-9

// ParseShare reads a share of a whole, 80% or 0.8, as 0.8. A number of 1 or more wants its percent sign, since 1 might
// be all of it or a hundredth. The error says what would be right, without the flag's name.
func ParseShare(text string) (float64, error) { return whole(text).share() }

func (p part) share() (float64, error) {
	number, percent := strings.CutSuffix(p.text, "%")
	number = strings.TrimRight(number, " \t")
	if !decimal(number) {
		return 0, p.must("be a share such as 10%% or 0.1")
	}
	if percent {
		number += "e-2" // the conversion is exact, where a division by 100 would round once more
	}
	share, err := strconv.ParseFloat(number, 64)
	switch {
	case !percent && share == 100:
		return 0, p.must("have a percent sign: 100%%")
	case !percent && share >= 1 && share < 100:
		return 0, p.must("have a percent sign or be below 1, as in %s%% or %s", number, shift(number, -2))
	case err != nil || share > 1:
		return 0, p.must("be 0%% to 100%%")
	case share > 0 && share < minShare:
		return 0, p.must("be 0%% or at least %s", FormatShare(minShare))
	}
	return share, nil
}

// FormatShare returns the canonical spelling of a share: 80%. ParseShare reads the same share from it again.
func FormatShare(share float64) string {
	return shift(strconv.FormatFloat(share, 'f', -1, 64), 2) + "%"
}

// shift moves the point of a decimal number by so many places to the right, and drops trailing zeros. It
// works on the digits, so that nothing is rounded.
func shift(number string, places int) string {
	before, after, _ := strings.Cut(number, ".")
	for ; places > 0; places-- {
		if after == "" {
			after = "0"
		}
		before, after = before+after[:1], after[1:]
	}
	for ; places < 0; places++ {
		if before == "" {
			before = "0"
		}
		last := len(before) - 1
		before, after = before[:last], before[last:]+after
	}
	before = strings.TrimLeft(before, "0")
	after = strings.TrimRight(after, "0")
	if before == "" {
		before = "0"
	}
	if after == "" {
		return before
	}
	return before + "." + after
}
