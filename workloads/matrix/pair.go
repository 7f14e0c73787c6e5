// A matrix with two sides, whose cells are measured by turns and compared.

package matrix

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/lockbench/lockbench/results"
)

// Pair makes one matrix of two. Cells belong together by their places, and stand side by side in the new one: those of base
// have even numbers, those of head odd ones. A cell whose partner makes no sense is left out, for there is nothing to compare
// it with. That two cells have the same plan is no reason to measure one of them only: it is how a machine's noise is found
// out.
func Pair(base, head *Matrix, seed uint64) *Matrix {
	m := &Matrix{Trials: base.Trials}
	m.skipAlso(base.Skipped, results.SideBase, head.Skipped)
	m.skipAlso(head.Skipped, results.SideHead, base.Skipped)
	seen := map[[2]int]bool{}
	alone := func(side string, c Cell, other string) {
		m.skip(fmt.Sprintf("%s: %s %s -wait %s: the %s has no cell to compare it with",
			side, c.Plan.Driver, c.Plan.Lock, c.Plan.Wait, other))
	}
	for place, left := range base.places {
		right := head.places[place]
		switch {
		case left < 0 && right < 0 || seen[[2]int{left, right}]:
			continue
		case right < 0:
			alone(results.SideBase, base.Cells[left], results.SideHead)
			continue
		case left < 0:
			alone(results.SideHead, head.Cells[right], results.SideBase)
			continue
		}
		seen[[2]int{left, right}] = true
		one, other := base.Cells[left], head.Cells[right]
		one.Side, other.Side = results.SideBase, results.SideHead
		one.Pair, other.Pair = len(m.Cells)/2, len(m.Cells)/2
		m.Cells = append(m.Cells, one, other)
	}
	m.Order = orderPairs(len(m.Cells)/2, m.Trials, seed)
	m.compare()
	return m
}

// Partner returns the cell that number i is compared with, if it is with any.
func (m *Matrix) Partner(i int) (int, bool) { return i ^ 1, m.Cells[i].Side != "" }

// Side returns the cells of a side.
func (m *Matrix) Side(name string) (cells []Cell) {
	for _, c := range m.Cells {
		if c.Side == name {
			cells = append(cells, c)
		}
	}
	return cells
}

// skipAlso adds what is left out on one side, and says on which if it is not both.
func (m *Matrix) skipAlso(list []Skip, side string, other []Skip) {
	for _, s := range list {
		if !slices.Contains(other, s) {
			s.Text = side + ": " + s.Text
		}
		if !slices.Contains(m.Skipped, s) {
			m.Skipped = append(m.Skipped, s)
		}
	}
}

// orderPairs interleaves the trials of pairs like order does those of cells: each round has every pair once. The sides of a
// pair follow one another, so that they meet the same machine, and each goes first in half of the rounds, drawn at random:
// what a trial leaves behind for the next hits both alike.
func orderPairs(pairs, trials int, seed uint64) []Trial {
	random := rand.New(rand.NewPCG(seed, 0x70616972))
	headFirst := make([][]bool, pairs)
	for i := range headFirst {
		odd := random.IntN(2)
		for trial := range trials {
			headFirst[i] = append(headFirst[i], (trial+odd)%2 == 0)
		}
		random.Shuffle(trials, func(a, b int) { headFirst[i][a], headFirst[i][b] = headFirst[i][b], headFirst[i][a] })
	}
	all := make([]Trial, 0, 2*pairs*trials)
	for _, t := range order(pairs, trials, seed) {
		first, second := Trial{2 * t.Cell, t.Trial}, Trial{2*t.Cell + 1, t.Trial}
		if headFirst[t.Cell][t.Trial] {
			first, second = second, first
		}
		all = append(all, first, second)
	}
	return all
}
