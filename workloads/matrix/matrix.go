// The matrix: plans become cells, and cells trials in an order.

package matrix

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// Matrix is the cells of a run, and the order of their trials.
type Matrix struct {
	Cells   []Cell
	Skipped []string // which combinations make no sense, and why
	Trials  int      // of each cell
	Order   []Trial  // in which they run

	places []int          // of each plan that was added its cell, or -1 if it makes no sense
	cellOf map[string]int // by what it runs
	differ []spec.Setting // in which cells differ
}

// Cell is one combination of settings.
type Cell struct {
	Plan   spec.Plan
	Traits drivers.Traits // of its design
	Wrong  string         // what is wrong with its design; see drivers.Design

	Side string // of a matrix with two sides; see results.Record
	Pair int
}

// Trial is one trial of one cell; both count from 0.
type Trial struct{ Cell, Trial int }

// Axis is a setting with the values that it takes in turn. Each is read from a plan.
type Axis struct {
	Setting spec.Setting
	Values  []spec.Plan
}

// Expand returns base with every combination of values, the first axis turning slowest. A driver that names its
// topology (CutTopology) has that one, whatever values the axis of topologies has. If there are more combinations
// than most, it names the axis that makes so many.
func Expand(base spec.Plan, axes []Axis, most int) ([]spec.Plan, error) {
	plans := []spec.Plan{base}
	for _, a := range axes {
		if len(plans)*len(a.Values) > most {
			return nil, fmt.Errorf("-%s: the lists make a matrix of more than %d cells", a.Setting.Name, most)
		}
		var crossed []spec.Plan
		for _, p := range plans {
			for i := range a.Values {
				a.Setting.Copy(&p, &p.Load, &a.Values[i])
				crossed = append(crossed, p)
			}
		}
		plans = crossed
	}
	for i := range plans {
		if driver, topology, named := CutTopology(plans[i].Driver); named {
			plans[i].Driver = driver
			_ = topologySetting.Set(&plans[i], topology) // which takes any text
		}
	}
	return plans, nil
}

