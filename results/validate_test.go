package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		change func(*Record)
		err    string
	}{
		{func(*Record) {}, ""},
		{func(r *Record) { r.Partial, r.Elapsed = "interrupted", 0 }, ""},
		{func(r *Record) { r.Elapsed, r.Plan.Ops = 1, 0 }, "elapsed_ns: 1, and a whole trial was to take 5000000000"},
		{func(r *Record) { r.Elapsed, r.Plan.Ops = r.Plan.Duration/2-1, 0 }, "elapsed_ns: 2499999999, and a whole trial was to take 5000000000"},
		{func(r *Record) { r.Elapsed, r.Plan.Ops = 1, 100 }, "elapsed_ns: 1, which is too short for 100 locks"},
		{func(r *Record) { r.Elapsed, r.Plan.Ops = 100, 100 }, ""},
		{func(r *Record) { r.Elapsed, r.Partial = 1, "interrupted" }, "elapsed_ns: 1, which is too short for 100 locks"},
		{func(r *Record) { r.Elapsed, r.Partial = 1e6, "interrupted" }, ""},
		{func(r *Record) { r.Latency = nil }, ""},
		{func(r *Record) { r.Cost, r.Generator.Machine = Cost{Tries: -1, Commands: -1, Allocs: -1}, -1 }, ""},
		{func(r *Record) { r.Schema = SchemaVersion + 1 }, "schema: 2 is newer than 1: written by a newer lockbench: read it with that one, or update this one"},
		{func(r *Record) { r.Started = time.Time{} }, "started: missing"},
		{func(r *Record) { r.Trial = 0 }, "trial: 0 is below 1"},
		{func(r *Record) { r.Side = "left" }, `side: "left" is none`},
		{func(r *Record) { r.Side = "" }, "pair: 1 of no side"},
		{func(r *Record) { r.Pair = -1 }, "pair: -1 is negative"},
		{func(r *Record) { r.Plan.Driver = "" }, "plan.driver: missing"},
		{func(r *Record) { r.Plan.Lock = "" }, "plan.lock: missing"},
		{func(r *Record) { r.Plan.Durability = "strikt" }, `plan.durability: "strikt" is none`},
		{func(r *Record) { r.Server.Durability = "lax" }, `server.durability: "lax" is none`},
		{func(r *Record) { r.Server.Connections = -1 }, "server.connections: -1 is negative"},
		{func(r *Record) { r.Cost.RoundTrips, r.Cost.Notices, r.Cost.KeepAlives = -1, -1, -1 }, ""},
		{func(r *Record) { r.Plan.Hold = -1 }, "plan.hold_ns: -1 is negative"},
		{func(r *Record) { r.Bound.LocksPerS = math.Inf(1) }, "bound.locks_per_s: +Inf is no number"},
		{func(r *Record) { r.Cost.Commands = math.Inf(-1) }, "cost.commands: -Inf is no number"},
		{func(r *Record) { r.Bound.Little = math.NaN() }, "bound.little: NaN is no number"},
		{func(r *Record) { r.Fairness.Jain = -0.1 }, "fairness.jain: -0.1 is negative"},
		{func(r *Record) { r.Fairness.MinClient = 10 }, "fairness.min_client: 10 is above max_client, 9"},
		{func(r *Record) { r.Counts.LostRenewal = 101 }, "counts.lost_renewal: 101 of 100 holds"},
		{func(r *Record) { r.Counts.RenewError = 41 }, "counts.renew_error: 41 of 40 renewals"},
		{func(r *Record) { r.Plan.Renew = false }, "counts.renewals: 40, though nothing was renewed"},
		{func(r *Record) { r.Plan.Reentry = 1 }, "counts.reentries: 79, though none was asked for"},
		{func(r *Record) { r.Plan.Reentry, r.Plan.Renew = 2, true }, ""},
		{func(r *Record) { r.Counts.Dropped = 141 }, "counts.dropped: 141 of 140 arrivals"},
		{func(r *Record) { r.Steady.P = 1.1 }, "steady.p: a probability of 1.1"},
		{func(r *Record) { r.Plan.Classes = nil }, "classes: 1 of 0"},
		{func(r *Record) { r.Classes[0].Latency = map[Metric]Latency{Hold: {Count: 1}} }, "classes[0].latency.hold.hdr: no payload for 1 values"},
		{func(r *Record) { r.Generator.Machine = 1.5 }, "generator.machine: a share of 1.5"},
		{func(r *Record) { r.Thread.Waited = 1.5 }, "server_thread: shares of 0.6 and 1.5"},
		{func(r *Record) { r.Safety.Checked = false }, "safety.grants: 120, though nothing was checked"},
		{func(r *Record) { r.Latency[Hold] = Latency{Min: -1, HDR: r.Latency[Hold].HDR} }, "latency.hold.min_ns: -1 is negative"},
	} {
		r := numbered(1)
		c.change(r)
		err := r.Validate()
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.err {
			t.Errorf("got  %q\nwant %q", got, c.err)
		}
		if errors.Is(err, ErrNewerSchema) != (r.Schema > SchemaVersion) {
			t.Errorf("%q: errors.Is ErrNewerSchema is wrong", got)
		}
	}
}

