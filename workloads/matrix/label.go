// What tells the cells of a matrix apart, for progress and for messages.

package matrix

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/spec"
)

// compare finds the axes in which cells differ.
func (m *Matrix) compare() {
	m.differ = slices.DeleteFunc(slices.Clone(spec.Settings), func(s spec.Setting) bool {
		return !s.Axis || !slices.ContainsFunc(m.Cells, func(c Cell) bool { return c.typed(s) != m.Cells[0].typed(s) })
	})
}

func (c *Cell) typed(s spec.Setting) string { return s.Typed(&c.Plan, &c.Plan.Load) }

// Label tells a cell from the others: its side, and the settings in which they differ, with their values.
func (m *Matrix) Label(i int) string {
	return strings.TrimSpace(m.Cells[i].Side + " " + strings.Join(m.parts(i), " "))
}

// Name returns the driver and the lock of a cell, and in what else the cells differ: "rueidis set-nx (wait queue, ttl
// 2s)". The way of waiting is left out where no other cell of that lock has another.
func (m *Matrix) Name(i int) string {
	p := &m.Cells[i].Plan
	name, but := strings.TrimSpace(p.Driver+" "+p.Lock), []string{"driver", "lock"}
	if !slices.ContainsFunc(m.Cells, func(c Cell) bool {
		return c.Plan.Driver == p.Driver && c.Plan.Lock == p.Lock && c.Plan.Wait != p.Wait
	}) {
		but = append(but, "wait")
	}
	if more := m.parts(i, but...); more != nil {
		name += " (" + strings.Join(more, ", ") + ")"
	}
	return name
}

// parts are the settings in which cells differ, with their values, but for some.
func (m *Matrix) parts(i int, but ...string) (parts []string) {
	for _, s := range m.differ {
		value := m.Cells[i].typed(s)
		if value == "" || slices.Contains(but, s.Name) {
			continue
		}
		if !s.Speaks {
			value = s.Name + " " + value
		}
		parts = append(parts, value)
	}
	return parts
}
