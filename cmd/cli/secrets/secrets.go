// Package secrets hides passwords in what lockbench prints and records: as they are, URL-encoded, and in base64.
package secrets

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lockbench/lockbench/drivers"
)

// Hidden stands for a secret.
const Hidden = "***"

// Secrets are the passwords that are known so far. It is safe for concurrent use, and its zero value knows none.
type Secrets struct {
	mu   sync.RWMutex
	list []secret // the longest first
}

type secret struct {
	text, by string
	weak     bool // hidden in what others say only
}

// weak matches a password that lockbench may write for another reason: if it is postgres, reports name that driver.
var weak = regexp.MustCompile(`^(.{0,5}|[a-z._-]{0,11}|[A-Z._-]{0,11}|[0-9.-]*)$`)

// Add adds passwords of four characters or more: as they are, as Go and JSON quote them, URL-encoded, and in base64.
func (s *Secrets) Add(passwords ...string) {
	for _, p := range passwords {
		inJSON, _ := json.Marshal(p)
		for _, text := range []string{
			p, strings.Trim(strconv.Quote(p), `"`), strings.Trim(string(inJSON), `"`), url.QueryEscape(p), url.PathEscape(p),
			base64.RawStdEncoding.EncodeToString([]byte(p)), base64.RawURLEncoding.EncodeToString([]byte(p)),
		} {
			if len(p) >= 4 {
				s.add(secret{text, Hidden, weak.MatchString(p)})
			}
		}
	}
}

func (s *Secrets) add(one secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.list, one) {
		s.list = append(s.list, one)
		slices.SortStableFunc(s.list, func(a, b secret) int { return len(b.text) - len(a.text) })
	}
}

// login finds the password of an address, also of one with a slip in its scheme, as in postgres//user:password@host.
// blank finds it where nothing else is, and it may have blanks. assigned finds that of the parameters of a URL, of
// host=… password='…', and of a line of a file; bare, that of host=… password=… with any character but a blank in it,
// as PostgreSQL reads it.
var (
	login    = regexp.MustCompile(`[A-Za-z][\w+.-]*(?::+/|//)/*[^\s:@]*:(\S+)@|[^\s"'/@:(]*:(\S+)@(?:tcp|unix)\(`)
	blank    = regexp.MustCompile(`(?s)//[^:@]*:(.+)()@`)
	assigned = regexp.MustCompile(`(?im)\b` + named +
		`(?:\s*=\s*('(?:[^'\\]|\\.)*'|[^\s&'",;]+)|["']?\s*:\s*(\S.*)$)`)
	bare = regexp.MustCompile(`(?i)(?:^|\s)` + named + `\s*=\s*(\S)(\S*)`)
)

const named = `(?:[\w-]*(?:passw(?:or)?d|pwd|secret|token|api[_-]?key))`

// Learn adds the passwords of all addresses in a text, each of any length where it stands there.
func (s *Secrets) Learn(text string) {
	all := append(assigned.FindAllStringSubmatch(text, -1), bare.FindAllStringSubmatch(text, -1)...)
	for _, addr := range drivers.SplitAddrs(text) {
		all = append(all, login.FindAllStringSubmatch(addr, -1)...)
	}
	s.learn(all)
}

// LearnAddr adds the password of one address and nothing else, in which it may have blanks.
func (s *Secrets) LearnAddr(addr string) {
	s.Learn(addr)
	s.learn(blank.FindAllStringSubmatch(addr, 1))
}

// learn adds what is found of login, assigned, bare or blank.
func (s *Secrets) learn(all [][]string) {
	for _, found := range all {
		p := found[1] + found[2]
		place := ":" + p + "@"
		if !strings.Contains(found[0], place) {
			place = found[0]
		}
		s.add(secret{place, strings.Replace(place, p, Hidden, 1), false})
		plain, _ := url.PathUnescape(p)
		s.Add(p, plain, strings.Trim(p, `'"`))
	}
}

// Scrub hides all secrets in a text, which others may have written. Hide leaves weak ones, unless an address has them.
func (s *Secrets) Scrub(text string) string { return s.hide(text, true) }
func (s *Secrets) Hide(text string) string  { return s.hide(text, false) }

func (s *Secrets) hide(text string, all bool) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, one := range s.list {
		if all || !one.weak {
			text = strings.ReplaceAll(text, one.text, one.by)
		}
	}
	return text
}

// Hiding returns write for a destination that gets what Hide leaves, whole, since writes may divide a secret.
func (s *Secrets) Hiding(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		s.mu.RLock()
		known := len(s.list) > 0
		s.mu.RUnlock()
		if !known {
			return write(w)
		}
		var b bytes.Buffer
		err := write(&b)
		_, wrong := io.WriteString(w, s.Hide(b.String()))
		return cmp.Or(err, wrong)
	}
}
