// Package plot is what all charts have in common, whatever draws them: scales with their ticks, colours, places of labels, and
// the points of a percentile curve.
package plot

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Scale maps [From, To] to [0, 1]; what lies outside goes to its end.
type Scale struct {
	From, To float64
	Log      bool
	Ticks    []Tick
}

// Tick is a labelled place on a scale.
type Tick struct {
	At    float64 // 0 to 1
	Label string
	Minor bool // left out where there is little room
}

// At returns the place of v.
func (s Scale) At(v float64) float64 {
	from, to := s.From, s.To
	if s.Log {
		v, from, to = math.Log10(math.Max(v, s.From)), math.Log10(from), math.Log10(to)
	}
	if to <= from {
		return 0
	}
	return math.Min(1, math.Max(0, (v-from)/(to-from)))
}

// Linear goes from 0 to a little above most, with about n ticks at 1, 2 or 5 times a power of ten.
func Linear(most float64, n int, label func(float64) string) Scale {
	if !(most > 0) || math.IsInf(most, 0) {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most/float64(n))))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*step*float64(n) >= most {
			step *= m
			break
		}
	}
	s := Scale{To: most * 1.04}
	for i := 0; float64(i)*step <= s.To; i++ {
		s.Ticks = append(s.Ticks, Tick{At: s.At(float64(i) * step), Label: label(float64(i) * step)})
	}
	return s
}

// LogTime is Log for durations.
func LogTime(least, most float64) Scale { return Log(least, most, TimeLabel) }

// Log spans values from a 1, 2 or 5 times a power of ten to another one, with a tick at each decade, or at all of these where
// there would be too few. Ends that are not known, as of no values, or not finite give way to 1, or to the other end.
func Log(least, most float64, label func(float64) string) Scale {
	if !(least > 0) || math.IsInf(least, 0) {
		least = 1
	}
	if !(most > least) || math.IsInf(most, 0) {
		most = least
	}
	var marks []float64
	decades := 0
	for e := math.Floor(math.Log10(least)); e <= math.Ceil(math.Log10(most)); e++ {
		for _, m := range []float64{1, 2, 5} {
			marks = append(marks, m*math.Pow(10, e))
		}
	}
	for len(marks) > 2 && marks[1] <= least {
		marks = marks[1:]
	}
	for len(marks) > 2 && marks[len(marks)-2] >= most {
		marks = marks[:len(marks)-1]
	}
	for _, m := range marks {
		if isDecade(m) {
			decades++
		}
	}
	s := Scale{From: marks[0], To: marks[len(marks)-1], Log: true}
	for _, m := range marks {
		if decades < 3 || isDecade(m) {
			s.Ticks = append(s.Ticks, Tick{At: s.At(m), Label: label(m)})
		}
	}
	return s
}

func isDecade(v float64) bool {
	e := math.Log10(v)
	return math.Abs(e-math.Round(e)) < 1e-9
}

// TimeLabel is short, for ticks at whole numbers of a unit: 500 µs, 10 ms.
func TimeLabel(ns float64) string {
	d := time.Duration(math.Round(ns))
	switch {
	case d < time.Microsecond:
		return strconv.Itoa(int(d)) + " ns"
	case d < time.Millisecond:
		return Trim(float64(d)/1e3) + " µs"
	case d < time.Second:
		return Trim(float64(d)/1e6) + " ms"
	}
	return Trim(d.Seconds()) + " s"
}

// Trim writes no more digits than v needs, and not those that a sum leaves behind: 3 × 0.2 is 0.6.
func Trim(v float64) string {
	return strconv.FormatFloat(math.Round(v*1e9)/1e9, 'f', -1, 64)
}

// RateLabel is short, for ticks: 0, 500, 20k, 1.5M.
func RateLabel(v float64) string {
	switch {
	case v >= 1e6:
		return Trim(math.Round(v/1e4)/100) + "M"
	case v >= 1e3:
		return Trim(math.Round(v/10)/100) + "k"
	}
	return Trim(math.Round(v*100) / 100)
}

// Tail returns the scale of percentiles that gives each nine the same room: 90 %, 99 %, 99.9 %. It ends at so many nines.
func Tail(nines float64) Scale {
	s := Scale{To: math.Max(nines, 1)}
	s.Ticks = append(s.Ticks, Tick{At: s.At(Nine(0.5)), Label: "50 %"})
	for n := 1; n <= int(s.To+0.01); n++ {
		label := fmt.Sprintf("%.*f %%", max(0, n-2), 100*(1-math.Pow(10, -float64(n))))
		s.Ticks = append(s.Ticks, Tick{s.At(float64(n)), label, s.To > 4 && n%2 == 1 && n > 1})
	}
	return s
}

// Nine returns where on such a scale a quantile lies.
func Nine(q float64) float64 { return -math.Log10(1 - q) }

// Thin leaves out ticks until there are at most n, the ends of the rest as far apart as before.
func (s Scale) Thin(n int) Scale {
	every := (len(s.Ticks) + n - 1) / n
	var kept []Tick
	for i, t := range s.Ticks {
		if i%every == 0 {
			kept = append(kept, t)
		}
	}
	s.Ticks = kept
	return s
}
