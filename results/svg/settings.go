package svg

// Charts over a setting: which there are, and lines over numbers.

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/view"
)

// overSettings draws a chart for each setting in which the cells differ and that has an axis of its own.
func overSettings(v *view.Run) (all []Chart) {
	for _, s := range spec.Settings {
		var c Chart
		ok := false
		switch {
		case !s.Axis:
		case s.Name == "rate":
			c, ok = overRate(v, s)
		case slices.Contains([]string{"N", "TIME", "TIMES"}, s.Value):
			c, ok = overNumbers(v, s)
		case s.Group != spec.GroupLoad && !slices.Contains([]string{"driver", "lock", "wait"}, s.Name):
			c, ok = fromTo(v, s)
		}
		if ok {
			all = append(all, c)
		}
	}
	return all
}

// number returns the value of a setting in a cell, in nanoseconds if it is a time.
func number(s spec.Setting, c *results.Cell) (float64, bool) {
	text := s.Typed(c.Plan(), &c.Plan().Load)
	switch {
	case len(c.Plan().Classes) > 0:
	case s.Value == "N":
		n, err := spec.ParseInt(text)
		return float64(n), err == nil
	case s.Value == "RATE":
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil && n > 0
	default:
		d, err := time.ParseDuration(text)
		return float64(d), err == nil
	}
	return 0, false
}

// lineOf is cells that differ in one setting alone.
type lineOf struct {
	cells  []*results.Cell
	values []float64
}

// over sorts cells into lines over a setting: those of the load under which there are most. It says how many loads are left out.
func over(v *view.Run, s spec.Setting, value func(*results.Cell) (float64, bool)) (all []lineOf, left int) {
	const separator = "\x00"
	var loads, keys []string // as they come
	lines := map[string]*lineOf{}
	ofLoad := map[string][]string{}
	points := map[string]int{}
	for _, c := range v.Cells {
		n, ok := value(c)
		if !ok || c.Rate.Median <= 0 || c.Partial() != "" {
			continue
		}
		load, key := []string{view.ServerKind(c)}, placeOf(c, s)
		for _, other := range spec.Settings {
			if other.Name == s.Name || slices.Contains(s.Implies, other.Name) {
				continue
			}
			text := other.Text(c.Plan(), &c.Plan().Load)
			if key = append(key, text); other.Group == spec.GroupLoad || other.Name == "durability" {
				load = append(load, text)
			}
		}
		l := strings.Join(load, separator)
		k := l + separator + strings.Join(key, separator)
		if lines[k] == nil {
			lines[k] = &lineOf{}
			keys = append(keys, k)
			if ofLoad[l] = append(ofLoad[l], k); len(ofLoad[l]) == 1 {
				loads = append(loads, l)
			}
		}
		points[l]++
		lines[k].cells, lines[k].values = append(lines[k].cells, c), append(lines[k].values, n)
	}
	if len(loads) == 0 {
		return nil, 0
	}
	slices.SortStableFunc(loads, func(a, b string) int {
		return cmp.Or(cmp.Compare(points[b], points[a]), -view.Contention(lines[ofLoad[a][0]].cells[0], lines[ofLoad[b][0]].cells[0]))
	})
	for _, k := range keys {
		if slices.Contains(ofLoad[loads[0]], k) {
			all = append(all, lines[k].sorted())
		}
	}
	return all, len(loads) - 1
}

// placeOf returns what else has to be the same in the cells of a line over a setting: what was measured, and where.
func placeOf(c *results.Cell, s spec.Setting) (values []string) {
	serversDiffer := s.Name == "topology" || s.Name == "durability" // by themselves
	for _, a := range view.Axes {
		if a.Server && !serversDiffer || slices.Contains([]string{"side", "revision", "machine", "lockbench", "libraries"}, a.Title) {
			values = append(values, a.Value(c))
		}
	}
	return values
}

func (l *lineOf) sorted() lineOf {
	order := make([]int, len(l.cells))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(l.values[a], l.values[b]) })
	var s lineOf
	for _, i := range order {
		s.cells, s.values = append(s.cells, l.cells[i]), append(s.values, l.values[i])
	}
	return s
}

// cellsOf are those of all lines.
func cellsOf(all []lineOf) (cells []*results.Cell) {
	for _, l := range all {
		cells = append(cells, l.cells...)
	}
	return cells
}

// namesOf tells lines apart.
func namesOf(all []lineOf, s spec.Setting) []string {
	var first []*results.Cell
	for _, l := range all {
		first = append(first, l.cells[0])
	}
	return view.NamesBut(first, view.AxisOf(s).Title)
}

