package draw

// Charts: one canvas, for a wide page, for a narrow one and for a file.

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results/report"
)

// Lengths are in the size of letters.
const (
	wideChart   = 64.0
	narrowChart = 28.0
	fileChart   = 40.0

	lineHeight = 1.2 // of text
)

//go:embed chart.css
var chartStyle string

// tones are the CSS classes of a report.Tone.
var tones = [...]string{"", "good", "warn", "bad"}

// SVG writes a chart as a file. Its letters are large enough to be read on a telephone, its colours follow the reader's
// theme, and it needs no font, script or other file. It fails with the error of w.
func SVG(w io.Writer, ch *report.Chart) error {
	p := &plot{width: fileChart, y: 0.6, ch: ch}
	for _, line := range wrap(ch.Title, fileChart/1.5) {
		p.y += 1.7
		p.text("title", 0, p.y, "start", line, p.width)
	}
	p.y += 0.6
	p.draw()
	wide, high := p.width+2, p.y+2
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="-10 -10 %s %s"
font-size="10" role="img" aria-labelledby="t"><title id="t">%s</title>
<style>
%s</style>
<rect class="paper" x="-10" y="-10" width="100%%" height="100%%" rx="4"/>%s
</svg>
`, units(1.65*wide), units(1.65*high), units(wide), units(high), escape(ch.Title), chartStyle, p)
	return err
}

// picture draws a chart for a page.
func picture(ch *report.Chart, class string, width float64) string {
	p := &plot{width: width, ch: ch}
	p.draw()
	const svg = `<svg class="%s" viewBox="0 0 %s %s" font-size="10" role="img" aria-label="%s">%s</svg>`
	return fmt.Sprintf(svg, class, units(width), units(p.y), escape(ch.Title), p)
}

// plot is a chart that grows downwards, and where its values have their place.
type plot struct {
	strings.Builder
	width, y                 float64
	ch                       *report.Chart
	left, right, top, bottom float64
	xs, ys                   scale
}

func (p *plot) across(v float64) float64 { return p.left + (p.right-p.left)*p.xs.at(v) }
func (p *plot) up(v float64) float64     { return p.bottom - (p.bottom-p.top)*p.ys.at(v) }

// draw draws the chart below what is there.
func (p *plot) draw() {
	ch := p.ch
	p.scales()
	if ch.Y.Name != "" && ch.Kind == report.Lines {
		p.y += lineHeight
		p.text("soft", 0, p.y, "start", ch.Y.Name, p.width)
	}
	p.y += 0.8 + lineHeight*float64(len(ch.Uprights))
	if p.right, p.top = p.width, p.y; ch.Kind == report.Lines {
		p.lines()
	} else {
		p.rows()
	}
	p.y = p.bottom + 1.5
	for _, line := range wrap(ch.X.Name, p.width) {
		p.y += lineHeight
		half := min(p.width, measure(line)) / 2
		p.text("soft", max(half, min((p.left+p.right)/2, p.width-half)), p.y, "middle", line, p.width)
	}
	p.y += 0.4
}

// farthest is how far a scale of ratios goes: to half and to double. One row that takes ten times as long would make
// all others look unchanged.
const farthest = 2.0

// scales makes those on which all that is drawn has a place.
func (p *plot) scales() {
	var xs, ys []float64
	ch, changes := p.ch, p.ch.Kind == report.Changes
	for _, s := range ch.Series {
		for _, v := range s.Points {
			switch {
			case ch.Kind != report.Lines:
				xs = append(xs, v.Low, v.High, v.X, s.Bound)
			case known(v.Y):
				xs, ys = append(xs, v.X), append(ys, v.Y, v.Low, v.High)
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
		if changes && ch.X.Log && v > 0 && known(v) {
			xs[i] = min(farthest, max(1/farthest, v))
		}
	}
	if changes {
		xs = append(xs, noChange(ch.X))
	}
	p.xs, p.ys = newScale(ch.X, min(7, p.width/5), xs), newScale(ch.Y, 6, ys)
}

// noChange is where nothing has changed: at 1 on an axis of ratios, which is logarithmic, and else at 0.
func noChange(a report.Axis) float64 { return map[bool]float64{true: 1}[a.Log] }

// back draws what is behind a chart, the lines across it with their names above, and its ticks along the bottom.
func (p *plot) back() {
	if s := p.ch.Shade; s != (report.Range{}) {
		class := map[bool]string{true: "beyond", false: "shade"}[p.ch.Kind == report.Changes]
		p.rect(class, p.across(s.Low), p.top, p.across(s.High), p.bottom)
	}
	end := math.Inf(-1)
	for _, t := range p.xs.ticks {
		x, half := p.across(t.At), measure(t.Name)/2
		if at := min(max(x, half), p.width-half); at-half > end {
			p.line("grid", x, p.top, x, p.bottom)
			p.text("soft", at, p.bottom+1.3, "middle", t.Name, p.width)
			end = at + half + 0.6
		}
	}
	// Each name stands right of its line, and higher than those further right: no line crosses a name.
	right := func(a, b report.Line) int { return cmp.Compare(b.At, a.At) }
	for i, l := range slices.SortedFunc(slices.Values(p.ch.Uprights), right) {
		x, y := p.across(l.At), p.top-0.4-lineHeight*float64(i)
		p.line("upright", x, y, x, p.bottom)
		p.text("soft", max(0, min(x, p.width-measure(l.Name))), y, "start", l.Name, p.width)
	}
}

// label is a name right of lines, at the end of one.
type label struct {
	class     string
	lines     []string
	end       point // of the line
	y, height float64
}

// lines draws lines and signs over X, with their names beside them.
func (p *plot) lines() {
	const gutter, leastHeight = 1.4, 14.0
	all := slices.Clip(p.ch.Series)
	for _, l := range p.ch.Levels {
		ends := []report.Point{{X: p.xs.from, Y: l.At}, {X: p.xs.to, Y: l.At}}
		all = append(all, report.Series{Name: l.Name, Points: ends, Tone: report.Bad, Dashed: true})
	}
	var labels []*label
	colour, room, names, height := 0, 0.36*p.width, 1.0, leastHeight/2
	for _, s := range all {
		if !s.Dashed || colour == 0 { // one that is dashed has the colour of the line before it
			colour++
		}
		l := &label{class: cmp.Or(tones[s.Tone], "s"+strconv.Itoa((colour-1)%8+1))}
		if s.Dashed {
			l.class += " dashed"
		}
		if s.Name != "" {
			l.lines = wrap(s.Name, room)
		}
		for _, line := range l.lines {
			names = max(names, gutter+1.1*min(room, measure(line)))
			l.height += lineHeight
		}
		labels = append(labels, l)
		height += l.height
	}
	for _, t := range p.ys.ticks {
		p.left = max(p.left, 0.6+measure(t.Name))
	}
	p.right, p.bottom = p.width-names, p.top+max(leastHeight, height)
	p.back()
	last := math.Inf(1)
	for _, t := range p.ys.ticks {
		if y := p.up(t.At); y < last {
			p.line("grid", p.left, y, p.right, y)
			p.text("soft", p.left-0.5, y+0.35, "end", t.Name, p.width)
			last = y - 1.4
		}
	}
	for i, l := range labels {
		l.end = p.series(all[i], l.class, [...]string{dot, diamond, triangle, cross}[i%4])
		l.y = l.end.y - l.height/2
	}
	spread(labels, p.top-0.4, p.bottom+0.4)
	for _, l := range labels {
		for i, line := range l.lines {
			p.text("name "+l.class, p.right+gutter, l.y+lineHeight*float64(i)+0.95, "start", line, room)
		}
		if len(l.lines) > 0 && l.end != (point{}) {
			p.line("lead "+l.class, l.end.x+0.3, l.end.y, p.right+gutter-0.3, l.y+l.height/2)
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
func (p *plot) series(s report.Series, class, sign string) (end point) {
	few := len(s.Points) > 2 && len(s.Points) <= 12
	var run, band []point
	flush := func() {
		if n := len(run); n > 1 && s.Area {
			band = append(run[:n:n], point{run[n-1].x, p.bottom}, point{run[0].x, p.bottom})
		}
		if len(band) > 2 {
			p.path("area "+class, "Z", band...)
		}
		if len(run) > 1 {
			p.path("curve "+class, "", run...)
		}
		for _, at := range run {
			if len(run) == 1 || few && !s.Area {
				p.sign(class, at.x, at.y, small)
			}
		}
		run, band = nil, nil
	}
	for _, v := range s.Points {
		if !known(v.Y) {
			flush()
			continue
		}
		end = point{p.across(v.X), p.up(v.Y)}
		low, high := point{end.x, p.up(v.Low)}, point{end.x, p.up(v.High)}
		switch {
		case v.Low < v.High && (s.Signs || few):
			p.path("reach "+class, "", low, high)
		case v.Low < v.High: // there and back again
			band = slices.Insert(band, len(band)/2, high, low)
		}
		if s.Signs {
			p.sign(class, end.x, end.y, sign)
		} else {
			run = append(run, end)
		}
	}
	flush()
	return end
}

// rows draws a row a series: its name and its text, and what it has below these.
func (p *plot) rows() {
	p.left, p.right, p.bottom = 0.4, p.width-0.4, p.top
	before := p.String()
	p.Reset()
	for _, s := range p.ch.Series {
		if s.Group != "" {
			p.bottom += 0.6 + lineHeight
			p.text("group", 0, p.bottom-0.4, "start", s.Group, p.width/1.1)
		}
		text := min(measure(s.Text), 0.5*p.width)
		p.text("value", p.width, p.bottom+0.95, "end", s.Text, text)
		name := map[bool]string{true: "✗ "}[s.Tone == report.Bad] + s.Name
		for _, line := range wrap(name, p.width-text-2) {
			p.text("row "+tones[s.Tone], 0, p.bottom+0.95, "start", line, p.width-text-2)
			p.bottom += lineHeight
		}
		p.row(s, p.bottom+0.75)
		p.bottom += 1.9
	}
	front := p.String()
	p.Reset()
	p.WriteString(before)
	if p.back(); p.ch.Kind == report.Changes {
		x := p.across(noChange(p.ch.X))
		p.line("zero", x, p.top, x, p.bottom)
	}
	p.WriteString(front)
}

// row draws what a row has, in its middle.
func (p *plot) row(s report.Series, y float64) {
	tone := cmp.Or(tones[s.Tone], "s1")
	for _, v := range s.Points {
		low, x, high := p.across(v.Low), p.across(v.X), p.across(v.High)
		switch p.ch.Kind {
		case report.Lanes:
			p.rect("lane "+tone, low, y-0.6, max(high, low+0.15), y+0.6)
		case report.Bars:
			if known(v.X) {
				p.rect("bar "+tone, p.left, y-0.5, x, y+0.5)
			}
			p.reach("interval", v.Low, v.High, y)
		case report.Spans:
			if p.reach("reach "+tone, v.X, v.High, y); known(v.X) && known(v.Low) {
				p.line("span "+tone, low, y, x, y)
			}
			p.value("from "+tone, v.Low, y, dot)
			p.value(tone, v.X, y, dot)
		case report.Changes:
			p.reach("reach "+tone, v.Low, v.High, y)
			p.value(tone, v.X, y, [...]string{diamond, dot, triangle, cross}[s.Tone])
		}
	}
	if x := p.across(s.Bound); s.Bound > 0 {
		p.line("bound", x, y-0.7, x, y+0.7)
	}
}

// reach draws an interval with its ends.
func (p *plot) reach(class string, low, high, y float64) {
	if low < high && known(low) {
		p.line(class, p.across(low), y, p.across(high), y)
		p.value(class, low, y, stop)
		p.value(class, high, y, stop)
	}
}

// value draws a sign at v, or an arrow where that lies outside the scale.
func (p *plot) value(class string, v, y float64, sign string) {
	switch {
	case v > p.xs.to:
		sign = more
	case v < p.xs.from:
		sign = less
	}
	if !math.IsNaN(v) {
		p.sign(class, p.across(v), y, sign)
	}
}
