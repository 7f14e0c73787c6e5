package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
)

// Passes returns the steps by rate: of a whole ladder those of the way there and, apart, those of the way back, which are the same
// backwards.
func Passes(r *results.Record) [][]results.Step {
	parts := [][]results.Step{slices.Clone(r.Steps)}
	if n := len(r.Steps); strings.HasPrefix(r.Plan.Rate.String(), "ladder:") && n > 1 && mirrored(r.Steps) {
		parts = [][]results.Step{slices.Clone(r.Steps[:n/2]), slices.Clone(r.Steps[n/2:])}
	}
	for _, p := range parts {
		slices.SortStableFunc(p, func(a, b results.Step) int { return cmp.Compare(a.Rate, b.Rate) })
	}
	return parts
}

// mirrored reports whether the second half of the steps is the first one backwards.
func mirrored(s []results.Step) bool {
	for i := range s {
		if s[i].Rate != s[len(s)-1-i].Rate {
			return false
		}
	}
	return len(s)%2 == 0
}

// StepQuantile returns the median or the p99 of the response in a step, in nanoseconds; NaN if there are too few values.
func StepQuantile(s results.Step, q float64) float64 {
	return results.Latency{Count: s.Acquired, P50: s.P50, P99: s.P99}.Quantile(q)
}
