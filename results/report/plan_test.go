package report

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/capacity/capacitytest"
)

// TestOverviewHint: what a reader needs to know of the chart, and of nothing that is not there.
func TestOverviewHint(t *testing.T) {
	far := capacitytest.Answer("most")
	far.Candidates[1].Sustains = capacity.Range{Low: 1, Mid: 2, High: 3}
	for _, tt := range []struct {
		a          *capacity.Answer
		want, lack string
	}{
		{capacitytest.Answer("five"), "The broken line is 3,000/s", "arrow"},
		{capacitytest.Answer("most"), "95 % interval.", "broken line"},
		{capacitytest.Answer("atleast"), "An arrow", "logarithmic"},
		{far, "logarithmic scale", "arrow"},
	} {
		if got := overviewHint(tt.a); !strings.Contains(got, tt.want) || strings.Contains(got, tt.lack) {
			t.Errorf("%q: want %q, and no %q", got, tt.want, tt.lack)
		}
	}
}
