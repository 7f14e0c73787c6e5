package draw

// Scales of charts, and how much room text takes on them.

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// scale maps [from, to] to [0, 1]; what lies outside goes to its end.
type scale struct {
	from, to float64
	log      bool
	ticks    []report.Line
}

// newScale returns the scale of an axis that has a place for values; those that are not finite are left out.
func newScale(a report.Axis, values []float64) scale {
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
		s.ticks = s.rounds()
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
	case a.Label != nil:
		return zeros.ReplaceAllString(a.Label(v), "$1")
	case v < 0:
		return "−" + tickLabel(a, -v)
	}
	return zeros.ReplaceAllString(format.Three(v), "$1")
}

// at returns the place of v.
func (s scale) at(v float64) float64 {
	from, to := s.from, s.to
	if s.log {
		v, from, to = math.Log(max(v, s.from)), math.Log(from), math.Log(to)
	}
	return min(1, max(0, (v-from)/(to-from)))
}

// rounds returns three ticks or more at round places: of a logarithmic scale powers of ten or 1, 2 and 5 times these;
// else, and where those are too few, multiples of such a number.
func (s scale) rounds() (ticks []report.Line) {
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
	about := map[bool]float64{false: 6, true: 8}[s.log] // which does not begin at one of them
	step := math.Pow(10, math.Floor(math.Log10((s.to-s.from)/about)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*step*about >= s.to-s.from {
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

// widths are those of the printable ASCII characters in DejaVu Sans, in thousandths of the size. It is the widest of the
// fonts that a chart may come to be shown in, so that what fits here fits in all.
var widths = [...]int{
	318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636,
	636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557,
	863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550,
	635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525,
	636, 337, 636, 838,
}

// measure returns how wide text is, in units of its size.
func measure(s string) float64 {
	sum := 0
	for _, r := range s {
		switch {
		case r >= ' ' && int(r-' ') < len(widths):
			sum += widths[r-' ']
		case r == '·', string(r) == format.Unbroken:
			sum += 318
		default:
			sum += 1000 // 版
		}
	}
	return float64(sum) / 1000
}

// wrap breaks text into three lines at the most, of which the first two are no wider than room: between its parts, if
// these are short enough.
func wrap(text string, room float64) (lines []string) {
	parts := strings.Split(format.Line(text), " · ")
	for i, part := range parts {
		if measure(part) <= room {
			parts[i] = format.Glue(part)
		}
	}
	blank := func(r rune) bool { return r == ' ' }
	for word := range strings.FieldsFuncSeq(strings.Join(parts, " · "), blank) {
		if n := len(lines); n == 0 || n < 3 && measure(lines[n-1]+" "+word) > room {
			lines = append(lines, word)
		} else {
			lines[n-1] += " " + word
		}
	}
	for i, line := range lines {
		lines[i] = strings.Trim(line, "· ")
	}
	return lines
}

// clip cuts out of the middle what is wider than room: names often differ at their ends.
func clip(s string, room float64) string {
	for r := []rune(s); len(r) > 1 && measure(s) > room; {
		half := len(r) / 2
		r = slices.Delete(r, half, half+1)
		s = string(r[:half]) + "…" + string(r[half:])
	}
	return s
}
