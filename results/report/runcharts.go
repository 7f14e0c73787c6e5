package report

// The pictures of runs: which there are, and what each shows of which cells.

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

// What a picture has room for. The table has the other cells.
const mostBars, mostLines = 24, 8

// Pictures returns the charts that cells have the data for, the one that says most first. Each has the name of a file.
func Pictures(cells []*results.Cell) []Chart {
	if len(cells) == 0 {
		return nil
	}
	return pictures(view.NewRun(cells))
}

func pictures(v *view.Run) []Chart {
	cells, all := v.Cells, overNumbers(v)
	if len(cells) > 1 {
		all = append(all, throughput(v), spans(v, "latency", "Wait", view.Waiting))
	}
	died := func(*results.Cell) results.Metric { return results.Recovery }
	recovery := spans(v, "recovery", "From the death of a holder to the next grant", died)
	if ttl := cells[0].Plan().TTL; ttl > 0 && !view.Differing(cells)("ttl") {
		recovery.Uprights = []Line{{float64(ttl), "TTL " + format.Exact(ttl)}}
	}
	var best []curve // under the load with most contention
	g := v.Groups[0]
	for i, c := range g.Cells[:min(mostLines, len(g.Cells))] {
		best = append(best, newCurve(g.Short[i], c))
	}
	if len(cells) == 1 {
		best[0].Name = ""
	}
	for _, c := range append([]Chart{percentiles(best)}, course(best)...) {
		c.Title = strings.TrimSuffix(c.Title+" · "+g.Title, " · ")
		all = append(all, c)
	}
	all = append(all, recovery)
	return slices.DeleteFunc(all, func(c Chart) bool { return len(c.Series) == 0 })
}

// rows adds a row a cell, load by load and the best first, if its value or the lower end is known.
func (c *Chart) rows(v *view.Run, row func(*results.Cell) Series) {
	for _, g := range v.Groups {
		group := g.Title
		for i, cell := range g.Cells {
			s := row(cell)
			if p := s.Points[0]; len(c.Series) < mostBars && (p.X > 0 || p.Low > 0) {
				s.Group, s.Name, s.Tone = group, newCurve(g.Short[i], cell).Name, toneOf(cell)
				c.Series, group = append(c.Series, s), ""
			}
		}
	}
}

// throughput is the locks a second of each cell, with what the trials leave open and the keys let through.
func throughput(v *view.Run) Chart {
	const far = 1.5 // times the rate: a bound beyond that would make all bars short
	c := Chart{Kind: Bars, Name: "throughput", Title: "Throughput", X: Axis{Label: format.Three,
		Name: "locks/s · p99 wait · whiskers: trials · dotted: upper bound"}}
	c.rows(v, func(cell *results.Cell) Series {
		p := Point{X: cell.Rate.Median}
		p.Low, p.High = spread(view.Rate(cell))
		s := Series{Points: []Point{p}, Text: format.Three(p.X)}
		if t := view.P99(cell); t > 0 {
			s.Text += " · " + duration(t)
		}
		if b := cell.Bound; b.By == "keys" && b.LocksPerS < far*p.X && cell.Breaches() == 0 {
			s.Bound = b.LocksPerS
		}
		return s
	})
	return c
}

// spans is a latency of each cell. Of too few values for a p99 only the median is drawn.
func spans(v *view.Run, name, title string, of func(*results.Cell) results.Metric) Chart {
	c := Chart{Kind: Spans, Name: name, Title: title, X: Axis{Name: "p50 → p99 → longest", Log: true, Label: duration}}
	c.rows(v, func(cell *results.Cell) Series {
		l := cell.Latency[of(cell)]
		p := Point{Low: l.Quantile(0.5), X: l.Quantile(0.99), High: float64(l.Max)}
		text := "p99 " + duration(p.X)
		if math.IsNaN(p.X) {
			p.High, text = p.X, "p50 "+duration(p.Low)
		}
		return Series{Points: []Point{p}, Text: text}
	})
	return c
}

// curve is a line, still without points, and the cells that it is of: one for each point, or one that has all.
type curve struct {
	Series
	cells []*results.Cell
}

