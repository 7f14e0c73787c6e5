// A matrix with two sides, whose cells are measured by turns and compared.

package matrix

import (
	"math/rand/v2"
	"slices"

	"github.com/lockbench/lockbench/results"
)

// Pair makes one matrix of two. Cells belong together by their places, and stand side by side in the new one: those
// of base have even numbers, those of head odd ones. A cell whose partner makes no sense is left out, for there is
// nothing to compare it with. That two cells have the same plan is no reason to measure one of them only: it is how a
// machine's noise is found out.
func Pair(base, head *Matrix, seed uint64) *Matrix {
	m := &Matrix{Trials: base.Trials}
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
	for _, s := range base.Skipped {
		if !slices.Contains(head.Skipped, s) {
			s.Text = results.SideBase + ": " + s.Text
		}
		m.Skipped = append(m.Skipped, s)
	}
	for _, s := range head.Skipped {
		if !slices.Contains(base.Skipped, s) {
			s.Text = results.SideHead + ": " + s.Text
			m.Skipped = append(m.Skipped, s)
		}
	}
	m.Order = orderPairs(len(m.Cells)/2, m.Trials, seed)
	m.compare()
	return m
}

// Partner returns the cell that number i is compared with, if it is with any.
func (m *Matrix) Partner(i int) (int, bool) { return i ^ 1, m.Cells[i].Side != "" }

// Side returns the cells of a side.
func (m *Matrix) Side(name string) []Cell {
	return slices.DeleteFunc(slices.Clone(m.Cells), func(c Cell) bool { return c.Side != name })
}

// orderPairs interleaves the trials of pairs like order does those of cells: each round has every pair once. The
// sides of a pair follow one another, so that they meet the same machine, and each goes first in half of the rounds,
// drawn at random: what a trial leaves behind for the next hits both alike.
func orderPairs(pairs, trials int, seed uint64) []Trial {
	random := rand.New(rand.NewPCG(seed, 0x70616972))
	draws := make([][]int, pairs) // the head goes first where they are odd, which half of them are
	for i := range draws {
		draws[i] = random.Perm(trials + trials%2)
	}
	all := make([]Trial, 0, 2*pairs*trials)
	for _, t := range order(pairs, trials, seed) {
		first := draws[t.Cell][t.Trial] % 2
		all = append(all, Trial{2*t.Cell + first, t.Trial}, Trial{2*t.Cell + 1 - first, t.Trial})
	}
	return all
}
