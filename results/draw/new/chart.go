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

// Widths of a canvas, in the size of its letters.
const (
	wideChart   = 64.0
	narrowChart = 28.0
	fileChart   = 40.0
)

//go:embed chart.css
var chartStyle string

// SVG writes a chart as a file. Its letters are large enough to be read on a telephone, its colours follow the reader's theme, and it
// needs no font, script or other file. It fails with the error of w.
func SVG(w io.Writer, ch *report.Chart) error {
	c := canvas{width: fileChart, y: 0.6}
	for _, line := range wrap(ch.Title, fileChart/1.5) {
		c.y += 1.6
		c.text("title", 0, c.y, "start", line, "")
	}
	c.y += 0.6
	c.chart(ch)
	const margin = 1.0
	var alt []string
	for _, s := range ch.Series {
		alt = append(alt, strings.TrimSpace(s.Name+" "+s.Text))
	}
	wide, high := c.width+2*margin, c.y+2*margin
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="%s %s %s %s" font-size="10" `+
		`role="img" aria-labelledby="t d"><title id="t">%s</title><desc id="d">%s</desc>`+"\n<style>\n%s</style>\n"+
		`<rect class="paper" x="%s" y="%s" width="100%%" height="100%%" rx="4"/>`+"%s\n</svg>\n", units(1.65*wide), units(1.65*high),
		units(-margin), units(-margin), units(wide), units(high), escape(titleOf(ch)), escape(strings.Join(alt, "; ")), chartStyle,
		units(-margin), units(-margin), c.String())
	return err
}

// titleOf is what a chart is called where it is read out.
func titleOf(ch *report.Chart) string {
	return cmp.Or(ch.Title, strings.TrimSpace(ch.Y.Name+" over "+ch.X.Name), "Chart")
}

func escape(s string) string { return html.EscapeString(format.Line(s)) }

// units writes a length as a file has it: ten units are the size of a letter.
func units(v float64) string { return strconv.FormatFloat(math.Round(100*v)/10, 'f', -1, 64) }

// canvas is a chart that grows downwards. Its lengths are in the size of its letters.
type canvas struct {
	strings.Builder
	width, y float64
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(c, "\n"+`<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, units(x1), units(y1), units(x2), units(y2))
}

