package view

// The names of cells: that in which they differ.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// Names are cells by the axes in which they differ, without those of the titles but. One cell alone goes by its driver,
// lock and way of waiting. No two are alike.
func Names(cells []*results.Cell, but ...string) []string {
	axes := without(Axes, func(a Axis) bool { return slices.Contains(but, a.Title) })
	return distinguish(cells, make([]string, len(cells)), axes)
}

// distinguish names each cell by axes. A late one is said only of cells of one group that are alike without it, and in
// the end these are numbered.
func distinguish(cells []*results.Cell, groups []string, axes []Axis) []string {
	names := values(cells, without(axes, func(a Axis) bool { return a.Late }))
	alike := func() (at Grouped[[2]string, int]) {
		for i, name := range names {
			at.Add([2]string{groups[i], name}, i)
		}
		return at
	}
	for _, a := range without(axes, func(a Axis) bool { return !a.Late }) {
		for _, at := range alike().Of {
			differs := func(i int) bool { return a.Value(cells[i]) != a.Value(cells[at[0]]) }
			if slices.ContainsFunc(at[1:], differs) {
				for _, i := range at {
					names[i] = join(names[i], a.Value(cells[i]))
				}
			}
		}
	}
	for i, c := range cells {
		p := c.Plan()
		names[i] = cmp.Or(names[i], join(p.Driver, p.Lock, headed("wait", strings.TrimPrefix(p.Wait, "native"))))
	}
	for key, at := range alike().Of {
		for n, i := range at {
			if len(at) > 1 {
				names[i] = fmt.Sprintf("%s #%d", key[1], n+1)
			}
		}
	}
	return names
}

// Grouped is values by what they have in common, in the order in which that came first.
type Grouped[K, V comparable] struct {
	Keys []K
	Of   map[K][]V
}

// Add adds a value that its key does not have yet.
func (g *Grouped[K, V]) Add(key K, value V) {
	if g.Of == nil {
		g.Of = map[K][]V{}
	}
	if g.Of[key] == nil {
		g.Keys = append(g.Keys, key)
	}
	if !slices.Contains(g.Of[key], value) {
		g.Of[key] = append(g.Of[key], value)
	}
}

// values returns what axes have to say of each cell where cells differ. What is zero is left out, unless all is; and so
// is a load that follows from the preset, and a way of waiting that follows from the design.
func values(cells []*results.Cell, axes []Axis) (names []string) {
	axes = without(axes, func(a Axis) bool {
		said := map[string]string{}
		for _, c := range cells {
			from, p, v := "", c.Plan(), a.Value(c)
			switch {
			case a.Title == "wait":
				from = p.Driver + " " + p.Lock
			case a.Load && a.Title != "workload":
				from = p.Workload
			}
			if said[from] = cmp.Or(said[from], v); v != "" && v != said[from] {
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
		names = append(names, cmp.Or(join(told...), join(all...)))
	}
	return names
}

// join joins the parts that are not empty.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
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
	names := values(cells, settings)
	for i, g := range p.Classes {
		names[i] = g.Name + ": " + names[i]
	}
	return strings.Join(names, "; ")
}