// newCurve returns a line whose name says why the figures of its cells are not valid as they stand.
func newCurve(name string, cells ...*results.Cell) curve {
	s, doubts := Series{}, []string(nil)
	for _, c := range cells {
		if c.Violated() {
			s.Tone, doubts = Bad, append(doubts, "violated")
		}
		doubts = append(doubts, view.Doubts(c)...)
	}
	slices.Sort(doubts)
	s.Name = strings.Trim(name+" · "+strings.Join(slices.Compact(doubts), " · "), " ·")
	return curve{s, cells}
}

// rateAndWait returns two charts with the same X axis, still without lines.
func rateAndWait(name string, x Axis) (rates, waits Chart) {
	return Chart{Name: name, Title: "Throughput over " + x.Name, X: x, Y: Axis{Name: "locks/s", Label: format.Three}},
		Chart{Name: name + "-wait", Title: "Wait over " + x.Name, X: x, Y: Axis{Name: "p99", Log: true, Label: duration}}
}

// add adds a line of two points or more, or signs, if one of them is known.
func (c *Chart) add(s Series) {
	known := slices.ContainsFunc(s.Points, func(p Point) bool { return !math.IsNaN(p.Y) })
	if known && (s.Signs || len(s.Points) > 1) {
		c.Series = append(c.Series, s)
	}
}

// draw adds a line a curve, with the points of its cells, and says what of them it is. The acquisition is dashed.
func (c *Chart) draw(all []curve, what string, points func(*results.Cell) []Point) {
	for _, l := range all {
		s := l.Series
		s.Name, s.Dashed = strings.Trim(s.Name+" · "+what, " ·"), what == "acquire"
		for _, cell := range l.cells {
			s.Points = append(s.Points, points(cell)...)
		}
		c.add(s)
	}
}

// waits adds what clients feel. In an open loop that is the response, from when an arrival was due; beside it may stand
// the acquisition, from when a client was free for it.
func (c *Chart) waits(all []curve, both bool, points func(*results.Cell, results.Latency) []Point) {
	what := map[bool]string{true: "response"}[both]
	c.draw(all, what, func(c *results.Cell) []Point { return points(c, c.Latency[view.Waiting(c)]) })
	if both {
		c.draw(all, "acquire", func(c *results.Cell) []Point { return points(c, c.Latency[results.Acquire]) })
	}
}

// overNumbers are throughput and wait over each setting of which lines have three values or more.
func overNumbers(v *view.Run) (all []Chart) {
	differs := view.Differing(v.Cells)
	for _, s := range spec.Settings {
		if !s.Axis || !differs(s.Name) {
			continue
		}
		name := cmp.Or(map[string]string{"rate": "arrivals/s"}[s.Name], strings.ReplaceAll(s.Name, "-", " "))
		rates, waits := rateAndWait(s.Name, Axis{Name: name, Label: format.Three})
		lines, ticks := linesOver(v.Cells, s), []Line(nil)
		rates.draw(lines, "", func(c *results.Cell) []Point {
			ticks = append(ticks, Line{At: numberOf(c, s)})
			return []Point{{numberOf(c, s), c.Rate.Median, c.Rate.Min, c.Rate.Max}}
		})
		slices.SortFunc(ticks, func(a, b Line) int { return cmp.Compare(a.At, b.At) })
		if ticks = slices.Compact(ticks); len(ticks) < 3 {
			continue
		}
		rates.X.Ticks, rates.X.Log = ticks, ticks[0].At > 0 && ticks[len(ticks)-1].At >= 8*ticks[0].At
		if strings.HasPrefix(s.Type(), "TIME") {
			rates.X.Label = duration
		}
		waits.X = rates.X
		waits.waits(lines, s.Name == "rate", func(c *results.Cell, l results.Latency) []Point {
			return []Point{{X: numberOf(c, s), Y: l.Quantile(0.99)}}
		})
		if s.Name == "rate" { // theirs is that of the arrivals
			rates, waits = waits, rates
		}
		all = append(all, rates, waits)
	}
	return all
}

// numberOf returns the value of a setting, of a time in nanoseconds; NaN: it has no number.
func numberOf(c *results.Cell, s spec.Setting) float64 {
	text := s.Typed(c.Plan(), &c.Plan().Load)
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d)
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n
	}
	return math.NaN()
}

