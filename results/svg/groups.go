package svg

// Which cells come into a chart of rows, and in which order.

import (
	"math"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/view"
)

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
	kept := view.Group{Title: g.Title, Load: g.Load}
	for i, c := range g.Cells {
		if has(c) && len(kept.Cells) < mostPerLoad {
			kept.Cells, kept.Short, kept.Index = append(kept.Cells, c), append(kept.Short, g.Short[i]), append(kept.Index, g.Index[i])
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
			s.name(g.Short[i], g.Cells[i].Violated())
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
			s.name(groups[0].Short[i], groups[0].Cells[i].Violated() || groups[1].Cells[slices.Index(groups[1].Short, groups[0].Short[i])].Violated())
		}
		for _, g := range groups {
			at := make([]int, len(first))
			for row, name := range s.names {
				at[row] = slices.Index(g.Short, name)
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
	x, y := slices.Clone(a.Short), slices.Clone(b.Short)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// best returns the order of rivals, the best first; others stay as they were run.
func best(v *view.Run) func(view.Group) []int {
	return func(g view.Group) []int {
		if v.Rivals {
			return g.Best()
		}
		return g.Sorted(func(*results.Cell) float64 { return 0 })
	}
}

// least is best by a figure of which less is better. Cells that broke exclusion come last.
func least(v *view.Run, figure func(*results.Cell) float64) func(view.Group) []int {
	return func(g view.Group) []int {
		return g.Sorted(func(c *results.Cell) float64 {
			switch {
			case !v.Rivals:
				return 0
			case c.Safety.Breaches() > 0:
				return math.NaN()
			}
			return -figure(c)
		})
	}
}
