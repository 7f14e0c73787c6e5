package secrets

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/url"
	"strings"
	"testing"
)

// TestScrub shows what is hidden in what others say.
func TestScrub(t *testing.T) {
	for _, c := range []struct{ secret, text, want string }{
		{"hunter22", "AUTH default hunter22: no", "AUTH default ***: no"},
		{"hunter22", "xhunter22x", "x***x"},
		{"p:w/d", "p%3Aw%2Fd and p:w/d", "*** and ***"},
		{"p w+d", "p+w%2Bd and p%20w+d", "*** and ***"},
		{`a"b\c`, `said "a\"b\\c" and a\u0022`, `said "***" and a\u0022`},
		{"a&b<cd", "a\\u0026b\\u003ccd", "***"},
		{"hunter22", base64.StdEncoding.EncodeToString([]byte("hunter22")), "***="},
		{"postgres", "no postgres for postgres", "no *** for ***"},
		{"pw", "pwd", "pwd"},
		{"", "nothing", "nothing"},
		{"hunter22", "hunter2", "hunter2"},
	} {
		var s Secrets
		s.Add(c.secret)
		if got := s.Scrub(c.text); got != c.want {
			t.Errorf("%q without %q is %q, want %q", c.text, c.secret, got, c.want)
		}
	}
}

// TestLearn hides what it has learnt from a text in that text, where it may be our own.
func TestLearn(t *testing.T) {
	for text, want := range map[string]string{
		"redis://u:x@h:1/0 and redis://h":          "redis://u:***@h:1/0 and redis://h",
		"redis://:a@h1,redis://:b@h2":              "redis://:***@h1,redis://:***@h2",
		"redis://:a@b@h":                           "redis://:***@h",
		"redis://:a%40b@h, which is a@b":           "redis://:***@h, which is a@b", // as short as it is
		"postgres//u:SECRET@h":                     "postgres//u:***@h",
		"postgres:/u:SECRET@h":                     "postgres:/u:***@h",
		"postgres:///u:SECRET@h":                   "postgres:///u:***@h",
		"addr://postgres:u:SECRET@h":               "addr://postgres:***@h",
		"addr://postgres/u:SECRET@h":               "addr://postgres/u:***@h",
		"u:x@tcp(h:1)/db":                          "u:***@tcp(h:1)/db",
		"host=h password='a b' x":                  "host=h password=*** x",
		`host=h password=a"b,c;d&e dbname=x`:       "host=h password=*** dbname=x",
		"host=h password='never ends":              "host=h password=*** ends",
		"postgres://h/db?x=y&password=abc&z":       "postgres://h/db?x=y&password=***&z",
		"token=abcdef":                             "token=***",
		"-param authToken=abc1DEF and abc1DEF":     "-param authToken=*** and ***",
		"a: b\npassword: \"it is\" # so\nc: d":     "a: b\npassword: ***\nc: d",
		"LOCKBENCH_PASSWORD_FILE=/x: no such file": "LOCKBENCH_PASSWORD_FILE=/x: no such file",
		"a mail to me@example.org at 10:20":        "a mail to me@example.org at 10:20",
		"registry:5000/org/name:v1.2@sha256:00":    "registry:5000/org/name:v1.2@sha256:00",
		"go-redis@redlock,redsync@cluster":         "go-redis@redlock,redsync@cluster",
	} {
		var s Secrets
		s.Learn(text)
		if got := s.Hide(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestWeak: lockbench's own words stay, but what may be a secret does not.
func TestWeak(t *testing.T) {
	for _, weak := range []string{"postgres", "go-redis", "SECRET", "123456", "lock"} {
		var s Secrets
		s.Learn("postgres://me:" + weak + "@h")
		if text := `{"driver":"` + weak + `"}`; s.Hide(text) != text || strings.Contains(s.Scrub(text), weak) {
			t.Errorf("%s is shown as %s, and where others say it as %s", text, s.Hide(text), s.Scrub(text))
		}
	}
	for _, strong := range []string{"hunter2", "c4nary", "correct-horse-battery", "Sesame", "geheim!", "0123456789abc"} {
		var s Secrets
		s.Add(strong)
		if text := s.Hide("it is " + strong + ", or " + url.QueryEscape(strong)); text != "it is ***, or ***" {
			t.Error(text)
		}
	}
}

// TestHiding finds a secret that writes divide.
func TestHiding(t *testing.T) {
	var s Secrets
	write := s.Hiding(func(w io.Writer) error {
		for _, c := range "it is hunter22 now" {
			if _, err := io.WriteString(w, string(c)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, want := range []string{"it is hunter22 now", "it is *** now"} {
		var b bytes.Buffer
		if err := write(&b); err != nil || b.String() != want {
			t.Errorf("%q, %v, want %q", &b, err, want)
		}
		s.Add("hunter22")
	}
}
