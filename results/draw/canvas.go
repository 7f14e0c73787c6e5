package draw

// What charts are drawn with: shapes and texts as SVG, and scales.

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// units writes a length: ten units are the size of a letter.
func units(v float64) string { return strconv.FormatFloat(math.Round(100*v)/10, 'f', -1, 64) }

func escape(s string) string { return html.EscapeString(format.Line(s)) }

// path draws a line from place to place: x and y of each.
func (p *plot) path(class string, places ...float64) {
	var steps []string
	for at := range slices.Chunk(places, 2) {
		steps = append(steps, units(at[0])+" "+units(at[1]))
	}
	if len(steps) > 1 {
		fmt.Fprintf(p, "\n"+`<path class="%s" d="M%s"/>`, class, strings.Join(steps, "L"))
	}
}

// Signs.
const (
	small    = "M-2.4 0a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0 -4.8 0Z"
	dot      = "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z"
	cross    = "M-3.5 -3.5L3.5 3.5M-3.5 3.5L3.5 -3.5"
	triangle = "M0 -4.5L4 3.5L-4 3.5Z"
	diamond  = "M0 -4.5L4.5 0L0 4.5L-4.5 0Z"
	stop     = "M0 -3.5V3.5"
	more     = "M-5 -4L0 0L-5 4Z"
	less     = "M5 -4L0 0L5 4Z"
)

func (p *plot) sign(class string, x, y float64, shape string) {
	fmt.Fprintf(p, "\n"+`<path class="sign %s" transform="translate(%s %s)" d="%s"/>`, class, units(x), units(y), shape)
}

// text writes a line of text, and cuts what is wider than room.
func (p *plot) text(class string, x, y float64, anchor, text string, room float64) {
	text = format.Line(text)
	for r := []rune(text); len(r) > 0 && measure(text) > room; text = string(r) + "…" {
		r = r[:len(r)-1]
	}
	if text != "" {
		fmt.Fprintf(p, "\n"+`<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`,
			class, units(x), units(y), anchor, escape(text))
	}
}

// paragraph writes text below y, in as many lines as it takes, and returns where it ends.
func (p *plot) paragraph(class string, x, y float64, anchor, text string, room float64) float64 {
	for _, line := range wrap(text, room) {
		y += lineHeight
		p.text(class, x, y-0.25, anchor, line, room)
	}
	return y
}

// How high a line is, and how wide a letter on average in DejaVu Sans, the widest of the fonts that a chart may have.
const lineHeight, letter = 1.2, 0.6

// measure returns how wide text is, in units of its size.
func measure(s string) float64 { return letter * float64(format.Width(s)) }

// wrap breaks text into lines: between its parts, if these are short enough.
func wrap(text string, room float64) (lines []string) {
	columns := int(room / letter)
	for _, part := range strings.Split(format.Line(text), " · ") {
		for _, piece := range format.Wrap("", part, columns) {
			if last := len(lines) - 1; last >= 0 && format.Width(lines[last]+" · "+piece) <= columns {
				lines[last] += " · " + piece
			} else if piece != "" {
				lines = append(lines, piece)
			}
		}
	}
	return lines
}

// scale maps [from, to] of an axis to [0, 1]; what lies outside goes to its end.
type scale struct {
	report.Axis
	from, to float64
}

// newScale returns the scale of an axis that has a place for values; those that have none are left out.
func newScale(a report.Axis, values []float64) scale {
	if a.Label == nil {
		a.Label = format.Three
	}
	if a.Ticks == nil {
		values = append(values, 0, a.Most)
	}
	values = slices.DeleteFunc(values, func(v float64) bool { return !has(a, v) })
	if len(values) == 0 {
		values = []float64{1}
	}
	from, to := slices.Min(values), slices.Max(values)
	if a.Log = a.Log && to >= 10*from; a.Log { // else a linear one has more ticks, and looks the same
		room := math.Pow(to/from, 0.02)
		return scale{a, from / room, to * room}
	}
	room := cmp.Or(0.04*(to-from), 0.05*to, 1)
	if to += room; from != 0 {
		from -= room
	}
	return scale{a, from, to}
}

// at returns the place of v.
func (s scale) at(v float64) float64 {
	from, to := s.from, s.to
	if s.Log {
		v, from, to = math.Log(max(v, s.from)), math.Log(from), math.Log(to)
	}
	return min(1, max(0, (v-from)/(to-from)))
}

// zeros are those at the end of a number: a tick is called 1 ms where an axis writes 1.00 ms.
var zeros = regexp.MustCompile(`\.0+\b|(\.\d*[1-9])0+\b`)

// ticks returns those of the axis, or else round ones: on a logarithmic scale powers of ten, or 1, 2 and 5 times these,
// on another so many or fewer.
func (s scale) ticks(most float64) []report.Line {
	all, steps := slices.Clone(s.Ticks), []float64{2, 2.5, 2} // from 1 to 2, 5 and 10
	add := func(v float64) { all = append(all, report.Line{At: v}) }
	power := func(v float64) float64 { return math.Pow(10, math.Floor(math.Log10(v))) }
	switch {
	case all != nil:
	case s.Log:
		if s.to > 1000*s.from {
			steps = []float64{10}
		}
		for i, v := 0, power(s.from); v <= s.to; i, v = i+1, v*steps[i%len(steps)] {
			add(v)
		}
	default:
		if s.from > 0 {
			most = max(most, 8)
		}
		step := power((s.to - s.from) / most)
		for i := 0; step*most < s.to-s.from; i++ {
			step *= steps[i%len(steps)]
		}
		for i := math.Ceil(s.from / step); i*step <= s.to; i++ {
			add(i * step)
		}
	}
	for i, t := range all {
		if all[i].Name = cmp.Or(t.Name, zeros.ReplaceAllString(s.Label(t.At), "$1")); t.At == 0 {
			all[i].Name = cmp.Or(t.Name, "0")
		}
	}
	return slices.DeleteFunc(all, func(t report.Line) bool { return t.At < s.from || t.At > s.to })
}

// has reports whether v has a place on an axis.
func has(a report.Axis, v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (v > 0 || !a.Log)
}
