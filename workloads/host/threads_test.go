package host

import "testing"

func TestThreads(t *testing.T) {
	before := files("proc/7/schedstat", "1000000 500000 3\n", "proc/8/schedstat", "9000000 0 3\n", "proc/9/schedstat", "1 1 1\n")
	for _, c := range []struct {
		name  string
		pids  []int
		after []string
		want  Thread
	}{
		{"one that ran and waited", []int{7}, []string{"proc/7/schedstat", "3000000 1500000 9\n"}, Thread{2 * ms, ms}},
		{"the busier of two, which waited more", []int{7, 8},
			[]string{"proc/7/schedstat", "3000000 3500000 9\n", "proc/8/schedstat", "13000000 0 9\n"}, Thread{2 * ms, 3 * ms}},
		{"one that slept", []int{7}, []string{"proc/7/schedstat", "1000000 500000 3\n"}, Thread{}},
		{"one that is gone, and a new one", []int{7, 10}, []string{"proc/10/schedstat", "3000000 1500000 9\n"}, Thread{}},
		{"malformed", []int{7}, []string{"proc/7/schedstat", "many\n"}, Thread{}},
		{"none", nil, nil, Thread{}},
	} {
		if got := ReadThreads(files(c.after...), c.pids).Busiest(ReadThreads(before, []int{7, 8, 9})); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
