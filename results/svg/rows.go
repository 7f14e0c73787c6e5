package svg

// Charts with a row a cell: names on the left, and beside them one panel or two of bars or spans.

import (
	"math"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/view"
)

const (
	barHeight   = 13.0
	lineHeight  = 18.0
	panelGap    = 26.0
	mostRows    = 40 // of a chart; loads beyond that are left to the table
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

// draw draws the section below what is there.
func (s section) draw(c *canvas) {
	left := 0.0
	for _, name := range s.names {
		left = max(left, measure(name, textSize))
	}
	left = min(left, 0.42*width)
	if len(s.panels) > 1 {
		left = min(left, 0.3*width)
	}
	var lines [][]string
	for i, name := range s.names {
		l := nameLines(name, left)
		if s.bad[i] {
			l = append(l, violated)
		}
		lines = append(lines, l)
	}
	if s.title != "" {
		c.y += 14
		c.paragraph("head", s.title)
	}
	each := (width - 2*margin - left - panelGap*float64(len(s.panels)) + panelGap - 14) / float64(len(s.panels))
	var frames []frame
	x := margin + left + 14
	for _, p := range s.panels {
		frames = append(frames, p.frame(x, each))
		x += each + panelGap
	}
	c.y += 10
	heads := make([][]string, len(frames))
	most := 0
	for i, f := range frames {
		if f.head != "" {
			heads[i] = wrapAt(f.head, each, textSize*bold)
		}
		most = max(most, len(heads[i]))
	}
	for i, f := range frames {
		for n, line := range heads[i] {
			c.text("head", f.x-f.before, c.y+float64(most-len(heads[i])+n+1)*20-5, start, line)
		}
	}
	c.y += float64(most) * 20
	for _, caption := range []func(frame, *canvas) bool{frame.upLabel, frame.endLabels} {
		any := false
		for _, f := range frames {
			any = caption(f, c) || any
		}
		if any {
			c.y += 18
		}
	}
	top := c.y
	bottom := top + 4
	for _, l := range lines {
		bottom += rowHeight(l)
	}
	for _, f := range frames {
		f.grid(c, top, bottom)
	}
	y := top + 4
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
	return frame{p, x + before, width, before}
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
func apart(s plot.Scale, width, distance float64) []plot.Tick {
	for n := len(s.Ticks); n > 1; n-- {
		t := s.Thin(n).Ticks
		if !slices.ContainsFunc(pairs(t), func(p [2]plot.Tick) bool {
			return width*(p[1].At-p[0].At) < (measure(p[0].Label, textSize)+measure(p[1].Label, textSize))/2+distance
		}) {
			return t
		}
	}
	return s.Thin(1).Ticks
}

func pairs(t []plot.Tick) (all [][2]plot.Tick) {
	for i := range t[1:] {
		all = append(all, [2]plot.Tick{t[i], t[i+1]})
	}
	return all
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
		right = max(right, x)
	}
	c.text("value", right+6, y+5, start, m.label)
}

// chosen returns the groups of a run that a chart has room for, as they are, and how many are left out.
func chosen(v *view.Run, has func(*results.Cell) bool) (groups []view.Group, left int) {
	rows := 0
	for _, g := range v.Groups {
		g = having(g, has)
		if len(g.Cells) == 0 {
			continue
		}
		if rows += len(g.Cells); len(groups) > 0 && rows > mostRows {
			left++
			continue
		}
		groups = append(groups, g)
	}
	return groups, left
}

// having returns the cells of g of which a figure is known.
func having(g view.Group, has func(*results.Cell) bool) view.Group {
	kept := view.Group{Title: g.Title}
	for i, c := range g.Cells {
		if has(c) && len(kept.Cells) < mostPerLoad {
			kept.Cells, kept.Names, kept.Index = append(kept.Cells, c), append(kept.Names, g.Names[i]), append(kept.Index, g.Index[i])
		}
	}
	return kept
}

// stacked draws groups below one another.
func stacked(groups []view.Group, order func(view.Group) []int, panels func(view.Group, []int) panel) (all []section) {
	for _, g := range groups {
		s := section{title: g.Title}
		at := order(g)
		for _, i := range at {
			s.name(g.Names[i], g.Cells[i].Violated())
		}
		s.panels = []panel{panels(g, at)}
		all = append(all, s)
	}
	return all
}

// beside draws two groups with the same names side by side, and others below one another.
func beside(groups []view.Group, order func(view.Group) []int, panels func(view.Group, []int) panel) []section {
	if len(groups) == 2 && sameNames(groups[0], groups[1]) {
		s := section{}
		first := order(groups[0])
		for _, i := range first {
			s.name(groups[0].Names[i], groups[0].Cells[i].Violated() || groups[1].Cells[slices.Index(groups[1].Names, groups[0].Names[i])].Violated())
		}
		for _, g := range groups {
			at := make([]int, len(first))
			for row, name := range s.names {
				at[row] = slices.Index(g.Names, name)
			}
			p := panels(g, at)
			p.head = g.Title
			s.panels = append(s.panels, p)
		}
		return []section{s}
	}
	return stacked(groups, order, panels)
}

func sameNames(a, b view.Group) bool {
	x, y := slices.Clone(a.Names), slices.Clone(b.Names)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// best returns the order of rivals by a figure, the greatest first and those that broke exclusion last; others stay as they were
// run.
func best(v *view.Run, figure func(*results.Cell) float64) func(view.Group) []int {
	return func(g view.Group) []int {
		if v.Rivals || len(v.Cells) == 1 {
			return g.Sorted(func(c *results.Cell) float64 {
				if c.Violated() {
					return math.NaN()
				}
				return figure(c)
			})
		}
		return g.Sorted(func(*results.Cell) float64 { return 0 })
	}
}
