package svg

// Charts with a row a cell: names on the left, and beside them one panel or two of bars or spans.

import (
	"math"

	"github.com/lockbench/lockbench/results/plot"
)

const (
	barHeight   = 13.0
	lineHeight  = 18.0
	panelGap    = 26.0
	nameGap     = 14.0 // between the names and the first panel
	mostRows    = 40   // of a chart; loads beyond that are left to the table
	mostPerLoad = 24
)

// panel is a scale beside the names, with a mark in each row.
type panel struct {
	head      string
	scale     plot.Scale
	marks     []mark // one a row
	bounds    bool   // the bounds of the marks are drawn
	upright   float64
	uprightIs string // what the upright line is, at that value of the scale; empty: there is none
	ends      [2]string
}

// mark is what a row has in a panel: a bar from the left edge to the value, or a span.
type mark struct {
	from, to  float64 // a span begins at from; NaN: it is a bar
	low, high float64 // of the trials; NaN: not known
	bound     float64 // what the keys alone let through; 0: not known
	bad       bool
	label     string // behind the mark
	before    string // before it
}

// section is rows with the same names in all panels.
type section struct {
	title  string
	names  []string
	bad    []bool // the cell broke exclusion
	panels []panel
}

// violated stands below the name of a cell that broke exclusion.
const violated = "violated"

func (s *section) name(name string, bad bool) {
	s.names, s.bad = append(s.names, name), append(s.bad, bad)
}

// drawAll draws sections below one another, with their names and scales in line.
func drawAll(c *canvas, all []section) {
	left := 0.0
	for _, s := range all {
		for _, name := range s.names {
			left = max(left, measure(name, textSize))
		}
	}
	left = min(left, 0.42*width)
	if len(all[0].panels) > 1 {
		left = min(left, 0.3*width)
	}
	frames := make([][]frame, len(all))
	for i, s := range all {
		n := float64(len(s.panels))
		each := (width - 2*margin - left - nameGap - panelGap*(n-1)) / n
		for at, p := range s.panels {
			frames[i] = append(frames[i], p.frame(margin+left+nameGap+(each+panelGap)*float64(at), each))
		}
	}
	if all[0].panels[0].scale.Log { // it is the scale of all sections
		x, end := 0.0, width
		for _, f := range frames {
			x, end = max(x, f[0].x), min(end, f[0].x+f[0].width)
		}
		for i, f := range frames {
			f[0].before += x - f[0].x
			frames[i][0].x, frames[i][0].width = x, end-x
		}
	}
	for i, s := range all {
		s.draw(c, left, frames[i])
	}
}

// draw draws the section below what is there.
func (s section) draw(c *canvas, left float64, frames []frame) {
	if s.title != "" {
		c.y += 14
		c.paragraph("head", s.title)
	}
	c.y += 10
	heads(c, frames)
	for _, caption := range []func(frame, *canvas) bool{frame.upLabel, frame.endLabels} {
		any := false
		for _, f := range frames {
			any = caption(f, c) || any
		}
		if any {
			c.y += 18
		}
	}
	s.rows(c, left, frames)
}

// heads writes above each panel what it shows; the last lines are in line.
func heads(c *canvas, frames []frame) {
	all := make([][]string, len(frames))
	most := 0
	for i, f := range frames {
		if f.head != "" {
			all[i] = wrapAt(f.head, " ", f.all, textSize*bold)
		}
		most = max(most, len(all[i]))
	}
	for i, f := range frames {
		for n, line := range all[i] {
			c.text("head", f.x-f.before, c.y+float64(most-len(all[i])+n+1)*20-5, start, line)
		}
	}
	c.y += float64(most) * 20
}

// rows draws the names, which end at left, and what stands beside each.
func (s section) rows(c *canvas, left float64, frames []frame) {
	var lines [][]string
	y := c.y + 4
	bottom := y
	for i, name := range s.names {
		l := nameLines(name, left)
		if s.bad[i] {
			l = append(l, violated)
		}
		lines = append(lines, l)
		bottom += rowHeight(l)
	}
	for _, f := range frames {
		f.grid(c, c.y, bottom)
	}
	for i, l := range lines {
		h := rowHeight(l)
		for n, line := range l {
			class := "name"
			if s.bad[i] && n == len(l)-1 {
				class = "worse"
			}
			c.text(class, margin+left, y+h/2+5+lineHeight*(float64(n)-float64(len(l)-1)/2), end, line)
		}
		for _, f := range frames {
			f.mark(c, f.marks[i], y+h/2)
		}
		y += h
	}
	for _, f := range frames {
		f.axis(c, bottom)
	}
	c.y = bottom + 24
}

func rowHeight(lines []string) float64 { return max(28, lineHeight*float64(len(lines))+8) }

// frame is a panel with its place.
type frame struct {
	panel
	x, width float64 // of the scale
	before   float64 // room for labels left of it
	all      float64 // with the room beside it
}

