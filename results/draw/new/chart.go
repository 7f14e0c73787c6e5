package draw

// Charts as SVG: one canvas, which draws for a wide page, for a narrow one and for a file.

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	report "github.com/lockbench/lockbench/results/report/new"
)

// Lengths are in the size of letters.
const (
	wideChart   = 64.0 // canvas
	narrowChart = 28.0
	fileChart   = 40.0
	lineHeight  = 1.2  // of text
	gutter      = 1.4  // between the end of a line and its name
	plotHeight  = 14.0 // of lines, at least
	manyPoints  = 12   // of a line; of one that has more they are not marked
)

//go:embed chart.css
var chartStyle string

// SVG writes a chart as a file. Its letters are large enough to be read on a telephone, its colours follow the reader's theme, and it
// needs no font, script or other file. It fails with the error of w.
func SVG(w io.Writer, ch *report.Chart) error {
	c := canvas{width: fileChart, y: 0.6}
	for _, line := range wrap(ch.Title, fileChart/1.5) {
		c.y += 1.7
		c.text("title", 0, c.y, "start", line, c.width)
	}
	c.y += 0.6
	c.chart(ch)
	var alt []string
	for _, s := range ch.Series {
		alt = append(alt, strings.TrimSpace(s.Name+" "+s.Text))
	}
	wide, high := c.width+2, c.y+2
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="-10 -10 %s %s" font-size="10" `+
		`role="img" aria-labelledby="t d"><title id="t">%s</title><desc id="d">%s</desc>`+"\n<style>\n%s</style>\n"+
		`<rect class="paper" x="-10" y="-10" width="100%%" height="100%%" rx="4"/>`+"%s\n</svg>\n", units(1.65*wide), units(1.65*high),
		units(wide), units(high), escape(titleOf(ch)), escape(strings.Join(alt, "; ")), chartStyle, c.String())
	return err
}

// titleOf is what a chart is called where it is read out.
func titleOf(ch *report.Chart) string {
	return cmp.Or(ch.Title, strings.TrimSpace(ch.Y.Name+" over "+ch.X.Name))
}

func escape(s string) string { return html.EscapeString(format.Line(s)) }

// units writes a length: ten units are the size of a letter.
func units(v float64) string { return strconv.FormatFloat(math.Round(100*v)/10, 'f', -1, 64) }

// canvas is a chart that grows downwards.
type canvas struct {
	strings.Builder
	width, y float64
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.path(class, "", point{x1, y1}, point{x2, y2})
}

func (c *canvas) rect(class string, x1, y1, x2, y2 float64) {
	c.path(class, "Z", point{x1, y1}, point{x2, y1}, point{x2, y2}, point{x1, y2})
}

// point is a place on the canvas.
type point struct{ x, y float64 }

func (c *canvas) path(class, closed string, points ...point) {
	var steps []string
	for _, p := range points {
		steps = append(steps, units(p.x)+" "+units(p.y))
	}
	fmt.Fprintf(c, "\n"+`<path class="%s" d="M%s%s"/>`, class, strings.Join(steps, "L"), closed)
}

// text writes a line of text. It cuts what is wider than room out of its middle; a pointer shows the whole.
func (c *canvas) text(class string, x, y float64, anchor, text string, room float64) {
	title, part := "", clip(format.Line(text), room)
	if part != format.Line(text) {
		title = "<title>" + escape(text) + "</title>"
	}
	if part != "" {
		fmt.Fprintf(c, "\n"+`<text class="%s" x="%s" y="%s" text-anchor="%s">%s%s</text>`,
			class, units(x), units(y), anchor, title, escape(part))
	}
}

// Signs: what is good, bad, or neither, and where a scale goes on.
const (
	dot      = "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z"
	cross    = "M-3.5 -3.5L3.5 3.5M-3.5 3.5L3.5 -3.5"
	triangle = "M0 -4.5L4 3.5L-4 3.5Z"
	diamond  = "M0 -4.5L4.5 0L0 4.5L-4.5 0Z"
	onLeft   = "M5 -4L0 0L5 4Z"
	onRight  = "M-5 -4L0 0L-5 4Z"
)

func (c *canvas) sign(class string, x, y float64, shape string) {
	fmt.Fprintf(c, "\n"+`<path class="sign %s" transform="translate(%s %s)" d="%s"/>`, class, units(x), units(y), shape)
}

// frame is where the values of a chart have their place.
type frame struct {
	left, right, top, bottom float64
	x, y                     scale
}

func (f *frame) across(v float64) float64 { return f.left + (f.right-f.left)*f.x.at(v) }
func (f *frame) up(v float64) float64     { return f.bottom - (f.bottom-f.top)*f.y.at(v) }

// chart draws one below what is there.
func (c *canvas) chart(ch *report.Chart) {
	f := &frame{right: c.width}
	f.x, f.y = scales(ch)
	if c.y += lineHeight * float64(len(ch.Uprights)); ch.Kind == report.Lines {
		c.lines(ch, f)
	} else {
		c.rows(ch, f)
	}
	c.y = f.bottom + 1.5
	for _, line := range wrap(ch.X.Name, c.width) {
		c.y += lineHeight
		half := measure(line) / 2
		c.text("soft", max(half, min((f.left+f.right)/2, c.width-half)), c.y, "middle", line, c.width)
	}
	c.y += 0.4
}

// farthest is how far a scale of changes goes unless its shaded region begins beyond that: to half and to double. One row that takes
// ten times as long would make all others look unchanged.
const farthest = 2.0

// scales returns those on which all that is drawn has a place.
func scales(ch *report.Chart) (x, y scale) {
	var xs, ys []float64
	for _, s := range ch.Series {
		for _, p := range s.Points {
			switch {
			case ch.Kind != report.Lines:
				xs, ys = append(xs, p.Low, p.High), append(ys, p.X, s.Bound)
			case known(p.Y):
				xs, ys = append(xs, p.X), append(ys, p.Y, p.Low, p.High)
			}
		}
	}
	if ch.Kind == report.Bars || ch.Kind == report.Spans || ch.Kind == report.Changes {
		xs = append(xs, ys...)
	}
	for _, l := range ch.Uprights {
		xs = append(xs, l.At)
	}
	for _, l := range ch.Levels {
		ys = append(ys, l.At)
	}
	if ch.Shade != (report.Range{}) {
		xs = append(xs, ch.Shade.Low, ch.Shade.High)
	}
	if ch.Kind == report.Changes && ch.X.Log {
		room := farthest
		for _, v := range []float64{ch.Shade.Low, ch.Shade.High} {
			if v > 0 && known(v) {
				room = max(room, math.Exp(1.5*math.Abs(math.Log(v))))
			}
		}
		for i, v := range xs {
			if v > 0 {
				xs[i] = min(room, max(1/room, v))
			}
		}
		xs = append(xs, 1)
	}
	return newScale(ch.X, xs), newScale(ch.Y, ys)
}

// back draws what is behind a chart, the lines across it with their names above, and its ticks along the bottom.
func (c *canvas) back(ch *report.Chart, f *frame) {
	if ch.Shade != (report.Range{}) {
		class := map[bool]string{true: "beyond", false: "shade"}[ch.Kind == report.Changes]
		c.rect(class, f.across(ch.Shade.Low), f.top, f.across(ch.Shade.High), f.bottom)
	}
	end := math.Inf(-1)
	for _, t := range f.x.ticks {
		x, half := f.left+(f.right-f.left)*t.at, measure(t.label)/2
		if at := min(max(x, half), c.width-half); at-half > end {
			c.line("grid", x, f.top, x, f.bottom)
			c.text("soft", at, f.bottom+1.3, "middle", t.label, c.width)
			end = at + half + 0.8
		}
	}
	// Each name stands right of its line, and higher than those further right: no line crosses a name.
	uprights := slices.SortedFunc(slices.Values(ch.Uprights), func(a, b report.Line) int { return cmp.Compare(b.At, a.At) })
	for i, l := range uprights {
		x, y := f.across(l.At), f.top-0.4-lineHeight*float64(i)
		c.line("upright", x, y, x, f.bottom)
		c.text("soft", max(0, min(x, c.width-measure(l.Name))), y, "start", l.Name, c.width)
	}
}

// label is a name at the right end of a line.
type label struct {
	lines []string
	class string
	end   point // of the line
}

// lines draws lines and signs over X.
func (c *canvas) lines(ch *report.Chart, f *frame) {
	var labels []label
	var heights []float64
	total, wide, room := 0.0, 1.0, 0.32*c.width
	name := func(class, text string) {
		l := label{lines: wrap(text, room), class: class}
		for _, line := range l.lines {
			wide = max(wide, gutter+1.1*min(room, measure(line)))
		}
		labels, heights = append(labels, l), append(heights, lineHeight*float64(len(l.lines)))
		total += heights[len(heights)-1]
	}
	for i, s := range ch.Series {
		if len(ch.Series) == 1 && s.Name == ch.Title {
			s.Name = ""
		}
		name(classOf(ch.Series, i), s.Name)
	}
	for _, l := range ch.Levels {
		name("level", l.Name)
	}
	for _, t := range f.y.ticks {
		f.left = max(f.left, 0.6+measure(t.label))
	}
	if ch.Y.Name != "" {
		c.y += lineHeight
		c.text("soft", 0, c.y-lineHeight*float64(len(ch.Uprights)), "start", ch.Y.Name, c.width)
	}
	f.right, f.top, f.bottom = c.width-wide, c.y+0.8, c.y+0.8+max(plotHeight, total)
	c.back(ch, f)
	last := math.Inf(1)
	for _, t := range f.y.ticks {
		if y := f.bottom - (f.bottom-f.top)*t.at; y <= last {
			c.line("grid", f.left, y, f.right, y)
			c.text("soft", f.left-0.5, y+0.35, "end", t.label, c.width)
			last = y - 1.4
		}
	}
	for i, l := range ch.Levels {
		labels[len(ch.Series)+i].end = point{f.right, f.up(l.At)}
		c.line("level", f.left, f.up(l.At), f.right, f.up(l.At))
	}
	var ends []float64
	for i := range labels {
		if i < len(ch.Series) {
			labels[i].end = c.series(ch.Series, i, f)
		}
		ends = append(ends, labels[i].end.y-heights[i]/2)
	}
	for i, y := range spread(ends, heights, f.top-0.4, f.bottom+0.4) {
		l := labels[i]
		if len(l.lines) > 0 && l.end != (point{}) {
			c.line("lead "+l.class, l.end.x+0.3, l.end.y, f.right+gutter-0.3, y+heights[i]/2)
			for at, line := range l.lines {
				c.text("name "+l.class, f.right+gutter, y+lineHeight*float64(at)+0.95, "start", line, room)
			}
		}
	}
}

// series draws a line through the points that are known, or a sign at each, and returns where it ends.
func (c *canvas) series(all []report.Series, i int, f *frame) (end point) {
	s, class := all[i], classOf(all, i)
	var run, band []point
	flush := func() {
		if n := len(run); n > 1 && s.Area {
			c.path("area "+class, "Z", append(run[:n:n], point{run[n-1].x, f.bottom}, point{run[0].x, f.bottom})...)
		}
		if len(band) > 2 {
			c.path("area "+class, "Z", band...)
		}
		if len(run) > 1 {
			c.path("curve "+class, "", run...)
		}
		if len(run) == 1 || len(s.Points) <= manyPoints && !s.Area {
			for _, p := range run {
				c.sign(class, p.x, p.y, dot)
			}
		}
		run, band = nil, nil
	}
	for _, p := range s.Points {
		if !known(p.Y) {
			flush()
			continue
		}
		end = point{f.across(p.X), f.up(p.Y)}
		low, high := f.up(p.Low), f.up(p.High)
		switch {
		case p.Low < p.High && (s.Signs || len(s.Points) <= manyPoints):
			c.line("reach "+class, end.x, low, end.x, high)
		case p.Low < p.High: // there and back again
			band = slices.Insert(band, len(band)/2, point{end.x, high}, point{end.x, low})
		}
		if s.Signs {
			c.sign(class, end.x, end.y, []string{dot, diamond, triangle, cross}[i%4])
		} else {
			run = append(run, end)
		}
	}
	flush()
	return end
}

// tones are how what is good or bad is drawn.
var tones = [...]string{"", "good", "warn", "bad"}

// classOf returns how a line is drawn: with a colour of its own, but one that is dashed with that of the line before it.
func classOf(all []report.Series, i int) string {
	colour, dashed := 0, ""
	for at, s := range all[:i+1] {
		if dashed = " dashed"; !s.Dashed || at == 0 {
			colour++
		}
		if !s.Dashed {
			dashed = ""
		}
	}
	return cmp.Or(tones[all[i].Tone], "s"+strconv.Itoa((colour-1)%8+1)) + dashed
}

// rows draws a row a series: its name, the plot, and its text. On a narrow canvas name and text stand above the plot.
func (c *canvas) rows(ch *report.Chart, f *frame) {
	stacked, names, texts := c.width < fileChart && ch.Kind != report.Lanes, 0.0, 0.0
	series := slices.Clone(ch.Series)
	for i, s := range series {
		if s.Tone == report.Bad {
			series[i].Name = "✗ " + s.Name
		}
		names = max(names, 1.1*measure(format.Line(series[i].Name)))
		texts = max(texts, measure(format.Line(s.Text)))
	}
	names, texts = min(names, 0.36*c.width), min(texts, 0.3*c.width)
	f.left, f.right = names+0.8, c.width-texts-1.5
	if stacked {
		names, f.left, f.right = c.width-texts-1, 0.4, c.width-0.4
	}
	f.top = c.y + 0.3
	f.bottom = f.top
	lines, middles := make([][]string, len(series)), make([]float64, len(series))
	for i, s := range series {
		lines[i] = wrap(s.Name, names/1.1)
		high := lineHeight * float64(len(lines[i]))
		if stacked {
			middles[i] = f.bottom + high + 0.9
			f.bottom += high + 1.8
		} else {
			middles[i] = f.bottom + max(2.1, high+0.5)/2
			f.bottom += max(2.1, high+0.5)
		}
	}
	c.back(ch, f)
	if ch.Kind == report.Changes {
		x := f.across(noChange(ch.X))
		c.line("zero", x, f.top, x, f.bottom)
	}
	for i, s := range series {
		high := lineHeight * float64(len(lines[i]))
		x, y, anchor := f.left-0.8, middles[i]-high/2+0.95, "end"
		textX, textY, textAnchor := f.right+1.5, middles[i]+0.35, "start"
		if stacked {
			x, y, anchor = 0, middles[i]-high+0.05, "start"
			textX, textY, textAnchor = c.width, y, "end"
		}
		for at, line := range lines[i] {
			c.text("row "+tones[s.Tone], x, y+lineHeight*float64(at), anchor, line, names/1.1)
		}
		c.text("value", textX, textY, textAnchor, s.Text, texts+0.1)
		c.row(ch, s, f, middles[i])
	}
}

// noChange is where nothing has changed: at 1 on an axis of ratios, which is logarithmic, and else at 0.
func noChange(a report.Axis) float64 { return map[bool]float64{true: 1}[a.Log] }

// row draws what a row has, in its middle.
func (c *canvas) row(ch *report.Chart, s report.Series, f *frame, y float64) {
	tone := cmp.Or(tones[s.Tone], "s1")
	for _, p := range s.Points {
		low, x, high := f.across(p.Low), f.across(p.X), f.across(p.High)
		switch ch.Kind {
		case report.Lanes:
			c.rect("lane "+tone, low, y-0.6, max(high, low+0.15), y+0.6)
		case report.Bars:
			if known(p.X) {
				c.rect("bar "+tone, f.left, y-0.5, x, y+0.5)
			}
			c.reach("interval", f, p.Low, p.High, y)
		case report.Spans:
			if c.reach("reach "+tone, f, p.X, p.High, y); known(p.X) && known(p.Low) {
				c.line("span "+tone, low, y, x, y)
			}
			if known(p.Low) {
				c.sign("from "+tone, low, y, dot)
			}
			if known(p.X) {
				c.sign(tone, x, y, dot)
			}
		case report.Changes:
			if c.reach("reach "+tone, f, p.Low, p.High, y); known(p.X) {
				c.sign(tone, x, y, shapeOf(s.Tone, p.X, f.x))
			}
		}
	}
	if x := f.across(s.Bound); s.Bound > 0 {
		c.line("bound", x, y-0.8, x, y+0.8)
	}
}

// shapeOf returns the sign of a value, which is an arrow where it lies beyond the scale.
func shapeOf(t report.Tone, v float64, s scale) string {
	switch {
	case v > s.to:
		return onRight
	case v < s.from:
		return onLeft
	}
	return [...]string{diamond, dot, triangle, cross}[t]
}

// reach draws an interval. An end that lies beyond the scale is an arrow.
func (c *canvas) reach(class string, f *frame, low, high, y float64) {
	if !(low < high) || !known(low) {
		return
	}
	c.line(class, f.across(low), y, f.across(high), y)
	for _, v := range []float64{low, high} {
		if x := f.across(v); v < f.x.from || v > f.x.to {
			c.sign(class, x, y, shapeOf(report.Plain, v, f.x))
		} else {
			c.line(class, x, y-0.35, x, y+0.35)
		}
	}
}
