package render

// Numbers and text as people read them.

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// none stands for a figure that is not known or does not exist.
const none = "–"

// three formats a positive number with three significant digits and without an exponent: 1.23, 45.0, 678.
func three(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 99.95:
		return Thousands(int64(math.Round(v)))
	case v >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// measured formats a duration that was measured: three significant digits in the unit that suits it.
func measured(d time.Duration) string {
	ns := float64(d)
	switch {
	case d < 0:
		return "-" + measured(d.Abs()) // -d of the least would be itself
	case d < time.Microsecond:
		return strconv.FormatInt(int64(d), 10) + " ns"
	case ns < 999.5*1e3:
		return three(ns/1e3) + " µs"
	case ns < 999.5*1e6:
		return three(ns/1e6) + " ms"
	case d < 2*time.Minute:
		return three(d.Seconds()) + " s"
	case d < 2*time.Hour:
		return three(d.Minutes()) + " min"
	}
	return three(d.Hours()) + " h"
}

// asked formats a duration that somebody typed: all its digits and no more, "1.5 ms", "30 s".
func asked(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d.Abs() >= u.unit {
			return strconv.FormatFloat(float64(d)/float64(u.unit), 'f', -1, 64) + " " + u.name
		}
	}
	if d == 0 {
		return "0"
	}
	return strconv.FormatInt(int64(d), 10) + " ns"
}

// Thousands formats a count: 1,234,567.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Many is a count with its noun, which takes an s for all counts but one.
func Many(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Thousands(n) + " " + noun + "s"
}

// percent formats a share; a small one keeps a digit or two, since 0.3 % is not the nothing that 0 % says.
func percent(share float64) string {
	v, digits := 100*share, 0
	switch {
	case v <= 0 || v >= 9.95:
	case v >= 0.095:
		digits = 1
	case v >= 0.0095:
		digits = 2
	default:
		return "< 0.01 %"
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + " %"
}

// clean makes text from a record fit for a terminal and a table: what a server answered may hold line breaks and
// escape sequences. The blanks of glue stay, for wrap to replace.
func clean(s string) string {
	return Tame(strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, s))
}

// commands are GitHub's workflow commands in both spellings. A step's output is searched for them line by line, blanks at the
// beginning left out, and a word may come to stand there.
var commands = regexp.MustCompile(`(^|\s)::([a-z]+(?:-[a-z]+)*(?:\s[^:]*)?::)|##\[`)

// Tame takes text of a record that a build server would obey apart, so that it is read only.
func Tame(s string) string {
	if !strings.Contains(s, "::") && !strings.Contains(s, "##[") {
		return s
	}
	return commands.ReplaceAllStringFunc(s, func(found string) string {
		return strings.NewReplacer("::", ": :", "##[", "## [").Replace(found)
	})
}

// unbroken stands for a blank at which wrap must not break a line.
const unbroken = "\u00a0"

// glue keeps text on one line.
func glue(s string) string { return strings.ReplaceAll(s, " ", unbroken) }

// wrap breaks text into lines of at most width runes. The first begins with head, the others with as many spaces.
// Words are kept whole unless a line is too short for one.
func wrap(head, text string, width int) []string {
	indent := utf8.RuneCountInString(head)
	room := max(width-indent, 20)
	var lines []string
	var line []rune
	flush := func() {
		whole := strings.ReplaceAll(head+string(line), unbroken, " ")
		lines = append(lines, strings.TrimRight(whole, " "))
		head, line = strings.Repeat(" ", indent), line[:0]
	}
	for _, field := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' }) {
		word := []rune(field)
		if len(line) > 0 && len(line)+1+len(word) > room {
			flush()
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		for ; len(word) > room; word = word[room:] { // the line is empty
			line = append(line, word[:room]...)
			flush()
		}
		line = append(line, word...)
	}
	flush()
	return lines
}

// list joins the parts that are not empty. A short part stays on one line.
func list(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if utf8.RuneCountInString(p) <= 40 {
			p = glue(p)
		}
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, unbroken+"· ")
}

// odds formats a probability: 0.25, or 2.4e-6 for a small one.
func odds(p float64) string {
	if p >= 0.01 {
		return strconv.FormatFloat(p, 'f', 2, 64)
	}
	s := strconv.FormatFloat(p, 'e', 1, 64) // 2.4e-06
	mantissa, exponent, _ := strings.Cut(s, "e-")
	return fmt.Sprintf("%se-%s", mantissa, strings.TrimLeft(exponent, "0"))
}