// frame makes the scale as wide as the labels beside the marks leave room for.
func (p panel) frame(x, all float64) frame {
	const dot = 6.0
	behind, half := 0.0, 0.0
	for _, m := range p.marks {
		behind = max(behind, m.labelWidth())
	}
	if n := len(p.scale.Ticks); n > 0 {
		half = measure(p.scale.Ticks[n-1].Label, textSize) / 2
	}
	before, narrow := 0.0, all-behind-half
	for range 2 { // the scale is at least so wide that it gives the marks as much room on their left
		left := 0.0
		for _, m := range p.marks {
			if !math.IsNaN(m.from) {
				left = max(left, dot+measure(m.before, textSize)+8-narrow*p.scale.At(min(m.from, m.to)))
			}
		}
		before, narrow = left, max(narrow-left, 0.3*all)
	}
	width := all - before - half
	for _, m := range p.marks {
		if at := p.scale.At(p.endOf(m)); at > 0 {
			width = min(width, (all-before-m.labelWidth())/at)
		}
	}
	return frame{p, x + before, width, before, all}
}

// endOf returns the greatest value that is drawn of a mark.
func (p panel) endOf(m mark) float64 {
	most := 0.0
	for _, v := range []float64{m.from, m.to, m.high} {
		if known(v) {
			most = max(most, v)
		}
	}
	if p.bounds {
		most = max(most, m.bound)
	}
	return most
}

func (m mark) labelWidth() float64 {
	if m.label == "" {
		return 6
	}
	return measure(m.label, textSize) + 12
}

func (f frame) at(v float64) float64 { return f.x + f.width*f.scale.At(v) }

// endLabels says above the rows what the ends of the first span are, and reports whether there is one.
func (f frame) endLabels(c *canvas) bool {
	if f.ends[0] == "" || len(f.marks) == 0 {
		return false
	}
	left, right := f.at(f.marks[0].from), f.at(f.marks[0].to)
	first, second := f.ends[0], f.ends[1]
	if right < left {
		left, right, first, second = right, left, second, first
	}
	// The two face away from each other, for their ends may be near.
	room := f.x - f.before + measure(first, textSize)
	c.text("soft", max(left+5, room), c.y+13, end, first)
	c.text("soft", max(right-5, left+13, room+8), c.y+13, start, second)
	return true
}

// upLabel says above the rows what the upright line is, and reports whether there is one.
func (f frame) upLabel(c *canvas) bool {
	if f.uprightIs == "" {
		return false
	}
	x := f.at(f.upright)
	if x-measure(f.uprightIs, textSize)/2 < f.x-f.before {
		c.text("soft", x, c.y+13, start, f.uprightIs)
		return true
	}
	c.text("soft", x+min(measure(f.uprightIs, textSize)/2, width-margin-x), c.y+13, end, f.uprightIs)
	return true
}

func (f frame) grid(c *canvas, top, bottom float64) {
	for _, t := range f.ticks() {
		c.line("grid", f.x+f.width*t.At, top, f.x+f.width*t.At, bottom)
	}
	if !f.scale.Log {
		c.line("base", f.x, top, f.x, bottom)
	}
	if f.uprightIs != "" {
		c.line("bound", f.at(f.upright), top-2, f.at(f.upright), bottom)
	}
}

func (f frame) axis(c *canvas, y float64) {
	for _, t := range f.ticks() {
		c.text("tick", f.x+f.width*t.At, y+17, middle, t.Label)
	}
}

// ticks are those of the scale whose labels do not touch.
func (f frame) ticks() []plot.Tick { return apart(f.scale, f.width, 10) }

// apart leaves out ticks until the labels are some distance from each other.
func apart(s plot.Scale, width, distance float64) (kept []plot.Tick) {
	for every := 1; every <= len(s.Ticks); every++ {
		kept = nil
		fits := true
		for i := 0; i < len(s.Ticks); i += every {
			t := s.Ticks[i]
			if n := len(kept); n > 0 {
				last := kept[n-1]
				fits = fits && width*(t.At-last.At) >= (measure(t.Label, textSize)+measure(last.Label, textSize))/2+distance
			}
			kept = append(kept, t)
		}
		if fits {
			break
		}
	}
	return kept
}

// mark draws what a row has in the panel.
func (f frame) mark(c *canvas, m mark, y float64) {
	look := ""
	if m.bad {
		look = " bad"
	}
	if !known(m.to) {
		c.text("soft", f.x+8, y+5, start, m.label)
		return
	}
	right := f.at(m.to)
	if math.IsNaN(m.from) {
		c.rect("bar"+look, f.x, y-barHeight/2, right, y+barHeight/2)
	} else {
		left := f.at(m.from)
		c.line("span"+look, left, y, right, y)
		c.dot("from"+look, left, y, 4.5)
		c.dot("to"+look, right, y, 5)
		c.text("value", min(left, right)-9, y+5, end, m.before)
		right = max(left, right) + 4
	}
	if m.low < m.high {
		c.line("range", f.at(m.low), y, f.at(m.high), y)
		c.line("range", f.at(m.low), y-4, f.at(m.low), y+4)
		c.line("range", f.at(m.high), y-4, f.at(m.high), y+4)
		right = max(right, f.at(m.high))
	}
	if f.bounds && m.bound > 0 {
		x := f.at(m.bound)
		c.line("bound", x, y-barHeight/2-3, x, y+barHeight/2+3)
		if x < right+12+measure(m.label, textSize) { // there is no room for the label before it
			right = max(right, x)
		}
	}
	c.text("value", right+6, y+5, start, m.label)
}
