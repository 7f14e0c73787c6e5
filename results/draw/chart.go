package draw

// Charts: one canvas, for a wide page, for a narrow one and for a file.

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/report"
)

// How wide charts are. All lengths are in the size of letters.
const wideChart, narrowChart, fileChart = 64.0, 28.0, 40.0

//go:embed chart.css
var chartStyle string

// tones are the CSS classes of a report.Tone, and toneSigns what stands for one beside its colour.
var tones, toneSigns = [...]string{"", "good", "warn", "bad"}, [...]string{diamond, dot, triangle, cross}

// SVG writes a chart as a file. Its letters are large enough to be read on a telephone, its colours follow the reader's
// theme, and it needs no font, script or other file. It fails with the error of w.
func SVG(w io.Writer, ch *report.Chart) error {
	p := &plot{width: fileChart, y: 2.9, ch: ch}
	p.draw()
	p.text("title", 0, 2.3, "start", ch.Title, fileChart/1.5)
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
	ch                                 *report.Chart
	width, y, left, right, top, bottom float64
	xs, ys                             scale
}

func (p *plot) across(v float64) float64 { return p.left + (p.right-p.left)*p.xs.at(v) }
func (p *plot) up(v float64) float64     { return p.bottom - (p.bottom-p.top)*p.ys.at(v) }

// draw draws the chart from y on.
func (p *plot) draw() {
	p.scales()
	p.y = p.paragraph("soft", 0, p.y, "start", p.ch.Y.Name, p.width) + 0.8 + lineHeight*float64(len(p.ch.Uprights))
	p.left, p.right, p.top, p.bottom = 0.4, p.width-0.4, p.y, p.y
	if p.ch.Kind == report.Lines {
		p.lines()
	} else {
		p.rows()
	}
	p.y = p.paragraph("soft", (p.left+p.right)/2, p.bottom+1.7, "middle", p.ch.X.Name, p.right-p.left) + 0.4
}

// scales makes those on which all that is drawn has a place.
func (p *plot) scales() {
	var xs, ys []float64
	for _, l := range p.ch.Uprights {
		xs = append(xs, l.At)
	}
	for _, s := range p.ch.Series {
		for _, v := range s.Points {
			if xs, ys = append(xs, v.X), append(ys, v.Y, v.Low, v.High); p.ch.Kind != report.Lines {
				xs = append(xs, v.Low, v.High, s.Bound)
			}
		}
	}
	p.xs, p.ys = newScale(p.ch.X, xs), newScale(p.ch.Y, ys)
	if p.ch.Kind == report.Changes { // one row that takes ten times as long would make all others look unchanged
		p.xs.Log, p.xs.from, p.xs.to = false, max(p.xs.from, 0.5), min(p.xs.to, 2)
	}
}

// back draws what is behind a chart, the lines across it with their names above, and its ticks along the bottom.
func (p *plot) back() {
	p.part("shade", 0, p.ch.Shade, (p.top+p.bottom)/2, (p.bottom-p.top)/2, "")
	end := math.Inf(-1)
	for _, t := range p.xs.ticks(min(7, p.width/5)) {
		x, half := p.across(t.At), measure(t.Name)/2
		if at := min(max(x, half), p.width-half); at-half > end {
			p.path("grid", x, p.top, x, p.bottom)
			p.text("soft", at, p.bottom+1.3, "middle", t.Name, p.width)
			end = at + half + 0.6
		}
	}
	for i, l := range p.ch.Uprights { // no line crosses a name: that is right of its own, and higher than the next
		x, y := p.across(l.At), p.top-0.4-lineHeight*float64(len(p.ch.Uprights)-1-i)
		p.path("upright", x, y, x, p.bottom)
		p.text("soft", max(0, min(x, p.width-measure(l.Name))), y, "start", l.Name, p.width)
	}
}

// lines draws lines and signs over X, with their names beside them.
func (p *plot) lines() {
	const gutter, leastHeight = 1.4, 14.0
	type label struct {
		name, class  string
		x, y, height float64 // where the line ends, and of the name
	}
	ticks, labels := p.ys.ticks(6), make([]label, len(p.ch.Series))
	room, names, height, colours := 0.36*p.width, 1.0, 0.0, map[bool]int{}
	for i, s := range p.ch.Series {
		colours[s.Dashed] = colours[s.Dashed]%8 + 1
		lines := wrap(s.Name, room)
		for _, line := range lines {
			names = max(names, gutter+1.1*measure(line))
		}
		labels[i] = label{name: s.Name, class: cmp.Or(tones[s.Tone], fmt.Sprint("s", colours[s.Dashed])),
			height: lineHeight * float64(len(lines))}
		height += labels[i].height
	}
	for _, t := range ticks {
		p.left = max(p.left, 0.6+measure(t.Name))
	}
	p.right, p.bottom = p.width-names, p.top+max(leastHeight, leastHeight/2+height)
	p.back()
	for _, t := range ticks {
		p.path("grid", p.left, p.up(t.At), p.right, p.up(t.At))
		p.text("soft", p.left-0.5, p.up(t.At)+0.35, "end", t.Name, p.width)
	}
	for i, s := range p.ch.Series {
		labels[i].x, labels[i].y = p.series(s, labels[i].class)
	}
	// Each name stands beside the end of its line, or as near as those before and after it leave room.
	slices.SortStableFunc(labels, func(a, b label) int { return cmp.Compare(a.y-a.height/2, b.y-b.height/2) })
	from := p.top - 0.4
	for _, l := range labels {
		top := max(from, min(l.y-l.height/2, p.bottom+0.4-height))
		from, height = top+l.height, height-l.height
		p.paragraph("name "+l.class, p.right+gutter, top, "start", l.name, room)
		if l.height > 0 && l.x > 0 {
			p.path("lead "+l.class, l.x+0.3, l.y, p.right+gutter-0.3, top+l.height/2)
		}
	}
}

