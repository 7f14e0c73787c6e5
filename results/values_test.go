package results

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// TestBounds inverts slot: every slot begins where the one before has ended.
func TestBounds(t *testing.T) {
	next := int64(0)
	for j := range slotCount {
		low, high := bounds(j)
		if low != next || high < low {
			t.Fatalf("slot %d is %d to %d, and the one before ends below %d", j, low, high, next)
		}
		if j > 0 && (slot(low) != j || slot(high) != j) {
			t.Fatalf("%d and %d count in %d and %d, want %d", low, high, slot(low), slot(high), j)
		}
		next = high + 1
	}
}

// draw records n values between 1 ns and some seconds.
func draw(random *rand.Rand, n int, recorders ...*Recorder) {
	for i := range n {
		r := recorders[i%len(recorders)]
		s := r.Borrow()
		s.Record(AcquireIndex, time.Duration(random.Int64N(1<<(1+random.IntN(32)))))
		r.Return(s)
	}
}

// TestFollower looks now and then: what it finds adds up to the whole, also over two recorders, and each part answers as
// a histogram of it would.
func TestFollower(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	a, b := NewRecorder(3), NewRecorder(1)
	f := Follow(Source{a, AcquireIndex}, Source{b, AcquireIndex})
	if v := f.Next(); v.Count() != 0 || v.Quantile(0.5) != 0 || v.Max() != 0 {
		t.Errorf("nothing was recorded, and it finds %+v", v)
	}
	var sum Values
	for _, n := range []int{1, 0, 1000, 7, 3000} {
		draw(random, n, a, b)
		v := f.Next()
		if v.Count() != int64(n) {
			t.Errorf("%d values recorded, %d found", n, v.Count())
		}
		want := latencyOf(v.Histogram(), v.Overflow())
		if v.Quantile(0.5) != want.P50 || v.Quantile(0.99) != want.P99 || v.Quantile(0.999) != want.P999 || v.Max() != want.Max {
			t.Errorf("of %d values: p50 %v, p99 %v, p99.9 %v, max %v; the library has %+v", n,
				v.Quantile(0.5), v.Quantile(0.99), v.Quantile(0.999), v.Max(), want)
		}
		if i := v.Interval(time.Second, 2*time.Second); i.At != time.Second || i.Length != 2*time.Second ||
			i.Acquired != int64(n) || i.P50 != want.P50 || i.P99 != want.P99 || i.Max != want.Max {
			t.Errorf("interval %+v of %+v", i, want)
		}
		sum = sum.Plus(v)
	}
	whole := LatencyOf(Source{a, AcquireIndex}, Source{b, AcquireIndex})
	if got := latencyOf(sum.Histogram(), sum.Overflow()); got != whole {
		t.Errorf("the parts are %+v\nthe whole is %+v", got, whole)
	}
	total := Total(Source{a, AcquireIndex}, Source{b, AcquireIndex})
	if got := latencyOf(total.Histogram(), total.Overflow()); got != whole || total.Count() != whole.Count {
		t.Errorf("the total is %+v\nthe whole is %+v", got, whole)
	}
	if v := f.Next(); v.Count() != 0 {
		t.Errorf("the last look finds %d values again", v.Count())
	}
}

func TestFollowerOverflow(t *testing.T) {
	r := NewRecorder(1)
	f := Follow(Source{r, HoldIndex})
	for range 2 {
		r.Borrow().Record(HoldIndex, 2*time.Hour)
		if v := f.Next(); v.Count() != 1 || v.Overflow() != 1 {
			t.Errorf("%d values, %d of them beyond the range, want 1 each time", v.Count(), v.Overflow())
		}
	}
}

// TestWarmupIsNoMetric keeps what only the series is for out of the record.
func TestWarmupIsNoMetric(t *testing.T) {
	r := NewRecorder(1)
	r.Borrow().Record(WarmupIndex, time.Second)
	for name, l := range r.Latencies() {
		if l.Count != 0 {
			t.Errorf("the warm-up has gone into %s", name)
		}
	}
	if n := Total(Source{r, WarmupIndex}).Count(); n != 1 {
		t.Errorf("%d values of the warm-up, want 1", n)
	}
}

