package compare

import (
	"slices"

	"github.com/lockbench/lockbench/results"
)

// UnlikeMachines says in what the machines differ that two sets of records were made on, as far as their changes cannot be
// judged for it; nothing if they are alike.
func UnlikeMachines(base, head []*results.Record) (differences []string) {
	for _, f := range facts {
		if !f.machine {
			continue
		}
		b, h := distinct(base, f.of), distinct(head, f.of)
		if !slices.Equal(slices.Sorted(slices.Values(b)), slices.Sorted(slices.Values(h))) {
			differences = append(differences, f.name+": "+listed(b)+" in the base, "+listed(h)+" in the head")
		}
	}
	return differences
}
