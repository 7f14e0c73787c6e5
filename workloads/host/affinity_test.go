package host

import (
	"slices"
	"testing"
)

func TestSplit(t *testing.T) {
	alone := func(int) string { return "" }
	pairs := func(core int) string { return string(rune('a' + core/2)) } // 0 and 1 share a physical core, 2 and 3 do
	far := func(core int) string { return string(rune('a' + core%4)) }   // 0 and 4 do
	for _, c := range []struct {
		name              string
		cores             []int
		want              int
		siblings          func(int) string
		lockbench, server []int
	}{
		{"none", nil, 1, alone, nil, nil},
		{"one", []int{3}, 1, alone, nil, nil},
		{"two", []int{0, 1}, 1, alone, []int{1}, []int{0}},
		{"two of a cpuset", []int{5, 9}, 1, alone, []int{9}, []int{5}},
		{"two that share a physical core", []int{0, 1}, 1, pairs, []int{1}, []int{0}},
		{"two physical cores", []int{0, 1, 2, 3}, 1, pairs, []int{2, 3}, []int{0, 1}},
		{"a part of a physical core", []int{1, 2, 3}, 1, pairs, []int{2, 3}, []int{1}},
		{"siblings far apart", []int{0, 1, 2, 3, 4, 5, 6, 7}, 2, far, []int{2, 3, 6, 7}, []int{0, 1, 4, 5}},
		{"several nodes", []int{0, 1, 2, 3, 4, 5, 6, 7}, 3, alone, []int{3, 4, 5, 6, 7}, []int{0, 1, 2}},
		{"more nodes than half of the cores", []int{0, 1, 2, 3, 4}, 5, alone, []int{2, 3, 4}, []int{0, 1}},
		{"no process that is known", []int{0, 1, 2}, 0, alone, []int{1, 2}, []int{0}},
	} {
		lockbench, server := split(c.cores, c.want, c.siblings)
		if !slices.Equal(lockbench, c.lockbench) || !slices.Equal(server, c.server) {
			t.Errorf("%s: %v and %v, want %v and %v", c.name, lockbench, server, c.lockbench, c.server)
		}
	}
}
