package report

import (
	"testing"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/capacity/capacitytest"
)

func TestPlanHeadline(t *testing.T) {
	for name, want := range map[string]string{
		"five":      "3,000/s under response.p99<20ms,errors<0.1%: sustained by 2 of 5 candidates",
		"one":       "3,000/s under response.p99<20ms,response.p99.9<50ms: sustained by rueidis queue",
		"most":      "The most under response.p99<20ms,errors<0.1%: 3,470/s (3,300–3,640), by rueidis queue",
		"paper":     "3,000/s under response.p99<20ms,errors<0.1%: no lock can do it",
		"floor":     "3,000/s under response.p99<20ms,errors<0.1%: ruled out: no candidate sustains it",
		"violated":  "3,000/s under response.p99<20ms,errors<0.1%: MUTUAL EXCLUSION VIOLATED by redsync; sustained by rueidis queue",
		"partial":   "3,000/s under response.p99<20ms,errors<0.1%: undecided (stopped by interrupt)",
		"failed":    "3,000/s under response.p99<20ms,errors<0.1%: no trial worked",
		"undecided": "3,000/s under response.p99<20ms,errors<0.1%: undecided",
		"nothing":   "The load: undecided",
	} {
		if got := planHeadline(capacitytest.Answer(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestShareRange: the unit is written once if both ends have it.
func TestShareRange(t *testing.T) {
	for _, tt := range []struct {
		r    capacity.Range
		want string
	}{
		{capacity.Range{}, "–"},
		{capacity.Range{Low: 0.004, Mid: 0.006, High: 0.009}, "0.6 % (0.4–0.9 %)"},
		{capacity.Range{High: 0.002}, "0 % (0–0.2 %)"},
		{capacity.Range{Mid: 0.5}, "50 %"},
	} {
		if got := shareRange(tt.r); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.r, got, tt.want)
		}
	}
}

func TestRateRange(t *testing.T) {
	for _, tt := range []struct {
		r    capacity.Range
		want string
	}{
		{capacity.Range{}, "–"},
		{capacity.Range{Low: 900, Mid: 1000, High: 1100}, "1,000/s (900–1,100)"},
		{capacity.Range{Low: 17777.8, Mid: 17777.8, High: 17777.8}, "17,778/s"},
	} {
		if got := rateRange(tt.r); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.r, got, tt.want)
		}
	}
}
