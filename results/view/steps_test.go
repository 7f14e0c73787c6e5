package view

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// TestPasses: a ladder has a way there and one back only if it came to its end.
func TestPasses(t *testing.T) {
	for _, c := range []struct {
		plan  string
		rates []float64
		want  [][]float64
	}{
		{"ladder:10:30:3", []float64{20, 10, 30, 30, 10, 20}, [][]float64{{10, 20, 30}, {10, 20, 30}}},
		{"ladder:10:30:3", []float64{20, 10, 30, 30}, [][]float64{{10, 20, 30, 30}}},
		{"ladder:10:30:3", []float64{20, 10, 30, 30, 10}, [][]float64{{10, 10, 20, 30, 30}}},
		{"ladder:10:30:3", nil, [][]float64{nil}},
		{"steps:10:20:2", []float64{10, 10}, [][]float64{{10, 10}}},
	} {
		r := &results.Record{Plan: spec.Plan{Load: spec.Load{Rate: spec.Must(spec.ParseRate(c.plan))}}}
		for _, rate := range c.rates {
			r.Steps = append(r.Steps, results.Step{Rate: rate})
		}
		var got [][]float64
		for _, pass := range Passes(r) {
			var rates []float64
			for _, s := range pass {
				rates = append(rates, s.Rate)
			}
			got = append(got, rates)
		}
		if !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%s, rates %v: %v, want %v", c.plan, c.rates, got, c.want)
		}
	}
}
