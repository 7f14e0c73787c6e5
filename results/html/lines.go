package html

// Charts of lines, with a label at the end of each where the page is wide, and a legend where it is not.

import (
	"fmt"
	"html/template"
	"slices"
	"unicode/utf8"
)

const (
	chartHeight = 260
	labelStep   = 15 // pixels between two labels
	colours     = 8
)

// lineChart is a figure of lines.
type lineChart struct {
	Title   string
	Finding string
	SVG     template.HTML
	Legend  []legend
	Gutter  int // pixels on the right for labels, where there is room
}

type legend struct{ Class, Name string }

// spoken returns what a chart is called where it is read out.
func (c lineChart) spoken() string {
	if c.Title == "" {
		return "Wait by percentile"
	}
	return "Wait: " + c.Title
}

// series is a line of a chart.
type series struct {
	name   string
	class  string // s1 to s8, and dashed
	points []point
}

// dashed follows the colour of a line that goes with another.
const dashed = " dashed"

func colour(i int) string { return fmt.Sprintf("s%d", i%colours+1) }

// lines draws series whose points lie between 0 and 1 on both axes, the second one upwards.
func lines(c lineChart, x, y scale, all []series, height float64) lineChart {
	d := drawing{height: height}
	d.axisY(y)
	d.axisX(x)
	type end struct {
		y float64
		s series
	}
	var ends []end
	for _, s := range all {
		if len(s.points) == 0 {
			continue
		}
		at := make([]point, len(s.points))
		for i, p := range s.points {
			at[i] = point{p.x, height * (1 - p.y)}
		}
		d.path("curve "+s.class, at, false)
		if len(at) == 1 {
			d.dot("lone "+s.class, at[0].x, at[0].y, 3)
		}
		c.Legend = append(c.Legend, legend{s.class, s.name})
		ends = append(ends, end{at[len(at)-1].y, s})
	}
	if len(ends) < 2 {
		c.Legend = nil
		c.SVG = d.svg("plot", c.spoken(), c.Finding, 22)
		return c
	}
	slices.SortStableFunc(ends, func(a, b end) int { return b2i(a.y > b.y) - b2i(a.y < b.y) })
	last := -1e9
	for i := range ends { // down from the top
		ends[i].y = max(ends[i].y, last+labelStep)
		last = ends[i].y
	}
	for i, floor := len(ends)-1, height; i >= 0; i-- { // and up again from the bottom
		ends[i].y = min(ends[i].y, floor)
		floor = ends[i].y - labelStep
	}
	for _, e := range ends {
		name := shorten(e.s.name, 30)
		c.Gutter = max(c.Gutter, 14+utf8.RuneCountInString(name)*7)
		d.text("direct "+e.s.class, 1, 8, e.y+4, "start", name)
	}
	c.SVG = d.svg("plot", c.spoken(), c.Finding, 22)
	return c
}

func shorten(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
