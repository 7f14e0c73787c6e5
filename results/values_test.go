package results

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
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
		if mean := float64(want.Mean) / 1e9; v.Sum() < 0.999*mean*float64(n) || v.Sum() > 1.001*mean*float64(n) {
			t.Errorf("sum %v of %d values whose mean is %v", v.Sum(), n, want.Mean)
		}
		sum = sum.Plus(v)
	}
	whole, err := MergeLatency(a.Latency(AcquireIndex), b.Latency(AcquireIndex))
	if err != nil {
		t.Fatal(err)
	}
	if got := latencyOf(sum.Histogram(), sum.Overflow()); got != whole {
		t.Errorf("the parts are %+v\nthe whole is %+v", got, whole)
	}
	total := Total(Source{a, AcquireIndex}, Source{b, AcquireIndex})
	if got := latencyOf(total.Histogram(), total.Overflow()); got != whole || total.Count() != whole.Count {
		t.Errorf("the total is %+v\nthe whole is %+v", got, whole)
	}
	if v := f.Next(); v.Count() != 0 || len(v.slots) != 0 {
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

// TestFollowerBesideWriters loses and doubles nothing while others record.
func TestFollowerBesideWriters(t *testing.T) {
	const writers, each = 4, 5000
	r := NewRecorder(2)
	f := Follow(Source{r, AcquireIndex})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() { draw(rand.New(rand.NewPCG(5, uint64(w))), each, r) })
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	found := int64(0)
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		found += f.Next().Count()
	}
	if found != writers*each {
		t.Errorf("%d values found of %d", found, writers*each)
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

// BenchmarkFollow is what one look costs: of a metric with two shards and a thousand new values.
func BenchmarkFollow(b *testing.B) {
	r := NewRecorder(2)
	f := Follow(Source{r, AcquireIndex})
	random := rand.New(rand.NewPCG(6, 7))
	draw(random, 100_000, r)
	f.Next()
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		draw(random, 1000, r)
		b.StartTimer()
		f.Next()
	}
}

// pack packs slots.
func pack(slots []filled) packed {
	d := dense{end: slotCount}
	for _, f := range slots {
		d.counts[f.slot] = f.count
	}
	return d.pack()
}

// TestPacked: packing loses nothing, and adds up as Plus does.
func TestPacked(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var sum Values
	var all packed
	for n := range 200 {
		slots := map[int32]int64{}
		for range n {
			slots[int32(random.IntN(slotCount))] = 1 + random.Int64N(1<<(1+random.IntN(40)))
		}
		v, count := Values{}, int64(0)
		for _, slot := range slices.Sorted(maps.Keys(slots)) {
			v.slots = append(v.slots, filled{slot, slots[slot]})
			count += slots[slot]
		}
		one := pack(v.slots)
		if got := one.slots(); !slices.Equal(got, v.slots) {
			t.Fatalf("packed %v, unpacked %v", v.slots, got)
		}
		if total, ok := check([]byte(one)); !ok || total != count {
			t.Fatalf("%d values, %v; want %d", total, ok, count)
		}
		sum, all = sum.Plus(v), together(all, one)
		if got := all.slots(); !slices.Equal(got, sum.slots) || all != pack(sum.slots) {
			t.Fatalf("after %d: %v, want %v", n, got, sum.slots)
		}
	}
}

// FuzzPayload: what the decoder takes for a payload of ours is one for the library too, with the same counts.
func FuzzPayload(f *testing.F) {
	for _, l := range sampleLatencies() {
		f.Add(l.HDR)
		f.Add(l.HDR[:len(l.HDR)/2])
	}
	f.Add(latencyOf(hdrhistogram.New(1, 1<<50, 2), 0).HDR)
	coarse := hdrhistogram.New(lowestValue, highestValue, 2)
	if err := coarse.RecordValue(1e6); err != nil {
		f.Fatal(err)
	}
	f.Add(latencyOf(coarse, 0).HDR)
	f.Fuzz(agreeWithLibrary)
}

func agreeWithLibrary(t *testing.T, payload string) {
	var d decoder
	counts, total, ok := d.ours(payload)
	if !ok {
		return
	}
	h, err := hdrhistogram.Decode([]byte(payload))
	if err != nil {
		t.Fatalf("%d values, which for the library are %v", total, err)
	}
	if !h.Equals(Values{slots: packed(counts).slots()}.Histogram()) || h.TotalCount() != total {
		t.Fatalf("%d values, of which the library finds %d, or elsewhere", total, h.TotalCount())
	}
}

// FuzzCounts is FuzzPayload behind the checksums: it deflates counts as they come.
func FuzzCounts(f *testing.F) {
	for _, l := range sampleLatencies() {
		var d decoder
		counts, _, _ := d.ours(l.HDR)
		f.Add(counts)
	}
	f.Add([]byte{0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 2}) // a number ends with its ninth byte, whatever that says
	f.Add([]byte{1, 0x80, 0x80, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, counts []byte) {
		var d decoder
		d.ours(sampleLatencies()[Hold].HDR)
		plain := append(slices.Clone(d.plain[:innerHeader]), counts...)
		binary.BigEndian.PutUint32(plain[4:], uint32(len(counts)))
		deflated := bytes.NewBuffer(slices.Clone(d.raw[:outerHeader]))
		z := zlib.NewWriter(deflated)
		if _, err := z.Write(plain); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		raw := deflated.Bytes()
		binary.BigEndian.PutUint32(raw[4:], uint32(len(raw)-outerHeader))
		agreeWithLibrary(t, base64.StdEncoding.EncodeToString(raw))
	})
}

// TestDecoderAfterDamage: payloads that are not as lockbench writes them get the library's verdict, and leave the decoder
// ready for the next.
func TestDecoderAfterDamage(t *testing.T) {
	good := sampleLatencies()[Hold]
	wide := hdrhistogram.New(1, int64(24*time.Hour), 3)
	if err := wide.RecordValue(int64(time.Hour) / 2); err != nil {
		t.Fatal(err)
	}
	theirs := latencyOf(wide, 0)
	for range 2 {
		for cut := 0; cut < len(good.HDR); cut++ {
			l := good
			l.HDR = l.HDR[:cut]
			if _, err := l.unpack(); err == nil {
				t.Fatalf("%d of %d bytes decode", cut, len(good.HDR))
			}
		}
		if p, err := theirs.unpack(); err != nil || p != pack([]filled{{int32(slot(int64(time.Hour) / 2)), 1}}) {
			t.Errorf("of another range: %v, %v", p.slots(), err)
		}
		p, err := good.unpack()
		if h, _ := hdrhistogram.Decode([]byte(good.HDR)); err != nil || !h.Equals(Values{slots: p.slots()}.Histogram()) {
			t.Errorf("after damage: %v", err)
		}
		if _, _, ok := new(decoder).ours(good.HDR); !ok {
			t.Error("a payload of lockbench's own goes to the library")
		}
	}
}
