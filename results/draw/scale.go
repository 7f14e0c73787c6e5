package draw

// Scales of charts, and the places of labels along them.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/results/report"
)

// scale maps [from, to] to [0, 1]; what lies outside goes to its end.
type scale struct {
	from, to float64
	log      bool
	ticks    []tick
}

// tick is a labelled place on a scale.
type tick struct {
	at    float64 // 0 to 1
	label string
	minor bool // left out where there is little room
}

// scaleOf returns the scale of an axis, with about so many ticks if it is not logarithmic.
func scaleOf(x report.Axis, ticks int) scale {
	label := tickLabels[x.Unit]
	switch {
	case x.Ticks != nil:
		s := scale{from: x.Least, to: x.Most, log: x.Log}
		for _, t := range x.Ticks {
			text := t.Name
			if text == "" {
				text = label(t.At)
			}
			s.ticks = append(s.ticks, tick{at: s.at(t.At), label: text})
		}
		return s
	case x.Unit == report.Nines:
		return nines(x.Most)
	case x.Log:
		return logarithmic(x.Least, x.Most, label)
	}
	return linear(x.Most, ticks, label)
}

// tickLabels write the ticks of an axis, by its unit.
var tickLabels = map[report.Unit]func(float64) string{
	report.PerSecond:   rateLabel,
	report.Share:       func(v float64) string { return trim(100*v) + " %" },
	report.Nanoseconds: timeLabel,
}

// at returns the place of v.
func (s scale) at(v float64) float64 {
	from, to := s.from, s.to
	if s.log {
		v, from, to = math.Log10(math.Max(v, s.from)), math.Log10(from), math.Log10(to)
	}
	if to <= from {
		return 0
	}
	return math.Min(1, math.Max(0, (v-from)/(to-from)))
}

// linear goes from 0 to a little above most, with about n ticks at 1, 2 or 5 times a power of ten.
func linear(most float64, n int, label func(float64) string) scale {
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
	s := scale{to: most * 1.04}
	for i := 0; float64(i)*step <= s.to; i++ {
		s.ticks = append(s.ticks, tick{at: s.at(float64(i) * step), label: label(float64(i) * step)})
	}
	return s
}

// logarithmic spans values from a 1, 2 or 5 times a power of ten to another one, with a tick at each decade, or at all of these where
// there would be too few. Ends that are not known, as of no values, or not finite give way to 1, or to the other end.
func logarithmic(least, most float64, label func(float64) string) scale {
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
	s := scale{from: marks[0], to: marks[len(marks)-1], log: true}
	for _, m := range marks {
		if decades < 3 || isDecade(m) {
			s.ticks = append(s.ticks, tick{at: s.at(m), label: label(m)})
		}
	}
	return s
}

func isDecade(v float64) bool {
	e := math.Log10(v)
	return math.Abs(e-math.Round(e)) < 1e-9
}

// nines returns the scale of percentiles that gives each nine the same room: 90 %, 99 %, 99.9 %. It ends at so many nines.
func nines(most float64) scale {
	s := scale{to: math.Max(most, 1)}
	s.ticks = append(s.ticks, tick{at: s.at(-math.Log10(0.5)), label: "50 %"})
	for n := 1; n <= int(s.to+0.01); n++ {
		label := fmt.Sprintf("%.*f %%", max(0, n-2), 100*(1-math.Pow(10, -float64(n))))
		s.ticks = append(s.ticks, tick{s.at(float64(n)), label, s.to > 4 && n%2 == 1 && n > 1})
	}
	return s
}

// thin leaves out ticks until there are at most n, the ends of the rest as far apart as before.
func (s scale) thin(n int) scale {
	every := max(1, (len(s.ticks)+n-1)/n)
	var kept []tick
	for i := 0; i < len(s.ticks); i += every {
		kept = append(kept, s.ticks[i])
	}
	s.ticks = kept
	return s
}

// timeLabel is short, for ticks at whole numbers of a unit: 500 µs, 10 ms.
func timeLabel(ns float64) string {
	d := time.Duration(math.Round(ns))
	switch {
	case d == 0:
		return "0"
	case d < time.Microsecond:
		return strconv.Itoa(int(d)) + " ns"
	case d < time.Millisecond:
		return trim(float64(d)/1e3) + " µs"
	case d < time.Second:
		return trim(float64(d)/1e6) + " ms"
	}
	return trim(d.Seconds()) + " s"
}

// rateLabel is short, for ticks: 0, 500, 20k, 1.5M.
func rateLabel(v float64) string {
	switch {
	case v >= 1e6:
		return trim(math.Round(v/1e4)/100) + "M"
	case v >= 1e3:
		return trim(math.Round(v/10)/100) + "k"
	}
	return trim(math.Round(v*100) / 100)
}

// trim writes no more digits than v needs, and not those that a sum leaves behind: 3 × 0.2 is 0.6.
func trim(v float64) string {
	return strconv.FormatFloat(math.Round(v*1e9)/1e9, 'f', -1, 64)
}

// spread moves labels apart along an axis, so that each has its height to itself: down from from, and up again where that leads
// beyond to. It returns where they begin, in the order of at. More labels than there is room for begin before from.
func spread(at, heights []float64, from, to float64) []float64 {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	placed := slices.Clone(at)
	room := from
	for _, i := range order {
		placed[i] = max(placed[i], room)
		room = placed[i] + heights[i]
	}
	room = to
	for _, i := range slices.Backward(order) {
		placed[i] = min(placed[i], room-heights[i])
		room = placed[i]
	}
	return placed
}
