package svg

// Charts of lines, each with its name at its end.

import (
	"math"
	"strings"

	"github.com/lockbench/lockbench/results/plot"
)

const (
	plotHeight = 190.0
	labelStep  = 18.0
	labelGap   = 24.0 // from the end of a line to its name
	mostLines  = 8
)

// lines is a panel of lines over an axis.
type lines struct {
	head, across string // what is up, and what is across
	x, y         plot.Scale
	all          []series
}

// series is a line. Its colour is one of plot.Lines, from 0.
type series struct {
	name   string
	colour int
	dashed bool
	bad    bool
	points []sample
}

// sample is a point of a line, with the range of its trials; NaN: not known.
type sample struct{ x, y, low, high float64 }

func sampleAt(x, y float64) sample { return sample{x, y, math.NaN(), math.NaN()} }

func (s series) class(kind string) string {
	if s.bad {
		return kind + " bad"
	}
	return kind + " " + colourClass(s.colour)
}

func colourClass(i int) string { return "s" + string(rune('1'+i%plot.Lines)) }

// draw draws panels below what is there and one another, their axes in line.
func draw(c *canvas, panels ...lines) {
	left, right := 0.0, 0.0
	for _, l := range panels {
		for _, t := range l.y.Ticks {
			left = max(left, measure(t.Label, textSize))
		}
		for _, s := range l.all {
			for _, line := range s.label() {
				if line != "" {
					right = max(right, labelGap+measure(line, textSize*s.bold()))
				}
			}
		}
	}
	for _, l := range panels {
		if n := len(l.x.Ticks); n > 0 {
			right = max(right, measure(l.x.Ticks[n-1].Label, textSize)/2)
		}
	}
	for _, l := range panels {
		l.draw(c, left, right)
	}
	c.y += 8
}

// draw leaves room for labels on the left and right.
func (l lines) draw(c *canvas, left, right float64) {
	c.y += 14
	c.paragraph("head", l.head)
	c.y += 8
	high := 0.0 // room for all labels
	for _, s := range l.all {
		high += s.height()
	}
	a := area{l, margin + left + 10, width - margin - right, c.y, c.y + max(high, plotHeight)}
	a.grid(c)
	var ends []series
	var at []float64
	for _, s := range l.all {
		if path := a.line(c, s); len(path) > 0 {
			ends, at = append(ends, s), append(at, path[len(path)-1].y)
		}
	}
	a.names(c, ends, at)
	c.y = a.bottom + 24
	if l.across != "" {
		c.y += 20
		c.text("soft", (a.from+a.to)/2, c.y-3, middle, l.across)
	}
}

// area is a panel with its place.
type area struct {
	lines
	from, to    float64 // across
	top, bottom float64
}

func (a area) at(p sample, y float64) point {
	return point{a.from + (a.to-a.from)*a.x.At(p.x), a.bottom - (a.bottom-a.top)*a.y.At(y)}
}

func (a area) grid(c *canvas) {
	for _, t := range upTicks(a.y, a.bottom-a.top) {
		y := a.bottom - (a.bottom-a.top)*t.At
		c.line("grid", a.from, y, a.to, y)
		c.text("tick", a.from-8, y+5, end, t.Label)
	}
	c.line("base", a.from, a.bottom, a.to, a.bottom)
	for _, t := range apart(a.x, a.to-a.from, 12) {
		x := a.from + (a.to-a.from)*t.At
		c.line("base", x, a.bottom, x, a.bottom+4)
		c.text("tick", x, a.bottom+20, middle, t.Label)
	}
}

// line draws a series through those of its points that are known, and returns them.
func (a area) line(c *canvas, s series) (path []point) {
	for _, p := range s.points {
		if !known(p.y) {
			continue
		}
		at := a.at(p, p.y)
		if p.low < p.high {
			c.line(s.class("whisker"), at.x, a.at(p, p.low).y, at.x, a.at(p, p.high).y)
		}
		path = append(path, at)
	}
	if len(path) == 0 {
		return nil
	}
	class := s.class("curve")
	if s.dashed {
		class += " dashed"
	}
	c.path(class, path)
	if len(path) <= 12 {
		for _, p := range path {
			c.dot(s.class("mark"), p.x, p.y, 3.5)
		}
	}
	return path
}

// names writes what lines are behind their ends, and leads there where a name has to stand elsewhere.
func (a area) names(c *canvas, ends []series, at []float64) {
	var heights []float64
	for _, s := range ends {
		heights = append(heights, s.height())
	}
	for i, y := range plot.Spread(at, heights, a.top+4, a.bottom+0.7*labelStep) {
		s := ends[i]
		if s.name == "" {
			continue
		}
		class := s.class("label")
		c.line(s.class("lead"), a.to+5, at[i], a.to+labelGap-4, y)
		for n, line := range s.label() {
			c.text(class, a.to+labelGap, y+5+labelStep*float64(n), start, line)
		}
	}
}

// height is that of the label.
func (s series) height() float64 { return labelStep * float64(len(s.label())) }

// bold is how much wider the label is than plain text.
func (s series) bold() float64 {
	if s.bad {
		return bold
	}
	return 1
}

// label is what stands at the end of the line, on two lines if it is long.
func (s series) label() []string {
	name := s.name
	if s.bad {
		name += " · " + violated
	}
	return nameLines(strings.TrimPrefix(name, " · "), 0.33*width)
}

// upTicks are those whose labels have room above one another.
func upTicks(s plot.Scale, high float64) []plot.Tick {
	n := len(s.Ticks)
	for n > 2 && high*(s.Ticks[len(s.Ticks)-1].At-s.Ticks[0].At)/float64(n-1) < 26 {
		n--
		if t := s.Thin(n).Ticks; len(t) > 1 && high*(t[1].At-t[0].At) >= 26 {
			return t
		}
	}
	return s.Ticks
}

// scaleOf spans values from 0 on, or on a logarithmic scale where they differ so much that the least would not be seen.
func scaleOf(all []series, label func(float64) string) plot.Scale {
	least, most := span(all)
	if most > 20*least {
		return plot.Log(least, most, label)
	}
	return plot.Linear(most, 5, label)
}

// span returns the least and the greatest value that is drawn.
func span(all []series) (least, most float64) {
	least = math.Inf(1)
	for _, s := range all {
		for _, p := range s.points {
			for _, v := range []float64{p.y, p.low, p.high} {
				if v > 0 && known(v) {
					least, most = math.Min(least, v), math.Max(most, v)
				}
			}
		}
	}
	return least, most
}
