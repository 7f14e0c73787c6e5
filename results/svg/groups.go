package svg

// Which cells come into a chart of rows, and in which order.

import (
	"math"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/view"
)

// block is cells of the same load in the order in which they are drawn, and how many more there are than a chart has room for.
type block struct {
	view.Group
	cut int
}

// chosen returns the cells of which a figure is known, load by load, and how many loads a chart has no room for.
func chosen(v *view.Run, has func(*results.Cell) bool, order func(view.Group) []int) (groups []block, left int) {
	rows := 0
	for _, g := range v.Groups {
		at := slices.DeleteFunc(order(g), func(i int) bool { return !has(g.Cells[i]) })
		if len(at) == 0 {
			continue
		}
		cut := max(0, len(at)-mostPerLoad)
		if rows += len(at) - cut; len(groups) > 0 && rows > mostRows {
			left++
			continue
		}
		groups = append(groups, block{picked(g, at[:len(at)-cut]), cut})
	}
	return groups, left
}

// picked returns the cells in some places of g.
func picked(g view.Group, at []int) view.Group {
	p := view.Group{Title: g.Title, Load: g.Load}
	for _, i := range at {
		p.Cells, p.Short = append(p.Cells, g.Cells[i]), append(p.Short, g.Short[i])
	}
	return p
}

// stacked draws groups below one another.
func stacked(groups []block, draw func(block) panel) (all []section) {
	for _, g := range groups {
		s := section{title: g.Title, panels: []panel{draw(g)}}
		for i, c := range g.Cells {
			s.name(g.Short[i], c.Violated())
		}
		all = append(all, s)
	}
	return all
}

// beside draws two groups with the same names side by side, and others below one another.
func beside(groups []block, draw func(block) panel) []section {
	if len(groups) != 2 || !sameNames(groups[0].Short, groups[1].Short) {
		return stacked(groups, draw)
	}
	left, right := groups[0], groups[1]
	at := make([]int, len(left.Short))
	for row, name := range left.Short {
		at[row] = slices.Index(right.Short, name)
	}
	right.Group = picked(right.Group, at)
	s := section{}
	for row, name := range left.Short {
		s.name(name, left.Cells[row].Violated() || right.Cells[row].Violated())
	}
	for _, g := range []block{left, right} {
		p := draw(g)
		p.head = g.Title
		s.panels = append(s.panels, p)
	}
	return []section{s}
}

func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// best returns the order of rivals, the best first; others stay as they were run.
func best(v *view.Run) func(view.Group) []int {
	if !v.Rivals {
		return asRun
	}
	return view.Group.Best
}

// least is best by a figure of which less is better. Cells that broke exclusion come last.
func least(v *view.Run, figure func(*results.Cell) float64) func(view.Group) []int {
	if !v.Rivals {
		return asRun
	}
	return func(g view.Group) []int {
		return g.Sorted(func(c *results.Cell) float64 {
			if c.Breaches() > 0 {
				return math.NaN()
			}
			return -figure(c)
		})
	}
}

func asRun(g view.Group) []int { return g.Sorted(func(*results.Cell) float64 { return 0 }) }
