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