// linesOver returns lines of cells that differ in a setting alone, by its value. Of more than there is room for those
// stay whose load has the most contention, and of these the fastest.
func linesOver(cells []*results.Cell, s spec.Setting) (lines []curve) {
	cells = slices.DeleteFunc(slices.Clone(cells), func(c *results.Cell) bool {
		other := math.IsNaN(numberOf(c, s)) || c.Plan().Classes != nil || s.Name == "rate" && !c.Open()
		return other || c.Rate.Median <= 0 || c.Partial() != ""
	})
	slices.SortStableFunc(cells, func(a, b *results.Cell) int { return cmp.Compare(numberOf(a, s), numberOf(b, s)) })
	var alike view.Grouped[string, *results.Cell]
	for i, name := range view.Names(cells, s.Name) {
		name, _, _ = strings.Cut(name, " #") // which tells cells apart that are alike
		alike.Add(name, cells[i])
	}
	for _, name := range alike.Keys {
		of := alike.Of[name]
		if len(alike.Keys) == 1 {
			name = ""
		}
		if len(of) > 1 {
			lines = append(lines, newCurve(name, of...))
		}
	}
	last := func(l curve) *results.Cell { return l.cells[len(l.cells)-1] }
	slices.SortStableFunc(lines, func(a, b curve) int { return cmp.Compare(last(b).Rate.Median, last(a).Rate.Median) })
	slices.SortStableFunc(lines, func(a, b curve) int { return -view.Contention(last(a), last(b)) })
	return lines[:min(mostLines, len(lines))]
}

// percentiles are the waits of a few cells by nines, as far as there are values enough for a quantile.
func percentiles(lines []curve) Chart {
	const tenths = 10 // points for each nine
	c := Chart{Name: "percentiles", Title: "Wait by percentile", X: Axis{Name: "share of the grants that took no longer"},
		Y: Axis{Name: "wait", Log: true, Label: duration}}
	both := len(lines) == 1 && view.Waiting(lines[0].cells[0]) == results.Response
	c.waits(lines, both, func(_ *results.Cell, l results.Latency) (points []Point) {
		h, err := l.Histogram()
		for i := 0; i <= 6*tenths && err == nil; i++ {
			x := float64(i) / tenths
			if q := 1 - math.Pow(10, -x); results.Enough(l.Count, q) {
				y := max(results.Quantile(h, q), l.Min, 1)
				points = append(points, Point{X: x, Y: float64(y)})
			}
		}
		return points
	})
	for nines, name := range []string{"50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %"} {
		c.X.Ticks = append(c.X.Ticks, Line{max(math.Log10(2), float64(nines)), name})
	}
	return c
}

// course returns throughput and wait of the first trial of each line, second by second. Of too few grants for a p99 the
// longest wait is drawn.
func course(lines []curve) []Chart {
	rates, waits := rateAndWait("course", Axis{Name: "time", Label: duration})
	waits.Y.Name = "p99 (of few grants the longest)"
	wrong := Series{Name: "violations", Tone: Bad, Signs: true}
	for _, l := range lines {
		rate, wait := Series{Name: l.Name}, Series{Name: l.Name}
		for _, i := range l.cells[0].First().Series {
			p, slowest := Point{X: float64(i.At + i.Length/2), Y: perSecond(i)}, i.P99
			if i.Violations > 0 {
				wrong.Points = append(wrong.Points, p)
			}
			if !results.Enough(i.Acquired, 0.99) {
				slowest = i.Max
			}
			wait.Points = append(wait.Points, Point{X: p.X, Y: float64(slowest)})
			if len(lines) == 1 {
				p.High = p.Y // the area below the line
			}
			rate.Points = append(rate.Points, p)
			if i.Warmup {
				rates.Shade = max(rates.Shade, float64(i.At+i.Length))
			}
		}
		rates.add(rate)
		waits.add(wait)
	}
	waits.Shade = rates.Shade
	rates.add(wrong)
	return []Chart{rates, waits}
}

func perSecond(i results.Interval) float64 {
	return float64(i.Acquired) / max(i.Length.Seconds(), 1e-9)
}
