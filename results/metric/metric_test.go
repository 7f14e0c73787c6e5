package metric_test

import (
	"math"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/metric"
)

// TestNames keeps names apart, and free of what the expressions of thresholds are written with.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range metric.All() {
		if seen[f.Name] {
			t.Errorf("%s is there twice", f.Name)
		}
		seen[f.Name] = true
		for _, r := range f.Name {
			if !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '/' || r == '-' || r == '_') {
				t.Errorf("%s: a name with %q", f.Name, r)
			}
		}
		if f.About == "" {
			t.Errorf("%s: nobody says what it is", f.Name)
		}
		if found, ok := metric.Named(f.Name); !ok || found.Name != f.Name {
			t.Errorf("%s is not found by its name", f.Name)
		}
	}
	for _, m := range results.Metrics {
		if !seen[string(m)+".p99"] {
			t.Errorf("the metric %s has no figures", m)
		}
	}
}

func TestOf(t *testing.T) {
	r := &results.Record{
		Elapsed: 2 * time.Second,
		Counts:  results.Counts{Acquired: 1000, Errors: map[string]int64{"timeout": 3, "network": 4}},
		Latency: map[results.Metric]results.Latency{results.Acquire: {Count: 1000, P50: 5, P99: 9, P999: 12}},
		Safety:  results.Safety{Checked: true, Violations: 2},
		Cost:    results.Cost{Tries: 2, Commands: -1},
	}
	for name, want := range map[string]float64{
		"locks/s": 500, "acquire.p50": 5, "acquire.p99": 9, "acquire.p999": math.NaN(), "response.p50": math.NaN(),
		"violations": 2, "errors": 7, "tries/lock": 2, "commands/lock": math.NaN(), "round-trips/lock": math.NaN(),
	} {
		f, _ := metric.Named(name)
		if got := f.Of(r.Figures()); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	r.Safety.Checked = false
	if f, _ := metric.Named("violations"); !math.IsNaN(f.Of(r.Figures())) {
		t.Error("violations are known without an oracle")
	}
}

// TestDistributions plants a value of its own for each figure of each metric.
func TestDistributions(t *testing.T) {
	r := &results.Record{Latency: map[results.Metric]results.Latency{}}
	want := map[string]float64{}
	for i, m := range results.Metrics {
		at := time.Duration(1000 * (i + 1))
		r.Latency[m] = results.Latency{
			Count: 1e6, Min: at, P50: at + 1, P90: at + 2, P99: at + 3, P999: at + 4, Max: at + 5, Mean: at + 6,
		}
		for j, name := range []string{"p50", "p90", "p99", "p999", "max", "mean"} {
			want[string(m)+"."+name] = float64(at) + float64(j) + 1
		}
	}
	for name, v := range want {
		if f, ok := metric.Named(name); !ok || f.Of(r.Figures()) != v {
			t.Errorf("%s: %v, want %v", name, f.Of(r.Figures()), v)
		}
	}
}
