package view

// The names of cells: that in which they differ.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// Names are cells by the axes in which they differ, without those of the titles but. One cell alone goes by its driver,
// lock and way of waiting. No two are alike.
func Names(cells []*results.Cell, but ...string) []string {
	axes := slices.DeleteFunc(differing(Axes, cells), func(a Axis) bool { return slices.Contains(but, a.Title) })
	return distinguish(cells, make([]string, len(cells)), axes)
}

// distinguish names each cell by axes. A late one is said only of cells of one group that are alike without it, and in
// the end these are numbered.
func distinguish(cells []*results.Cell, groups []string, axes []Axis) []string {
	names := values(cells, slices.DeleteFunc(slices.Clone(axes), func(a Axis) bool { return a.Late }))
	alike := func() map[[2]string][]int {
		at := map[[2]string][]int{}
		for i, name := range names {
			key := [2]string{groups[i], name}
			at[key] = append(at[key], i)
		}
		return at
	}
	for _, a := range axes {
		if !a.Late {
			continue
		}
		for _, at := range alike() {
			var same []*results.Cell
			for _, i := range at {
				same = append(same, cells[i])
			}
			if _, differs := a.Compare(same); differs {
				for _, i := range at {
					names[i] = join(names[i], a.Value(cells[i]))
				}
			}
		}
	}
	for i, c := range cells {
		if p := c.Plan(); names[i] == "" {
			names[i] = join(p.Driver, p.Lock, strings.TrimPrefix(Waits(p), "wait native"))
		}
	}
	for key, at := range alike() {
		for n, i := range at {
			if len(at) > 1 {
				names[i] = fmt.Sprintf("%s #%d", key[1], n+1)
			}
		}
	}
	return names
}

// values returns what axes have to say of each cell. What is zero is left out, unless all is; and so is a load that
// follows from the preset, and a way of waiting that follows from the design.
func values(cells []*results.Cell, axes []Axis) (names []string) {
	axes = slices.DeleteFunc(slices.Clone(axes), func(a Axis) bool {
		if a.Title != "wait" && (!a.Load || a.Title == "workload") {
			return false
		}
		alike := map[string][]*results.Cell{}
		for _, c := range cells {
			key := c.Plan().Workload
			if !a.Load {
				key = c.Plan().Driver + " " + c.Plan().Lock
			}
			alike[key] = append(alike[key], c)
		}
		for _, c := range alike {
			if _, differs := a.Compare(c); differs {
				return false
			}
		}
		return true
	})
	for _, c := range cells {
		var all, told []string
		for _, a := range axes {
			v := a.Value(c)
			if all = append(all, v); v != a.zero {
				told = append(told, v)
			}
		}
		if told == nil {
			told = all
		}
		names = append(names, join(told...))
	}
	return names
}

// join joins the parts that are not empty.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// Waits returns how the clients of a plan wait, as titles have it; empty if the plan does not say.
func Waits(p *spec.Plan) string {
	if TriesOnce(p) {
		return "each tries once"
	}
	return titled("wait", p.Wait)
}

// TriesOnce reports whether no client of a plan ever waits.
func TriesOnce(p *spec.Plan) bool {
	return p.Wait == "none" || !slices.ContainsFunc(p.Groups(), func(g spec.Class) bool { return g.TryOnly < 1 })
}

// Classes names the classes of a plan, each with that in which it differs from others.
func Classes(p *spec.Plan) string {
	var cells []*results.Cell
	for _, g := range p.Classes {
		cells = append(cells, &results.Cell{Trials: []*results.Record{{Plan: spec.Plan{Load: g.Load}}}})
	}
	names := values(cells, differing(settings, cells))
	for i, g := range p.Classes {
		names[i] = g.Name + ": " + names[i]
	}
	return strings.Join(names, "; ")
}
