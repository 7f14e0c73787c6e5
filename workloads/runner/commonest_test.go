package runner

import (
	"testing"

	"github.com/lockbench/lockbench/results"
)

// TestCommonest: a text of why a trial is partial is not told again as the error that it came from.
func TestCommonest(t *testing.T) {
	n := &results.Counts{
		Errors:      map[string]int64{"closed": 1, "protocol": 36},
		ErrorSample: map[string]string{"closed": "release: EOF", "protocol": "acquire: adapter: its clock has jumped"},
	}
	for text, want := range map[string]string{
		"requests that failed took 92 % of the time":       " (the first: acquire: adapter: its clock has jumped)",
		"adapter: its clock has jumped":                    "",
		"acquire: adapter: its clock has jumped, and more": "",
	} {
		if got := commonest(n, text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
