package drivers_test

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

func TestSplitAddrs(t *testing.T) {
	for list, want := range map[string][]string{
		"localhost:6379":                       {"localhost:6379"},
		"a:1,b:2, c:3":                         {"a:1", "b:2", "c:3"},
		"redis://u:p@a:1,redis://u:p@b:2":      {"redis://u:p@a:1", "redis://u:p@b:2"},
		"redis://u:p,w,x@a:1,redis://u:p,@b:2": {"redis://u:p,w,x@a:1", "redis://u:p,@b:2"},
		"unix:///tmp/a.sock,unix:///tmp/b":     {"unix:///tmp/a.sock", "unix:///tmp/b"},
	} {
		if got := drivers.SplitAddrs(list); !slices.Equal(got, want) {
			t.Errorf("drivers.SplitAddrs(%q) = %q, want %q", list, got, want)
		}
	}
}
