package html

// The two charts of a candidate: the share of late arrivals and the p99 over the rate, with the limits of the SLO, the interval
// of the rate that is sustained, and the trials.

import (
	"math"
	"time"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/view"
)

const rateChartHeight = 220

// rateChart is a chart over the rate.
type rateChart struct {
	drawing
	x, y plot.Scale
}

// rateCharts returns those that there are trials for.
func rateCharts(a *capacity.Answer, c *capacity.CandidateAnswer, slo capacity.SLO) (all []lineChart) {
	var points []capacity.Point
	for _, pt := range c.Points {
		if pt.Rate > 0 {
			points = append(points, pt)
		}
	}
	if len(points) == 0 {
		return nil
	}
	most := math.Max(a.Rate, c.Sustains.High)
	for _, pt := range points {
		most = math.Max(most, pt.Rate)
	}
	if farthest := 3 * math.Max(c.Sustains.High, points[len(points)-1].Rate); most > farthest {
		most = farthest // the rate that was asked for is far beyond all trials
	}
	x := plot.Linear(most, 5, plot.RateLabel)
	all = append(all, shareChart(a, c, slo, x, points))
	if chart, ok := p99Chart(a, c, slo, x, points); ok {
		all = append(all, chart)
	}
	return all
}

// newRateChart begins a chart: scales, the interval of the sustained rate, and the rate asked for.
func newRateChart(a *capacity.Answer, c *capacity.CandidateAnswer, x, y plot.Scale) *rateChart {
	d := &rateChart{drawing{height: rateChartHeight}, x, y}
	if r := c.Sustains; r.High > 0 {
		d.rect("band", x.At(r.Low), 0, x.At(r.High), d.height)
	}
	d.axisY(y)
	d.axisX(x)
	if a.Rate > 0 && a.Rate <= x.To {
		at := x.At(a.Rate)
		d.line("asked", at, 0, at, d.height)
		if at > 0.5 {
			d.text("tick", at, -5, 12, "end", "asked for")
		} else {
			d.text("tick", at, 5, 12, "start", "asked for")
		}
	}
	return d
}

// limit draws a limit of the SLO.
func (d *rateChart) limit(v float64, label string) {
	y := d.height * (1 - d.y.At(v))
	d.line("limit", 0, y, 1, y)
	d.text("tick", 0, 6, y-5, "start", label)
}

// mark draws a trial.
func (d *rateChart) mark(pt capacity.Point, v float64) {
	s := signOf(pt)
	d.sign(s.Class, d.x.At(pt.Rate), d.height*(1-d.y.At(v)), string(s.Path))
}

// shareChart is the share of late arrivals over the rate, on a logarithmic scale. Trials without any late arrival lie at its lower
// end.
func shareChart(a *capacity.Answer, c *capacity.CandidateAnswer, slo capacity.SLO, x plot.Scale, points []capacity.Point) lineChart {
	least, most := 1.0, 0.0
	take := func(v float64) {
		if v > 0 {
			least, most = math.Min(least, v), math.Max(most, v)
		}
	}
	for _, pt := range points {
		take(pt.Share.Mid)
		take(pt.Share.High)
	}
	for _, o := range slo.Objectives {
		take(o.Allowed() / 10)
		take(o.Allowed() * 3)
	}
	const lowest = 1e-5
	d := newRateChart(a, c, x, plot.Log(math.Max(least, lowest), math.Min(most, 1), func(v float64) string { return plot.Trim(100*v) + " %" }))
	var line, upper, lower []point
	for _, pt := range c.Curve {
		if pt.Rate <= 0 || pt.Share.IsZero() {
			continue
		}
		at := func(v float64) point { return point{d.x.At(pt.Rate), d.height * (1 - d.y.At(v))} }
		line, upper, lower = append(line, at(pt.Share.Mid)), append(upper, at(pt.Share.High)), append([]point{at(pt.Share.Low)}, lower...)
	}
	if len(line) > 1 {
		d.path("area s1", append(upper, lower...), false)
		d.path("curve s1", line, false)
	}
	for _, o := range slo.Objectives {
		d.limit(o.Allowed(), "SLO "+format.Percent(o.Allowed()))
	}
	for _, pt := range points {
		if pt.Share.High > 0 {
			d.line("whisker", d.x.At(pt.Rate), d.height*(1-d.y.At(pt.Share.Low)), d.x.At(pt.Rate), d.height*(1-d.y.At(pt.Share.High)))
		}
		d.mark(pt, pt.Share.Mid)
	}
	chart := lineChart{Title: "Late arrivals by rate", Finding: "Share of the arrivals beyond the limit, by arrivals a second."}
	if r := c.Sustains; r.High > 0 {
		chart.Finding = "The fit crosses the limit at " + glued(view.RateRange(r)) + ". Share of the arrivals beyond the limit, by arrivals a second."
	}
	chart.SVG = d.svg("plot", "Late arrivals by rate of "+format.Line(c.Name), chart.Finding, 22)
	return chart
}

// p99Chart is the p99 of the response over the rate. There is none if no trial has one.
func p99Chart(a *capacity.Answer, c *capacity.CandidateAnswer, slo capacity.SLO, x plot.Scale, points []capacity.Point) (lineChart, bool) {
	least, most := math.Inf(1), 0.0
	take := func(d time.Duration) {
		if d > 0 {
			least, most = math.Min(least, float64(d)), math.Max(most, float64(d))
		}
	}
	for _, pt := range points {
		take(pt.P99)
	}
	if most == 0 {
		return lineChart{}, false
	}
	const quantile = 0.99
	for _, o := range slo.Objectives {
		if o.Quantile == quantile {
			take(o.Limit)
		}
	}
	d := newRateChart(a, c, x, plot.LogTime(least, most))
	for _, o := range slo.Objectives {
		if o.Quantile == quantile {
			d.limit(float64(o.Limit), "SLO "+format.Exact(o.Limit))
		}
	}
	for _, pt := range points {
		if pt.P99 > 0 {
			d.mark(pt, float64(pt.P99))
		}
	}
	chart := lineChart{Title: "p99 by rate", Finding: "p99 of the response of each trial, by arrivals a second."}
	chart.SVG = d.svg("plot", "p99 by rate of "+format.Line(c.Name), chart.Finding, 22)
	return chart, true
}
