package report

import (
	"testing"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/capacity/capacitytest"
)

// TestPlanSentence: the answer is said in the words of the file, an older one's too, and nothing is lost where it has none.
func TestPlanSentence(t *testing.T) {
	for name, want := range map[string]string{
		"one":     "rueidis queue carries 3,000/s with response p99 9.31 ms (20 ms allowed), up to 3,470/s (3,300 to 3,640/s)",
		"most":    "rueidis queue carries the most, 3,300/s at least",
		"partial": "Go on: the same command with the same -o file takes up where this one ended (stopped by interrupt)",
		"noslo":   "3,000/s under response.p99<20ms,errors<0.1%: ruled out",
		"nothing": "The load: undecided",
	} {
		d := Plan(capacitytest.Answer(name))
		if d.Title != want {
			t.Errorf("%s: %q, want %q", name, d.Title, want)
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
