// Secrets: every password that lockbench knows is taken out of whatever it says, because a server may repeat what it was
// sent, and a user may write an address where none belongs.

package cli

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/lockbench/lockbench/results"
)

// hidden stands for a secret.
const hidden = "***"

// shortest is how long a secret is at least that is hidden wherever it stands. A shorter one would tear words apart, and
// give itself away by that; it is hidden where it is a word.
const shortest = 4

// secrets are the passwords that are known so far. It is safe for concurrent use, and its zero value knows none.
type secrets struct {
	mu   sync.RWMutex
	list []string // in all forms, the longest first
}

// add takes in passwords, in all forms in which a peer or an error may quote them.
func (s *secrets) add(passwords ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.list) // which scrub may be reading
	for _, p := range passwords {
		for _, form := range forms(p) {
			if form != "" && !slices.Contains(list, form) {
				list = append(list, form)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return len(b) - len(a) })
	s.list = list
}

// forms are a password as it is, as URLs, Go and JSON write it, and on one line.
func forms(p string) []string {
	quoted := strconv.Quote(p)
	list := []string{
		p, oneLine(p), quoted[1 : len(quoted)-1], url.QueryEscape(p), url.PathEscape(p),
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

// learn takes in the passwords of all addresses in a text, wherever the user has written it. Drivers read addresses
// better, but only where they are meant to be.
func (s *secrets) learn(text string) {
	for _, part := range slices.Concat([]string{text}, splitAddrs(text), strings.Fields(text)) {
		_, rest, isURL := strings.Cut(part, "://")
		if !isURL {
			rest = part
		}
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			if _, password, ok := strings.Cut(rest[:at], ":"); ok && (isURL || userInfo.MatchString(part)) {
				s.add(password)
				if plain, err := url.PathUnescape(password); err == nil {
					s.add(plain)
				}
			}
		}
	}
	for _, match := range assigned.FindAllStringSubmatch(text, -1) {
		s.add(strings.Trim(match[3], "'"))
	}
}

// learnStart takes in what can be known before anything was read: the arguments and the environment.
func (s *secrets) learnStart(args []string, env environ) {
	for _, arg := range args {
		s.learn(arg)
	}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case name == passwordVariable, name == "PGPASSWORD":
			s.add(value)
		case strings.HasPrefix(name, "LOCKBENCH_"), name == "REDIS_URL":
			s.learn(value)
		}
	}
}

// scrub hides the secrets of a text, and what looks like one.
func (s *secrets) scrub(text string) string {
	s.mu.RLock()
	list := s.list
	s.mu.RUnlock()
	for _, secret := range list {
		if strings.Contains(text, secret) {
			text = replace(text, secret)
		}
	}
	return mask(text)
}

// replace hides one secret.
func replace(text, secret string) string {
	if utf8.RuneCountInString(secret) >= shortest {
		return strings.ReplaceAll(text, secret, hidden)
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
			b.WriteString(hidden)
		}
		text = after
	}
}

func inWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// mask hides what stands where a password does, whatever it is.
func mask(text string) string {
	text = userInfo.ReplaceAllStringFunc(text, func(found string) string {
		if strings.Contains(found, "user:password@") { // an example of how an address is written
			return found
		}
		if scheme, _, isURL := strings.Cut(found, "://"); isURL {
			return scheme + "://" + hidden + "@"
		}
		return hidden + found[strings.LastIndexByte(found, '@'):]
	})
	return assigned.ReplaceAllString(text, "${1}${2}"+hidden)
}

// scrubFile is scrub for an excerpt of a file, which may have addresses, and a field for a password.
func (s *secrets) scrubFile(text string) string {
	for line := range strings.Lines(text) {
		s.learn(strings.TrimSpace(line))
	}
	return passwordField.ReplaceAllString(s.scrub(text), "${1}"+hidden)
}

// scrubRecord hides the secrets in what a record quotes of servers. What was asked for it says as it was, but for addresses.
func (s *secrets) scrubRecord(r *results.Record) {
	for _, text := range []*string{
		&r.Partial, &r.Server.Version, &r.Server.Mode, &r.Server.Persistence,
	} {
		*text = s.scrub(*text)
	}
	for i := range r.Warnings {
		r.Warnings[i] = s.scrub(r.Warnings[i])
	}
	counts := []*results.Counts{&r.Counts}
	for i := range r.Classes {
		counts = append(counts, &r.Classes[i].Counts)
	}
	for _, c := range counts {
		for class, sample := range c.ErrorSample {
			c.ErrorSample[class] = s.scrub(sample)
		}
	}
	for _, text := range []*string{&r.Env.Revision, &r.Plan.Command, &r.Plan.Workload} {
		*text = mask(*text)
	}
}
