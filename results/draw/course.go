package draw

import (
	"html/template"
	"math"
	"slices"

	"github.com/lockbench/lockbench/results/report"
)

// bars are the heights of a skyline; noBar is none.
var bars = []rune("▁▂▃▄▅▆▇█")

const noBar = '·'

// extremes returns between which values a course is drawn. What varies by less than 10 % altogether is drawn as if it varied by
// that, or noise would look like mountains.
func extremes(c *report.Course) (least, most float64) {
	if least, most = c.Range(); c.FromZero {
		return 0, most
	}
	if room := 0.1*(least+most)/2 - (most - least); most > least && room > 0 {
		least, most = least-room/2, most+room/2
	}
	return least, most
}

// skyline draws a course in that many characters at the most, with a stroke where a step begins. Unless it is asked for, the lowest
// bar is not 0: a step of 5 % could not be seen.
func skyline(c *report.Course, most int) string {
	least, top := extremes(c)
	each := max(1, (len(c.Values)+len(c.Steps)+most-1)/max(1, most))
	var line []rune
	for from := 0; from < len(c.Values); from += each {
		to := min(from+each, len(c.Values))
		if slices.ContainsFunc(c.Steps, func(at int) bool { return from <= at && at < to }) {
			line = append(line, '|')
		}
		line = append(line, bar(c.Values[from:to], least, top))
	}
	return string(line)
}

// bar stands for the mean of values.
func bar(values []float64, least, top float64) rune {
	sum, n := 0.0, 0.0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	switch {
	case n == 0:
		return noBar
	case top <= least:
		return bars[len(bars)/2]
	}
	at := int((sum/n - least) / (top - least) * float64(len(bars)))
	return bars[max(0, min(at, len(bars)-1))]
}

// drawCourse draws a course on a page: a line with gaps, and an upright where a step begins.
func drawCourse(c *report.Course) template.HTML {
	least, most := extremes(c)
	line := report.Series{}
	for i, v := range c.Values {
		if most <= least && !math.IsNaN(v) {
			v = 0.5
		} else {
			v = (v - least) / (most - least)
		}
		line.Points = append(line.Points, report.Point{X: float64(i), Y: v})
	}
	d := drawing{height: 42}
	x := func(i float64) float64 { return (i + 0.5) / float64(max(1, len(c.Values))) }
	for _, at := range c.Steps {
		d.line("asked", x(float64(at)-0.5), 0, x(float64(at)-0.5), d.height)
	}
	places := scale{from: -0.5, to: float64(len(c.Values)) - 0.5}
	d.series(line, places, func(v float64) float64 { return 3 + (d.height-6)*(1-v) })
	return d.svg("course", "Course", "", 0)
}
