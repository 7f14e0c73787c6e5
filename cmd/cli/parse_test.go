package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/spec"
)

func TestParseList(t *testing.T) {
	got, err := parseList("64, 10k,1_000", spec.ParseInt)
	if err != nil || fmt.Sprint(got) != "[64 10000 1000]" {
		t.Errorf("%v, %v", got, err)
	}
	for in, want := range map[string]string{
		"": "must not have an empty part", "1,": "must not have an empty part", "1,,2": "must not have an empty part",
		"1,1": "must not name 1 twice", "1000,1k": "must not name 1k twice",
		"1,x": "must be a whole number such as 64, 1_000 or 10k",
	} {
		if _, err := parseList(in, spec.ParseInt); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

func FuzzParseList(f *testing.F) {
	for _, seed := range []string{"a", "a,b", " a , b ", ",", "a,a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := parseList(s, parseText)
		if err != nil {
			return
		}
		if len(list) != strings.Count(s, ",")+1 {
			t.Errorf("%q has %d parts: %q", s, len(list), list)
		}
		if again, err := parseList(strings.Join(list, ","), parseText); err != nil || len(again) != len(list) {
			t.Errorf("%q reads as %q, and that as %q, %v", s, list, again, err)
		}
	})
}

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
