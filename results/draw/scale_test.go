package draw

import (
	"math"
	"strings"
	"testing"
)

func labels(s scale) string {
	var all []string
	for _, t := range s.ticks {
		all = append(all, t.label)
	}
	return strings.Join(all, " ")
}

func TestScales(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    scale
		want string
	}{
		{"rates", linear(81_196, 5, rateLabel), "0 20k 40k 60k 80k"},
		{"small rates", linear(867, 5, rateLabel), "0 200 400 600 800"},
		{"seconds", linear(0.65, 5, func(s float64) string { return trim(s) + " s" }), "0 s 0.2 s 0.4 s 0.6 s"},
		{"millions", linear(2.4e6, 5, rateLabel), "0 500k 1M 1.5M 2M"},
		{"nothing", linear(0, 5, rateLabel), "0 0.2 0.4 0.6 0.8 1"},
		{"decades", logarithmic(16_000, 1.2e9, timeLabel), "10 µs 100 µs 1 ms 10 ms 100 ms 1 s"},
		{"close by", logarithmic(1.2e6, 7e6, timeLabel), "1 ms 2 ms 5 ms 10 ms"},
		{"one value", logarithmic(3e3, 3e3, timeLabel), "2 µs 5 µs"},
		{"no time at all", logarithmic(0, 0, timeLabel), "1 ns 2 ns"},
		{"nothing known", logarithmic(math.Inf(1), 0, timeLabel), "1 ns 2 ns"},
		{"endless", logarithmic(3e3, math.Inf(1), timeLabel), "2 µs 5 µs"},
		{"no number", logarithmic(math.NaN(), math.NaN(), timeLabel), "1 ns 2 ns"},
		{"nanoseconds", logarithmic(2, 900, timeLabel), "10 ns 100 ns 1 µs"},
		{"tail", nines(3.3), "50 % 90 % 99 % 99.9 %"},
	} {
		if got := labels(tt.s); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestScaleKeepsOrderAndEnds(t *testing.T) {
	for _, s := range []scale{linear(100, 5, rateLabel), logarithmic(7e3, 3e8, timeLabel), nines(5)} {
		last := -1.0
		for i := range 200 {
			v := s.from + (s.to-s.from)*float64(i)/199
			at := s.at(v)
			if at < last || at < 0 || at > 1 {
				t.Fatalf("%v: %g is at %g, after %g", s, v, at, last)
			}
			last = at
		}
		if s.at(s.from) != 0 || math.Abs(s.at(s.to)-1) > 1e-9 || s.at(2*s.to) != 1 || s.at(s.from-1) != 0 {
			t.Errorf("%v: ends at %g and %g", s, s.at(s.from), s.at(s.to))
		}
	}
}
