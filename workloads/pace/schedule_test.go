package pace_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/pace"
)

// all takes the arrivals of a schedule that ends.
func all(t testing.TB, s pace.Schedule) []time.Duration {
	t.Helper()
	var list []time.Duration
	for {
		due, ok := s.Next()
		if !ok {
			break
		}
		if due < 0 || len(list) > 0 && due < list[len(list)-1] {
			t.Fatalf("arrival %d is due at %v, the one before it at %v", len(list), due, list[len(list)-1])
		}
		list = append(list, due)
	}
	if due, ok := s.Next(); ok {
		t.Fatalf("an arrival at %v after the end", due)
	}
	return list
}

// between counts the arrivals from (inclusive) to (exclusive).
func between(list []time.Duration, from, to time.Duration) int {
	n := 0
	for _, due := range list {
		if due >= from && due < to {
			n++
		}
	}
	return n
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// Constant arrivals are all the same distance apart, to the nanosecond to which they are rounded, and the first is due
// within the first distance.
func TestConstantDistances(t *testing.T) {
	w := pace.Window{Warmup: time.Second, Duration: 9 * time.Second}
	for _, text := range []string{"1", "7", "1000", "3333", "50k", "0.7"} {
		r := spec.Must(spec.ParseRate(text))
		want := float64(time.Second) / r.Max()
		list := all(t, pace.Arrivals(r, spec.Constant, w, 3))
		if n := 10 * r.Max(); float64(len(list)) != n && n == math.Floor(n) {
			t.Errorf("%s: %d arrivals in 10 s", text, len(list))
		}
		if float64(list[0]) > want {
			t.Errorf("%s: the first arrival is due at %v, over %v ns", text, list[0], want)
		}
		for i := 1; i < len(list); i++ {
			if d := float64(list[i] - list[i-1]); math.Abs(d-want) >= 1 {
				t.Fatalf("%s: arrivals %d and %d are %v ns apart, want %v", text, i-1, i, d, want)
			}
		}
		// Over the whole run too: distances of 333333 ns would have drifted by 3 µs in 10 s.
		span := float64(list[len(list)-1] - list[0])
		if math.Abs(span-want*float64(len(list)-1)) > 1 {
			t.Errorf("%s: %d arrivals take %v ns, want %v", text, len(list), span, want*float64(len(list)-1))
		}
	}
}

// After hours the schedule is where arithmetic says, to the arrival and to the nanosecond.
func TestConstantDoesNotDrift(t *testing.T) {
	const rate, hours = 333, 3
	s := pace.Arrivals(spec.Must(spec.ParseRate("333")), spec.Constant, pace.Window{Duration: hours * time.Hour}, 9)
	first, _ := s.Next()
	n, last := 1, first
	for due, ok := s.Next(); ok; due, ok = s.Next() {
		n, last = n+1, due
	}
	if want := rate * hours * 3600; n != want {
		t.Errorf("%d arrivals in %d h, want %d", n, hours, want)
	}
	if want := first + seconds(float64(n-1)/rate); (last - want).Abs() > 2 {
		t.Errorf("the last arrival is due at %d ns, want %d", last, want)
	}
}

// Each measured window has its exact number of arrivals, whatever the warm-up and the phase are.
func TestConstantCount(t *testing.T) {
	for seed := range uint64(50) {
		for _, warmup := range []time.Duration{0, time.Second, 1234567891} {
			w := pace.Window{Warmup: warmup, Duration: 2 * time.Second}
			list := all(t, pace.Arrivals(spec.Must(spec.ParseRate("1k")), spec.Constant, w, seed))
			if n := between(list, warmup, math.MaxInt64); n != 2000 {
				t.Errorf("seed %d, warm-up %v: %d arrivals in the window, want 2000", seed, warmup, n)
			}
		}
	}
}

// Schedules of different seeds are not in phase: their first arrivals are spread evenly over the distance.
func TestSeedsAreStaggered(t *testing.T) {
	const seeds, bins = 2000, 20
	var counts [bins]int
	for seed := range uint64(seeds) {
		due, _ := pace.Arrivals(spec.Must(spec.ParseRate("1k")), spec.Constant, pace.Window{Duration: time.Second}, seed).Next()
		counts[int(due*bins/time.Millisecond)]++
	}
	expected := make([]float64, bins)
	for i := range expected {
		expected[i] = seeds / bins
	}
	if x, limit := chiSquare(counts[:], expected), chiSquareLimit(bins-1); x > limit {
		t.Errorf("phases are not even: chi-square %.1f over %.1f: %v", x, limit, counts)
	}
	a := all(t, pace.Arrivals(spec.Must(spec.ParseRate("1k")), spec.Constant, pace.Window{Duration: time.Second}, 1))
	b := all(t, pace.Arrivals(spec.Must(spec.ParseRate("1k")), spec.Constant, pace.Window{Duration: time.Second}, 2))
	for i := range a {
		if d := (a[i] - b[i]).Abs(); d < 10*time.Microsecond {
			t.Fatalf("arrivals %d of two seeds are due %v apart", i, d)
		}
	}
}

func TestEqualSeedsMakeEqualSchedules(t *testing.T) {
	w := pace.Window{Warmup: time.Second, Duration: 3 * time.Second}
	for _, text := range []string{"1k", "1k:3k:1s"} {
		for _, kind := range []string{spec.Constant, spec.Poisson} {
			r := spec.Must(spec.ParseRate(text))
			a, b := all(t, pace.Arrivals(r, kind, w, 7)), all(t, pace.Arrivals(r, kind, w, 7))
			c := all(t, pace.Arrivals(r, kind, w, 8))
			if !slices.Equal(a, b) {
				t.Errorf("%s %s: one seed makes two schedules", text, kind)
			}
			if slices.Equal(a, c) {
				t.Errorf("%s %s: two seeds make one schedule", text, kind)
			}
		}
	}
}

// In every part of a load there are as many constant arrivals as the integral of the rate there, to the one that the
// phase decides.
func TestCountsAreTheIntegral(t *testing.T) {
	type span struct {
		from, to time.Duration // since the load began
		want     float64
	}
	w := pace.Window{Warmup: 2 * time.Second, Duration: 10 * time.Second}
	for _, tt := range []struct {
		text  string
		spans []span
	}{
		{"1k:5k:4s", []span{
			{0, seconds(2), 2000}, {seconds(2), seconds(3), 1500}, {seconds(3), seconds(4), 2500},
			{seconds(2), seconds(6), 12000}, {seconds(6), seconds(12), 30000}, {seconds(2.5), seconds(2.6), 155},
		}},
		{"5k:1k:4s", []span{
			{0, seconds(2), 10000}, {seconds(2), seconds(3), 4500}, {seconds(2), seconds(6), 12000},
			{seconds(6), seconds(12), 6000},
		}},
		{"100:300:1h", []span{{seconds(2), seconds(12), 10*100 + 10*10*200./3600/2}}},
	} {
		for seed := range uint64(10) {
			list := all(t, pace.Arrivals(spec.Must(spec.ParseRate(tt.text)), spec.Constant, w, seed))
			for _, s := range tt.spans {
				if n := between(list, s.from, s.to); math.Abs(float64(n)-s.want) > 1 {
					t.Errorf("%s, seed %d: %d arrivals from %v to %v, want %v", tt.text, seed, n, s.from, s.to, s.want)
				}
			}
			if last := list[len(list)-1]; last >= seconds(12) || last < seconds(11.98) {
				t.Errorf("%s: the last arrival is due at %v", tt.text, last)
			}
		}
	}
}

// On a ramp each arrival is where the integral of the rate reaches its number: N(t) = 1000 t + 500 t².
func TestRampIsExact(t *testing.T) {
	list := all(t, pace.Arrivals(spec.Must(spec.ParseRate("1k:11k:10s")), spec.Constant, pace.Window{Duration: 10 * time.Second}, 5))
	if len(list) != 60000 {
		t.Errorf("%d arrivals, want 60000", len(list))
	}
	reached := func(due time.Duration) float64 { return 1000*due.Seconds() + 500*due.Seconds()*due.Seconds() }
	phase := reached(list[0])
	for i, due := range list {
		if math.Abs(reached(due)-phase-float64(i)) > 1e-4 { // of an arrival; 1 ns is 1e-5 at the end
			t.Fatalf("arrival %d is due at %v, where the integral is %v", i, due, reached(due)-phase)
		}
	}
}

// Without a duration there is no end.
func TestEndless(t *testing.T) {
	for text, rate := range map[string]float64{"1k": 1000, "9k:1k:1s": 1000} {
		for _, kind := range []string{spec.Constant, spec.Poisson} {
			s := pace.Arrivals(spec.Must(spec.ParseRate(text)), kind, pace.Window{Warmup: time.Second}, 1)
			var due time.Duration
			ok := true
			for range 200_000 {
				if due, ok = s.Next(); !ok {
					t.Fatalf("%s %s ended", text, kind)
				}
			}
			if got := 2e5 / due.Seconds(); math.Abs(got-rate) > 0.1*rate { // a ramp begins at another one
				t.Errorf("%s %s: %v arrivals a second, want %v", text, kind, got, rate)
			}
		}
	}
}

func TestNoRateHasNoArrivals(t *testing.T) {
	if list := all(t, pace.Arrivals(spec.Rate{}, spec.Poisson, pace.Window{}, 1)); len(list) != 0 {
		t.Errorf("%d arrivals of no rate", len(list))
	}
}

func TestBursts(t *testing.T) {
	for _, tt := range []struct {
		w    pace.Window
		want []float64 // s
	}{
		{pace.Window{Warmup: time.Second, Duration: time.Second}, []float64{0.1, 0.4, 0.7, 1, 1.3, 1.6, 1.9}},
		{pace.Window{Duration: 600 * time.Millisecond}, []float64{0, 0.3}},
		{pace.Window{Duration: 600*time.Millisecond + 1}, []float64{0, 0.3, 0.6}},
		{pace.Window{Warmup: 200 * time.Millisecond, Duration: 100 * time.Millisecond}, []float64{0.2}},
		{pace.Window{Warmup: 300 * time.Millisecond, Duration: 100 * time.Millisecond}, []float64{0, 0.3}},
	} {
		var want []time.Duration
		for _, at := range tt.want {
			for range 3 {
				want = append(want, seconds(at).Round(time.Millisecond))
			}
		}
		if got := all(t, pace.Bursts(3, 300*time.Millisecond, tt.w)); !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", tt.w, got, want)
		}
	}
	endless := pace.Bursts(1, time.Hour, pace.Window{})
	for i := range 100_000 {
		if due, ok := endless.Next(); !ok || due != time.Duration(i)*time.Hour {
			t.Fatalf("burst %d: %v, %t", i, due, ok)
		}
	}
	for _, s := range []pace.Schedule{pace.Bursts(0, time.Second, pace.Window{}), pace.Bursts(1, 0, pace.Window{})} {
		if list := all(t, s); len(list) != 0 {
			t.Errorf("%d arrivals of no burst", len(list))
		}
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	for _, kind := range []string{spec.Constant, spec.Poisson} {
		s := pace.Arrivals(spec.Must(spec.ParseRate("1k:50k:1s")), kind, pace.Window{Warmup: time.Second}, 1)
		if n := testing.AllocsPerRun(100_000, func() { s.Next() }); n != 0 {
			t.Errorf("%s: %v allocations an arrival", kind, n)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, kind := range []string{spec.Constant, spec.Poisson} {
		for _, text := range []string{"50k", "1:10M:1h"} {
			b.Run(kind+"/"+text, func(b *testing.B) {
				s := pace.Arrivals(spec.Must(spec.ParseRate(text)), kind, pace.Window{}, 1)
				for b.Loop() {
					s.Next()
				}
			})
		}
	}
}

// TestEach: the parts of a schedule are the whole, of whatever kind.
func TestEach(t *testing.T) {
	rate, _ := spec.ParseRate("1000")
	for _, kind := range []string{spec.Constant, spec.Poisson} {
		whole := func() pace.Schedule { return pace.Arrivals(rate, kind, pace.Window{Duration: time.Second}, 7) }
		want := all(t, whole())
		for _, n := range []int{1, 2, 7} {
			var got []time.Duration
			for i := range n {
				part := all(t, pace.Each(whole(), i, n))
				if len(part) < len(want)/n || len(part) > len(want)/n+1 {
					t.Errorf("%s: part %d of %d has %d of %d arrivals", kind, i, n, len(part), len(want))
				}
				got = append(got, part...)
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d parts are not the whole", kind, n)
			}
		}
	}
}