// Add resolves a plan and adds its cell, unless there is one that runs the same: the setting in which they differ is
// not read. What makes no sense is skipped. It returns a *spec.FieldError if the plan cannot run.
func (m *Matrix) Add(p spec.Plan, s Server) error {
	design, err := Resolve(&p, s)
	if _, ok := errors.AsType[*Misfit](err); ok {
		m.places = append(m.places, -1)
		m.Skipped = union(m.Skipped, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	if m.cellOf == nil {
		m.cellOf = map[string]int{}
	}
	key := fmt.Sprintf("%#v", p)
	cell, known := m.cellOf[key]
	if !known {
		cell = len(m.Cells)
		m.cellOf[key] = cell
		m.Cells = append(m.Cells, Cell{Plan: p, Traits: design.Traits, Wrong: design.Wrong})
	}
	m.places = append(m.places, cell)
	return nil
}

// union returns the texts of a list and those of others that are not in it.
func union(list []string, others ...string) []string {
	others = slices.DeleteFunc(slices.Clone(others), func(s string) bool { return slices.Contains(list, s) })
	return slices.Concat(list, others)
}

// Schedule fixes the order of the trials.
func (m *Matrix) Schedule(trials int, seed uint64) {
	m.Trials, m.Order, m.differ = trials, order(len(m.Cells), trials, seed), differing(m.Cells)
}

// order interleaves the trials: each round has every cell once, so that a slow change of the machine hits all cells
// alike. Shuffle each round so that no cell always runs after the same one; a single round keeps the order written.
func order(cells, trials int, seed uint64) (all []Trial) {
	random := rand.New(rand.NewPCG(seed, 0x6c6f636b))
	for trial := range trials {
		for cell := range cells {
			all = append(all, Trial{cell, trial})
		}
		if round := all[trial*cells:]; trials > 1 {
			random.Shuffle(cells, func(i, j int) { round[i], round[j] = round[j], round[i] })
		}
	}
	return all
}

// Pair makes one matrix of two that have the same number of plans, and as many trials. Cells belong together by their
// places, and stand side by side in the new one: those of base have even numbers, those of head odd ones. A cell whose
// partner makes no sense is left out, for there is nothing to compare it with. That two cells have the same plan is no
// reason to measure one of them only: it is how a machine's noise is found out.
func Pair(base, head *Matrix, seed uint64) *Matrix {
	m := &Matrix{Trials: base.Trials, Skipped: union(base.Skipped, head.Skipped...)}
	seen := map[[2]int]bool{}
	for place, left := range base.places {
		right := head.places[place]
		if left < 0 || right < 0 || seen[[2]int{left, right}] {
			continue
		}
		seen[[2]int{left, right}] = true
		one, other := base.Cells[left], head.Cells[right]
		one.Side, other.Side = results.SideBase, results.SideHead
		one.Pair, other.Pair = len(m.Cells)/2, len(m.Cells)/2
		m.Cells = append(m.Cells, one, other)
	}
	m.Order, m.differ = orderPairs(len(m.Cells)/2, m.Trials, seed), differing(m.Cells)
	return m
}

// orderPairs interleaves the trials of pairs like order does those of cells: each round has every pair once. The
// sides of a pair follow one another, so that they meet the same machine, and each goes first in half of the rounds,
// drawn at random: what a trial leaves behind for the next hits both alike.
func orderPairs(pairs, trials int, seed uint64) (all []Trial) {
	random := rand.New(rand.NewPCG(seed, 0x70616972))
	draws := make([][]int, pairs) // the head goes first where they are odd, which half of them are
	for i := range draws {
		draws[i] = random.Perm(trials + trials%2)
	}
	for _, t := range order(pairs, trials, seed) {
		first := draws[t.Cell][t.Trial] % 2
		all = append(all, Trial{2*t.Cell + first, t.Trial}, Trial{2*t.Cell + 1 - first, t.Trial})
	}
	return all
}

// Partner returns the cell that number i is compared with, if it is with any.
func (m *Matrix) Partner(i int) (int, bool) { return i ^ 1, m.Cells[i].Side != "" }

// Side returns the cells of a side.
func (m *Matrix) Side(name string) []Cell {
	return slices.DeleteFunc(slices.Clone(m.Cells), func(c Cell) bool { return c.Side != name })
}

// Length returns how long the trials from number i on will take at least.
func (m *Matrix) Length(from int) (sum time.Duration) {
	for _, t := range m.Order[from:] {
		sum += m.Cells[t.Cell].Plan.Warmup + m.Cells[t.Cell].Plan.Duration
	}
	return sum
}

// Label tells a cell from the others: its side, and the settings in which they differ, with their values.
func (m *Matrix) Label(i int) string {
	return strings.TrimSpace(m.Cells[i].Side + " " + strings.Join(m.Cells[i].values(m.differ), " "))
}

// Name returns the driver and the lock of a cell, and in what else cells of that lock differ: "rueidis set-nx (ttl
// 2s)".
func (m *Matrix) Name(i int) string {
	p := &m.Cells[i].Plan
	name := strings.TrimSpace(p.Driver + " " + p.Lock)
	alike := slices.DeleteFunc(slices.Clone(m.Cells), func(c Cell) bool {
		return c.Plan.Driver != p.Driver || c.Plan.Lock != p.Lock
	})
	if more := m.Cells[i].values(differing(alike)); more != nil {
		name += " (" + strings.Join(more, ", ") + ")"
	}
	return name
}

// differing returns the axes in which cells differ.
func differing(cells []Cell) []spec.Setting {
	return slices.DeleteFunc(slices.Clone(spec.Settings), func(s spec.Setting) bool {
		return !s.Axis || !slices.ContainsFunc(cells, func(c Cell) bool { return c.typed(s) != cells[0].typed(s) })
	})
}

// values returns the values of settings as they are typed, with the setting's name if they do not speak for themselves.
func (c *Cell) values(settings []spec.Setting) (list []string) {
	for _, s := range settings {
		name := map[bool]string{false: s.Name + " "}[s.Speaks]
		if value := c.typed(s); value != "" {
			list = append(list, name+value)
		}
	}
	return list
}

func (c *Cell) typed(s spec.Setting) string { return s.Typed(&c.Plan, &c.Plan.Load) }
