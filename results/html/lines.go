package html

// Charts of lines, with a label at the end of each where the page is wide, and a legend where it is not.

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/plot"
)

const (
	chartHeight = 260
	labelStep   = 15 // pixels between two labels

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
	points []draw.Point
}

// dashed follows the colour of a line that goes with another.
const dashed = " dashed"

func colour(i int) string { return fmt.Sprintf("s%d", i%plot.Lines+1) }

// lines draws series whose points lie between 0 and 1 on both axes, the second one upwards.
func lines(c lineChart, x, y plot.Scale, all []series, height float64) lineChart {
	d := draw.Drawing{Height: height}
	d.AxisY(y)
	d.AxisX(x)
	var ends []series
	var at []float64 // where they end
	for _, s := range all {
		if len(s.points) == 0 {
			continue
		}
		points := make([]draw.Point, len(s.points))
		for i, p := range s.points {
			points[i] = draw.Point{X: p.X, Y: height * (1 - p.Y)}
		}
		d.Path("curve "+s.class, points, false)
		if len(points) == 1 {
			d.Dot("lone "+s.class, points[0].X, points[0].Y, 3)
		}
		c.Legend = append(c.Legend, legend{s.class, s.name})
		ends, at = append(ends, s), append(at, points[len(points)-1].Y)
	}
	if len(ends) < 2 {
		c.Legend = nil
		c.SVG = d.SVG("plot", c.spoken(), c.Finding, 22)
		return c
	}
	for i, y := range plot.Spread(at, slices.Repeat([]float64{labelStep}, len(at)), 0, height+labelStep) {
		e := ends[i]
		name := shorten(e.name, 30)
		c.Gutter = max(c.Gutter, 14+format.Width(name)*7)
		d.Text("direct "+e.class, 1, 8, y+4, "start", name)
	}
	c.SVG = d.SVG("plot", c.spoken(), c.Finding, 22)
	return c
}

func shorten(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