// TestValidateAllocates: what checking a long record takes does not grow with its course.
func TestValidateAllocates(t *testing.T) {
	allocs := func(intervals int) float64 {
		r := numbered(1)
		r.Series = slices.Repeat([]Interval{{Length: time.Second, Acquired: 1e5, P50: 1e6, P99: 1e7, Max: 1e8}}, intervals)
		return testing.AllocsPerRun(20, func() {
			if err := r.validate(false); err != nil {
				t.Fatal(err)
			}
		})
	}
	if short, long := allocs(6), allocs(600); long > short {
		t.Errorf("%v allocations to validate a record with 6 intervals, %v with 600", short, long)
	}
}

// TestLabel: a record of which one figure makes no sense is written and read, and says which. A stranger's is refused.
func TestLabel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	appended := 0
	for name, c := range map[string]struct {
		change func(*Record)
		why    string
	}{
		"nothing":        {func(*Record) {}, ""},
		"an early event": {func(r *Record) { r.Safety.Events[0].At = -5 }, "safety.events[0].at_ns: -5 is negative"},
		"too many":       {func(r *Record) { r.Safety.Violations = 101 }, "safety.violations: 101 in 100 grants"},
		"no number":      {func(r *Record) { r.Cost.Commands = math.NaN() }, "cost.commands: NaN is no number"},
		"in a list":      {func(r *Record) { r.Classes[0].Jain = math.Inf(1) }, "classes[0].jain: +Inf is no number"},
		"no time":        {func(r *Record) { r.Elapsed = 0 }, "elapsed_ns: a whole trial took no time"},
		"a distribution": {
			func(r *Record) { change(r.Latency, func(l *Latency) { l.P50 = l.Max + 1 }) }, "latency.acquire.p90_ns",
		},
		"that of a class": {func(r *Record) {
			change(r.Classes[0].Latency, func(l *Latency) { l.Overflow = 1 << 40 })
		}, "classes[0].latency"},
		"no number, too many": {func(r *Record) {
			r.Cost.Commands, r.Safety.Violations = math.NaN(), 101
		}, "cost.commands: NaN is no number"},
		"no time, too many": {func(r *Record) {
			r.Elapsed, r.Safety.Violations = 0, 101
		}, "elapsed_ns: a whole trial took no time"},
		"of a part": {func(r *Record) {
			r.Partial, r.Safety.Violations = "interrupted", 101
		}, "safety.violations: 101 in 100 grants"},
	} {
		r := numbered(appended + 1)
		r.Safety.Grants, r.Safety.Power = 100, nil
		partial := ""
		c.change(r)
		if partial = r.Partial; c.why != "" {
			if _, _, err := readString(spelled(t, *r)); err == nil {
				t.Errorf("%s: read without a label", name)
			}
		}
		err := r.Label()
		if text := fmt.Sprint(err); c.why != "" && !strings.HasPrefix(text, c.why) || c.why == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		says := strings.HasPrefix(r.Partial, invalid) && strings.Contains(r.Partial, c.why)
		if c.why != "" && (!says || !strings.HasSuffix(r.Partial, partial)) {
			t.Errorf("%s: %q", name, r.Partial)
		}
		mustAppend(t, path, r)
		appended++
		recs, report := readFile(t, path)
		if len(recs) != appended || report.Damaged > 0 || recs[appended-1].Partial != r.Partial {
			t.Fatalf("%s: %d records of %d: %+v", name, len(recs), appended, report)
		}
		if _, err := Group(recs); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := numbered(1)
	other.Partial, other.Safety.Violations = "invalid: counts.acquired: -1 is negative", 1<<40
	foreign := numbered(1)
	foreign.Schema, foreign.Partial = SchemaVersion+1, "invalid: schema"
	damaged := numbered(1)
	damaged.Partial = "invalid: latency.acquire.hdr"
	change(damaged.Latency, func(l *Latency) { l.HDR = "AAAA" })
	for _, r := range []*Record{other, foreign, damaged} {
		if err := r.Validate(); err == nil {
			t.Errorf("valid: %s", r.Partial)
		}
	}
}

// spelled returns the line of a record, if JSON has one.
func spelled(t *testing.T, r Record) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		return "{}"
	}
	return string(b) + "\n"
}

// change changes the distribution of acquisitions.
func change(all map[Metric]Latency, to func(*Latency)) {
	l := all[Acquire]
	to(&l)
	all[Acquire] = l
}