func TestOutcomes(t *testing.T) {
	r := NewRecorder(2)
	for i := range outcomeCount {
		for range i + 1 {
			r.Borrow().End(i)
		}
	}
	for i := range outcomeCount {
		if n := r.Ended(i); n != int64(i)+1 {
			t.Errorf("outcome %d: %d, want %d", i, n, i+1)
		}
	}
}

// TestForeignHistogram: a payload of another range is taken over if its values fit.
func TestForeignHistogram(t *testing.T) {
	wide := hdrhistogram.NewPacked(1, int64(24*time.Hour), 3)
	if err := wide.RecordValue(int64(time.Hour) / 2); err != nil {
		t.Fatal(err)
	}
	h, err := latencyOf(wide, 0).Histogram()
	if err != nil || h.HighestTrackableValue() != highestValue || h.TotalCount() != 1 || h.CountAtValue(int64(time.Hour)/2) != 1 {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestDamagedHistogram: no part of a payload decodes.
func TestDamagedHistogram(t *testing.T) {
	good := sampleLatencies()[Hold]
	for cut := range len(good.HDR) {
		l := good
		l.HDR = l.HDR[:cut]
		if _, err := l.Histogram(); err == nil {
			t.Fatalf("%d of %d bytes decode", cut, len(good.HDR))
		}
	}
}

// TestSumAddsUp compares sums with those of the library: of short distributions, of long ones, and of such whose counts do not
// fit into two bytes, singly or together.
func TestSumAddsUp(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		name        string
		slots, most int64
		long        bool
	}{
		{"short", 50, 100, false},
		{"long", 12_000, 100, true},
		{"high together", 12_000, 1 << 13, true},
		{"high", 12_000, 1 << 40, true},
	} {
		ss, want := sums{}, dense()
		for n := range 20 {
			h := newHistogram()
			for _, slot := range random.Perm(slotCount)[:c.slots] {
				low, _ := bounds(slot)
				if err := h.RecordValues(low, 1+random.Int64N(c.most)); err != nil {
					t.Fatal(err)
				}
			}
			all := map[Metric]Latency{Hold: latencyOf(h, 0)}
			decoded, err := decodeAll(all)
			if err != nil {
				t.Fatal(err)
			}
			ss.add(all, decoded)
			h.MergeInto(want)
			if n%7 != 6 { // looking at a sum changes nothing
				continue
			}
			l := ss.latencies()[Hold]
			got, err := l.Histogram()
			if err != nil || !unpacked(got).Equals(want) || l.Count != want.TotalCount() || int64(l.P99) != want.ValueAtPercentile(99) {
				t.Fatalf("%s: %d trials are %d values, want %d, or others", c.name, 1+n, l.Count, want.TotalCount())
			}
		}
		if long := ss[Hold].low != nil; long != c.long {
			t.Errorf("%s: long %v", c.name, long)
		}
	}
}

// TestTooManyValues: counts that no run can have are damage, and no sum of others overflows.
func TestTooManyValues(t *testing.T) {
	h := newHistogram()
	if err := h.RecordValues(3, maxCount); err != nil {
		t.Fatal(err)
	}
	all := map[Metric]Latency{Hold: latencyOf(h, 0)}
	decoded, err := decodeAll(all)
	if err != nil {
		t.Fatal(err)
	}
	ss := sums{}
	for range 3 {
		ss.add(all, decoded)
	}
	if l := ss.latencies()[Hold]; l.Count != maxCount || l.P99 != 3 {
		t.Errorf("%+v", l)
	}
	if err := h.RecordValue(3); err != nil {
		t.Fatal(err)
	}
	if _, err := latencyOf(h, 0).Histogram(); err == nil {
		t.Error("a slot holds more than any run has")
	}
}
