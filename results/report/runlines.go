package report

// Pictures of runs whose cells differ in a setting that has numbers.

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/view"
)

// overNumbers are throughput and wait over each setting of which cells have three values or more: a line for each
// combination of the others.
func overNumbers(v *view.Run) (all []Chart) {
	for _, s := range spec.Recorded {
		if len(across([][]*results.Cell{v.Cells}, s).Ticks) < 3 { // which takes less time than lines
			continue
		}
		lines := linesOver(v.Cells, s)
		x := across(lines, s)
		if len(x.Ticks) < 3 {
			continue
		}
		rates, waits := rateAndWait(s.Name, x)
		for i, name := range lineNames(lines, s) {
			rate, wait := Series{Name: name}, Series{Name: name}
			for _, c := range lines[i] {
				at := numberOf(c, s)
				rate.Points = append(rate.Points, Point{at, c.Rate.Median, c.Rate.Min, c.Rate.Max})
				wait.Points = append(wait.Points, Point{X: at, Y: view.P99(c)})
			}
			if slices.ContainsFunc(lines[i], (*results.Cell).Violated) {
				rate.Tone, wait.Tone = Bad, Bad
			}
			rates.Series, waits.Series = append(rates.Series, rate), append(waits.Series, wait)
		}
		if s.Name == "rate" && len(lines) == 1 {
			waits.Title, waits.Y.Name = "Response over the load", "time to the grant"
			waits.Series = responses(lines[0], s)
			rates, waits = waits, rates
		}
		all = append(all, rates, waits)
	}
	return all
}

// responses are the response, from when an arrival was due, and the acquisition, from when a client was free for it.
func responses(cells []*results.Cell, s spec.Setting) (all []Series) {
	for _, q := range []float64{0.99, 0.5} {
		for _, m := range []results.Metric{results.Response, results.Acquire} {
			line := Series{Name: string(m) + " p" + strconv.FormatFloat(100*q, 'g', -1, 64), Dashed: m == results.Acquire}
			for _, c := range cells {
				line.Points = append(line.Points, Point{X: numberOf(c, s), Y: c.Latency[m].Quantile(q)})
			}
			all = append(all, line)
		}
	}
	return all
}

// numberOf returns the value of a setting, of a time in nanoseconds; NaN: it has no number.
func numberOf(c *results.Cell, s spec.Setting) float64 {
	text := s.Typed(c.Plan(), &c.Plan().Load)
	if !s.Axis || c.Plan().Classes != nil {
		return math.NaN()
	}
	switch s.Value {
	case "N":
		if n, err := spec.ParseInt(text); err == nil {
			return float64(n)
		}
	case "RATE":
		if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 {
			return n
		}
	case "TIME", "TIMES":
		if d, err := time.ParseDuration(text); err == nil {
			return float64(d)
		}
	}
	return math.NaN()
}

// places are axes that are no settings, and in which the cells of a line do not differ.
var places = []string{"side", "revision", "machine", "lockbench", "libraries"}

// linesOver returns cells that differ in a setting alone, by its value. Of more lines than there is room for those stay
// whose load has the most contention.
func linesOver(cells []*results.Cell, s spec.Setting) (lines [][]*results.Cell) {
	byOthers := view.Grouped[string, *results.Cell]{}
	for _, c := range cells {
		if math.IsNaN(numberOf(c, s)) || c.Rate.Median <= 0 || c.Partial() != "" {
			continue
		}
		var others []string
		for _, o := range spec.Recorded {
			if o.Name != s.Name && !slices.Contains(s.Implies, o.Name) {
				others = append(others, o.Text(c.Plan(), &c.Plan().Load))
			}
		}
		for _, a := range view.Axes {
			if a.Server || slices.Contains(places, a.Title) {
				others = append(others, a.Value(c))
			}
		}
		byOthers.Add(strings.Join(others, "\x00"), c)
	}
	for _, key := range byOthers.Keys {
		line := byOthers.Of[key]
		slices.SortStableFunc(line, func(a, b *results.Cell) int { return cmp.Compare(numberOf(a, s), numberOf(b, s)) })
		if len(line) > 1 {
			lines = append(lines, line)
		}
	}
	slices.SortStableFunc(lines, func(a, b []*results.Cell) int { return -view.Contention(a[len(a)-1], b[len(b)-1]) })
	return lines[:min(mostLines, len(lines))]
}

// lineNames tells lines apart; one alone has no name.
func lineNames(lines [][]*results.Cell, s spec.Setting) (names []string) {
	var first []*results.Cell
	for _, line := range lines {
		first = append(first, line[0])
	}
	if len(lines) == 1 {
		return []string{caption("", lines[0]...)}
	}
	for i, name := range view.Names(first, s.Name) {
		names = append(names, caption(name, lines[i]...))
	}
	return names
}

// across is the axis of a setting, with a tick at each value.
func across(lines [][]*results.Cell, s spec.Setting) Axis {
	x := Axis{Name: strings.ReplaceAll(s.Name, "-", " ")}
	label := format.Three
	switch s.Value {
	case "N":
		label = func(v float64) string { return format.Count(int64(v)) }
	case "RATE":
		x.Name = "arrivals/s"
	default:
		label = func(v float64) string { return format.Exact(time.Duration(v)) }
	}
	var values []float64
	for _, c := range slices.Concat(lines...) {
		if n := numberOf(c, s); !math.IsNaN(n) {
			values = append(values, n)
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	for _, v := range values {
		x.Ticks = append(x.Ticks, Line{v, label(v)})
	}
	x.Log = len(values) > 0 && values[0] > 0 && values[len(values)-1] >= 8*values[0]
	return x
}
