// What tells the cells of a matrix apart, for progress and for messages.

package matrix

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/spec"
)

// compare finds the axes in which cells differ.
func (m *Matrix) compare() {
	m.differ = nil
	for _, s := range spec.Settings {
		if s.Axis && slices.ContainsFunc(m.Cells, func(c Cell) bool { return c.typed(s) != m.Cells[0].typed(s) }) {
			m.differ = append(m.differ, s)
		}
	}
}

func (c *Cell) typed(s spec.Setting) string { return s.Typed(&c.Plan, &c.Plan.Load) }

// Label tells a cell from the others: its side, and the settings in which they differ, with their values.
func (m *Matrix) Label(i int) string {
	return m.label(i, m.Cells[i].Side, func(spec.Setting) bool { return true })
}

// Name returns the driver and the lock of a cell, and in what else the cells differ: "rueidis set-nx (wait queue, ttl 2s)". The way
// of waiting is left out where no other cell of that lock has another.
func (m *Matrix) Name(i int) string {
	p := &m.Cells[i].Plan
	name := strings.TrimSpace(p.Driver + " " + p.Lock)
	waits := slices.ContainsFunc(m.Cells, func(c Cell) bool {
		return c.Plan.Driver == p.Driver && c.Plan.Lock == p.Lock && c.Plan.Wait != p.Wait
	})
	if more := m.parts(i, func(s spec.Setting) bool {
		return s.Name != "driver" && s.Name != "lock" && (waits || s.Name != "wait")
	}); more != nil {
		name += " (" + strings.Join(more, ", ") + ")"
	}
	return name
}

// PairLabel tells the pair of a cell from the others, by the settings in which both of its cells agree.
func (m *Matrix) PairLabel(i int) string {
	partner, _ := m.Partner(i)
	return m.label(i, "", func(s spec.Setting) bool { return m.Cells[i].typed(s) == m.Cells[partner].typed(s) })
}

func (m *Matrix) label(i int, side string, shown func(spec.Setting) bool) string {
	return strings.TrimSpace(side + " " + strings.Join(m.parts(i, shown), " "))
}

// parts are the settings in which cells differ, with their values.
func (m *Matrix) parts(i int, shown func(spec.Setting) bool) (parts []string) {
	for _, s := range m.differ {
		value := m.Cells[i].typed(s)
		switch {
		case value == "" || !shown(s):
		case s.Speaks:
			parts = append(parts, value)
		default:
			parts = append(parts, s.Name+" "+value)
		}
	}
	return parts
}
