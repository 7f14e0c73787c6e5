package view

import (
	"testing"

	"github.com/lockbench/lockbench/results"
)

// TestVariables: what the environment changes is spelled in one order, and is nothing where it changes nothing.
func TestVariables(t *testing.T) {
	for _, tc := range []struct {
		set  map[string]string
		want string
	}{
		{nil, ""},
		{map[string]string{"GOGC": "50", "GODEBUG": "gctrace=1"}, "GODEBUG=gctrace=1, GOGC=50"},
	} {
		if got := Variables(results.Env{Variables: tc.set}); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.set, got, tc.want)
		}
	}
}
