package results

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// TestMetricsAreIndexed keeps the list of names and the list of indices one: every index has a name of its own.
func TestMetricsAreIndexed(t *testing.T) {
	if len(Metrics) != int(metricCount) {
		t.Fatalf("%d names for %d indices", len(Metrics), metricCount)
	}
	seen := map[Metric]bool{}
	for i, m := range Metrics {
		if m == "" || seen[m] {
			t.Errorf("index %d has the name %q", i, m)
		}
		seen[m] = true
	}
}

// dense returns an empty histogram of the range of all lockbench histograms, with all its slots.
func dense() *hdrhistogram.Histogram { return hdrhistogram.New(lowestValue, highestValue, digits) }

func unpacked(h *hdrhistogram.PackedHistogram) *hdrhistogram.Histogram {
	d := dense()
	h.MergeInto(d)
	return d
}

// TestGeometry compares the constants of the slots with what the library derives from the range.
func TestGeometry(t *testing.T) {
	if got := len(dense().Export().Counts); got != slotCount {
		t.Fatalf("the library has %d slots, the recorder %d", got, slotCount)
	}
	if got := slot(highestValue); got >= slotCount {
		t.Fatalf("slot(%d) = %d of %d", highestValue, got, slotCount)
	}
}

// edges returns the values around every power of two, where an index computation goes wrong if it does.
func edges() []int64 {
	vs := []int64{math.MinInt64, -1, 0, 1, 2, highestValue - 1, highestValue, highestValue + 1, math.MaxInt64}
	for shift := range 62 {
		p := int64(1) << shift
		vs = append(vs, p-1, p, p+1)
	}
	return vs
}

// checkAgainstLibrary records values in both and compares all that a record takes from them.
func checkAgainstLibrary(t *testing.T, values []int64) {
	t.Helper()
	r := NewRecorder(4)
	want := dense()
	var overflow int64
	for _, v := range values {
		r.Borrow().Record(HoldIndex, time.Duration(v))
		if v > highestValue {
			overflow++
		}
		if err := want.RecordValue(min(max(v, lowestValue), highestValue)); err != nil {
			t.Fatal(err)
		}
	}
	got := r.Latency(HoldIndex)
	packed := newHistogram()
	packed.MergeFrom(want)
	if w := latencyOf(packed, overflow); got != w {
		t.Errorf("got  %+v\nwant %+v", got, w)
	}
	if got.Count != int64(len(values)) {
		t.Errorf("%d values recorded, %d counted", len(values), got.Count)
	}
	if !strings.HasPrefix(got.HDR, "HISTFAAA") { // the cookie of deflated V2 in base64
		t.Errorf("payload %.12s… is not what other tools read", got.HDR)
	}
	h, err := got.Histogram()
	if err != nil {
		t.Fatal(err)
	}
	if !unpacked(h).Equals(want) {
		t.Error("the decoded payload differs from the library's own histogram")
	}
}

func TestRecorderMatchesLibrary(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	spread := make([]int64, 5000)
	for i := range spread {
		spread[i] = random.Int64N(1 << (1 + random.IntN(43)))
	}
	for name, values := range map[string][]int64{
		"none": nil, "one": {1234567}, "edges": edges(), "spread": spread, "same": slices.Repeat([]int64{42_000}, 1000),
	} {
		t.Run(name, func(t *testing.T) { checkAgainstLibrary(t, values) })
	}
}

// TestShards deals every shard out before it deals one out again, whatever number was asked for.
func TestShards(t *testing.T) {
	for _, asked := range []int{-1, 0, 1, 3, 8} {
		r := NewRecorder(asked)
		want := asked
		if asked <= 0 {
			want = spare * runtime.GOMAXPROCS(0)
		}
		borrowed := map[*Shard]bool{}
		for range want {
			s := r.Borrow()
			s.Record(HoldIndex, 1)
			borrowed[s] = true
		}
		if len(r.shards) != want || len(borrowed) != want {
			t.Errorf("NewRecorder(%d) has %d shards and deals out %d, want %d", asked, len(r.shards), len(borrowed), want)
		}
		for range 3 * want { // more than there are: two borrowers have the same
			r.Borrow().Record(HoldIndex, 1)
		}
		if n := r.Latency(HoldIndex).Count; n != int64(4*want) {
			t.Errorf("NewRecorder(%d): %d of %d values counted", asked, n, 4*want)
		}
	}
}

// TestRecordConcurrently counts every value although all goroutines use one shard and start on an unused metric.
func TestRecordConcurrently(t *testing.T) {
	const goroutines, each = 8, 2000
	r := NewRecorder(1)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			<-start
			for i := range each {
				r.Borrow().Record(ReleaseIndex, time.Duration(1+i%3))
			}
		})
	}
	close(start)
	wg.Wait()
	if got := r.Latency(ReleaseIndex).Count; got != goroutines*each {
		t.Errorf("%d of %d values counted", got, goroutines*each)
	}
}

func TestUnusedMetricsCostNothing(t *testing.T) {
	r := NewRecorder(2)
	r.Borrow().Record(HoldIndex, 1)
	for i := range r.shards {
		for m := range r.shards[i].metrics {
			used := i == 0 && MetricIndex(m) == HoldIndex
			if allocated := r.shards[i].metrics[m].Load() != nil; allocated != used {
				t.Errorf("shard %d, metric %s: allocated %v, used %v", i, Metrics[m], allocated, used)
			}
		}
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	s := NewRecorder(1).Borrow()
	s.Record(AcquireIndex, 1)
	d := time.Duration(0)
	if n := testing.AllocsPerRun(1000, func() { s.Record(AcquireIndex, d); d += time.Minute }); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	s := NewRecorder(1).Borrow()
	for i := 0; b.Loop(); i++ {
		s.Record(AcquireIndex, time.Duration(50_000+i&1023))
	}
}
