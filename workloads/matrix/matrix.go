// The matrix: plans become cells, and cells trials in an order.

package matrix

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
)

// Matrix is the cells of a run, and the order of their trials.
type Matrix struct {
	Cells   []Cell
	Skipped []Skip
	Trials  int     // of each cell
	Order   []Trial // in which they run

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
		var crossed []spec.Plan
		for _, p := range plans {
			values := a.Values
			if driver, topology, named := CutTopology(p.Driver); named && a.Setting.Name == "topology" {
				p.Driver, values = driver, make([]spec.Plan, 1)
				if err := a.Setting.Set(&values[0], topology); err != nil {
					return nil, err
				}
			}
			if len(crossed)+len(values) > most {
				return nil, fmt.Errorf("-%s: the lists make a matrix of more than %d cells", a.Setting.Name, most)
			}
			for i := range values {
				a.Setting.Copy(&p, &p.Load, &values[i])
				crossed = append(crossed, p)
			}
		}
		plans = crossed
	}
	return plans, nil
}

// Add resolves a plan and adds its cell, unless there is one that runs the same: the setting in which they differ is
// not read. What makes no sense is skipped. It returns a *spec.FieldError if the plan cannot run.
func (m *Matrix) Add(p spec.Plan, s Server) error {
	design, err := Resolve(&p, s)
	if _, ok := errors.AsType[*Misfit](err); ok {
		m.skip(err.Error())
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

// Skip says which combinations make no sense, and why.
type Skip struct {
	Text  string
	Cells int
}

func (s Skip) String() string {
	if s.Cells > 1 {
		return fmt.Sprintf("%s (%d cells)", s.Text, s.Cells)
	}
	return s.Text
}

// skip notes that the cell of a plan is left out.
func (m *Matrix) skip(why string) {
	m.places = append(m.places, -1)
	i := slices.IndexFunc(m.Skipped, func(s Skip) bool { return s.Text == why })
	if i < 0 {
		i = len(m.Skipped)
		m.Skipped = append(m.Skipped, Skip{Text: why})
	}
	m.Skipped[i].Cells++
}

// Schedule fixes the order of the trials.
func (m *Matrix) Schedule(trials int, seed uint64) {
	m.Trials, m.Order = trials, order(len(m.Cells), trials, seed)
	m.compare()
}

// order interleaves the trials: each round has every cell once, so that a slow change of the machine hits all cells
// alike. Shuffle each round so that no cell always runs after the same one; a single round keeps the order written.
func order(cells, trials int, seed uint64) []Trial {
	random := rand.New(rand.NewPCG(seed, 0x6c6f636b))
	all := make([]Trial, 0, cells*trials)
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

// Length returns how long the trials from number i on will take at least.
func (m *Matrix) Length(from int) time.Duration {
	var sum time.Duration
	for _, t := range m.Order[from:] {
		p := &m.Cells[t.Cell].Plan
		sum += p.Warmup + p.Duration
	}
	return sum
}
