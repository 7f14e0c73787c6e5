package html

// The course of a trial in time: throughput and latency, second by second.

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/stats"
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
			one.Steady = steadiness(c)
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
	all := r.Series
	end := all[len(all)-1].At + all[len(all)-1].Length
	x := plot.Linear(end.Seconds()/1.04, 5, func(s float64) string { return plot.Trim(s) + " s" })
	x.To = end.Seconds()
	x.Ticks = slices.DeleteFunc(x.Ticks, func(t plot.Tick) bool { return t.At > 1 })
	rate, wait := 0.0, 0.0
	lowest, least := math.Inf(1), int64(math.MaxInt64)
	var warm time.Duration
	for _, i := range all {
		if i.Warmup {
			warm = max(warm, i.At+i.Length)
			continue
		}
		least = min(least, i.Acquired)
	}
	latency, quantile := func(i results.Interval) time.Duration { return i.P99 }, "p99"
	if !results.Enough(least, 0.99) {
		latency, quantile = func(i results.Interval) time.Duration { return i.Max }, "longest"
	}
	for _, i := range all {
		rate = math.Max(rate, perSecond(i))
		wait = math.Max(wait, float64(latency(i)))
		if l := float64(latency(i)); l > 0 {
			lowest = math.Min(lowest, l)
		}
	}
	yr := plot.Linear(rate, 4, plot.RateLabel)
	c := course{Name: name, Warmup: warm > 0, Quantile: quantile}
	var rates, waits []point
	violations := drawing{}
	yw := plot.LogTime(math.Min(lowest, wait), wait).Thin(4)
	for _, i := range all {
		mid := x.At((i.At + i.Length/2).Seconds())
		rates = append(rates, point{mid, courseHeight * (1 - yr.At(perSecond(i)))})
		if l := float64(latency(i)); l > 0 {
			waits = append(waits, point{mid, courseHeight * (1 - yw.At(l))})
		}
		if i.Violations > 0 {
			violations.dot("violation", mid, 6, 4)
		}
	}
	draw := func(title, desc string, y plot.Scale, points []point, class string, area bool) lineChart {
		d := drawing{height: courseHeight}
		if warm > 0 {
			d.rect("warmup", 0, 0, x.At(warm.Seconds()), courseHeight)
		}
		d.axisY(y)
		if area {
			d.path("area "+class, points, true)
			d.WriteString(violations.String())
		}
		d.axisX(x)
		d.path("curve "+class, points, false)
		return lineChart{Title: title, SVG: d.svg("plot", title, desc, 22)}
	}
	c.Rate = draw("Locks a second over time, "+name,
		fmt.Sprintf("At most %s a second.", format.Three(rate)), yr, rates, "s1", true)
	c.Latency = draw("Latency over time, "+name,
		fmt.Sprintf("%s, at most %s in a second.", quantile, metric.Duration.Format(wait)), yw, waits, "s2", false)
	return c
}

func perSecond(i results.Interval) float64 {
	return float64(i.Acquired) / math.Max(i.Length.Seconds(), 1e-9)
}

// steadiness compares the halves of the window in words.
func steadiness(c *results.Cell) string {
	s := c.Steady
	switch {
	case s == (results.Steady{}):
		return ""
	case c.Drifting > 0:
		return fmt.Sprintf("not steady: %s locks/s in the first half of the window, %s in the second",
			format.Three(s.FirstRate), format.Three(s.SecondRate))
	case stats.Differ(s):
		return "halves of the window differ, but by chance as far as can be told"
	}
	return "steady"
}
