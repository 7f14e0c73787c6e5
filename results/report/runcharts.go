package report

// The pictures of runs: which there are, and what each shows of which cells.

import (
	"math"
	"slices"
	"strconv"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// mostBars is what a picture has room for. The table has the other cells.
const mostBars = 24

// Pictures returns the charts that cells have the data for, the one that says most first. Each has the name of a file.
func Pictures(cells []*results.Cell) []Chart {
	if len(cells) == 0 {
		return nil
	}
	return pictures(view.NewRun(cells))
}

func pictures(v *view.Run) []Chart {
	all := overNumbers(v)
	if len(v.Cells) > 1 {
		all = append(all, throughput(v), spans(v, "latency", "Wait", view.Waiting))
	}
	died := func(*results.Cell) results.Metric { return results.Recovery }
	recovery := spans(v, "recovery", "From the death of a holder to the next grant", died)
	if ttl := v.Cells[0].Plan().TTL; ttl > 0 && !view.Differing(v.Cells)("ttl") {
		recovery.Uprights = []Line{{float64(ttl), "TTL " + format.Exact(ttl)}}
	}
	var trials []*results.Record
	cells, names := some(v)
	for _, c := range cells {
		trials = append(trials, c.First())
	}
	all = append(append(all, percentiles(cells, names), recovery), course(trials, names)...)
	for i := range all {
		all[i].Series = slices.DeleteFunc(all[i].Series, func(s Series) bool {
			return !slices.ContainsFunc(s.Points, func(p Point) bool { return !math.IsNaN(p.Y) })
		})
	}
	return slices.DeleteFunc(all, func(c Chart) bool { return len(c.Series) == 0 })
}

// rows adds a row a cell, load by load and the best first, with a value beside it, if that or the lower end is known.
func (c *Chart) rows(v *view.Run, row func(*results.Cell) (p Point, text string, bound float64)) {
	for _, g := range v.Groups {
		group := g.Title
		for _, i := range sequence(v, g) {
			cell := g.Cells[i]
			p, text, bound := row(cell)
			if len(c.Series) < mostBars && (drawable(p.X) || drawable(p.Low)) {
				c.Series = append(c.Series, Series{Group: group, Name: caption(g.Short[i], cell), Tone: toneOf(cell),
					Points: []Point{p}, Text: text, Bound: bound})
				group = ""
			}
		}
	}
}

// throughput is the locks a second of each cell, with what the trials leave open and the keys let through.
func throughput(v *view.Run) Chart {
	const far = 1.5 // times the rate: a bound beyond that would make all bars short
	c := Chart{Kind: Bars, Name: "throughput", Title: "Throughput", X: Axis{Label: format.Three,
		Name: "locks/s, and p99 of the wait · line: trials · dotted: bound"}}
	c.rows(v, func(cell *results.Cell) (Point, string, float64) {
		e, p := view.Rate(cell), Point{X: cell.Rate.Median}
		if e.Known() {
			p.Low, p.High = e.Low, e.High
		} else if e.N > 1 {
			p.Low, p.High = e.Min, e.Max
		}
		text, bound := format.Three(p.X), 0.0
		if t := view.P99(cell); drawable(t) {
			text += " · " + duration(t)
		}
		if b := cell.Bound; b.By == "keys" && b.LocksPerS < far*p.X && cell.Breaches() == 0 {
			bound = b.LocksPerS
		}
		return p, text, bound
	})
	return c
}

// spans is a latency of each cell. Of too few values for a p99 only the median is drawn.
func spans(v *view.Run, name, title string, of func(*results.Cell) results.Metric) Chart {
	c := Chart{Kind: Spans, Name: name, Title: title, X: Axis{Name: "p50 → p99 → longest", Log: true, Label: duration}}
	c.rows(v, func(cell *results.Cell) (Point, string, float64) {
		l := cell.Latency[of(cell)]
		p := Point{Low: l.Quantile(0.5), X: l.Quantile(0.99), High: float64(l.Max)}
		if drawable(p.X) {
			return p, "p99 " + duration(p.X), 0
		}
		p.High = math.NaN()
		return p, "p50 " + duration(p.Low), 0
	})
	return c
}

// some returns the best cells of the load with most contention, and their names; a single one has none.
func some(v *view.Run) (cells []*results.Cell, names []string) {
	g := v.Groups[0]
	if len(v.Cells) == 1 {
		return v.Cells, []string{""}
	}
	for _, i := range g.Best()[:min(mostLines, len(g.Cells))] {
		cells, names = append(cells, g.Cells[i]), append(names, caption(g.Short[i], g.Cells[i]))
	}
	return cells, names
}

// percentiles are the waits of a few cells by nines. One cell of an open loop has its acquisition beside the response.
func percentiles(cells []*results.Cell, names []string) Chart {
	c := Chart{Name: "percentiles", Title: "Wait by percentile", X: Axis{Name: "share of the grants that took no longer"},
		Y: Axis{Name: "wait", Log: true, Label: duration}}
	last := 0.0
	for i, cell := range cells {
		line := Series{Name: names[i], Points: nines(cell.Latency[view.Waiting(cell)])}
		if cell.Violated() {
			line.Tone = Bad
		}
		last = max(last, float64(len(line.Points)-1)/tenths)
		c.Series = append(c.Series, line)
	}
	if len(cells) == 1 && view.Waiting(cells[0]) == results.Response {
		c.Series[0].Name = "response"
		c.Series = append(c.Series, Series{Name: "acquire", Dashed: true, Points: nines(cells[0].Latency[results.Acquire])})
	}
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999} {
		if at := -math.Log10(1 - q); at <= last+0.01 {
			c.X.Ticks = append(c.X.Ticks, Line{at, strconv.FormatFloat(100*q, 'g', 8, 64) + " %"})
		}
	}
	return c
}

// tenths are the points of a curve for each nine.
const tenths = 10

// nines returns a latency by nines, as far as there are values enough for a quantile.
func nines(l results.Latency) (points []Point) {
	h, err := l.Histogram()
	for i := 0; i <= 6*tenths && err == nil; i++ {
		q := 1 - math.Pow(10, -float64(i)/tenths)
		if !results.Enough(l.Count, q) {
			break
		}
		points = append(points, Point{X: float64(i) / tenths, Y: max(float64(h.ValueAtPercentile(100*q)), float64(l.Min), 1)})
	}
	return points
}
