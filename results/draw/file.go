package draw

// Pictures as SVG files, for a page that shows them as images: README files, issues, slides.

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

const (
	width  = 600.0
	margin = 16.0
	shown  = 1.15 // times its width is how large a file is shown where there is room

	lineStep = 20.0 // between two lines of text
)

// SVG writes a picture as a file. It is 600 units wide, and its letters are 15 of these high or more, so that it can be read on a
// telephone. Its colours follow the reader's theme (prefers-color-scheme), it brings its own background, and it needs no font, script
// or other file. The same picture makes the same bytes. It fails with the error of w, to which it writes once.
func SVG(w io.Writer, p *report.Picture) error {
	if p == nil {
		return errors.New("draw: no picture")
	}
	c := canvas{y: 12}
	for _, line := range wrapAt(p.Title, " ", width-2*margin, titleSize*boldWidth) {
		c.y += 26
		c.text("title", margin, c.y-5, start, line)
	}
	for _, text := range p.About {
		c.paragraph("soft", text)
	}
	if len(p.Rows) > 0 {
		c.rows(p.Rows)
	} else {
		c.panels(p.Chart)
	}
	c.notes(p)
	if _, err := io.WriteString(w, c.file(p)); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

// canvas is a file that grows downwards.
type canvas struct {
	strings.Builder
	y float64 // where the next part begins
}

func (c *canvas) text(class string, x, y float64, anchor, s string) {
	whole := c.drawing(0, 0, 1, 0)
	whole.text(class, 0, x, y, anchor, s)
	c.draw(whole)
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	whole := c.drawing(0, 0, 1, 0)
	whole.line(class, x1, y1, x2, y2)
	c.draw(whole)
}

// drawing returns a plot with its place.
func (c *canvas) drawing(left, top, width, height float64) *drawing {
	return &drawing{left: left, top: top, width: width, height: height}
}

// draw adds a plot.
func (c *canvas) draw(d *drawing) { c.WriteString(strings.ReplaceAll(d.String(), "><", ">\n<") + "\n") }

// paragraph writes text below the last part, as many lines as it takes.
func (c *canvas) paragraph(class, text string) {
	if text == "" {
		return
	}
	for _, line := range wrap(text, width-2*margin) {
		c.y += lineStep
		c.text(class, margin, c.y-5, start, line)
	}
}

// notes explains the badges of the rows, by their signs, and says the rest below.
func (c *canvas) notes(p *report.Picture) {
	all := badgesOf(p.Rows)
	if len(all)+len(p.Notes) > 0 {
		c.y += 8
	}
	for i, b := range all {
		c.paragraph("soft", badgeSigns[i%len(badgeSigns)]+" "+b.About)
	}
	for _, text := range p.Notes {
		c.paragraph("soft", text)
	}
}

// badgeSigns stand for the badges of a file behind the figures.
var badgeSigns = []string{"*", "†", "‡", "§", "¶", "‖", "#", "◊", "△"}

// badgesOf returns the badges of rows that are told by a sign: those that are bad have their word below the name.
func badgesOf(groups []report.Intervals) (all []report.Badge) {
	for _, g := range groups {
		for _, r := range g.Rows {
			for _, b := range r.Badges {
				if b.Tone != report.Bad && !slices.Contains(all, b) {
					all = append(all, b)
				}
			}
		}
	}
	return all
}

// file returns what is drawn as a file.
func (c *canvas) file(p *report.Picture) string {
	height := c.y + 14
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" aria-labelledby="t d">`+"\n",
		px(shown*width), px(shown*height), px(width), px(height))
	fmt.Fprintf(&b, "<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n", html.EscapeString(format.Line(p.Title)), html.EscapeString(format.Line(p.Alt)))
	fmt.Fprintf(&b, "<style>\n%s%s%s</style>\n", mustRead("colours.css"), mustRead("charts.css"), mustRead("file.css"))
	b.WriteString(`<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
		`<rect class="hatch-back" width="6" height="6"/><line class="hatch-line" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>` + "\n")
	fmt.Fprintf(&b, `<rect class="page" width="%s" height="%s" rx="6"/>`+"\n%s</svg>\n", px(width), px(height), c.String())
	return b.String()
}

// Lines.

const (
	plotHeight = 190.0
	labelStep  = 18.0 // between two lines of a name
	labelGap   = 24.0 // from the end of a line to its name
)

// panels draws a chart, its panels below one another with their axes in line.
func (c *canvas) panels(chart report.Chart) {
	x := scaleOf(chart.X, 5)
	left, right := 0.0, 0.0
	for _, p := range chart.Panels {
		for _, t := range scaleOf(p.Y, 5).ticks {
			left = max(left, measure(t.label, textSize))
		}
		for _, s := range p.Series {
			for _, line := range seriesName(s) {
				if line != "" {
					right = max(right, labelGap+measure(line, textSize*boldWidth))
				}
			}
		}
	}
	if n := len(x.ticks); n > 0 {
		right = max(right, measure(x.ticks[n-1].label, textSize)/2)
	}
	left += margin + 10
	wide := width - margin - right - left
	x.ticks = ticksApart(x, wide, 12)
	for _, p := range chart.Panels {
		c.panel(chart, p, x, left, wide)
	}
	if chart.Across != "" {
		c.y += lineStep
		c.text("soft", left+wide/2, c.y-3, middle, chart.Across)
	}
	c.y += 8
}

// panel draws one that begins at left, so wide.
func (c *canvas) panel(chart report.Chart, p report.Panel, x scale, left, wide float64) {
	c.y += 14
	c.paragraph("head", p.Head)
	c.y += 8
	names := 0.0
	for _, s := range p.Series {
		names += nameHeight(s)
	}
	d := c.drawing(left, c.y, wide, max(names, plotHeight))
	y := scaleOf(p.Y, 5)
	y.ticks = upTicks(y, d.height)
	drawn, ends := d.plot(chart, p, x, y)
	d.line("base", 0, d.height, 1, d.height)
	var heights []float64
	for i, s := range drawn {
		heights, ends[i] = append(heights, nameHeight(s)), ends[i]+d.top
	}
	c.draw(d)
	right := left + wide
	for i, at := range spread(ends, heights, d.top+4, d.top+d.height+0.7*labelStep) {
		s := drawn[i]
		if s.Name == "" {
			continue
		}
		c.line("lead "+classOf(s), right+5, ends[i], right+labelGap-4, at)
		for n, line := range seriesName(s) {
			c.text("label "+classOf(s), right+labelGap, at+5+labelStep*float64(n), start, line)
		}
	}
	c.y += d.height + 24
}

// seriesName is what stands at the end of a line, on two lines if it is long.
func seriesName(s report.Series) []string { return nameLines(s.Name, 0.33*width) }

func nameHeight(s report.Series) float64 { return labelStep * float64(len(seriesName(s))) }

// upTicks are those whose labels have room above one another.
func upTicks(s scale, high float64) []tick {
	for n := len(s.ticks); n > 2; n-- {
		if t := s.thin(n).ticks; len(t) < 2 || high*(t[1].at-t[0].at) >= 26 {
			return t
		}
	}
	return s.ticks
}

// ticksApart leaves out ticks until the labels are some distance from each other.
func ticksApart(s scale, wide, distance float64) []tick {
	for n := len(s.ticks); n > 0; n-- {
		kept := s.thin(n).ticks
		if !slices.ContainsFunc(pairs(kept), func(two [2]tick) bool {
			return wide*(two[1].at-two[0].at) < (measure(two[0].label, textSize)+measure(two[1].label, textSize))/2+distance
		}) {
			return kept
		}
	}
	return nil
}

// pairs returns neighbours.
func pairs[T any](list []T) (all [][2]T) {
	for i := 1; i < len(list); i++ {
		all = append(all, [2]T{list[i-1], list[i]})
	}
	return all
}

// Rows: names on the left, and beside them one plot or two.

const (
	panelGap = 26.0
	nameGap  = 14.0 // between the names and the first plot
)

// rowBlock is rows with the same names in all plots.
type rowBlock struct {
	title string
	plots []report.Intervals
}

// rows draws intervals below one another; two that have the same names stand beside each other.
func (c *canvas) rows(all []report.Intervals) {
	blocks := rowBlocks(all)
	left := 0.0
	for _, r := range rowsOf(blocks) {
		left = max(left, measure(r.Name, textSize))
	}
	if len(blocks[0].plots) > 1 {
		left = min(left, 0.3*width)
	}
	left = min(left, 0.42*width)
	frames := make([][]frame, len(blocks))
	badges := badgesOf(all)
	for i, b := range blocks {
		n := float64(len(b.plots))
		each := (width - 2*margin - left - nameGap - panelGap*(n-1)) / n
		for at, p := range b.plots {
			frames[i] = append(frames[i], newFrame(p, badges, margin+left+nameGap+(each+panelGap)*float64(at), each))
		}
	}
	if all[0].Axis.Log { // it is the axis of all
		x, right := 0.0, width
		for _, f := range frames {
			x, right = max(x, f[0].x), min(right, f[0].x+f[0].width)
		}
		for _, f := range frames {
			f[0].before += x - f[0].x
			f[0].x, f[0].width = x, right-x
		}
	}
	for i, b := range blocks {
		c.block(b, frames[i], left)
	}
}

// rowBlocks puts two with the same names beside each other, in the order of the first.
func rowBlocks(all []report.Intervals) (blocks []rowBlock) {
	if len(all) == 2 {
		second := all[1]
		second.Rows = nil
		for _, r := range all[0].Rows {
			if i := slices.IndexFunc(all[1].Rows, func(other report.Interval) bool { return other.Name == r.Name }); i >= 0 {
				second.Rows = append(second.Rows, all[1].Rows[i])
			}
		}
		if len(second.Rows) == len(all[0].Rows) && len(second.Rows) == len(all[1].Rows) {
			return []rowBlock{{"", []report.Intervals{all[0], second}}}
		}
	}
	for _, one := range all {
		blocks = append(blocks, rowBlock{one.Title, []report.Intervals{one}})
	}
	return blocks
}

func rowsOf(blocks []rowBlock) (all []report.Interval) {
	for _, b := range blocks {
		all = append(all, b.plots[0].Rows...)
	}
	return all
}

// block draws rows below what is there, with their names, which end at left.
func (c *canvas) block(b rowBlock, frames []frame, left float64) {
	if b.title != "" {
		c.y += 14
		c.paragraph("head", b.title)
	}
	c.y += 10
	if len(frames) > 1 {
		c.heads(frames)
	}
	for _, caption := range []func(frame, *canvas) bool{frame.upright, frame.ends} {
		any := false
		for _, f := range frames {
			any = caption(f, c) || any
		}
		if any {
			c.y += 18
		}
	}
	y := c.y + 4
	bottom := y
	var names [][]string
	for i, r := range b.plots[0].Rows {
		lines := nameLines(r.Name, left)
		if word := badWord(b.plots, i); word != "" {
			lines = append(lines, word)
		}
		names = append(names, lines)
		bottom += rowRoom(lines)
	}
	for _, f := range frames {
		f.grid(c, c.y, bottom)
	}
	for i, lines := range names {
		room := rowRoom(lines)
		for n, line := range lines {
			class := "name"
			if n == len(lines)-1 && line == badWord(b.plots, i) {
				class = "worse"
			}
			c.text(class, margin+left, y+room/2+5+labelStep*(float64(n)-float64(len(lines)-1)/2), end, line)
		}
		for _, f := range frames {
			f.row(c, f.Rows[i], y, room)
		}
		y += room
	}
	c.y = bottom + 24
}

func rowRoom(name []string) float64 { return max(28, labelStep*float64(len(name))+8) }

// badWord is the badge of a row that says that it is bad, in whichever of its plots.
func badWord(plots []report.Intervals, row int) string {
	for _, p := range plots {
		for _, b := range p.Rows[row].Badges {
			if b.Tone == report.Bad {
				return b.Text
			}
		}
	}
	return ""
}

// heads writes above each plot what it shows; the last lines are in line.
func (c *canvas) heads(frames []frame) {
	all := make([][]string, len(frames))
	most := 0
	for i, f := range frames {
		if f.Title != "" {
			all[i] = wrapAt(f.Title, " ", f.all, textSize*boldWidth)
		}
		most = max(most, len(all[i]))
	}
	for i, f := range frames {
		for n, line := range all[i] {
			c.text("head", f.x-f.before, c.y+float64(most-len(all[i])+n+1)*lineStep-5, start, line)
		}
	}
	c.y += float64(most) * lineStep
}

// frame is a plot with its place.
type frame struct {
	report.Intervals
	scale
	badges   []report.Badge
	x, width float64 // of the scale
	before   float64 // room for labels left of it
	all      float64 // with the room beside it
}

// newFrame makes the scale as wide as the labels beside the rows leave room for.
func newFrame(p report.Intervals, badges []report.Badge, x, all float64) frame {
	const dot = 6.0
	f := frame{Intervals: p, scale: rowScale(p), badges: badges, all: all}
	behind, half := 0.0, 0.0
	for _, r := range p.Rows {
		behind = max(behind, f.labelWidth(r))
	}
	if n := len(f.ticks); n > 0 {
		half = measure(f.ticks[n-1].label, textSize) / 2
	}
	narrow := all - behind - half
	for range 2 { // the scale is at least so wide that it gives the rows as much room on their left
		left := 0.0
		for _, r := range p.Rows {
			if p.Look == report.Spans && known(r.Low) {
				left = max(left, dot+measure(r.Ends[0], textSize)+8-narrow*f.at(r.Low))
			}
		}
		f.before, narrow = left, max(narrow-left, 0.3*all)
	}
	f.x, f.width = x+f.before, all-f.before-half
	for _, r := range p.Rows {
		if at := f.at(f.endOf(r)); at > 0 {
			f.width = min(f.width, (all-f.before-f.labelWidth(r))/at)
		}
	}
	return f
}

// endOf returns the greatest value that is drawn of a row.
func (f frame) endOf(r report.Interval) float64 {
	most := r.Bound
	for _, v := range []float64{r.Low, r.Mid, r.High} {
		if known(v) {
			most = max(most, v)
		}
	}
	return most
}

// label is the value of a row with the signs of its badges.
func (f frame) label(r report.Interval) string {
	text := cmp.Or(r.Ends[1], r.Value)
	for _, b := range r.Badges {
		if i := slices.Index(f.badges, b); i >= 0 {
			text += badgeSigns[i%len(badgeSigns)]
		}
	}
	return text
}

func (f frame) labelWidth(r report.Interval) float64 {
	if label := f.label(r); label != "" {
		return measure(label, textSize) + 12
	}
	return 6
}

func (f frame) place(v float64) float64 { return f.x + f.width*f.at(v) }

// ends says above the rows what the ends of the first span are, and reports whether there is one.
func (f frame) ends(c *canvas) bool {
	if f.Ends[0] == "" || len(f.Rows) == 0 {
		return false
	}
	left, right := f.place(f.Rows[0].Low), f.place(f.Rows[0].Mid)
	first, second := f.Ends[0], f.Ends[1]
	if right < left {
		left, right, first, second = right, left, second, first
	}
	// The two face away from each other, for their ends may be near.
	room := f.x - f.before + measure(first, textSize)
	c.text("soft", max(left+5, room), c.y+13, end, first)
	c.text("soft", max(right-5, left+13, room+8), c.y+13, start, second)
	return true
}

// upright says above the rows what the line across them is, and reports whether there is one.
func (f frame) upright(c *canvas) bool {
	name := f.Upright.Name
	if name == "" {
		return false
	}
	x := f.place(f.Upright.At)
	if x-measure(name, textSize)/2 < f.x-f.before {
		c.text("soft", x, c.y+13, start, name)
		return true
	}
	c.text("soft", x+min(measure(name, textSize)/2, width-margin-x), c.y+13, end, name)
	return true
}

func (f frame) grid(c *canvas, top, bottom float64) {
	f.ticks = ticksApart(f.scale, f.width, 10)
	d := c.drawing(f.x, top, f.width, bottom-top)
	d.axisX(f.scale)
	if !f.log {
		d.line("base", 0, 0, 0, d.height)
	}
	c.draw(d)
}

// row draws a row in its place, with its labels.
func (f frame) row(c *canvas, r report.Interval, top, room float64) {
	y := top + room/2 + 5
	if !known(r.Mid) && !known(r.Low) {
		c.text("soft", f.x+8, y, start, f.label(r))
		return
	}
	d := c.drawing(f.x, top, f.width, room)
	d.row(f.Intervals, r, f.scale)
	c.draw(d)
	right := f.x
	for _, v := range []float64{r.Low, r.Mid, r.High} {
		if known(v) {
			right = max(right, f.place(v))
		}
	}
	if f.Look == report.Spans {
		left := right
		for _, v := range []float64{r.Low, r.Mid} {
			if known(v) {
				left = min(left, f.place(v))
			}
		}
		c.text("value", left-9, y, end, r.Ends[0])
		right += 4
	}
	if x := f.place(r.Bound); r.Bound > 0 && x < right+12+measure(f.label(r), textSize) { // there is no room for the label before it
		right = max(right, x)
	}
	c.text("value", right+6, y, start, f.label(r))
}
