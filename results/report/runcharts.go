package report

// The pictures of runs: which there are, and what each shows of which cells.

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// What a picture has room for. The table has the other cells.
const (
	mostLines = 8
	mostBars  = 24
)

// mainChart returns the picture that the title of a run rests on.
func mainChart(v *view.Run) Block {
	for _, c := range pictures(v) {
		return Block{Chart: &c}
	}
	return Block{}
}

// charts returns the other pictures.
func charts(v *view.Run) (blocks []Block) {
	for i, c := range pictures(v) {
		if i > 0 {
			blocks = append(blocks, Block{Heading: c.Title, Chart: &c})
		}
	}
	return blocks
}

// Pictures returns the charts that cells have the data for, the one that says most first. Each has the name of a file.
func Pictures(cells []*results.Cell) []Chart {
	if len(cells) == 0 {
		return nil
	}
	return pictures(view.NewRun(cells))
}

func pictures(v *view.Run) (all []Chart) {
	all = overNumbers(v)
	if len(v.Cells) > 1 {
		all = append(all, throughput(v), spans(v, "latency", "Wait", view.Waiting))
	}
	all = append(append(all, percentiles(v), recovery(v)), courses(v)...)
	for i := range all {
		all[i].Series = slices.DeleteFunc(all[i].Series, func(s Series) bool {
			return !slices.ContainsFunc(s.Points, func(p Point) bool { return !math.IsNaN(p.Y) })
		})
	}
	return slices.DeleteFunc(all, func(c Chart) bool { return len(c.Series) == 0 })
}

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
	if name != "" {
		words = slices.Insert(words, 0, name)
	}
	return strings.Join(slices.Compact(words), " · ")
}

// rows adds a row a cell, load by load and the best first, of which row knows a figure.
func (c *Chart) rows(v *view.Run, row func(*results.Cell) Series) {
	for _, g := range v.Groups {
		places, group := g.Index, g.Title
		if v.Rivals {
			places = g.Best()
		}
		for _, i := range places {
			cell := g.Cells[i]
			s := row(cell)
			if p := s.Points[0]; len(c.Series) < mostBars && (drawable(p.X) || drawable(p.Low)) {
				s.Group, s.Name, s.Tone, group = group, caption(g.Short[i], cell), toneOf(cell), ""
				c.Series = append(c.Series, s)
			}
		}
	}
}

// throughput is the locks a second of each cell, with what the trials leave open and the keys let through.
func throughput(v *view.Run) Chart {
	const far = 1.5 // times the longest bar: a bound beyond that would make all of them short
	c := Chart{Kind: Bars, Name: "throughput", Title: "Throughput",
		X: Axis{Name: "locks/s, and p99 of the wait", Label: format.Three}}
	most, interval, bound := 0.0, "", ""
	c.rows(v, func(cell *results.Cell) Series {
		e := view.Rate(cell)
		p := Point{X: cell.Rate.Median}
		switch {
		case e.Known():
			p.Low, p.High, interval = e.Low, e.High, " · line: 95 % interval"
		case e.N > 1:
			p.Low, p.High = e.Min, e.Max
		}
		s := Series{Text: format.Three(p.X), Points: []Point{p}}
		if t := view.P99(cell); drawable(t) {
			s.Text += " · " + duration(t)
		}
		if cell.Bound.By == "keys" && cell.Breaches() == 0 {
			s.Bound = cell.Bound.LocksPerS
		}
		most = max(most, p.X, p.High)
		return s
	})
	for i := range c.Series {
		switch s := &c.Series[i]; {
		case s.Bound > far*most:
			s.Bound = 0
		case s.Bound > 0:
			bound = " · dotted: at most"
		}
	}
	c.X.Name += interval + bound
	return c
}

