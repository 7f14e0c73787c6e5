package view

// The names of cells: that in which they differ.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// Names are cells by the axes in which they differ, without those that the others tell already, and without those of
// the titles but, such as that of a line. One cell alone goes by its driver, lock and way of waiting. No two are alike.
func Names(cells []*results.Cell, but ...string) []string {
	axes := slices.DeleteFunc(differing(Axes, cells), func(a Axis) bool { return slices.Contains(but, a.Title) })
	return distinguish(cells, make([]string, len(cells)), axes, Axis.names)
}

// names reports whether an axis stays in names even if cells could be told apart without it.
func (a Axis) names() bool {
	return slices.Contains([]string{
		"side", "revision", "driver", "lock", "wait", "topology", "release", "renew", "workload", "param", "partial",
	}, a.Title)
}

// distinguish returns names that tell each cell from those of the same group, by the axes that stay and those that it
// takes beside them. The server, and then what is too long for a name, is said of cells that are alike without it; in
// the end they are numbered.
func distinguish(cells []*results.Cell, groups []string, axes []Axis, stays func(Axis) bool) []string {
	type named struct{ group, name string }
	count := func(names []string) map[named]int {
		n := map[named]int{}
		for i, name := range names {
			n[named{groups[i], name}]++
		}
		return n
	}
	kept := slices.DeleteFunc(slices.Clone(axes), func(a Axis) bool { return a.Server || a.Wide })
	names := namesBy(kept, cells)
	// All that the other side has different is of interest.
	sides := slices.ContainsFunc(kept, func(a Axis) bool { return a.Title == "side" })
	for i := len(kept) - 1; i >= 0 && !sides; i-- {
		fewer := slices.Delete(slices.Clone(kept), i, i+1)
		if shorter := namesBy(fewer, cells); !stays(kept[i]) && len(count(shorter)) == len(count(names)) {
			kept, names = fewer, shorter
		}
	}
	for i, name := range names {
		if name == "" {
			names[i] = zeros(kept)
		}
	}
	for _, wide := range []bool{false, true} {
		alike := count(names)
		for _, a := range axes {
			for i, c := range cells {
				if alike[named{groups[i], names[i]}] > 1 && a.Wide == wide && (a.Server || wide) {
					names[i] = join(names[i], a.words(a.Value(c)))
				}
			}
		}
	}
	for i, c := range cells {
		if p := c.Plan(); names[i] == "" {
			names[i] = join(p.Driver, p.Lock, strings.TrimPrefix(Waits(p), "wait native"))
		}
	}
	alike, numbers := count(names), map[named]int{}
	for i, name := range names {
		if which := (named{groups[i], name}); alike[which] > 1 {
			numbers[which]++
			names[i] = fmt.Sprintf("%s #%d", name, numbers[which])
		}
	}
	return names
}

// namesBy returns the values of cells in axes.
func namesBy(axes []Axis, cells []*results.Cell) (names []string) {
	for _, c := range cells {
		var words []string
		for _, a := range axes {
			words = append(words, a.words(a.Value(c)))
		}
		names = append(names, join(words...))
	}
	return names
}

// zeros returns the name of a cell that has no value in any of the axes: "renew off · lockers 1".
func zeros(axes []Axis) string {
	var words []string
	for _, a := range axes {
		if a.zero == "" {
			words = append(words, "no "+a.Title)
		}
		words = append(words, a.words(a.zero))
	}
	return join(words...)
}

// join joins the parts that are not empty.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// Waits returns how the clients of a plan wait, as titles have it; empty if the plan does not say.
func Waits(p *spec.Plan) string {
	switch {
	case TriesOnce(p):
		return "each tries once"
	case p.Wait != "":
		return "wait " + p.Wait
	}
	return ""
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
	names := namesBy(differing(settings, cells), cells)
	for i, g := range p.Classes {
		names[i] = g.Name + ": " + names[i]
	}
	return strings.Join(names, "; ")
}
