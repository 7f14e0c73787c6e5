package report

// Pictures of throughput and wait over one axis: a setting that has numbers, or the course of a trial.

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

// mostLines is what a picture has room for. The table has the other cells.
const mostLines = 8

// drawable reports whether a figure is known: each of these pictures has positive ones alone.
func drawable(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// caption returns a name with why the figures of its cells are not valid as they stand.
func caption(name string, cells ...*results.Cell) string {
	var words []string
	for _, c := range cells {
		if c.Violated() {
			words = append(words, "violated")
		}
		words = append(words, view.Doubts(c)...)
	}
	slices.Sort(words)
	return strings.Trim(name+" · "+strings.Join(slices.Compact(words), " · "), " ·")
}

// rateAndWait returns two charts with the same X axis, still without lines.
func rateAndWait(name string, x Axis) (rates, waits Chart) {
	return Chart{Name: name, Title: "Throughput over " + x.Name, X: x, Y: Axis{Name: "locks/s", Label: format.Three}},
		Chart{Name: name + "-wait", Title: "Wait over " + x.Name, X: x, Y: Axis{Name: "p99", Log: true, Label: duration}}
}

// overNumbers are throughput and wait over each setting of which cells have three values or more: a line for each
// combination of the others.
func overNumbers(v *view.Run) (all []Chart) {
	for _, s := range spec.Recorded {
		if len(across(v.Cells, s).Ticks) < 3 { // which takes less time than lines
			continue
		}
		lines, names := linesOver(v.Cells, s)
		rates, waits := rateAndWait(s.Name, across(slices.Concat(lines...), s))
		if len(rates.X.Ticks) < 3 {
			continue
		}
		over := func(line Series, cells []*results.Cell, of func(c *results.Cell) Point) Series {
			if slices.ContainsFunc(cells, (*results.Cell).Violated) {
				line.Tone = Bad
			}
			for _, c := range cells {
				p := of(c)
				p.X = numberOf(c, s)
				line.Points = append(line.Points, p)
			}
			return line
		}
		for i, cells := range lines {
			rates.Series = append(rates.Series, over(Series{Name: names[i]}, cells, func(c *results.Cell) Point {
				return Point{Y: c.Rate.Median, Low: c.Rate.Min, High: c.Rate.Max}
			}))
			waits.Series = append(waits.Series, over(Series{Name: names[i]}, cells, func(c *results.Cell) Point {
				return Point{Y: view.P99(c)}
			}))
			if s.Name == "rate" { // from when an arrival was due, and from when a client was free for it
				whose := strings.TrimPrefix(names[i]+" · ", " · ")
				waits.Series[len(waits.Series)-1].Name = whose + "response"
				acquire := Series{Name: whose + "acquire", Dashed: true}
				waits.Series = append(waits.Series, over(acquire, cells, func(c *results.Cell) Point {
					return Point{Y: c.Latency[results.Acquire].Quantile(0.99)}
				}))
			}
		}
		if s.Name == "rate" { // their rate is that of the arrivals
			rates, waits = waits, rates
		}
		all = append(all, rates, waits)
	}
	return all
}

// numberOf returns the value of a setting, of a time in nanoseconds; NaN: it has no number.
func numberOf(c *results.Cell, s spec.Setting) float64 {
	text := s.Typed(c.Plan(), &c.Plan().Load)
	if !s.Axis || c.Plan().Classes != nil {
		return math.NaN()
	}
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d)
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && (n > 0 || s.Value != "RATE") {
		return n
	}
	return math.NaN()
}

