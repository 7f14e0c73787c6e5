package html

// The course of a trial in time: throughput and latency, second by second.

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/plot"
	docs "github.com/lockbench/lockbench/results/report"
)

const (
	courseHeight = 84
	shownCourses = 12
)

// course is a trial's two charts.
type course struct {
	Name      string
	Badges    []badge
	Rate      lineChart
	Latency   lineChart
	Quantile  string // what Latency shows
	Warmup    bool
	Steady    string
	OfSeveral bool // trials
}

// courses returns those of the cells that have a series, the ones beyond the first few apart.
func (v content) courses() (shown, folded []course) {
	for i, c := range v.Cells {
		for _, r := range c.Trials {
			if len(r.Series) < 2 {
				continue
			}
			one := drawCourse(v.Names[i], r)
			one.Badges, one.OfSeveral = badges(c), len(c.Trials) > 1
			one.Steady = format.Upper(docs.Steadiness(c))
			if len(shown) < shownCourses {
				shown = append(shown, one)
			} else {
				folded = append(folded, one)
			}
			break
		}
	}
	return shown, folded
}

func drawCourse(name string, r *results.Record) course {
	wait, quantile := waitOf(r.Series)
	most, longest, shortest := 0.0, 0.0, math.Inf(1)
	for _, i := range r.Series {
		most = math.Max(most, perSecond(i))
		if t := float64(wait(i)); t > 0 {
			shortest, longest = math.Min(shortest, t), math.Max(longest, t)
		}
	}
	t := newTimes(r.Series)
	rates, waits := plot.Linear(most, 4, plot.RateLabel), plot.LogTime(shortest, longest).Thin(4)
	return course{
		Name: name, Warmup: t.warm > 0, Quantile: quantile,
		Rate: lineChart{SVG: t.draw(perSecond, rates, "s1", true).SVG("plot", "Locks a second over time, "+name,
			fmt.Sprintf("At most %s a second.", format.Three(most)), 22)},
		Latency: lineChart{SVG: t.draw(func(i results.Interval) float64 { return orNaN(wait(i)) }, waits, "s2", false).SVG("plot",
			"Latency over time, "+name, fmt.Sprintf("%s, at most %s in a second.", quantile, metric.Duration.Format(longest)), 22)},
	}
}

// waitOf returns the highest quantile for which all intervals after the warm-up have values enough, or their longest waits.
func waitOf(series []results.Interval) (of func(results.Interval) time.Duration, name string) {
	for _, i := range series {
		if !i.Warmup && !results.Enough(i.Acquired, 0.99) {
			return func(i results.Interval) time.Duration { return i.Max }, "longest"
		}
	}
	return func(i results.Interval) time.Duration { return i.P99 }, "p99"
}

// times is the axis of both charts.
type times struct {
	plot.Scale
	series []results.Interval
	warm   float64 // where the warm-up ends; 0: there was none
}

func newTimes(series []results.Interval) times {
	last := series[len(series)-1]
	end := (last.At + last.Length).Seconds()
	t := times{Scale: plot.Linear(end/1.04, 5, func(s float64) string { return plot.Trim(s) + " s" }), series: series}
	t.To = end
	t.Ticks = slices.DeleteFunc(t.Ticks, func(tick plot.Tick) bool { return tick.At > 1 })
	for _, i := range series {
		if i.Warmup {
			t.warm = math.Max(t.warm, t.At((i.At + i.Length).Seconds()))
		}
	}
	return t
}

// draw draws a line through a figure of all intervals, with gaps where it is NaN; an area with the violations in it.
func (t times) draw(figure func(results.Interval) float64, y plot.Scale, class string, area bool) *draw.Drawing {
	d := &draw.Drawing{Height: courseHeight}
	if t.warm > 0 {
		d.Rect("warmup", 0, 0, t.warm, courseHeight)
	}
	d.AxisY(y)
	var points []draw.Point
	var runs [][]draw.Point // between the gaps
	for _, i := range t.series {
		mid := t.At((i.At + i.Length/2).Seconds())
		if v := figure(i); !math.IsNaN(v) {
			points = append(points, draw.Point{X: mid, Y: courseHeight * (1 - y.At(v))})
		} else if len(points) > 0 {
			runs, points = append(runs, points), nil
		}
		if area && i.Violations > 0 {
			d.Dot("violation", mid, 6, 4)
		}
	}
	if area {
		d.Path("area "+class, points, true)
	}
	d.AxisX(t.Scale)
	for _, points := range append(runs, points) {
		d.Path("curve "+class, points, false)
	}
	return d
}

func perSecond(i results.Interval) float64 {
	return float64(i.Acquired) / math.Max(i.Length.Seconds(), 1e-9)
}
