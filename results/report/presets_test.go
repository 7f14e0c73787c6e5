package report

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// TestCronTold: that each job ran once is said only if the counts say so.
func TestCronTold(t *testing.T) {
	for _, test := range []struct {
		counts     results.Counts
		violations int64
		want       string
	}{
		{results.Counts{Acquired: 20, Contended: 980}, 0, "each of 20 jobs ran exactly once · 980 of 1,000 hosts skipped theirs"},
		{results.Counts{Acquired: 23, Contended: 977}, 0, "20 jobs ran 23 times: some of them twice · 977 of 1,000 hosts skipped theirs"},
		{results.Counts{Acquired: 18, Contended: 970, Refused: 12}, 0, "18 runs of 20 jobs · 970 of 1,000 hosts skipped theirs"},
		{results.Counts{Acquired: 20, Contended: 980}, 1, "20 runs of 20 jobs · 980 of 1,000 hosts skipped theirs"},
	} {
		r := &results.Record{Plan: spec.Plan{Workload: "cron-herd", Keys: 4, Load: spec.Load{Clients: 200}}}
		c := &results.Cell{Trials: []*results.Record{r}, Counts: test.counts}
		c.Safety.Violations = test.violations
		p := &cellPage{}
		p.preset(c)
		if len(p.facts) != 1 || strings.ReplaceAll(p.facts[0].Lines[0], "\u00a0", " ") != test.want {
			t.Errorf("%+v: %+v, want %q", test.counts, p.facts, test.want)
		}
	}
}
