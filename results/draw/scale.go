package draw

import (
	"cmp"
	"math"
	"regexp"
	"slices"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// scale maps [from, to] to [0, 1]; what lies outside goes to its end.
type scale struct {
	from, to float64
	log      bool
	ticks    []report.Line
}

// newScale returns the scale of an axis that has a place for values, with so many round ticks or fewer; values that are
// not finite are left out.
func newScale(a report.Axis, ticks float64, values []float64) scale {
	if a.Least < a.Most {
		values = append(values, a.Least, a.Most)
	}
	for _, t := range a.Ticks {
		values = append(values, t.At)
	}
	if !a.Log && a.Ticks == nil {
		values = append(values, 0)
	}
	values = slices.DeleteFunc(values, func(v float64) bool { return !known(v) || a.Log && v <= 0 })
	if len(values) == 0 {
		values = []float64{1}
	}
	s := scale{from: slices.Min(values), to: slices.Max(values), log: a.Log, ticks: slices.Clone(a.Ticks)}
	if a.Log {
		room := max(1.05, math.Pow(s.to/s.from, 0.02))
		s.from, s.to = s.from/room, s.to*room
	} else {
		room := cmp.Or(0.04*(s.to-s.from), 1)
		if s.to += room; s.from != 0 {
			s.from -= room
		}
	}
	if a.Ticks == nil {
		s.ticks = s.rounds(ticks)
	}
	for i, t := range s.ticks {
		s.ticks[i].Name = cmp.Or(t.Name, tickLabel(a, t.At))
	}
	return s
}

// zeros are those at the end of a number.
var zeros = regexp.MustCompile(`\.0+\b|(\.\d*[1-9])0+\b`)

// tickLabel writes a round value: 1 ms where an axis writes 1.00 ms.
func tickLabel(a report.Axis, v float64) string {
	switch {
	case v == 0:
		return "0"
	case a.Label == nil:
		a.Label = format.Three
	}
	return zeros.ReplaceAllString(a.Label(v), "$1")
}

// at returns the place of v.
func (s scale) at(v float64) float64 {
	from, to := s.from, s.to
	if s.log {
		v, from, to = math.Log(max(v, s.from)), math.Log(from), math.Log(to)
	}
	return min(1, max(0, (v-from)/(to-from)))
}

// rounds returns ticks at round places: of a logarithmic scale powers of ten or 1, 2 and 5 times these, if they are
// three or more; else multiples of such a number.
func (s scale) rounds(most float64) (ticks []report.Line) {
	for _, steps := range [][]float64{{1}, {1, 2, 5}} {
		for e := math.Floor(math.Log10(s.from)); s.log && e <= math.Log10(s.to); e++ {
			for _, m := range steps {
				if v := m * math.Pow(10, e); v >= s.from && v <= s.to {
					ticks = append(ticks, report.Line{At: v})
				}
			}
		}
		if len(ticks) >= 3 {
			return ticks
		}
		ticks = nil
	}
	if s.log {
		most = max(most, 8) // it does not begin at one of them
	}
	step := math.Pow(10, math.Floor(math.Log10((s.to-s.from)/most)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*step*most >= s.to-s.from {
			step *= m
			break
		}
	}
	for i := math.Ceil(s.from / step); i <= math.Floor(s.to/step); i++ {
		ticks = append(ticks, report.Line{At: i * step})
	}
	return ticks
}

// known reports whether v can be drawn.
func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
