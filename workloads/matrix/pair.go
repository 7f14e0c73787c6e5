// A matrix with two sides, whose cells are measured by turns and compared.

package matrix

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/lockbench/lockbench/results"
)

// Pair makes one matrix of two. Cells belong together by their places, and stand side by side in the new one: those of base
// have even numbers, those of head odd ones. A cell whose partner makes no sense is left out, for there is nothing to compare
// it with. That two cells have the same plan is no reason to measure one of them only: it is how a machine's noise is found
// out.
func Pair(base, head *Matrix, seed uint64) *Matrix {
	m := &Matrix{Trials: base.Trials, Skipped: sidesSkipped(base.Skipped, head.Skipped)}
	seen := map[[2]int]bool{}
	alone := func(side string, c Cell, other string) {
		m.skip(&Misfit{fmt.Sprintf("%s: %s %s -wait %s", side, c.Plan.Driver, c.Plan.Lock, c.Plan.Wait),
			"the " + other + " has no cell to compare it with"})
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

// sidesSkipped says of which side a combination was left out, unless it is both.
func sidesSkipped(base, head []Skip) []Skip {
	in := func(list []Skip, s Skip) bool {
		return slices.ContainsFunc(list, func(one Skip) bool { return reflect.DeepEqual(one, s) })
	}
	var all []Skip
	for _, s := range base {
		if !in(head, s) {
			s.side = results.SideBase
		}
		all = append(all, s)
	}
	for _, s := range head {
		if !in(base, s) {
			s.side = results.SideHead
			all = append(all, s)
		}
	}
	return all
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
