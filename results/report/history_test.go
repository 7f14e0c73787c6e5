package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

// nights returns trials of two plans over some nights: the one loses 8 % in the fourth night, the other begins in the third.
func nights() (recs []*results.Record) {
	for night := range 6 {
		for _, clients := range []int{16, 64} {
			if clients == 16 && night < 2 {
				continue
			}
			for trial := range 3 {
				rate := 80_000 + 100*trial + night
				if clients == 64 && night >= 3 {
					rate = rate * 92 / 100
				}
				r := &results.Record{
					ID: fmt.Sprint(night, clients, trial), Started: time.Date(2026, 3, 1+night, 2, trial, 0, 0, time.UTC),
					Plan: spec.Plan{Load: spec.Load{Clients: clients}, Driver: "rueidis", Lock: "set-nx", Seed: uint64(night)},
					Env:  results.Env{Revision: fmt.Sprintf("night-%d", night), CPUs: 2}, Elapsed: 10 * time.Second,
					Traits: results.Traits{Exclusive: true}, Counts: results.Counts{Acquired: int64(rate)},
					Latency: map[results.Metric]results.Latency{results.Acquire: {Count: 10_000, P99: time.Duration(8e11 / rate)}},
				}
				recs = append(recs, r)
			}
		}
	}
	return recs
}

// TestHistory: what lets a figure be doubted has a mark, what ended early is left out, and a gap is no change.
func TestHistory(t *testing.T) {
	recs := nights()
	recs[0].Partial, recs[1].Generator.Saturated = "interrupted", true
	recs[3].Safety = results.Safety{Checked: true, Violations: 2}
	recs[len(recs)-1].Env.Revision = "v0.3.1-0.20260901083545-0123456789ab"
	for _, r := range recs[9:12] {
		r.Latency = nil
	}
	golden(t, "history", History([]*results.Cell{{Trials: recs}}))
	d := History([]*results.Cell{{Trials: recs[:6]}})
	if !strings.HasPrefix(d.Title, "✗ mutual exclusion violated: 8,010 locks/s at night-1 (−0.1 %)") || d.Tone != Bad || len(d.Blocks) != 2 {
		t.Errorf("one cell: %s", dump(d))
	}
	recs[4].Partial, recs[5].Partial, recs[3].Safety = "interrupted", "interrupted", results.Safety{}
	recs[5].Safety = results.Safety{Checked: true, Violations: 2}
	if d = History([]*results.Cell{{Trials: recs[:6]}}); d.Tone != Bad || !strings.HasSuffix(d.When, "records:"+format.Unbroken+"3") {
		t.Errorf("a violation of a trial that ended early: %s", dump(d))
	}
	many := nights()
	for i := range 30 {
		r := *many[0]
		r.Env.Revision = fmt.Sprint("v", i)
		many = append(many, &r)
	}
	d = History([]*results.Cell{{Trials: many}})
	if all := d.Blocks[len(d.Blocks)-1]; !all.Detail || len(all.Table.Rows) != 40 || len(d.Blocks[0].Table.Rows) != 4 {
		t.Errorf("many points: %s", dump(d))
	}
}
