package plot

import (
	"math"
	"strings"
	"testing"
)

func labels(s Scale) string {
	var all []string
	for _, t := range s.Ticks {
		all = append(all, t.Label)
	}
	return strings.Join(all, " ")
}

func TestScales(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    Scale
		want string
	}{
		{"rates", Linear(81_196, 5, RateLabel), "0 20k 40k 60k 80k"},
		{"small rates", Linear(867, 5, RateLabel), "0 200 400 600 800"},
		{"seconds", Linear(0.65, 5, func(s float64) string { return Trim(s) + " s" }), "0 s 0.2 s 0.4 s 0.6 s"},
		{"millions", Linear(2.4e6, 5, RateLabel), "0 500k 1M 1.5M 2M"},
		{"nothing", Linear(0, 5, RateLabel), "0 0.2 0.4 0.6 0.8 1"},
		{"decades", LogTime(16_000, 1.2e9), "10 µs 100 µs 1 ms 10 ms 100 ms 1 s"},
		{"close by", LogTime(1.2e6, 7e6), "1 ms 2 ms 5 ms 10 ms"},
		{"one value", LogTime(3e3, 3e3), "2 µs 5 µs"},
		{"no time at all", LogTime(0, 0), "1 ns 2 ns"},
		{"nothing known", LogTime(math.Inf(1), 0), "1 ns 2 ns"},
		{"endless", LogTime(3e3, math.Inf(1)), "2 µs 5 µs"},
		{"no number", LogTime(math.NaN(), math.NaN()), "1 ns 2 ns"},
		{"nanoseconds", LogTime(2, 900), "10 ns 100 ns 1 µs"},
		{"tail", Tail(3.3), "50 % 90 % 99 % 99.9 %"},
	} {
		if got := labels(tt.s); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestScaleKeepsOrderAndEnds(t *testing.T) {
	for _, s := range []Scale{Linear(100, 5, RateLabel), LogTime(7e3, 3e8), Tail(5)} {
		last := -1.0
		for i := range 200 {
			v := s.From + (s.To-s.From)*float64(i)/199
			at := s.At(v)
			if at < last || at < 0 || at > 1 {
				t.Fatalf("%v: %g is at %g, after %g", s, v, at, last)
			}
			last = at
		}
		if s.At(s.From) != 0 || math.Abs(s.At(s.To)-1) > 1e-9 || s.At(2*s.To) != 1 || s.At(s.From-1) != 0 {
			t.Errorf("%v: ends at %g and %g", s, s.At(s.From), s.At(s.To))
		}
	}
}