func (c *canvas) rect(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(c, "\n"+`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, units(x1), units(y1), units(max(0, x2-x1)), units(y2-y1))
}

// text writes a text; whole is what a pointer shows where it is shortened.
func (c *canvas) text(class string, x, y float64, anchor, text, whole string) {
	if whole = format.Line(whole); whole != "" && !strings.Contains(text, whole) {
		text, whole = format.Line(text), "<title>"+escape(whole)+"</title>"
	} else {
		whole = ""
	}
	fmt.Fprintf(c, "\n"+`<text class="%s" x="%s" y="%s" text-anchor="%s">%s%s</text>`, class, units(x), units(y), anchor, whole, escape(text))
}

// point is a place on the canvas.
type point struct{ x, y float64 }

func (c *canvas) path(class string, points []point, closed string) {
	var b strings.Builder
	for i, p := range points {
		b.WriteString(cmp.Or(map[int]string{0: "M"}[i], "L") + units(p.x) + " " + units(p.y))
	}
	fmt.Fprintf(c, "\n"+`<path class="%s" d="%s%s"/>`, class, b.String(), closed)
}

// shapes of signs: a dot, a cross, a triangle and a diamond, and where a scale goes on.
const (
	dot      = "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0Z"
	cross    = "M-3.5 -3.5L3.5 3.5M-3.5 3.5L3.5 -3.5"
	triangle = "M0 -4.5L4 3.5L-4 3.5Z"
	diamond  = "M0 -4.5L4.5 0L0 4.5L-4.5 0Z"
	onRight  = "M-5 -4L0 0L-5 4Z"
	onLeft   = "M5 -4L0 0L5 4Z"
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
	if ch.Kind == report.Lines {
		c.lines(ch)
	} else {
		c.rows(ch)
	}
	for _, line := range wrap(ch.X.Name, c.width) {
		if line != "" {
			c.y += 1.3
			c.text("soft", c.width/2, c.y, "middle", line, "")
		}
	}
	c.y += 0.4
}

// uprights names the lines across a chart above it, each right of its line and higher than those further right, so that no line
// crosses a name. It returns where the lines begin.
func (c *canvas) uprights(all []report.Line, f *frame) (tops []float64) {
	tops = make([]float64, len(all))
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[b].At, all[a].At) })
	begin, row, last := make([]float64, len(all)), 0, math.Inf(1)
	for _, i := range order {
		wide := min(measure(all[i].Name), c.width)
		begin[i] = max(0, min(f.across(all[i].At), c.width-wide))
		if row = row + 1; begin[i]+wide+0.8 < last || all[i].Name == "" {
			row = 0
		}
		if last = begin[i]; row == 0 && all[i].Name == "" {
			last = math.Inf(1)
		}
		tops[i] = float64(row)
	}
	if len(all) > 0 {
		c.y += 0.3 + 1.2*(1+slices.Max(tops))
	}
	for i, l := range all {
		tops[i] = c.y - 0.2 - 1.2*tops[i]
		c.text("soft", begin[i], tops[i]-0.1, "start", clip(format.Line(l.Name), c.width), l.Name)
	}
	return tops
}

// axisX draws what is behind a chart, and its ticks along the bottom.
func (c *canvas) axisX(ch *report.Chart, f *frame, zero float64, tops []float64) {
	if ch.Shade != (report.Range{}) {
		class := map[bool]string{true: "beyond", false: "band"}[ch.Kind == report.Changes]
		c.rect(class, f.across(ch.Shade.Low), f.top, f.across(ch.Shade.High), f.bottom)
	}
	wide := f.right - f.left
	for _, t := range thin(f.x.ticks, zero, func(a, b tick) bool {
		return wide*(b.at-a.at) >= (measure(a.label)+measure(b.label))/2+0.8
	}) {
		x := f.left + wide*t.at
		c.line("grid", x, f.top, x, f.bottom)
		half := measure(t.label) / 2
		c.text("soft", min(max(x, half), c.width-half), f.bottom+1.3, "middle", t.label, "")
	}
	for i, l := range ch.Uprights {
		c.line("upright", f.across(l.At), tops[i], f.across(l.At), f.bottom)
	}
}

// named is a name at the right end of a line.
type named struct {
	lines []string
	class string
	whole string
	end   point // of the line
}

const (
	lineHeight  = 1.2  // of text
	leastHeight = 14.0 // of lines
	gutter      = 1.4  // between the end of a line and its name
	manyPoints  = 12   // of a line; of one that has more they are not marked
)

// lines draws lines and signs over X.
func (c *canvas) lines(ch *report.Chart) {
	xs, ys := []float64{ch.Shade.Low, ch.Shade.High}, []float64(nil)
	var names []named
	right, high := 0.0, leastHeight
	name := func(class, text string) {
		n := named{lines: wrap(text, 0.32*c.width), class: class, whole: text}
		for _, line := range n.lines {
			right = max(right, gutter+1.05*measure(line))
		}
		names = append(names, n)
	}
	for i, s := range ch.Series {
		for _, p := range s.Points {
			if known(p.Y) {
				xs, ys = append(xs, p.X), append(ys, p.Y)
			}
			if p.Low < p.High {
				ys = append(ys, p.Low, p.High)
			}
		}
		if len(ch.Series) == 1 && s.Name == ch.Title {
			s.Name = ""
		}
		name(classOf(ch.Series, i), s.Name)
	}
	for _, l := range ch.Levels {
		ys = append(ys, l.At)
		name("level", l.Name)
	}
	for _, l := range ch.Uprights {
		xs = append(xs, l.At)
	}
	f := &frame{x: newScale(ch.X, xs), y: newScale(ch.Y, ys)}
	for _, t := range f.y.ticks {
		f.left = max(f.left, 0.6+measure(t.label))
	}
	f.right = c.width - max(right, 1)
	if c.y += 0.2; ch.Y.Name != "" {
		c.y += lineHeight
		c.text("soft", 0, c.y-0.2, "start", clip(format.Line(ch.Y.Name), c.width), ch.Y.Name)
	}
	tops := c.uprights(ch.Uprights, f)
	heights := make([]float64, len(names))
	total := 0.0
	for i, n := range names {
		if n.whole != "" {
			heights[i] = lineHeight * float64(len(n.lines))
		}
		total += heights[i]
	}
	f.top, f.bottom = c.y+0.6, c.y+0.6+max(high, total)
	c.axisX(ch, f, 0, tops)
	for _, t := range thin(f.y.ticks, 0, func(a, b tick) bool { return (f.bottom-f.top)*(b.at-a.at) >= 1.6 }) {
		y := f.bottom - (f.bottom-f.top)*t.at
		c.line("grid", f.left, y, f.right, y)
		c.text("soft", f.left-0.5, y+0.35, "end", t.label, "")
	}
	for i, l := range ch.Levels {
		c.line("level", f.left, f.up(l.At), f.right, f.up(l.At))
		names[len(ch.Series)+i].end = point{f.right, f.up(l.At)}
	}
	for i, s := range ch.Series {
		names[i].end = c.series(s, names[i].class, f, shapeOf(ch.Series, i))
	}
	c.names(names, heights, f)
	c.y = f.bottom + 1.5
}

// names writes names beside the ends of their lines, apart from one another.
func (c *canvas) names(names []named, heights []float64, f *frame) {
	ends := make([]float64, len(names))
	for i, n := range names {
		ends[i] = n.end.y - heights[i]/2
	}
	for i, y := range spread(ends, heights, f.top-0.4, f.bottom+0.4) {
		n := names[i]
		if n.whole == "" || n.end == (point{}) {
			continue
		}
		c.line("lead "+n.class, n.end.x+0.3, n.end.y, f.right+gutter-0.3, y+heights[i]/2)
		for at, line := range n.lines {
			c.text("name "+n.class, f.right+gutter, y+lineHeight*float64(at)+0.95, "start", line, n.whole)
		}
	}
}

// series draws a line through the points that are known, or a sign at each, and returns where it ends.
func (c *canvas) series(s report.Series, class string, f *frame, shape string) (end point) {
	var run, band []point
	flush := func() {
		if n := len(run); n > 1 && s.Area {
			c.path("area "+class, append(slices.Clone(run), point{run[n-1].x, f.bottom}, point{run[0].x, f.bottom}), "Z")
		}
		if len(band) > 2 {
			c.path("area "+class, band, "Z")
		}
		if len(run) > 1 {
			c.path("curve "+class, run, "")
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
		low, high := point{end.x, f.up(p.Low)}, point{end.x, f.up(p.High)}
		switch {
		case p.Low < p.High && (s.Signs || len(s.Points) <= manyPoints):
			c.line("whisker "+class, low.x, low.y, high.x, high.y)
		case p.Low < p.High: // there and back again
			band = slices.Insert(band, len(band)/2, high, low)
		}
		if s.Signs {
			c.sign(class, end.x, end.y, shape)
		} else {
			run = append(run, end)
		}
	}
	flush()
	return end
}

// tones are how what is good or bad is drawn.
var tones = [...]string{"", "good", "warn", "bad"}

// classOf returns how a line is drawn: with a colour of its own; one that is dashed has that of the line before it.
func classOf(all []report.Series, i int) string {
	colour := -1
	for _, s := range all[:i+1] {
		if !s.Dashed || colour < 0 {
			colour++
		}
	}
	class := "s" + strconv.Itoa(colour%8+1)
	if tone := tones[all[i].Tone]; tone != "" {
		class = tone
	}
	if all[i].Dashed {
		class += " dashed"
	}
	return class
}

// shapeOf returns the sign of a series of signs, whose colour is not all that tells it from others.
func shapeOf(all []report.Series, i int) string {
	at := 0
	for _, s := range all[:i] {
		if s.Signs {
			at++
		}
	}
	return []string{dot, diamond, triangle, cross}[at%4]
}

// Rows.

// rowScale returns the scale of what rows have, and its place of no change.
func rowScale(ch *report.Chart) (s scale, zero float64) {
	values := []float64{ch.Shade.Low, ch.Shade.High}
	for _, s := range ch.Series {
		values = append(values, s.Bound)
		for _, p := range s.Points {
			values = append(values, p.Low, p.High)
			if ch.Kind != report.Lanes {
				values = append(values, p.X)
			}
		}
	}
	for _, l := range ch.Uprights {
		values = append(values, l.At)
	}
	if ch.Kind != report.Changes {
		return newScale(ch.X, values), 0
	}
	s = changeScale(ch.X, values, ch.Shade)
	return s, s.at(map[bool]float64{true: 1, false: 0}[ch.X.Log])
}

// rows draws a row a series: its name, the plot, and its text. On a narrow canvas name and text stand above the plot.
func (c *canvas) rows(ch *report.Chart) {
	f := &frame{right: c.width}
	var zero float64
	f.x, zero = rowScale(ch)
	stacked, names, texts := c.width < fileChart && ch.Kind != report.Lanes, 0.0, 0.0
	for _, s := range ch.Series {
		names, texts = max(names, 1.1*measure(format.Line(s.Name))), max(texts, measure(format.Line(s.Text)))
	}
	if names, texts = min(names, 0.36*c.width), min(texts, 0.3*c.width); !stacked {
		f.left = names + 0.8
		f.right -= texts + 0.8
	} else {
		names = c.width - texts - 1
	}
	f.right -= 0.7
	tops := c.uprights(ch.Uprights, f)
	f.top = c.y + 0.3
	f.bottom = f.top
	var lines [][]string
	var middles []float64
	for _, s := range ch.Series {
		if s.Tone == report.Bad {
			s.Name = "✗ " + s.Name
		}
		l := wrap(s.Name, names/1.1)
		lines = append(lines, l)
		high := lineHeight * float64(len(l))
		if stacked {
			middles = append(middles, f.bottom+high+0.9)
			f.bottom += high + 1.8
		} else {
			high = max(2.1, high+0.5)
			middles = append(middles, f.bottom+high/2)
			f.bottom += high
		}
	}
	c.axisX(ch, f, zero, tops)
	if ch.Kind == report.Changes {
		x := f.left + (f.right-f.left)*zero
		c.line("zero", x, f.top, x, f.bottom)
	}
	for i, s := range ch.Series {
		x, y, anchor := f.left-0.8, middles[i]+0.35-lineHeight*float64(len(lines[i])-1)/2, "end"
		textX, textAnchor, textY := f.right+1.5, "start", middles[i]+0.35
		if stacked {
			x, y, anchor = 0, middles[i]-0.9-lineHeight*float64(len(lines[i]))+0.95, "start"
			textX, textAnchor, textY = c.width, "end", y
		}
		for at, line := range lines[i] {
			c.text("row "+tones[s.Tone], x, y+lineHeight*float64(at), anchor, line, s.Name)
		}
		if s.Text != "" {
			c.text("value", textX, textY, textAnchor, clip(format.Line(s.Text), max(texts, 2)), s.Text)
		}
		c.row(ch.Kind, s, f, middles[i])
	}
	c.y = f.bottom + 1.5
}

// row draws what a row has, in its middle.
func (c *canvas) row(kind report.Kind, s report.Series, f *frame, y float64) {
	tone := cmp.Or(tones[s.Tone], "plain")
	for i, p := range s.Points {
		reach := p.Low < p.High && known(p.Low)
		switch kind {
		case report.Lanes:
			c.rect("lane "+tone, f.across(p.Low), y-0.6, max(f.across(p.High), f.across(p.Low)+0.15), y+0.6)
		case report.Bars:
			if i > 0 { // one of those of which the bar is the middle
				c.sign("trial", f.across(p.X), y, dot)
				continue
			}
			if known(p.X) {
				c.rect("bar "+tone, f.left, y-0.5, f.across(p.X), y+0.5)
			}
			if reach {
				c.reach("interval", f, p, y)
			}
		case report.Spans:
			low, x, high := f.across(p.Low), f.across(p.X), f.across(p.High)
			if known(p.X) && known(p.High) && p.High > p.X {
				c.line("reach "+tone, x, y, high, y)
				c.line("reach "+tone, high, y-0.4, high, y+0.4)
			}
			if known(p.X) && known(p.Low) {
				c.line("span "+tone, low, y, x, y)
			}
			if known(p.Low) && p.Low > 0 {
				c.sign("from "+tone, low, y, dot)
			}
			if known(p.X) {
				c.sign(tone, x, y, dot)
			}
		case report.Changes:
			if reach {
				c.reach("reach "+tone, f, p, y)
			}
			shape := map[report.Tone]string{report.Good: dot, report.Warn: triangle, report.Bad: cross}[s.Tone]
			switch {
			case p.X > f.x.to:
				c.sign(tone, f.right, y, onRight)
			case p.X < f.x.from:
				c.sign(tone, f.left, y, onLeft)
			case known(p.X):
				c.sign(tone, f.across(p.X), y, cmp.Or(shape, diamond))
			}
		}
	}
	if s.Bound > 0 {
		x := f.across(s.Bound)
		c.line("bound", x, y-0.8, x, y+0.8)
	}
}

// reach draws an interval. An end that lies beyond the scale is an arrow.
func (c *canvas) reach(class string, f *frame, p report.Point, y float64) {
	c.line(class, f.across(p.Low), y, f.across(p.High), y)
	if p.Low < f.x.from {
		c.sign(class, f.left, y, onLeft)
	} else {
		c.line(class, f.across(p.Low), y-0.35, f.across(p.Low), y+0.35)
	}
	if p.High > f.x.to {
		c.sign(class, f.right, y, onRight)
	} else {
		c.line(class, f.across(p.High), y-0.35, f.across(p.High), y+0.35)
	}
}
