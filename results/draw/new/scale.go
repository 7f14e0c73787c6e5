package draw

// Scales of charts, how wide text is, and how labels keep out of each other's way.

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	report "github.com/lockbench/lockbench/results/report/new"
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
}

// aboutTicks is how many ticks a scale has that is not logarithmic.
const aboutTicks = 5

// newScale returns the scale of an axis that has a place for values; those that are not finite are left out.
func newScale(a report.Axis, values []float64) scale {
	values = append(slices.Clone(values), a.Least, a.Most)
	for _, t := range a.Ticks {
		values = append(values, t.At)
	}
	if a.Ticks != nil && a.Least == 0 { // it begins where its values do
		values = slices.DeleteFunc(values, func(v float64) bool { return v == 0 })
	}
	values = slices.DeleteFunc(values, func(v float64) bool { return !known(v) || a.Log && v <= 0 })
	if len(values) == 0 {
		values = []float64{1}
	}
	s := scale{from: slices.Min(values), to: slices.Max(values), log: a.Log}
	var places []float64
	switch {
	case a.Ticks != nil:
		if s.to <= s.from {
			s.to = s.from + 1
		}
		for _, t := range a.Ticks {
			s.ticks = append(s.ticks, tick{s.at(t.At), cmp.Or(t.Name, label(a, t.At))})
		}
		return s
	case a.Log:
		places = decades(s.from, s.to)
		s.from, s.to = min(s.from, places[0]), max(s.to, places[len(places)-1])
	default:
		s.from, s.to = min(0, s.from), max(0, s.to)
		if s.to <= s.from {
			s.to = 1
		}
		places = rounds(s.from, s.to)
		s.to += 0.04 * (s.to - s.from)
	}
	for _, v := range places {
		s.ticks = append(s.ticks, tick{s.at(v), label(a, v)})
	}
	return s
}

// label writes a tick.
func label(a report.Axis, v float64) string {
	if a.Label != nil {
		return a.Label(v)
	}
	if v < 0 {
		return "−" + format.Three(-v)
	}
	return format.Three(v)
}

// farthest is how far a scale of changes goes if the shaded region does not begin beyond that: to half and to double. One row that
// takes ten times as long would make all others look unchanged.
const farthest = 2.0

// changeScale is newScale around no change: 1 on a logarithmic axis, so that half and double are equally far from it, and else 0.
func changeScale(a report.Axis, values []float64, shade report.Range) scale {
	if !a.Log {
		return newScale(a, values)
	}
	room, least, most := math.Log(farthest), 0.0, 0.0
	for _, v := range []float64{shade.Low, shade.High} {
		if v > 0 && known(v) {
			values, room = append(values, v), max(room, 1.5*math.Abs(math.Log(v)))
		}
	}
	for _, v := range values {
		if l := math.Log(v); known(l) {
			least, most = min(least, l), max(most, l)
		}
	}
	least, most = max(least, -room), min(most, room)
	pad := max(0.01, 0.06*(most-least))
	s := scale{from: math.Exp(least - pad), to: math.Exp(most + pad), log: true}
	for _, v := range rounds(s.from, s.to) {
		s.ticks = append(s.ticks, tick{s.at(v), label(a, v)})
	}
	return s
}

// at returns the place of v.
func (s scale) at(v float64) float64 {
	from, to := s.from, s.to
	if s.log {
		v, from, to = math.Log(max(v, s.from)), math.Log(from), math.Log(to)
	}
	if to <= from {
		return 0
	}
	return min(1, max(0, (v-from)/(to-from)))
}

// rounds returns multiples of 1, 2 or 5 times a power of ten.
func rounds(from, to float64) (places []float64) {
	step := math.Pow(10, math.Floor(math.Log10((to-from)/aboutTicks)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*step*aboutTicks >= (to-from)*0.999 {
			step *= m
			break
		}
	}
	for i := math.Ceil(from/step - 1e-9); i <= math.Floor(to/step+1e-9); i++ {
		places = append(places, i*step)
	}
	return places
}

// decades returns three places or more of 1, 2 and 5 times powers of ten, from one at the most from to one at least to; of many only
// the powers.
func decades(from, to float64) (places []float64) {
	var powers, all []float64
	for e := math.Floor(math.Log10(from)) - 1; e <= math.Ceil(math.Log10(to))+1; e++ {
		for _, m := range []float64{1, 2, 5} {
			all = append(all, m*math.Pow(10, e))
		}
	}
	for len(all) > 3 && all[1] <= from*(1+1e-9) {
		all = all[1:]
	}
	for len(all) > 3 && all[len(all)-2] >= to*(1-1e-9) {
		all = all[:len(all)-1]
	}
	for _, v := range all {
		if e := math.Log10(v); math.Abs(e-math.Round(e)) < 1e-9 {
			powers = append(powers, v)
		}
	}
	if len(powers) >= 3 {
		return powers
	}
	return all
}

// thin leaves out ticks until all are apart. The first stays, and no change does.
func thin(ticks []tick, zero float64, apart func(a, b tick) bool) []tick {
	keep := max(0, slices.IndexFunc(ticks, func(t tick) bool { return t.at == zero }))
	for every := 1; every < len(ticks); every++ {
		var kept []tick
		near := false
		for i := keep % every; i < len(ticks); i += every {
			kept = append(kept, ticks[i])
			near = near || len(kept) > 1 && !apart(kept[len(kept)-2], ticks[i])
		}
		if !near {
			return kept
		}
	}
	return ticks[:min(1, len(ticks))]
}

// known reports whether v can be drawn.
func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// widths are those of the printable ASCII characters in DejaVu Sans, in thousandths of the size. It is the widest of the fonts that
// a chart may come to be shown in, so that what fits here fits in all.
var widths = [...]int{
	318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636, 636, 636, 636,
	337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,
	611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974,
	634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
}

// measure returns how wide text is, in units of its size.
func measure(s string) float64 {
	sum := 0
	for _, r := range s {
		switch {
		case r >= ' ' && int(r-' ') < len(widths):
			sum += widths[r-' ']
		case r == '·', r == '\u00a0':
			sum += 318
		case format.Width(string(r)) > 1: // 版
			sum += 1000
		default:
			sum += 838
		}
	}
	return float64(sum) / 1000
}

// wrap breaks text into at most three lines no wider than room, in units of its size, and clips what is too wide all the same.
func wrap(text string, room float64) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(format.Line(text)) {
		if line != "" && len(lines) < 2 && measure(line+" "+word) > room {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	lines = append(lines, line)
	for i, line := range lines {
		lines[i] = clip(strings.Trim(line, "· "), room)
	}
	return lines
}

// clip cuts out of the middle what does not fit into the room: names often differ at their ends.
func clip(s string, room float64) string {
	if measure(s) <= room {
		return s
	}
	r := []rune(s)
	for n := len(r) - 1; n > 0; n-- {
		if short := string(r[:(n+1)/2]) + "…" + string(r[len(r)-n/2:]); measure(short) <= room {
			return short
		}
	}
	return "…"
}

// spread moves labels apart along an axis, so that each has its height to itself: down from from, and up again where that leads
// beyond to. It returns where they begin, in the order of at. More labels than there is room for begin before from.
func spread(at, heights []float64, from, to float64) []float64 {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	placed, room := slices.Clone(at), from
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
