package view

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
)

// TestVerdict plants what a figure must not be quoted for, and what it must say first.
func TestVerdict(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*results.Record)
		kind   Kind
		want   string
	}{
		"quotable": {func(*results.Record) {}, Note, "2,000 locks/s; 1 wait in 100 takes over 10.0 ms; no violation was seen"},
		"few waits": {func(*results.Record) {}, Note,
			"2,000 locks/s; the longest wait took 1.00 s; no violation was seen"},
		"nobody watched":  {func(r *results.Record) { r.Safety.Power.Watched = 0 }, Note, "2,000 locks/s; 1 wait in 100 takes over 10.0 ms"},
		"nothing granted": {func(r *results.Record) { r.Counts.Acquired = 0 }, Warn, "no lock was granted"},
		"ended early": {func(r *results.Record) { r.Partial = "interrupted" }, Warn,
			"2,000 locks/s; 1 wait in 100 takes over 10.0 ms; no violation was seen; it ended early: don't quote it"},
		"embedded": {func(r *results.Record) { r.Server.Kind = "embedded" }, Warn,
			"2,000 locks/s; 1 wait in 100 takes over 10.0 ms; no violation was seen; the embedded server's speed says nothing of a real one: don't quote it"},
		"saturated": {func(r *results.Record) { r.Generator.Saturated = true }, Warn,
			"2,000 locks/s; 1 wait in 100 takes over 10.0 ms; no violation was seen; lockbench's machine was the limit: don't quote it"},
		"paused": {func(r *results.Record) { r.Generator.Pauses = []results.Pause{{Length: time.Second}} }, Warn,
			"2,000 locks/s; 1 wait in 100 takes over 10.0 ms; no violation was seen; lockbench itself stood still for a while: don't quote the waits"},
		"stuck": {func(r *results.Record) { r.Counts.StuckKeys = 1 }, Warn,
			"2,000 locks/s; 1 wait in 100 takes over 10.0 ms; no violation was seen; keys stayed locked after errors: don't quote it"},
		"violated": {func(r *results.Record) { r.Safety.Violations = 3 }, Bad,
			"MUTUAL EXCLUSION VIOLATED: 3 of 2,000 grants came while another client held the lock"},
		"violated, as the design allows": {func(r *results.Record) { r.Safety.Violations, r.Traits.Exclusive = 3, false }, Note,
			"2,000 locks/s; 1 wait in 100 takes over 10.0 ms; two clients at a time held a lock, and its design does not rule that out"},
	} {
		t.Run(name, func(t *testing.T) {
			r := trialsOf("a", 2000)[0]
			tt.change(r)
			cells, err := results.Group([]*results.Record{r})
			if err != nil {
				t.Fatal(err)
			}
			wait := results.Latency{Count: 2000, Mean: time.Millisecond, P50: time.Millisecond, P99: 10 * time.Millisecond, Max: time.Second}
			if name == "few waits" {
				wait.Count = 5
			}
			cells[0].Latency = map[results.Metric]results.Latency{results.Acquire: wait}
			if got := NewRun(cells).Verdict(); got.Kind != tt.kind || got.Text != tt.want {
				t.Errorf("%s: %q\nwant %s: %q", got.Kind, got.Text, tt.kind, tt.want)
			}
		})
	}
}

// TestVerdictOnRows: the best row is named only as far as the trials tell, and rows that may not be quoted are counted.
func TestVerdictOnRows(t *testing.T) {
	verdict := func(change func([]*results.Record), recs ...[]*results.Record) string {
		var all []*results.Record
		for i, trials := range recs {
			for _, r := range trials {
				r.Cell = i
			}
			all = append(all, trials...)
		}
		change(all)
		cells, err := results.Group(all)
		if err != nil {
			t.Fatal(err)
		}
		return NewRun(cells).Verdict().Text
	}
	fast, slow := []int64{900, 901, 902, 903, 904, 905}, []int64{100, 101, 102, 103, 104, 105}
	same := func([]*results.Record) {}
	for _, tt := range []struct {
		got  string
		want string
	}{
		{verdict(same, trialsOf("a", fast...), trialsOf("b", slow...)), "a was fastest: 903 locks/s, 8.8 times the next, b"},
		{verdict(same, trialsOf("a", slow...), trialsOf("b", slow...)), "No fastest row. a had the most"},
		{verdict(func(all []*results.Record) { all[0].Generator.Saturated = true }, trialsOf("a", fast...), trialsOf("b", slow...)),
			"No two rows can be ranked; don't quote 1 of 2 rows (saturated)"},
		{verdict(func(all []*results.Record) { all[0].Safety.Violations = 1 }, trialsOf("a", fast...), trialsOf("b", slow...)),
			"Mutual exclusion was violated by a"},
	} {
		if !strings.HasPrefix(tt.got, tt.want) {
			t.Errorf("%q\nwant %q", tt.got, tt.want)
		}
	}
}
