// What tells the cells of a matrix apart, for progress and for messages.

package cli

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/spec"
)

// label tells a cell from the others: the settings in which they differ, with their values.
func (p plan) label(i int) string {
	var parts []string
	if side := p.cells[i].side; side != "" {
		parts = append(parts, side)
	}
	for _, a := range p.differ {
		if mine := a.Typed(&p.cells[i].plan, &p.cells[i].plan.Load); mine != "" {
			parts = append(parts, show(a, mine))
		}
	}
	return strings.Join(parts, " ")
}

// differing are the axes in which cells differ.
func differing(cells []cell) (all []spec.Setting) {
	for _, s := range spec.Settings {
		if f, _ := findFlag(s.Name); !f.axis {
			continue
		}
		text := func(c cell) string { return s.Typed(&c.plan, &c.plan.Load) }
		if slices.ContainsFunc(cells, func(c cell) bool { return text(c) != text(cells[0]) }) {
			all = append(all, s)
		}
	}
	return all
}

// labelOfPair tells the pair of the cell from the others, by the settings in which both of its cells agree.
func (p plan) labelOfPair(i int) string {
	partner, _ := p.partner(i)
	var parts []string
	for _, a := range p.differ {
		if mine := a.Typed(&p.cells[i].plan, &p.cells[i].plan.Load); mine != "" && mine == a.Typed(&p.cells[partner].plan, &p.cells[partner].plan.Load) {
			parts = append(parts, show(a, mine))
		}
	}
	return strings.Join(parts, " ")
}

// name begins a message about a cell: nothing if it is the only one.
func (p plan) name(i int) string {
	if l := p.label(i); l != "" {
		return l + ": "
	}
	return ""
}

// show names a value; those of some settings speak for themselves.
func show(s spec.Setting, v string) string {
	if s.Speaks {
		return v
	}
	return s.Name + " " + v
}
