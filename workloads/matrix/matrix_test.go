package matrix

import (
	"fmt"
	"slices"
	"testing"
)

// TestOrder checks that every round has every cell, that rounds differ, and that a seed fixes them.
func TestOrder(t *testing.T) {
	turns := order(8, 5, 1)
	rounds := map[string]bool{}
	for trial := range 5 {
		round := turns[trial*8 : trial*8+8]
		cells := make([]int, 8)
		for i, turn := range round {
			if turn.Trial != trial {
				t.Fatalf("round %d has %+v", trial, turn)
			}
			cells[i] = turn.Cell
		}
		rounds[fmt.Sprint(cells)] = true
		slices.Sort(cells)
		if !slices.Equal(cells, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
			t.Errorf("round %d has the cells %v", trial, cells)
		}
	}
	if len(rounds) < 4 {
		t.Errorf("the rounds are hardly shuffled: %v", rounds)
	}
	if !slices.Equal(turns, order(8, 5, 1)) || slices.Equal(turns, order(8, 5, 2)) {
		t.Error("the order does not depend on the seed alone")
	}
	if got := order(3, 1, 5); !slices.Equal(got, []Trial{{0, 0}, {1, 0}, {2, 0}}) {
		t.Errorf("a single round is shuffled: %v", got)
	}
}

// TestVersusOrder checks that each round has every cell once, the sides of a pair next to each other, and that each side
// goes first in half of the rounds.
func TestVersusOrder(t *testing.T) {
	const pairs, trials = 4, 10
	turns := orderPairs(pairs, trials, 1)
	if len(turns) != 2*pairs*trials {
		t.Fatalf("%d turns", len(turns))
	}
	seen, headFirst, patterns := map[Trial]bool{}, map[int]int{}, map[string]bool{}
	for i := 0; i < len(turns); i += 2 {
		a, b := turns[i], turns[i+1]
		if a.Cell^1 != b.Cell || a.Trial != b.Trial || a.Trial != i/(2*pairs) || seen[a] || seen[b] {
			t.Errorf("turns %d and %d are %v and %v", i, i+1, a, b)
		}
		seen[a], seen[b] = true, true
		if a.Cell%2 == 1 {
			headFirst[a.Cell/2]++
		}
		patterns[fmt.Sprint(a.Cell/2, a.Trial, a.Cell%2)] = true
	}
	for pair := range pairs {
		if headFirst[pair] != trials/2 {
			t.Errorf("the head of pair %d goes first %d times", pair, headFirst[pair])
		}
	}
	if slices.Equal(turns, orderPairs(pairs, trials, 2)) || !slices.Equal(turns, orderPairs(pairs, trials, 1)) {
		t.Error("the order does not depend on the seed alone")
	}
	first := 0 // of a single trial it is the seed that decides
	for seed := range uint64(100) {
		first += orderPairs(1, 1, seed)[0].Cell
	}
	if first < 30 || first > 70 {
		t.Errorf("with one trial the head goes first for %d of 100 seeds", first)
	}
}
