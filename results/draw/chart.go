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
	"github.com/lockbench/lockbench/results/report"
)

// Widths of a canvas. Lengths are in the size of letters.
const (
	wideChart   = 64.0
	narrowChart = 28.0
	fileChart   = 40.0

	lineHeight = 1.2 // of text
)

//go:embed chart.css
var chartStyle string

// SVG writes a chart as a file. Its letters are large enough to be read on a telephone, its colours follow the reader's
// theme, and it needs no font, script or other file. It fails with the error of w.
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
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="-10 -10 %s %s"
font-size="10" role="img" aria-labelledby="t d"><title id="t">%s</title><desc id="d">%s</desc>
<style>
%s</style>
<rect class="paper" x="-10" y="-10" width="100%%" height="100%%" rx="4"/>%s
</svg>
`, units(1.65*wide), units(1.65*high), units(wide), units(high), escape(titleOf(ch)),
		escape(strings.Join(alt, "; ")), chartStyle, c.String())
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

// Signs.
const (
	small    = "M-2.4 0a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0 -4.8 0Z"
	dot      = "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z"
	cross    = "M-3.5 -3.5L3.5 3.5M-3.5 3.5L3.5 -3.5"
	triangle = "M0 -4.5L4 3.5L-4 3.5Z"
	diamond  = "M0 -4.5L4.5 0L0 4.5L-4.5 0Z"
)

func (c *canvas) sign(class string, x, y float64, shape string) {
	fmt.Fprintf(c, "\n"+`<path class="sign %s" transform="translate(%s %s)" d="%s"/>`,
		class, units(x), units(y), shape)
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
	if ch.Y.Name != "" && ch.Kind == report.Lines {
		c.y += lineHeight
		c.text("soft", 0, c.y, "start", ch.Y.Name, c.width)
	}
	if c.y += 0.8 + lineHeight*float64(len(ch.Uprights)); ch.Kind == report.Lines {
		c.lines(ch, f)
	} else {
		c.rows(ch, f)
	}
	c.y = f.bottom + 1.5
	for _, line := range wrap(ch.X.Name, c.width) {
		c.y += lineHeight
		half := min(c.width, measure(line)) / 2
		c.text("soft", max(half, min((f.left+f.right)/2, c.width-half)), c.y, "middle", line, c.width)
	}
	c.y += 0.4
}

// farthest is how far a scale of ratios goes: to half and to double. One row that takes ten times as long would make
// all others look unchanged.
const farthest = 2.0

// scales returns those on which all that is drawn has a place.
func scales(ch *report.Chart) (x, y scale) {
	var xs, ys []float64
	for _, s := range ch.Series {
		for _, p := range s.Points {
			switch {
			case ch.Kind == report.Lanes:
				xs = append(xs, p.Low, p.High)
			case ch.Kind != report.Lines:
				xs = append(xs, p.Low, p.High, p.X, s.Bound)
			case known(p.Y):
				xs, ys = append(xs, p.X), append(ys, p.Y, p.Low, p.High)
			}
		}
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
	for i, v := range xs {
		if ch.Kind == report.Changes && ch.X.Log && v > 0 && known(v) {
			xs[i] = min(farthest, max(1/farthest, v))
		}
	}
	if ch.Kind == report.Changes {
		xs = append(xs, noChange(ch.X))
	}
	return newScale(ch.X, xs), newScale(ch.Y, ys)
}

// noChange is where nothing has changed: at 1 on an axis of ratios, which is logarithmic, and else at 0.
func noChange(a report.Axis) float64 { return map[bool]float64{true: 1}[a.Log] }

// back draws what is behind a chart, the lines across it with their names above, and its ticks along the bottom.
func (c *canvas) back(ch *report.Chart, f *frame) {
	if ch.Shade != (report.Range{}) {
		class := map[bool]string{true: "beyond", false: "shade"}[ch.Kind == report.Changes]
		c.rect(class, f.across(ch.Shade.Low), f.top, f.across(ch.Shade.High), f.bottom)
	}
	ticks, every := f.x.ticks, 1 // as many as have room
	for i := 0; !f.x.log && ch.X.Ticks == nil && i+every < len(ticks); i += every {
		here, next := ticks[i], ticks[i+every]
		if f.across(next.At)-f.across(here.At) < (measure(here.Name)+measure(next.Name))/2+0.8 {
			i, every = -every-1, every+1
		}
	}
	end := math.Inf(-1)
	for i := 0; i < len(ticks); i += every {
		x, half := f.across(ticks[i].At), measure(ticks[i].Name)/2
		if at := min(max(x, half), c.width-half); at-half > end {
			c.line("grid", x, f.top, x, f.bottom)
			c.text("soft", at, f.bottom+1.3, "middle", ticks[i].Name, c.width)
			end = at + half + 0.6
		}
	}
	// Each name stands right of its line, and higher than those further right: no line crosses a name.
	right := func(a, b report.Line) int { return cmp.Compare(b.At, a.At) }
	for i, l := range slices.SortedFunc(slices.Values(ch.Uprights), right) {
		x, y := f.across(l.At), f.top-0.4-lineHeight*float64(i)
		c.line("upright", x, y, x, f.bottom)
		c.text("soft", max(0, min(x, c.width-measure(l.Name))), y, "start", l.Name, c.width)
	}
}

// label is a name right of lines, at the end of one.
type label struct {
	class     string
	lines     []string
	end       point // of the line
	y, height float64
}

// lines draws lines and signs over X.
func (c *canvas) lines(ch *report.Chart, f *frame) {
	const gutter, leastHeight = 1.4, 14.0
	var labels []*label
	colour, room, names, height := 0, 0.32*c.width, 1.0, leastHeight/2
	name := func(class, text string) {
		l := &label{class: class, lines: wrap(text, room)}
		for _, line := range l.lines {
			names = max(names, gutter+1.1*min(room, measure(line)))
			l.height += lineHeight
		}
		labels = append(labels, l)
		height += l.height
	}
	for _, s := range ch.Series {
		if !s.Dashed || colour == 0 { // one that is dashed has the colour of the line before it
			colour++
		}
		class := cmp.Or(tones[s.Tone], "s"+strconv.Itoa((colour-1)%8+1))
		if s.Dashed {
			class += " dashed"
		}
		name(class, s.Name)
	}
	for _, l := range ch.Levels {
		name("level", l.Name)
	}
	for _, t := range f.y.ticks {
		f.left = max(f.left, 0.6+measure(t.Name))
	}
	f.right, f.top, f.bottom = c.width-names, c.y, c.y+max(leastHeight, height)
	c.back(ch, f)
	last := math.Inf(1)
	for _, t := range f.y.ticks {
		if y := f.up(t.At); y < last {
			c.line("grid", f.left, y, f.right, y)
			c.text("soft", f.left-0.5, y+0.35, "end", t.Name, c.width)
			last = y - 1.4
		}
	}
	for i, l := range labels {
		if at := i - len(ch.Series); at < 0 {
			l.end = c.series(ch.Series[i], l.class, [...]string{dot, diamond, triangle, cross}[i%4], f)
		} else {
			l.end = point{f.right, f.up(ch.Levels[at].At)}
			c.line("level", f.left, l.end.y, f.right, l.end.y)
		}
		l.y = l.end.y - l.height/2
	}
	spread(labels, f.top-0.4, f.bottom+0.4)
	for _, l := range labels {
		for i, line := range l.lines {
			c.text("name "+l.class, f.right+gutter, l.y+lineHeight*float64(i)+0.95, "start", line, room)
		}
		if len(l.lines) > 0 && l.end != (point{}) {
			c.line("lead "+l.class, l.end.x+0.3, l.end.y, f.right+gutter-0.3, l.y+l.height/2)
		}
	}
}

// spread moves labels apart, so that each has its height to itself: down from from, and up again where that leads
// beyond to. They come to be in the order of their places.
func spread(labels []*label, from, to float64) {
	slices.SortStableFunc(labels, func(a, b *label) int { return cmp.Compare(a.y, b.y) })
	for _, l := range labels {
		l.y = max(l.y, from)
		from = l.y + l.height
	}
	for _, l := range slices.Backward(labels) {
		l.y = min(l.y, to-l.height)
		to = l.y
	}
}

// series draws a line through the points that are known, or a sign at each, and returns where it ends.
func (c *canvas) series(s report.Series, class, sign string, f *frame) (end point) {
	few := len(s.Points) <= 12
	var run, band []point
	flush := func() {
		if n := len(run); n > 1 && s.Area {
			below := []point{{run[n-1].x, f.bottom}, {run[0].x, f.bottom}}
			c.path("area "+class, "Z", append(run[:n:n], below...)...)
		}
		if len(band) > 2 {
			c.path("area "+class, "Z", band...)
		}
		if len(run) > 1 {
			c.path("curve "+class, "", run...)
		}
		for _, p := range run {
			if len(run) == 1 || few && !s.Area {
				c.sign(class, p.x, p.y, small)
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
		low, high := point{end.x, f.up(p.Low)}, point{end.x, f.up(p.High)}
		switch {
		case p.Low < p.High && (s.Signs || few):
			c.path("reach "+class, "", low, high)
		case p.Low < p.High: // there and back again
			band = slices.Insert(band, len(band)/2, high, low)
		}
		if s.Signs {
			c.sign(class, end.x, end.y, sign)
		} else {
			run = append(run, end)
		}
	}
	flush()
	return end
}

// tones are how what is good or bad is drawn.
var tones = [...]string{"", "good", "warn", "bad"}

// rows draws a row a series: its name, the plot, and its text. On a narrow canvas name and text stand above the plot.
func (c *canvas) rows(ch *report.Chart, f *frame) {
	const bold = 1.1 // times as wide
	stacked, names, texts := c.width < fileChart && ch.Kind != report.Lanes, 0.0, 0.0
	nameOf := func(s report.Series) string { return map[bool]string{true: "✗ "}[s.Tone == report.Bad] + s.Name }
	for _, s := range ch.Series {
		names = max(names, bold*measure(format.Line(nameOf(s))))
		texts = max(texts, measure(format.Line(s.Text)))
	}
	names, texts = min(names, 0.36*c.width), min(texts, max(11, 0.3*c.width))
	f.left, f.right, f.top, f.bottom = names+0.8, c.width-texts-1.5, c.y, c.y
	if stacked {
		names, f.left, f.right = c.width-texts-1, 0.4, c.width-0.4
	}
	front := canvas{}
	for _, s := range ch.Series {
		if s.Group != "" {
			f.bottom += 0.4 + lineHeight
			front.text("group", 0, f.bottom-0.2, "start", s.Group, c.width/bold)
		}
		lines := wrap(nameOf(s), names/bold)
		high := lineHeight * float64(len(lines))
		middle := f.bottom + max(2.1, high+0.5)/2
		x, y, anchor := names, middle-high/2+0.95, "end"
		textX, textY, textAnchor := f.right+1.5, middle+0.35, "start"
		if stacked {
			middle = f.bottom + high + 0.9
			x, y, anchor = 0, f.bottom+0.95, "start"
			textX, textY, textAnchor = c.width, y, "end"
		}
		for i, line := range lines {
			front.text("row "+tones[s.Tone], x, y+lineHeight*float64(i), anchor, line, names/bold)
		}
		front.text("value", textX, textY, textAnchor, s.Text, texts)
		front.row(ch.Kind, s, f, middle)
		f.bottom = 2*middle - f.bottom
		if stacked {
			f.bottom = middle + 0.9
		}
	}
	c.back(ch, f)
	if ch.Kind == report.Changes {
		c.line("zero", f.across(noChange(ch.X)), f.top, f.across(noChange(ch.X)), f.bottom)
	}
	c.WriteString(front.String())
}

// row draws what a row has, in its middle.
func (c *canvas) row(kind report.Kind, s report.Series, f *frame, y float64) {
	tone := cmp.Or(tones[s.Tone], "s1")
	for _, p := range s.Points {
		low, x, high := f.across(p.Low), f.across(p.X), f.across(p.High)
		switch kind {
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
			c.value("from "+tone, f, p.Low, y, dot)
			c.value(tone, f, p.X, y, dot)
		case report.Changes:
			c.reach("reach "+tone, f, p.Low, p.High, y)
			c.value(tone, f, p.X, y, [...]string{diamond, dot, triangle, cross}[s.Tone])
		}
	}
	if x := f.across(s.Bound); s.Bound > 0 {
		c.line("bound", x, y-0.8, x, y+0.8)
	}
}

// reach draws an interval with its ends.
func (c *canvas) reach(class string, f *frame, low, high, y float64) {
	if low < high && known(low) {
		c.line(class, f.across(low), y, f.across(high), y)
		c.value(class, f, low, y, "M0 -3.5V3.5")
		c.value(class, f, high, y, "M0 -3.5V3.5")
	}
}

// value draws a sign at v, or an arrow where that lies beyond the scale.
func (c *canvas) value(class string, f *frame, v, y float64, sign string) {
	switch {
	case v > f.x.to:
		sign = "M-5 -4L0 0L-5 4Z"
	case v < f.x.from:
		sign = "M5 -4L0 0L5 4Z"
	}
	if !math.IsNaN(v) {
		c.sign(class, f.across(v), y, sign)
	}
}
