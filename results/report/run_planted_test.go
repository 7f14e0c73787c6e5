package report

import (
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// TestPlantedPercentiles plants a value of its own for each figure of a distribution.
func TestPlantedPercentiles(t *testing.T) {
	const ms = time.Millisecond
	l := results.Latency{Count: 1e6, Mean: 19 * ms, Min: ms, P50: 11 * ms, P90: 12 * ms, P99: 13 * ms, P999: 14 * ms, Max: 15 * ms}
	want := []string{format.Count(1_000_000)}
	for _, d := range []time.Duration{l.Mean, l.P50, l.P90, l.P99, l.P999, l.Max} {
		want = append(want, format.Duration(d))
	}
	if got := distribution(l); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	r := &results.Record{Latency: map[results.Metric]results.Latency{results.Acquire: l}}
	c := &results.Cell{Trials: []*results.Record{r}, Latency: r.Latency}
	for title, want := range map[string]time.Duration{"p50": l.P50, "p99": l.P99, "max": l.Max} {
		i := slices.IndexFunc(columns, func(col column) bool { return col.Group == "wait" && col.Title == title })
		if got := columns[i].text(c); got != format.Duration(want) {
			t.Errorf("%q has %s, want %s", columns[i].head(), got, format.Duration(want))
		}
	}
	for q, want := range map[float64]time.Duration{0.5: l.P50, 0.9: l.P90, 0.99: l.P99, 0.999: l.P999} {
		if got := l.Quantile(q); got != float64(want) {
			t.Errorf("the %v quantile is %v, want %v", q, got, want)
		}
	}
}
