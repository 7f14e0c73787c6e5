// Package format writes numbers, durations and lists as people read them.
package format

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// None stands for a figure that is not known or does not exist.
const None = "–"

// Three formats a positive number with three significant digits and without an exponent: 1.23, 45.0, 678.
func Three(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 99.95:
		return Count(int64(math.Round(v)))
	case v >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// Duration formats a duration that was measured: three significant digits in the unit that suits it.
func Duration(d time.Duration) string {
	ns := float64(d)
	switch {
	case d < 0:
		return "-" + Duration(d.Abs()) // -d of the least would be itself
	case d < time.Microsecond:
		return strconv.FormatInt(int64(d), 10) + " ns"
	case ns < 999.5*1e3:
		return Three(ns/1e3) + " µs"
	case ns < 999.5*1e6:
		return Three(ns/1e6) + " ms"
	case d < 2*time.Minute:
		return Three(d.Seconds()) + " s"
	case d < 2*time.Hour:
		return Three(d.Minutes()) + " min"
	}
	return Three(d.Hours()) + " h"
}

// Exact formats a duration as it was typed, with all its digits, "1.5 ms", "30 s".
func Exact(d time.Duration) string {
	text := d.String()
	switch {
	case d == 0:
		return "0"
	case d.Abs() >= time.Second:
		return strconv.FormatFloat(float64(d)/1e9, 'f', -1, 64) + " s"
	}
	unit := strings.IndexAny(text, "nµm")
	return text[:unit] + " " + text[unit:]
}

// Count formats a count: 1,234,567.
func Count[N ~int | ~int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural formats a count with its noun, which takes an s for all counts but one.
func Plural[N ~int | ~int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Percent formats a share; a small one keeps a digit or two, since 0.3 % is not the nothing that 0 % says.
func Percent(share float64) string {
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

var invisible = []*unicode.RangeTable{unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Noncharacter_Code_Point}

// Visible returns r, or a blank for what a terminal or a page obeys instead of showing it: control characters, those
// that turn the direction of text, and what is no character.
func Visible(r rune) rune {
	if r == utf8.RuneError || unicode.In(r, invisible...) {
		return ' '
	}
	return r
}

// Clean makes text from a record fit for a terminal, a table and a file of XML: what a server answered may hold line
// breaks, escape sequences and what is no character. The blanks of Glue stay, for Wrap to replace.
func Clean(s string) string { return Tame(strings.Map(Visible, s)) }

// Line is Clean without the blanks of Glue, for a page that breaks its lines itself.
func Line(s string) string { return strings.ReplaceAll(Clean(s), Unbroken, " ") }

// commands are GitHub's workflow commands in both spellings. A step's output is searched for them line by line,
// blanks at the beginning left out, and a word may come to stand there.
var commands = regexp.MustCompile(`(^|\s)::([a-z]+(?:-[a-z]+)*(?:\s[^:]*)?::)|##\[`)

// Tame breaks up workflow commands in text from a record, so that a build server does not obey them.
func Tame(s string) string {
	if !strings.Contains(s, "::") && !strings.Contains(s, "##[") {
		return s
	}
	return commands.ReplaceAllStringFunc(s, func(found string) string {
		return strings.NewReplacer("::", ": :", "##[", "## [").Replace(found)
	})
}

// Unbroken stands for a blank at which Wrap must not break a line.
const Unbroken = "\u00a0"

// Glue keeps text on one line.
func Glue(s string) string { return strings.ReplaceAll(s, " ", Unbroken) }

// Width returns how many columns of a terminal s takes, whatever the locale: 版 takes two.
func Width(s string) int { return twwidth.WidthWithOptions(s, twwidth.Options{}) }

// Wrap breaks text into lines of at most width columns. The first begins with head, the others with as many spaces.
// Words are kept whole unless a line is too short for one; no line is a workflow command.
func Wrap(head, text string, width int) []string {
	indent := Width(head)
	room := max(width-indent, 10)
	var lines []string
	line := ""
	flush := func() {
		whole := strings.ReplaceAll(head+line, Unbroken, " ")
		lines = append(lines, Tame(strings.TrimRight(whole, " ")))
		head, line = strings.Repeat(" ", indent), ""
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' }) {
		if line != "" && Width(line)+1+Width(word) > room {
			flush()
		}
		if line != "" {
			line += " "
		}
		for at := fitting(word, room); at < len(word); at = fitting(word, room) { // the line is empty
			line, word = word[:at], word[at:]
			flush()
		}
		line += word
	}
	flush()
	return lines
}

// fitting returns how many bytes at the beginning of s take no more columns than room.
func fitting(s string, room int) int {
	for at, r := range s {
		if room -= Width(string(r)); room < 0 {
			return at
		}
	}
	return len(s)
}

// Join joins the parts that are not empty. A short part stays on one line.
func Join(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if utf8.RuneCountInString(p) <= 40 {
			p = Glue(p)
		}
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, Unbroken+"· ")
}

// And joins items as a sentence does: "a, b and c".
func And(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + " and " + items[last]
}

// Labelled formats a count with a label before it, or nothing for none.
func Labelled(label string, n int64) string {
	if n == 0 {
		return ""
	}
	return label + " " + Count(n)
}

// Few joins names as a sentence does; of more than most it names the first, and counts the rest. Semicolons stand
// between names that have commas or points.
func Few(names []string, most int) string {
	separator := ", "
	if slices.ContainsFunc(names, func(name string) bool { return strings.ContainsAny(name, ",·") }) {
		separator = "; "
	} else if len(names) <= most+1 {
		return And(names)
	}
	rest := len(names) - most
	if rest <= 1 {
		return strings.Join(names, separator)
	}
	more := fmt.Sprintf("%s and %s more", strings.TrimRight(separator, ", "), Count(rest))
	return strings.Join(names[:most], separator) + more
}

// Change formats a change, a ratio less one, in percent and with its sign, "−12.5 %". It is a dash if it is not known.
func Change(change float64) string {
	v, digits := 100*change, 1
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return None
	}
	if math.Abs(v) >= 99.95 {
		digits = 0
	}
	text := strconv.FormatFloat(math.Abs(v), 'f', digits, 64) + " %"
	switch {
	case strings.HasPrefix(text, "0.0 "):
		return text
	case v < 0:
		return "−" + text
	}
	return "+" + text
}

// P formats the p of a test: 0.032, 0.0002, < 0.0001.
func P(p float64) string {
	switch {
	case p < 0.0001:
		return "< 0.0001"
	case p < 0.01:
		return strconv.FormatFloat(p, 'f', 4, 64)
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// Cut shortens text to so many runes, which an ellipsis shows.
func Cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
