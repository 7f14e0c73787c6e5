package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/view"
	"github.com/lockbench/lockbench/workloads/presets"
)

// TestTold: each preset has a sentence, and a table of several has that of each.
func TestTold(t *testing.T) {
	var cells []*results.Cell
	for _, name := range presets.Names() {
		r := &results.Record{Plan: spec.Plan{Driver: "rueidis", Wait: "backoff", Workload: name, Keys: 4, Load: spec.Load{Clients: 20, TryOnly: 1}}}
		cells = append(cells, &results.Cell{Trials: []*results.Record{r}, Counts: results.Counts{Acquired: 20}})
	}
	d := Run(cells, nil)
	text := strings.ReplaceAll(fmt.Sprint(d.Blocks), "\u00a0", " ")
	for _, c := range cells {
		if told := strings.ReplaceAll(task(c), "\u00a0", " "); told == "" || !strings.Contains(text, told) {
			t.Errorf("%s: %q, and the table says nothing of it", c.Plan().Workload, told)
		}
	}
	if !strings.Contains(text, "each tries once") || strings.Contains(text, "wait backoff") {
		t.Error("nobody waits, and the table says otherwise")
	}
}

// TestCronTold: that each job ran once is said only if the counts say so.
func TestCronTold(t *testing.T) {
	for _, test := range []struct {
		counts     results.Counts
		violations int64
		want       string
	}{
		{results.Counts{Acquired: 20, Contended: 980}, 0, "each of 20 jobs ran exactly once, with one clock for all hosts · 980 of 1,000 hosts skipped theirs"},
		{results.Counts{Acquired: 23, Contended: 977}, 0, "20 jobs ran 23 times: some of them twice · 977 of 1,000 hosts skipped theirs"},
		{results.Counts{Acquired: 18, Contended: 970, Refused: 12}, 0, "18 runs of 20 jobs · 970 of 1,000 hosts skipped theirs"},
		{results.Counts{Acquired: 23, Contended: 1030}, 0, "23 runs · 1,030 of 1,053 hosts skipped theirs"},
		{results.Counts{Acquired: 20, Contended: 980, Lost: 8}, 0, "8 of 20 jobs outlived the lease: another host that comes then runs the job again · 980 of 1,000 hosts skipped theirs"},
		{results.Counts{Acquired: 20, Contended: 978, Unknown: 2}, 0, "20 runs · 978 of 1,000 hosts skipped theirs"},
		{results.Counts{Acquired: 20, Contended: 980}, 1, "20 runs of 20 jobs · 980 of 1,000 hosts skipped theirs"},
	} {
		r := &results.Record{Traits: results.Traits{Exclusive: true}, Plan: spec.Plan{Workload: "cron-herd", Keys: 4, Load: spec.Load{Clients: 200}}}
		c := &results.Cell{Trials: []*results.Record{r}, Counts: test.counts}
		r.Safety.Violations, c.Safety.Violations = test.violations, test.violations
		if got := strings.ReplaceAll(task(c), "\u00a0", " "); got != test.want {
			t.Errorf("%+v: %q, want %q", test.counts, got, test.want)
		}
		first := strings.ReplaceAll(verdict(view.NewRun([]*results.Cell{c})).Text, "\u00a0", " ")
		want := format.Upper(strings.ReplaceAll(test.want, " · ", ", "))
		if strings.HasPrefix(first, want+"; ") != (test.violations == 0) {
			t.Errorf("%+v: the run begins with %q", test.counts, first)
		}
	}
}
