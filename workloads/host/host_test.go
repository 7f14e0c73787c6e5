package host

import (
	"math"
	"runtime/metrics"
	"slices"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestRuntimeHistogram(t *testing.T) {
	buckets := []float64{0, 0.001, 0.002, 0.004, math.Inf(1)}
	before := Histogram{Counts: []uint64{5, 5, 5, 5}, Buckets: buckets}
	after := Histogram{Counts: []uint64{95, 14, 5, 5}, Buckets: buckets}
	h := after.Since(before)
	for q, want := range map[float64]time.Duration{0.5: time.Millisecond, 0.9: time.Millisecond, 0.91: 2 * time.Millisecond, 0.96: 2 * time.Millisecond, 0.99: 2 * time.Millisecond, 1: 2 * time.Millisecond} {
		if got := h.Quantile(q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if got := after.Quantile(1); got != 4*time.Millisecond {
		t.Errorf("without an end the last bucket is %v, want its begin, 4ms", got)
	}
	if got := after.Since(Histogram{}).Quantile(0); got != time.Millisecond {
		t.Errorf("since nothing: %v", got)
	}
	if got := (Histogram{}).Quantile(0.99); got != 0 {
		t.Errorf("of an empty one: %v", got)
	}
	// The runtime has what is asked of it.
	for _, name := range []string{allocsMetric, queueMetric, pausesMetric} {
		if !slices.ContainsFunc(metrics.All(), func(d metrics.Description) bool { return d.Name == name }) {
			t.Errorf("the runtime does not know %s", name)
		}
	}
	if r := ReadRuntime(); r.Allocs == 0 || len(r.Queue.Counts) == 0 || len(r.Pauses.Counts) == 0 {
		t.Errorf("read nothing: %d allocations", r.Allocs)
	}
}

func TestMachineCPU(t *testing.T) {
	root := files("proc/stat", "cpu  300 0 0 500 0 0 0 0 0 0\ncpu0 200 0 0 100 0 0 0 0 0 0\ncpu1 50 0 0 200 0 0 0 0 0 0\ncpu10 50 0 0 200 0 0 0 0 0 0\nintr 7 8 9\n")
	if busy, _, capacity := MachineCPU(root); busy != 3 || capacity != 8 {
		t.Errorf("%v of %v, want 3 of 8", busy, capacity)
	}
	if busy, _, capacity := MachineCPU(files()); busy != 0 || capacity != 0 {
		t.Errorf("of a system that does not tell: %v of %v", busy, capacity)
	}
}

func TestParseCPU(t *testing.T) {
	for _, tc := range []struct {
		line                   string
		busy, stolen, capacity float64
	}{
		{"cpu  100 0 50 800 50 0 0 0 0 0", 1.5, 0, 10},
		{"cpu  100 0 50 800 50 0 0 100 7 7", 2.5, 1, 11}, // stolen time is not idle
		{"cpu 1 2 3", 0, 0, 0},
		{"cpu a b c d e f g h", 0, 0, 0},
		{"", 0, 0, 0},
	} {
		if busy, stolen, capacity := parseCPU([]byte(tc.line)); busy != tc.busy || stolen != tc.stolen || capacity != tc.capacity {
			t.Errorf("%q: %v of %v, want %v of %v", tc.line, busy, capacity, tc.busy, tc.capacity)
		}
	}
}
