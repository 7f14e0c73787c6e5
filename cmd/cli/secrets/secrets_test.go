package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// TestScrub shows what is hidden and what is not.
func TestScrub(t *testing.T) {
	for _, c := range []struct{ secret, text, want string }{
		{"hunter22", "AUTH default hunter22: no", "AUTH default ***: no"},
		{"hunter22", "xhunter22x", "x***x"},
		{"p:w/d", "p%3Aw%2Fd and p:w/d", "*** and ***"},
		{`a"b\c`, `said "a\"b\\c" and a\u0022`, `said "***" and a\u0022`},
		{"a&b<cd", "a\\u0026b\\u003ccd", "***"},
		{"pw", "AUTH default pw, not pws", "AUTH default ***, not pws"},
		{"", "nothing", "nothing"},
		{"hunter22", "hunter2", "hunter2"},
		{"", "redis://u:x@h:1/0 and redis://h", "redis://***@h:1/0 and redis://h"},
		{"", "write redis://user:password@host:port", "write redis://user:password@host:port"},
		{"", "u:x@tcp(h:1)/db", "***@tcp(h:1)/db"},
		{"", "or user:password@tcp(host:port)/database", "or user:password@tcp(host:port)/database"},
		{"", "host=h password='a b' x", "host=h password=*** x"},
		{"", "LOCKBENCH_PASSWORD_FILE=/x: no such file", "LOCKBENCH_PASSWORD_FILE=/x: no such file"},
		{"", "a mail to me@example.org at 10:20", "a mail to me@example.org at 10:20"},
	} {
		var s Secrets
		s.Add(c.secret)
		if got := s.Scrub(c.text); got != c.want {
			t.Errorf("%q without %q is %q, want %q", c.text, c.secret, got, c.want)
		}
	}
}

// TestScrubFindsWhatAPeerMakesOfIt: a server that repeats a password chooses how.
func TestScrubFindsWhatAPeerMakesOfIt(t *testing.T) {
	for _, password := range []string{"c4nary", `c4nary&"<é`, "hunter2hunter2", "Tr0ub4dor", `a%41\\b+/c`} {
		var s Secrets
		s.Add(password)
		var utf, percent, entities, split strings.Builder
		for _, r := range password {
			fmt.Fprintf(&utf, `\u%04x`, r)
			fmt.Fprintf(&entities, "&#%d;", r)
			fmt.Fprintf(&split, "\x1b[0m%c\u200b", r)
		}
		for _, b := range []byte(password) {
			fmt.Fprintf(&percent, "%%%02X", b)
		}
		for how, echo := range map[string]string{
			"plain": password, "upper": strings.ToUpper(password), "lower": strings.ToLower(password),
			"hex": hex.EncodeToString([]byte(password)), "HEX": fmt.Sprintf("%X", password),
			"JSON": utf.String(), "JSON upper": strings.ReplaceAll(strings.ToUpper(utf.String()), `\U`, `\u`),
			"URL": percent.String(), "HTML": entities.String(),
			"split": split.String(), "split, quoted": strconv.Quote(split.String()), "half": password[:2] + "\x1b[31m" + password[2:],
			"base64":     base64.StdEncoding.EncodeToString([]byte(password)),
			"base64 URL": base64.URLEncoding.EncodeToString([]byte(password)),
			"basic":      base64.StdEncoding.EncodeToString([]byte("me:" + password)),
			"basic, two": base64.StdEncoding.EncodeToString([]byte("user:" + password + "!")),
		} {
			text := "-ERR denied: " + echo + " and so on"
			got := s.Scrub(text)
			if !strings.Contains(got, Hidden) || !strings.HasPrefix(got, "-ERR denied: ") || !strings.HasSuffix(got, " and so on") {
				t.Errorf("%s of %q: %q", how, password, got)
			}
			if rest := strings.TrimSuffix(strings.TrimPrefix(got, "-ERR denied: "), " and so on"); len(rest) > len(Hidden)+len("dXNlcjpIQ==") {
				t.Errorf("%s of %q: %q is left", how, password, rest)
			}
		}
		for _, harmless := range []string{"nothing of it", "50% off \\ \x1b[1mbold\x1b[0m é &amp; \\u0041", "", "c4nar"} {
			if got := s.Scrub(harmless); got != harmless {
				t.Errorf("Scrub(%q) = %q", harmless, got)
			}
		}
	}
}