// across is the scale of a setting, with a tick at each value.
func across(all []lineOf, label func(float64) string) (s plot.Scale, distinct int) {
	var values []float64
	for _, l := range all {
		values = append(values, l.values...)
	}
	slices.Sort(values)
	values = slices.Compact(values)
	if len(values) < 2 {
		return s, len(values)
	}
	s = plot.Scale{From: values[0], To: values[len(values)-1]}
	if s.Log = s.From > 0 && s.To >= 8*s.From; !s.Log && s.From < 0.5*s.To {
		s.From = 0
	}
	for _, v := range values {
		s.Ticks = append(s.Ticks, plot.Tick{At: s.At(v), Label: label(v)})
	}
	return s, len(values)
}

// overNumbers draws locks a second, and the p99 of the wait below, over at least three values of a setting.
func overNumbers(v *view.Run, s spec.Setting) (Chart, bool) {
	all, left := over(v, s, func(c *results.Cell) (float64, bool) { return number(s, c) })
	label := func(n float64) string { return format.Count(int64(n)) }
	word := strings.ReplaceAll(s.Name, "-", " ")
	if s.Value != "N" {
		label = func(n float64) string { return format.Exact(time.Duration(n)) }
	}
	x, distinct := across(all, label)
	all = slices.DeleteFunc(all, func(l lineOf) bool { return len(l.cells) < 2 })
	if distinct < 3 || len(all) == 0 {
		return Chart{}, false
	}
	return twoPanels(v, s, all, left, x, word, label), true
}

func twoPanels(v *view.Run, s spec.Setting, all []lineOf, left int, x plot.Scale, word string, label func(float64) string) Chart {
	names := namesOf(all, s)
	if len(all) == 1 {
		names[0] = ""
	}
	var rates, tails []series
	var said []string
	dropped := max(0, len(all)-mostLines)
	for i, l := range all[:len(all)-dropped] {
		rate := series{name: names[i], colour: i, bad: slices.ContainsFunc(l.cells, (*results.Cell).Violated)}
		tail := rate
		var text []string
		for n, c := range l.cells {
			rate.points = append(rate.points, sample{l.values[n], c.Rate.Median, c.Rate.Min, c.Rate.Max})
			tail.points = append(tail.points, sampleAt(l.values[n], view.P99(c)))
			text = append(text, fmt.Sprintf("%s locks/s and p99 %s with %s%s", format.Three(c.Rate.Median),
				metric.Duration.Format(view.P99(c)), label(l.values[n]), saidOf(c)))
		}
		rates, tails = append(rates, rate), append(tails, tail)
		said = append(said, strings.TrimPrefix(names[i]+": ", ": ")+strings.Join(text, ", "))
	}
	title := "Locks per second and wait over " + word
	c := newCanvas(title, aboutCells(cellsOf(all)), "Dots: median of "+trialsText(v)+"; line through them: range.")
	if _, most := trials(v); most == 1 {
		c = newCanvas(title, aboutCells(cellsOf(all)), "One trial each.")
	}
	panels := []lines{{head: "Locks per second", x: x, y: scaleOf(rates, plot.RateLabel), all: rates}}
	if least, most := span(tails); most > 0 {
		panels = append(panels, lines{head: "Wait, p99", x: x, y: plot.LogTime(least, most), all: tails})
	}
	panels[len(panels)-1].across = word
	draw(c, panels...)
	doubts(c, all[:len(all)-dropped], names)
	c.leftOut(left, dropped)
	return c.chart(s.Name, title, fmt.Sprintf("Locks per second and the p99 of the wait over %s. %s.", word, strings.Join(said, "; ")))
}

// doubts says below a chart of lines which of them have figures that are not to be believed as they stand, and why.
func doubts(c *canvas, all []lineOf, names []string) {
	var words []string
	lines := map[string][]string{}
	for i, l := range all {
		for _, cell := range l.cells {
			for _, word := range waitDoubts(cell) {
				if lines[word] == nil {
					words = append(words, word)
				}
				if !slices.Contains(lines[word], format.Glue(names[i])) {
					lines[word] = append(lines[word], format.Glue(names[i]))
				}
			}
		}
	}
	for _, word := range words {
		text := meaning(word)
		if len(all) > 1 {
			text = strings.Replace(text, ":", " ("+format.Few(lines[word], view.NamedCells)+"):", 1)
		}
		c.paragraph("soft", format.Upper(text))
	}
}

// leftOut says what a chart has no room for.
func (c *canvas) leftOut(loads, lines int) {
	if loads > 0 {
		c.paragraph("soft", format.Upper(format.Plural(loads, "other load")+" left out."))
	}
	if lines > 0 {
		c.paragraph("soft", format.Plural(lines, "more line")+" left out.")
	}
}
