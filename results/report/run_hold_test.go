package report

import (
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// Rows whose holds did not last equally long are not to be compared, and a hold that was not as asked stands beside it.
func TestUnlikeHolds(t *testing.T) {
	const us = time.Microsecond
	cell := func(asked, lasted time.Duration) *results.Cell {
		holds := map[results.Metric]results.Latency{results.Hold: {Count: 1000, P50: lasted, Mean: lasted}}
		r := &results.Record{Plan: spec.Plan{Load: spec.Load{Hold: asked}}, Latency: holds}
		return &results.Cell{Trials: []*results.Record{r}, Latency: holds}
	}
	coarse, busy, exact, other := cell(200*us, 1046*us), cell(200*us, 420*us), cell(200*us, 205*us), cell(900*us, 910*us)
	for _, c := range []struct {
		name  string
		cells []*results.Cell
		want  []string
	}{
		{"three drivers", []*results.Cell{coarse, busy, exact}, []string{
			"Holds of 200 µs lasted 205 µs to 1.05 ms, so the loads of the rows were not quite alike."}},
		{"asked for another", []*results.Cell{exact, other}, nil},
		{"alike", []*results.Cell{exact, cell(200*us, 215*us)}, nil},
		{"without a hold", []*results.Cell{exact, cell(0, 0)}, nil},
	} {
		if got := unlikeHolds(c.cells); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := lastedInstead(coarse, "hold"); got != " (lasted 1.05 ms)" {
		t.Errorf("beside a hold of 200 µs that lasted 1.046 ms stands %q", got)
	}
	if got := lastedInstead(exact, "hold") + lastedInstead(coarse, "think"); got != "" {
		t.Errorf("beside a setting that was kept stands %q", got)
	}
}
