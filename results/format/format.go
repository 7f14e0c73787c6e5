// Package format writes numbers, durations and lists as people read them.
package format

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
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
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// units are those of durations, each with the nanoseconds from which on it suits.
var units = []struct {
	from, ns float64
	name     string
}{{7.2e12, 3.6e12, "h"}, {1.2e11, 6e10, "min"}, {9.995e8, 1e9, "s"}, {9.995e5, 1e6, "ms"}, {1e3, 1e3, "µs"}}

// Duration formats a duration that was measured: three significant digits in the unit that suits it.
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(d.Abs()) // -d of the least would be itself
	}
	for _, u := range units {
		if ns := float64(d); ns >= u.from {
			return Three(ns/u.ns) + " " + u.name
		}
	}
	return strconv.FormatInt(int64(d), 10) + " ns"
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

// Part formats how many there are of several things: "the only key", "all 4 keys", "3 of 4 keys".
func Part(n, of int64, noun string) string {
	switch {
	case n == 1 && of == 1:
		return "the only " + noun
	case n == of:
		return "all " + Plural(of, noun)
	}
	return Count(n) + " of " + Plural(of, noun)
}

// Percent formats a share; a small one keeps a digit or two, since 0.3 % is not the nothing that 0 % says.
func Percent(share float64) string {
	switch v := 100 * share; {
	case v <= 0 || v >= 9.95:
		return fmt.Sprintf("%.0f %%", v)
	case v >= 0.095:
		return fmt.Sprintf("%.1f %%", v)
	case v >= 0.0095:
		return fmt.Sprintf("%.2f %%", v)
	}
	return "< 0.01 %"
}

// Change formats a change, a ratio less one, in percent and with its sign, "−12.5 %". It is a dash if it is not known.
func Change(change float64) string {
	text := fmt.Sprintf("%+.1f %%", 100*change)
	switch {
	case math.IsNaN(change) || math.IsInf(change, 0):
		return None
	case math.Abs(change) >= 0.9995:
		text = fmt.Sprintf("%+.0f %%", 100*change)
	case text[1:] == "0.0 %":
		return text[1:]
	}
	return strings.Replace(text, "-", "−", 1)
}

// P formats the p of a test: 0.032, < 0.001.
func P(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// Visible returns r, or a blank for what a terminal or a page obeys instead of showing it: control characters, those
// that turn the direction of text, and what is no character.
func Visible(r rune) rune {
	if r == utf8.RuneError || !unicode.IsGraphic(r) {
		return ' '
	}
	return r
}

// Line makes text from a record fit for a table, a page and a file of XML: what a server answered may hold line breaks,
// escape sequences and what is no character.
func Line(s string) string { return strings.ReplaceAll(tame(strings.Map(Visible, s)), Unbroken, " ") }

// commands are GitHub's workflow commands in both spellings. A step's output is searched for them line by line,
// blanks at the beginning left out, and a word may come to stand there.
var commands = regexp.MustCompile(`(^|\s)::([a-z]+(?:-[a-z]+)*(?:\s[^:]*)?::)|##\[`)

// tame breaks up workflow commands in text from a record, so that a build server does not obey them.
func tame(s string) string {
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

// Wrap breaks text into lines of at most width columns that are fit for a terminal. The first begins with head, the
// others with as many spaces. A word is broken only if a line is too short for it.
func Wrap(head, text string, width int) []string {
	indent := Width(head)
	room, lines := max(width-indent, 10), []string{""}
	for word := range strings.SplitSeq(strings.Map(Visible, text), " ") {
		for runes := []rune(word); len(runes) > 0; {
			at := sort.Search(len(runes), func(i int) bool { return Width(string(runes[:i+1])) > room })
			part, last := string(runes[:at]), len(lines)-1
			switch runes = runes[at:]; {
			case lines[last] == "":
				lines[last] = part
			case Width(lines[last])+1+Width(part) <= room:
				lines[last] += " " + part
			default:
				lines = append(lines, part)
			}
		}
	}
	for i, line := range lines {
		line = strings.TrimRight(strings.ReplaceAll(head+line, Unbroken, " "), " ")
		lines[i], head = tame(line), strings.Repeat(" ", indent)
	}
	return lines
}

// Join joins the parts that are not empty. A short part stays on one line, unless it has been joined itself.
func Join(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if utf8.RuneCountInString(p) <= 40 && !strings.Contains(p, Unbroken+"· ") {
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

// Few joins names, and of more than most counts the rest. Semicolons stand between those with commas or points.
func Few(names []string, most int) string {
	if rest := len(names) - most; rest > 1 {
		names = append(slices.Clone(names[:most]), Count(rest)+" more")
	}
	if strings.ContainsAny(strings.Join(names, ""), ",·") {
		return strings.Join(names, "; ")
	}
	return And(names)
}

// Labelled formats a count with a label before it, or nothing for none.
func Labelled(label string, n int64) string {
	if n == 0 {
		return ""
	}
	return label + " " + Count(n)
}

// Cut shortens text to so many runes, which an ellipsis shows.
func Cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
