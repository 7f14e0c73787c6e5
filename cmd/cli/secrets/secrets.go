// Package secrets hides passwords in text. A server may repeat what it was sent, and a user may write an address in the
// wrong place, so everything that lockbench prints or records goes through it.
package secrets

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

// Hidden stands for a secret.
const Hidden = "***"

// minAnywhere is the length from which a secret is hidden anywhere. A shorter one would split words, and be guessed from
// that; it is hidden where it is a word.
const minAnywhere = 4

// Secrets are the passwords that are known so far. It is safe for concurrent use, and its zero value knows none.
type Secrets struct {
	mu     sync.RWMutex
	list   []string // in all forms, the longest first
	folded []string // see foldedForms
}

// Add adds passwords, in all forms in which a peer or an error may quote them.
func (s *Secrets) Add(passwords ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, folded := slices.Clone(s.list), slices.Clone(s.folded) // which Scrub may be reading
	for _, p := range passwords {
		for _, form := range forms(p) {
			if form != "" && !slices.Contains(list, form) {
				list = append(list, form)
			}
		}
		for _, form := range foldedForms(p) {
			if !slices.Contains(folded, form) {
				folded = append(folded, form)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return len(b) - len(a) })
	s.list, s.folded = list, folded
}

// forms returns a password as it is, as URLs, Go and JSON write it, and on one line.
func forms(p string) []string {
	quoted := strconv.Quote(p)
	list := []string{
		p, strings.Join(strings.Fields(p), " "), quoted[1 : len(quoted)-1], url.QueryEscape(p), url.PathEscape(p),
		strings.TrimPrefix(url.UserPassword("", p).String(), ":"),
	}
	for _, html := range []bool{false, true} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		if e.Encode(p) == nil {
			list = append(list, strings.Trim(strings.TrimSpace(b.String()), `"`))
		}
	}
	return list
}

var (
	// userInfo is what stands before the host of a URL, or of an address as Go's MySQL driver has it.
	userInfo = regexp.MustCompile(`://\S*@|[^\s"'/@:(]*:\S*@(?:tcp|unix)\(`)

	// assigned is a password in an address of the form "host=… password=…", or among the parameters of a URL.
	assigned = regexp.MustCompile(`(?i)\b((?:ssl)?passw(?:or)?d|pwd)(\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&'",;]+)`)

	// passwordField is one in a line of a file.
	passwordField = regexp.MustCompile(`(?im)((?:passw(?:or)?d|secret)["']?\s*:\s*)\S.*$`)
)

// Learn adds the passwords of all addresses in a text. Drivers read addresses better, but only where addresses belong.
func (s *Secrets) Learn(text string) {
	for _, part := range slices.Concat([]string{text}, drivers.SplitAddrs(text), strings.Fields(text)) {
		_, rest, isURL := strings.Cut(part, "://")
		if !isURL {
			rest = part
		}
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			if _, password, ok := strings.Cut(rest[:at], ":"); ok && (isURL || userInfo.MatchString(part)) {
				s.Add(password)
				if plain, err := url.PathUnescape(password); err == nil {
					s.Add(plain)
				}
			}
		}
	}
	for _, match := range assigned.FindAllStringSubmatch(text, -1) {
		s.Add(strings.Trim(match[3], "'"))
	}
}

// Scrub hides the secrets in a text, and what looks like one.
func (s *Secrets) Scrub(text string) string {
	s.mu.RLock()
	list, folded := s.list, s.folded
	s.mu.RUnlock()
	for _, secret := range list {
		if strings.Contains(text, secret) {
			text = replace(text, secret)
		}
	}
	if len(folded) > 0 {
		text = hide(text, folded)
	}
	return Mask(text)
}

// replace hides one secret.
func replace(text, secret string) string {
	if utf8.RuneCountInString(secret) >= minAnywhere {
		return strings.ReplaceAll(text, secret, Hidden)
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, secret)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		last, _ := utf8.DecodeLastRuneInString(b.String())
		next, _ := utf8.DecodeRuneInString(after)
		if inWord(last) || inWord(next) {
			b.WriteString(secret)
		} else {
			b.WriteString(Hidden)
		}
		text = after
	}
}

func inWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// Mask hides whatever is in the place of a password.
func Mask(text string) string {
	text = userInfo.ReplaceAllStringFunc(text, func(found string) string {
		if strings.Contains(found, "user:password@") { // an example of how an address is written
			return found
		}
		if scheme, _, isURL := strings.Cut(found, "://"); isURL {
			return scheme + "://" + Hidden + "@"
		}
		return Hidden + found[strings.LastIndexByte(found, '@'):]
	})
	return assigned.ReplaceAllString(text, "${1}${2}"+Hidden)
}

// ScrubExcerpt is Scrub for an excerpt of a file, which may have addresses, and a field for a password.
func (s *Secrets) ScrubExcerpt(text string) string {
	for line := range strings.Lines(text) {
		s.Learn(strings.TrimSpace(line))
	}
	return passwordField.ReplaceAllString(s.Scrub(text), "${1}"+Hidden)
}

// ScrubRecord hides the secrets in what a record quotes of servers. The plan keeps its text, except for passwords in addresses.
func (s *Secrets) ScrubRecord(r *results.Record) {
	for _, text := range []*string{
		&r.Partial, &r.Server.Version, &r.Server.Mode, &r.Server.Persistence,
	} {
		*text = s.Scrub(*text)
	}
	for i := range r.Warnings {
		r.Warnings[i] = s.Scrub(r.Warnings[i])
	}
	counts := []*results.Counts{&r.Counts}
	for i := range r.Classes {
		counts = append(counts, &r.Classes[i].Counts)
	}
	for _, c := range counts {
		for class, sample := range c.ErrorSample {
			c.ErrorSample[class] = s.Scrub(sample)
		}
	}
	ended := map[string]int64{}
	for reason, n := range r.Safety.Ended {
		ended[s.Scrub(reason)] += n
	}
	if len(ended) > 0 {
		r.Safety.Ended = ended
	}
	for _, text := range []*string{&r.Env.Revision, &r.Plan.Command, &r.Plan.Workload} {
		*text = Mask(*text)
	}
}

// What a peer can make of a password that it repeats: another case, an encoding, an escape for any character, or a
// terminal's escape sequence in the middle.

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
