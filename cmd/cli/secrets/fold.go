package secrets

// What a peer can make of a password that it repeats: another case, an encoding, an escape for any character, or a
// terminal's escape sequence in the middle.

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// folded is a text without escapes, control characters and differences of case, and where each rune of it comes from.
type folded struct {
	text  string
	start []int // in the original, for each byte of text and its end
}

// escaped matches a character as JSON, Go, URLs or HTML write it, and what a terminal does not show.
var escaped = regexp.MustCompile(`\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[0-7]{3}|\\[abefnrtv"'/\\]|%[0-9a-fA-F]{2}|&#?[0-9a-zA-Z]{1,8};`)

// invisible matches a terminal's escape sequences, control characters, and characters without a width.
var invisible = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -~]?|\p{C}`)

// fold leaves escapes alone if they are not to be read: a password may look like one.
func fold(text string, unescapes bool) folded {
	f := folded{text: text, start: make([]int, len(text)+1)}
	for i := range f.start {
		f.start[i] = i
	}
	if unescapes {
		f = f.replace(escaped, unescape)
	}
	f = f.replace(invisible, func(string) string { return "" })
	var b strings.Builder
	var start []int
	for i, r := range f.text {
		n, _ := b.WriteRune(unicode.ToLower(unicode.ToUpper(r)))
		for range n {
			start = append(start, f.start[i])
		}
	}
	return folded{b.String(), append(start, f.start[len(f.text)])}
}

// replace replaces the matches of a pattern.
func (f folded) replace(pattern *regexp.Regexp, by func(string) string) folded {
	var b strings.Builder
	var start []int
	end := 0
	for _, m := range pattern.FindAllStringIndex(f.text, -1) {
		b.WriteString(f.text[end:m[0]])
		start = append(start, f.start[end:m[0]]...)
		n, _ := b.WriteString(by(f.text[m[0]:m[1]]))
		for range n {
			start = append(start, f.start[m[0]])
		}
		end = m[1]
	}
	b.WriteString(f.text[end:])
	return folded{b.String(), append(start, f.start[end:]...)}
}

// unescape returns the character that an escape stands for.
func unescape(s string) string {
	switch {
	case s[0] == '&':
		return html.UnescapeString(s)
	case s[0] == '%':
		n, _ := strconv.ParseUint(s[1:], 16, 8)
		return string([]byte{byte(n)})
	case s == `\/`, s == `\'`:
		return s[1:]
	case s == `\e`:
		return "\x1b"
	}
	if text, err := strconv.Unquote(`"` + s + `"`); err == nil {
		return text
	}
	return "" // half of a surrogate pair
}

// hide replaces a folded secret in a text by Hidden.
func hide(text string, secrets []string) string {
	var spans [][2]int
	for _, f := range []folded{fold(text, true), fold(text, false)} {
		for _, secret := range secrets {
			for from := 0; ; {
				at := strings.Index(f.text[from:], secret)
				if at < 0 {
					break
				}
				from += at + len(secret)
				spans = append(spans, [2]int{f.start[from-len(secret)], f.start[from]})
			}
		}
	}
	if spans == nil {
		return text
	}
	slices.SortFunc(spans, func(a, b [2]int) int { return a[0] - b[0] })
	var b strings.Builder
	end := 0
	for i, s := range spans {
		if i == 0 || s[0] > end {
			b.WriteString(text[end:s[0]] + Hidden)
		}
		end = max(end, s[1])
	}
	return b.String() + text[end:]
}

// foldedForms returns what fold makes of a password and its encodings. One that is too short to be hidden anywhere has none.
func foldedForms(p string) (list []string) {
	if utf8.RuneCountInString(p) < minAnywhere {
		return nil
	}
	list = []string{fold(p, true).text, fold(p, false).text, hex.EncodeToString([]byte(p))}
	for before := range 3 { // an encoding of more than the password: without the characters that depend on its neighbours
		padded := append(make([]byte, before), p...)
		first, last := (before*8+5)/6, len(padded)*8/6
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			list = append(list, strings.ToLower(e.EncodeToString(padded)[first:last]))
		}
	}
	return slices.DeleteFunc(list, func(form string) bool { return utf8.RuneCountInString(form) < minAnywhere })
}
