// Reading what people write: parts of a text that know where they stand, so that a complaint can point at them.

package spec

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// part is a piece of a text, without blanks around it.
type part struct {
	whole string
	from  int // in bytes
	text  string
}

func whole(text string) part { return part{whole: text, text: text}.trim() }

func (p part) trim() part {
	left := strings.TrimLeft(p.text, " \t")
	p.from += len(p.text) - len(left)
	p.text = strings.TrimRight(left, " \t")
	return p
}

// cut splits p at the first sep.
func (p part) cut(sep string) (before, after part, found bool) {
	head, tail, found := strings.Cut(p.text, sep)
	before = part{p.whole, p.from, head}.trim()
	if !found {
		return before, part{p.whole, p.from + len(p.text), ""}, false
	}
	return before, part{p.whole, p.from + len(head) + len(sep), tail}.trim(), true
}

// split splits p at every sep.
func (p part) split(sep string) []part {
	var list []part
	for more := true; more; {
		var head part
		head, p, more = p.cut(sep)
		list = append(list, head)
	}
	return list
}

// must complains about p: it completes "must …", and points at p if that is not the whole text.
func (p part) must(format string, args ...any) error {
	want := "must " + fmt.Sprintf(format, args...)
	switch {
	case p.text == strings.TrimSpace(p.whole):
		return errors.New(want)
	case p.text == "":
		return fmt.Errorf("nothing at character %d: %s", p.character(), want)
	}
	return fmt.Errorf("%s at character %d: %s", quote(p.text), p.character(), want)
}

// character returns where p begins, from 1, as an editor would count.
func (p part) character() int { return utf8.RuneCountInString(p.whole[:p.from]) + 1 }

// quote shows what was written, whatever it is and however long.
func quote(text string) string {
	const enough = 60
	if utf8.RuneCountInString(text) > enough {
		text = string([]rune(text)[:enough]) + "…"
	}
	return strconv.Quote(text)
}

// decimal reads a plain number that is not negative: digits with a point among them at the most. Exponents, signs and
// the names of what is no number are left to those who write programs.
func (p part) decimal() (float64, bool) {
	if !decimal(p.text) {
		return 0, false
	}
	f, err := strconv.ParseFloat(p.text, 64)
	return f, err == nil
}

func decimal(text string) bool {
	digits, points := 0, 0
	for _, c := range []byte(text) {
		switch {
		case '0' <= c && c <= '9':
			digits++
		case c == '.':
			points++
		default:
			return false
		}
	}
	return digits > 0 && points <= 1
}

// count reads a whole number from 0, as ParseInt does.
func (p part) count() (int, bool) {
	n, err := ParseInt(p.text)
	return n, err == nil && 0 <= n && n <= math.MaxInt32 && !strings.ContainsAny(p.text, "+-")
}

// duration reads a time from 0 to MaxTime, as ParseTime does.
func (p part) duration() (time.Duration, error) {
	d, err := ParseTime(p.text)
	switch {
	case err != nil:
		return 0, p.must("%s", strings.TrimPrefix(err.Error(), "must "))
	case d < 0 || d > MaxTime:
		return 0, p.must("be 0s to 24h")
	}
	return d, nil
}

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

// Shares of a whole: 80%, or 0.8.

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
	before, after = strings.Repeat("0", max(0, -places))+before, after+strings.Repeat("0", max(0, places))
	if point := len(before) + places; places > 0 {
		before, after = before+after[:places], after[places:]
	} else {
		before, after = before[:point], before[point:]+after
	}
	number = cmp.Or(strings.TrimLeft(before, "0"), "0") + "." + strings.TrimRight(after, "0")
	return strings.TrimSuffix(number, ".")
}
