package svg

// The wait over the rate of arrivals.

import (
	"fmt"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/view"
)

// overRate draws the response, from when an arrival was due, against the acquisition, from when a client took it up, over the
// rate of arrivals: what the second leaves out is the wait for a free client.
func overRate(v *view.Run, s spec.Setting) (Chart, bool) {
	all, left := over(v, s, func(c *results.Cell) (float64, bool) { return number(s, c) })
	x, distinct := across(all, plot.RateLabel)
	if distinct < 3 {
		return overSteps(v)
	}
	if len(all) > 1 {
		return twoPanels(v, s, all, left, x, "arrivals per second", plot.RateLabel), true
	}
	var curves []series
	for _, curve := range []struct {
		m    results.Metric
		q    float64
		name string
	}{
		{results.Response, 0.99, "response p99"},
		{results.Acquire, 0.99, "acquire p99"},
		{results.Response, 0.5, "response median"},
		{results.Acquire, 0.5, "acquire median"},
	} {
		line := series{name: curve.name, dashed: curve.m == results.Acquire}
		if curve.q == 0.99 {
			line.colour = 1
		}
		for i, c := range all[0].cells {
			line.points = append(line.points, sampleAt(all[0].values[i], c.Latency[curve.m].Quantile(curve.q)))
		}
		curves = append(curves, line)
	}
	last := all[0].cells[len(all[0].cells)-1]
	alt := fmt.Sprintf("Response and acquire time over the rate of arrivals. At %s arrivals per second the p99 is %s by response and %s by acquire.",
		format.Three(all[0].values[len(all[0].values)-1]), metric.Duration.Format(last.Latency[results.Response].Quantile(0.99)),
		metric.Duration.Format(last.Latency[results.Acquire].Quantile(0.99)))
	return rateChart("The wait that the acquisition does not show", curves, x, aboutCells(cellsOf(all)),
		"Response: from when an arrival was due. Acquire: from when a client was free for it.", alt, left)
}

// rateChart draws curves, of which there are none if too few locks were granted for any quantile.
func rateChart(title string, curves []series, x plot.Scale, about, how, alt string, left int) (Chart, bool) {
	least, most := span(curves)
	if most == 0 {
		return Chart{}, false
	}
	c := newCanvas(title, about, how)
	draw(c, lines{head: "Time to the grant", across: "arrivals per second", x: x, y: plot.LogTime(least, most), all: curves})
	c.leftOut(left, 0)
	return c.chart("rate", title, alt), true
}

// overSteps draws the response over the steps of the rate of a single cell. Where each step was made twice, a broken line is the
// way back.
func overSteps(v *view.Run) (Chart, bool) {
	if len(v.Cells) != 1 || len(v.Cells[0].First().Steps) < 3 {
		return Chart{}, false
	}
	cell := v.Cells[0]
	var all []lineOf
	var curves []series
	for pass, steps := range view.Passes(cell.First()) {
		for i, quantile := range []struct {
			q    float64
			name string
		}{{0.99, "p99"}, {0.5, "median"}} {
			line := series{name: quantile.name, colour: 1 - i, dashed: pass > 0}
			if pass > 0 {
				line.name += ", second time"
			}
			var l lineOf
			for _, s := range steps {
				line.points = append(line.points, sampleAt(s.Rate, view.StepQuantile(s, quantile.q)))
				l.values = append(l.values, s.Rate)
			}
			curves, all = append(curves, line), append(all, l)
		}
	}
	x, _ := across(all, plot.RateLabel)
	_, worst := span(curves)
	alt := fmt.Sprintf("Response time over the rate of arrivals, in steps; the longest p99 of a step is %s.", metric.Duration.Format(worst))
	return rateChart("Response by the rate of arrivals", curves, x, nameAndLoad(v, block{Group: v.Groups[0]}), "Response: from when an arrival was due to its grant.", alt, 0)
}
