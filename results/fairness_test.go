package results

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/spec"
)

// TestJain: an index of few grants says nothing of a lock. A record that does not tell how many clients wanted locks means all.
func TestJain(t *testing.T) {
	for _, c := range []struct {
		acquired       int64
		wanted, trials int
		known          bool
	}{
		{0, 0, 1, false}, {40, 40, 1, false}, {199, 40, 1, false}, {200, 40, 1, true}, {200, 0, 1, false}, {320, 0, 1, true},
		{200, 40, 2, true}, {199, 40, 2, false},
	} {
		cell := &Cell{}
		for range c.trials {
			cell.Trials = append(cell.Trials, &Record{Plan: spec.Plan{Load: spec.Load{Clients: 64}}, Counts: Counts{Acquired: c.acquired},
				Fairness: Fairness{Clients: c.wanted, Jain: 0.9}})
			cell.Counts.Acquired += c.acquired
		}
		cell.Fairness = sumFairness(cell.Trials)
		if j := cell.Figures().Jain(); math.IsNaN(j) == c.known || c.known && j != 0.9 {
			t.Errorf("%+v: %v", c, j)
		}
		if j := cell.First().Figures().Jain(); math.IsNaN(j) == c.known {
			t.Errorf("%+v: the first trial has %v", c, j)
		}
	}
}

// TestNoLatencies: an interval without a grant has no latencies in JSON.
func TestNoLatencies(t *testing.T) {
	b, err := json.Marshal(Interval{})
	if err != nil || strings.Contains(string(b), "p50") || strings.Contains(string(b), "p99") || strings.Contains(string(b), "max") {
		t.Errorf("%s, %v", b, err)
	}
}