// linesOver returns cells that differ in a setting alone, by its value, and what tells such lines apart. Of more lines
// than there is room for those stay whose load has the most contention.
func linesOver(cells []*results.Cell, s spec.Setting) (lines [][]*results.Cell, names []string) {
	byOthers := view.Grouped[string, *results.Cell]{}
	for _, c := range cells {
		if math.IsNaN(numberOf(c, s)) || c.Rate.Median <= 0 || c.Partial() != "" {
			continue
		}
		key, others := "", *c.First()
		for _, o := range spec.Recorded {
			if o.Name == s.Name || slices.Contains(s.Implies, o.Name) {
				o.Clear(&others.Plan, &others.Plan.Load)
			}
		}
		for _, a := range view.Axes {
			key += a.Value(&results.Cell{Trials: []*results.Record{&others}}) + "\x00"
		}
		byOthers.Add(key, c)
	}
	for _, key := range byOthers.Keys {
		line := byOthers.Of[key]
		slices.SortStableFunc(line, func(a, b *results.Cell) int { return cmp.Compare(numberOf(a, s), numberOf(b, s)) })
		if len(line) > 1 {
			lines = append(lines, line)
		}
	}
	slices.SortStableFunc(lines, func(a, b []*results.Cell) int { return -view.Contention(a[len(a)-1], b[len(b)-1]) })
	lines = lines[:min(mostLines, len(lines))]
	names = make([]string, len(lines))
	if len(lines) > 1 {
		var first []*results.Cell
		for _, line := range lines {
			first = append(first, line[0])
		}
		names = view.Names(first, s.Name)
	}
	for i, line := range lines {
		names[i] = caption(names[i], line...)
	}
	return lines, names
}

// across is the axis of a setting, with a tick at each value.
func across(cells []*results.Cell, s spec.Setting) Axis {
	x := Axis{Name: strings.ReplaceAll(s.Name, "-", " ")}
	if s.Value == "RATE" {
		x.Name = "arrivals/s"
	}
	var values []float64
	for _, c := range cells {
		if n := numberOf(c, s); !math.IsNaN(n) {
			values = append(values, n)
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	for _, v := range values {
		text := format.Three(v)
		if strings.HasPrefix(s.Value, "TIME") {
			text = format.Exact(time.Duration(v))
		} else if v == math.Trunc(v) {
			text = format.Count(int64(v))
		}
		x.Ticks = append(x.Ticks, Line{v, text})
	}
	x.Log = len(values) > 0 && values[0] > 0 && values[len(values)-1] >= 8*values[0]
	return x
}

// course returns throughput and wait of trials second by second.
func course(trials []*results.Record, names []string) []Chart {
	rates, waits := rateAndWait("course", Axis{Name: "time", Label: duration})
	few := func(i results.Interval) bool { return !i.Warmup && !results.Enough(i.Acquired, 0.99) }
	if slices.ContainsFunc(trials, func(r *results.Record) bool { return slices.ContainsFunc(r.Series, few) }) {
		waits.Y.Name = "longest"
	}
	wrong := Series{Name: "violations", Tone: Bad, Signs: true}
	for n, r := range trials {
		if len(r.Series) < 2 {
			continue
		}
		rate, wait := Series{Name: names[n]}, Series{Name: names[n]}
		for _, i := range r.Series {
			p := Point{X: float64(i.At + i.Length/2), Y: float64(i.Acquired) / max(i.Length.Seconds(), 1e-9)}
			if i.Violations > 0 {
				wrong.Points = append(wrong.Points, p)
			}
			if len(trials) == 1 {
				p.High = p.Y // the area below the line
			}
			rate.Points = append(rate.Points, p)
			p.High = 0
			if p.Y = float64(i.P99); waits.Y.Name != "p99" {
				p.Y = float64(i.Max)
			}
			if !drawable(p.Y) {
				p.Y = math.NaN()
			}
			wait.Points = append(wait.Points, p)
			if i.Warmup {
				rates.Shade = max(rates.Shade, float64(i.At+i.Length))
			}
		}
		rates.Series, waits.Series = append(rates.Series, rate), append(waits.Series, wait)
	}
	if waits.Shade = rates.Shade; wrong.Points != nil {
		rates.Series = append(rates.Series, wrong)
	}
	return []Chart{rates, waits}
}