// recovery is how long a key stays locked after its holder has died.
func recovery(v *view.Run) Chart {
	of := func(*results.Cell) results.Metric { return results.Recovery }
	c := spans(v, "recovery", "From the death of a holder to the next grant", of)
	if ttl := v.Cells[0].Plan().TTL; ttl > 0 && !view.Differing(v.Cells)("ttl") {
		c.Uprights = []Line{{float64(ttl), "TTL " + format.Exact(ttl)}}
	}
	return c
}

// spans is a latency of each cell. Of too few values for a p99 only the median is drawn.
func spans(v *view.Run, name, title string, of func(*results.Cell) results.Metric) Chart {
	c := Chart{Kind: Spans, Name: name, Title: title, X: Axis{Name: "p50 → p99 → longest", Log: true, Label: duration}}
	c.rows(v, func(cell *results.Cell) Series {
		l := cell.Latency[of(cell)]
		p := Point{Low: l.Quantile(0.5), X: l.Quantile(0.99), High: float64(l.Max)}
		if drawable(p.X) {
			return Series{Text: "p99 " + duration(p.X), Points: []Point{p}}
		}
		p.High = math.NaN()
		return Series{Text: "p50 " + duration(p.Low), Points: []Point{p}}
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
func percentiles(v *view.Run) Chart {
	c := Chart{Name: "percentiles", Title: "Wait by percentile", X: Axis{Name: "share of the grants that took no longer"},
		Y: Axis{Name: "wait", Log: true, Label: duration}}
	cells, names := some(v)
	last := 0.0
	for i, cell := range cells {
		m := view.Waiting(cell)
		line := Series{Name: names[i], Points: nines(cell.Latency[m])}
		if cell.Violated() {
			line.Tone = Bad
		}
		last = max(last, float64(len(line.Points)-1)/tenths)
		c.Series = append(c.Series, line)
		if m == results.Response && len(cells) == 1 {
			c.Series[0].Name = "response"
			c.Series = append(c.Series, Series{Name: "acquire", Dashed: true, Points: nines(cell.Latency[results.Acquire])})
		}
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
		y := max(time.Duration(h.ValueAtPercentile(100*q)), l.Min, 1)
		points = append(points, Point{X: float64(i) / tenths, Y: float64(y)})
	}
	return points
}

// rateAndWait returns two charts with the same X axis, still without lines.
func rateAndWait(name string, x Axis) (rates, waits Chart) {
	return Chart{Name: name, Title: "Throughput over " + x.Name, X: x, Y: Axis{Name: "locks/s", Label: format.Three}},
		Chart{Name: name + "-wait", Title: "Wait over " + x.Name, X: x, Y: Axis{Name: "p99", Log: true, Label: duration}}
}

// courses are throughput and wait of a few cells in the course of the first trial of each.
func courses(v *view.Run) []Chart {
	var trials []*results.Record
	cells, names := some(v)
	for _, c := range cells {
		trials = append(trials, c.First())
	}
	return course(trials, names)
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
		rate, wait := Series{Name: names[n], Area: len(trials) == 1}, Series{Name: names[n]}
		for _, i := range r.Series {
			x, y := float64(i.At+i.Length/2), float64(i.P99)
			if waits.Y.Name != "p99" {
				y = float64(i.Max)
			}
			if !drawable(y) {
				y = math.NaN()
			}
			p := Point{X: x, Y: float64(i.Acquired) / max(i.Length.Seconds(), 1e-9)}
			rate.Points, wait.Points = append(rate.Points, p), append(wait.Points, Point{X: x, Y: y})
			if i.Warmup {
				rates.Shade.High = max(rates.Shade.High, float64(i.At+i.Length))
			}
			if i.Violations > 0 {
				wrong.Points = append(wrong.Points, p)
			}
		}
		if len(r.Series) > 1 {
			rates.Series, waits.Series = append(rates.Series, rate), append(waits.Series, wait)
		}
	}
	if waits.Shade = rates.Shade; wrong.Points != nil {
		rates.Series = append(rates.Series, wrong)
	}
	return []Chart{rates, waits}
}
