package secrets

import "testing"

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
