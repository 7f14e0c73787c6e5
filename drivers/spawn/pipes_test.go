package spawn

import (
	"strings"
	"testing"
)

// TestTail: no part of a secret is quoted, wherever the text is cut.
func TestTail(t *testing.T) {
	const secret = "hunter2"
	for n := range 3 * maxTail {
		tail := Tail{Hide: func(text string) string { return strings.ReplaceAll(text, secret, "***") }}
		_, _ = tail.Write([]byte("a " + secret + " "))
		_, _ = tail.Write([]byte(strings.Repeat("x", n)))
		text := tail.String()
		if strings.Trim(text, "a *x") != "" || len(text) > maxTail || len(text) < min(n, maxTail-len(secret)) {
			t.Fatalf("%d: %d bytes, %.20q", n, len(text), text)
		}
	}
}
