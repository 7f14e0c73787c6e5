package suggest

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"go-redis", "rueidis", "memory", "null"}
	for in, want := range map[string]string{
		"rueids": "rueidis", "ruiedis": "rueidis", "Memory": "memory", "redis": "rueidis", "mem": "memory", "goredis": "go-redis",
		"nul": "null", "zookeeper": "", "": "", "x": "", strings.Repeat("m", 1000): "",
	} {
		if got := nearest(in, names); got != want {
			t.Errorf("%q is nearest to %q, want %q", in, got, want)
		}
	}
}

// FuzzNearest holds the distance to what a distance is.
func FuzzNearest(f *testing.F) {
	f.Add("rueidis", "reuidis")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 64 || len(b) > 64 {
			return
		}
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d < max(len(a)-len(b), len(b)-len(a)) {
			t.Errorf("%q and %q are %d apart, and %d the other way", a, b, d, distance(b, a))
		}
	})
}
