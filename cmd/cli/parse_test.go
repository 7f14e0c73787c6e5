package cli

import (
	"fmt"
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
