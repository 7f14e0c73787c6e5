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

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// TestConstant: constant arrivals are where the integral of the rate reaches the next number, to the nanosecond to which they are
// rounded, however long it takes. The first one is due before the integral reaches 1, and the last one comes after all but 1.
func TestConstant(t *testing.T) {
	for _, tt := range []struct {
		text   string
		window pace.Window
	}{
		{"1", pace.Window{Warmup: time.Second, Duration: 9 * time.Second}},
		{"0.7", pace.Window{Warmup: time.Second, Duration: 9 * time.Second}},
		{"3333", pace.Window{Warmup: 1234567891, Duration: 9 * time.Second}},
		{"50k", pace.Window{Duration: time.Second}},
		{"333", pace.Window{Duration: 3 * time.Hour}},
		{"1k:5k:4s", pace.Window{Warmup: 2 * time.Second, Duration: 10 * time.Second}},
		{"5k:1k:4s", pace.Window{Warmup: 2 * time.Second, Duration: 10 * time.Second}},
		{"100:300:1h", pace.Window{Warmup: 2 * time.Second, Duration: 10 * time.Second}},
	} {
		r := spec.Must(spec.ParseRate(tt.text))
		expected := func(at time.Duration) float64 { // until then
			since := max(0, at-tt.window.Warmup)
			n := r.From * (at - since).Seconds()
			if since > 0 {
				n += r.Mean(since) * since.Seconds()
			}
			return n
		}
		for seed := range uint64(3) {
			list := all(t, pace.Arrivals(r, spec.Constant, tt.window, seed))
			phase := expected(list[0])
			for i, due := range list {
				if off := expected(due) - phase - float64(i); math.Abs(off) > 2e-9*r.Max()+1e-8 {
					t.Fatalf("%s, seed %d: arrival %d is due at %v, off by %v of one", tt.text, seed, i, due, off)
				}
			}
			if rest := expected(tt.window.Warmup+tt.window.Duration) - expected(list[len(list)-1]); phase > 1 || rest > 1+1e-6 {
				t.Errorf("%s, seed %d: arrivals begin after %v are expected, and end before %v", tt.text, seed, phase, rest)
			}
		}
	}
}

// Each measured window has its exact number of arrivals, whatever the warm-up and the phase are.
func TestConstantCount(t *testing.T) {
	for seed := range uint64(50) {
		for _, warmup := range []time.Duration{0, time.Second, 1234567891} {
			n := 0
			for _, due := range all(t, pace.Arrivals(spec.Must(spec.ParseRate("1k")), spec.Constant, pace.Window{Warmup: warmup, Duration: 2 * time.Second}, seed)) {
				if due >= warmup {
					n++
				}
			}
			if n != 2000 {
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