// series draws a line through points, broken where one is not known, or a sign at each, and returns where it ends.
func (p *plot) series(s report.Series, class string) (x, y float64) {
	const few = 12 // points, which are shown
	sign := map[bool]string{false: small, true: toneSigns[s.Tone]}[s.Signs]
	each := s.Signs || len(s.Points) <= few && !s.Dashed
	banded := slices.ContainsFunc(s.Points, func(v report.Point) bool { return v.Low < v.High })
	var line, band []float64
	for _, v := range append(slices.Clip(s.Points), report.Point{Y: math.NaN()}) {
		if has(p.ch.Y, v.Y) {
			x, y = p.across(v.X), p.up(v.Y)
			if line = append(line, x, y); banded { // there and back again
				band = slices.Insert(band, len(band)/2, x, p.up(v.High), x, p.up(v.Low))
			}
			if each {
				p.sign(class, x, y, sign)
			}
			continue
		}
		if p.path("area "+class, band...); !s.Signs {
			p.path(map[bool]string{true: "dashed "}[s.Dashed]+"curve "+class, line...)
		}
		if len(line) == 2 {
			p.sign(class, x, y, sign)
		}
		line, band = nil, nil
	}
	return x, y
}

// rows draws a row a series: its name and its text, and what it has below these.
func (p *plot) rows() {
	for _, s := range p.ch.Series {
		if s.Group != "" {
			p.bottom = p.paragraph("group", 0, p.bottom+0.6, "start", s.Group, p.width/1.1)
		}
		name, text := map[bool]string{true: "✗ "}[s.Tone == report.Bad]+s.Name, min(measure(s.Text), 0.6*p.width)
		p.text("value", p.width, p.bottom+0.95, "end", s.Text, text)
		below := p.paragraph("row "+tones[s.Tone], 0, p.bottom, "start", name, p.width-text-2)
		p.bottom = max(below, p.bottom+lineHeight) + 1.9
		p.row(s, p.bottom-1.15)
	}
	front := p.String()
	p.Reset()
	p.back()
	p.WriteString(front)
}

// row draws what a row has, in its middle.
func (p *plot) row(s report.Series, y float64) {
	tone := cmp.Or(tones[s.Tone], "s1")
	for _, v := range s.Points {
		switch p.ch.Kind {
		case report.Lanes:
			p.part("lane "+tone, v.Low, v.High, y, 0.6, "")
		case report.Bars:
			p.part("bar "+tone, 0, v.X, y, 0.5, "")
			p.part("interval", v.Low, v.High, y, 0, stop)
		case report.Spans:
			p.part("reach "+tone, v.X, v.High, y, 0, stop)
			p.part("span "+tone, v.Low, v.X, y, 0.2, "")
			p.part("from "+tone, v.Low, v.Low, y, 0, dot)
			p.part(tone, v.X, v.X, y, 0, dot)
		case report.Changes:
			p.part("reach "+tone, v.Low, v.High, y, 0, stop)
			p.part(tone, v.X, v.X, y, 0, toneSigns[s.Tone])
		}
	}
	if x := p.across(s.Bound); s.Bound > 0 {
		p.path("bound", x, y-0.7, x, y+0.7)
	}
}

// part draws a bar, which can be seen however short it is; or, if it has no height, a line with a sign at its ends, or
// an arrow where one lies outside the scale.
func (p *plot) part(class string, low, high, y, half float64, sign string) {
	if !(low <= high) || high == 0 || low == high && sign == stop {
		return // not known, or no interval
	}
	x, end := p.across(low), max(p.across(high), p.across(low)+0.15)
	p.path(class, x, y-half, end, y-half, end, y+half, x, y+half, x, y-half)
	for _, v := range slices.Compact([]float64{low, high}) {
		shape := sign
		if v > p.xs.to {
			shape = more
		} else if v < p.xs.from {
			shape = less
		}
		if sign != "" {
			p.sign(class, p.across(v), y, shape)
		}
	}
}
