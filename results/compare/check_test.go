package compare

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// checked returns what becomes of one threshold in one cell, and its verdict with the reason: "inconclusive partial".
func checked(t *testing.T, recs []*results.Record, on string) (Result, string) {
	t.Helper()
	c := CheckCells(cellsOf(t, recs), thresholds(t, on), nil)
	if len(c.Cells) != 1 || len(c.Cells[0].Limits) != 2 {
		t.Fatalf("%d cells: %+v", len(c.Cells), c)
	}
	l := c.Cells[0].Limits[1]
	return l, strings.TrimSpace(string(l.Verdict) + " " + string(l.Reason))
}

func cellsOf(t *testing.T, recs []*results.Record) []*results.Cell {
	t.Helper()
	c := results.Collector{Outline: true}
	for _, r := range recs {
		if err := c.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	return c.Cells()
}

func TestCheck(t *testing.T) {
	some := func(change ...func(r *results.Record)) (recs []*results.Record) {
		for _, rate := range []float64{2000, 3000, 9000} {
			r := trial(rate, time.Duration(30e9/rate))
			r.Safety.Power = &results.Power{Watched: 50_000}
			recs = append(recs, r)
		}
		for i, f := range change {
			f(recs[i%len(recs)])
		}
		return recs
	}
	all := func(f func(r *results.Record)) []*results.Record { return some(f, f, f) }
	saturated := func(r *results.Record) { r.Generator.Saturated = true }
	partial := func(r *results.Record) { r.Partial = "stopped by interrupt" }
	failing := func(r *results.Record) {
		r.Counts.Acquired, r.Counts.Unknown, r.Counts.Errors = 83, 17, map[string]int64{"timeout": 17}
	}
	unknown := func(r *results.Record) { r.Latency = nil }
	blind := func(r *results.Record) { r.Safety.Power.Watched = 0 }
	for _, c := range []struct {
		name string
		recs []*results.Record
		on   string
		want string
		text string // of the sentence
	}{
		{"the median passes", some(), "locks/s<3k", "passed", "locks/s 3,000, minimum 3,000"},
		{"the median misses", some(), "locks/s<3001", "missed", "locks/s 3,000, minimum 3,001"},
		{"a time passes", some(), "acquire.p99>10ms", "passed", "acquire.p99 10.0 ms, limit 10 ms"},
		{"a time misses", some(), "acquire.p99>9999us", "missed", "acquire.p99 10 ms, limit 9.999 ms"},
		{"one that looks the same misses", []*results.Record{trial(1000, 20_000_400)}, "acquire.p99>20ms", "missed", "acquire.p99 20.0004 ms, limit 20 ms"},
		{"of a count the worst trial", some(func(r *results.Record) { r.Counts.TimedOut = 1 }), "timed-out>0", "missed", "timed-out 1, limit 0"},
		{"a count from below", some(func(r *results.Record) { r.Safety.Power.Watched = 5 }), "watched<10", "missed", "watched 5, minimum 10"},

		{"failed requests", all(failing), "errors>1%", "missed", "errors/acquisition 17 %, limit 1 %"},
		{"failed requests on a machine too busy", all(func(r *results.Record) { failing(r); saturated(r) }), "errors>20%", "passed", ""},
		{"no failed request", some(), "errors>1%", "passed", "errors/acquisition 0 %, limit 1 %"},
		{"nothing was asked for", all(func(r *results.Record) { r.Counts = results.Counts{} }), "errors>1%", "inconclusive unmeasured", ""},

		{"not in a closed loop", some(), "response.p99>20ms", "inconclusive unmeasured", "response.p99 not measured, limit 20 ms: only an open loop has it"},
		{"too few values", all(func(r *results.Record) { r.Latency[results.Acquire] = results.Latency{Count: 100} }), "acquire.p99>20ms",
			"inconclusive unmeasured", "too few values, or none: a longer -duration"},
		{"no oracle", all(func(r *results.Record) { r.Safety = results.Safety{} }), "violations>0", "inconclusive unmeasured", "the oracle was off"},
		{"no such cost", some(), "wakeups/lock>1", "passed", "wakeups/lock 0, limit 1"},
		{"known of one trial", some(unknown, unknown), "acquire.p99>20ms", "inconclusive unmeasured", "known of 1 of 3 trials"},
		{"known of one trial, and missed", some(unknown, unknown), "acquire.p99>1ms", "missed", ""},
		{"known of two trials", some(unknown), "acquire.p99>20ms", "passed", ""},

		{"partial and passed", all(partial)[:1], "locks/s<1k", "inconclusive partial", "the trial ended early (stopped by interrupt)"},
		{"partial and missed", all(partial)[:1], "locks/s<5k", "missed", "the trial ended early (stopped by interrupt)"},
		{"partial before the window", all(func(r *results.Record) { partial(r); r.Elapsed, r.Counts = 0, results.Counts{} })[:1], "locks/s<5k",
			"inconclusive partial", "locks/s not measured"},
		{"partial beside whole ones", some(partial), "locks/s<2001", "passed", "locks/s 6,000"},
		{"partial beside whole ones, as a witness", some(func(r *results.Record) { partial(r); r.Safety.Violations = 2 }), "violations>0", "missed", "violations 2, limit 0"},

		{"saturated and fast enough", all(saturated), "locks/s<3k", "passed", ""},
		{"saturated and too slow", all(saturated), "locks/s<5k", "missed", "3 of 3 trials saturated, which may be why"},
		{"saturated and too late", all(saturated), "acquire.p99>9ms", "missed", "limit 9 ms: 3 of 3 trials saturated, which may be why"},
		{"saturated and too fast all the same", all(saturated), "locks/s>2k", "missed", "limit 2,000$"},
		{"saturated and too early all the same", all(saturated), "acquire.p99<20ms", "missed", "minimum 20 ms$"},
		{"saturated and early enough", all(saturated), "acquire.p99>20ms", "inconclusive saturated", "3 of 3 trials saturated$"},
		{"saturated and early enough, in a closed loop", all(saturated), "acquire.p99>20ms", "inconclusive saturated", "saturated"},
		{"saturated and early enough, in an open loop", all(func(r *results.Record) {
			saturated(r)
			r.Plan.Rate = spec.Must(spec.ParseRate("5000"))
		}), "acquire.p99>20ms", "inconclusive saturated", "saturated"},
		{"saturated and not too fast", all(saturated), "locks/s>5k", "inconclusive saturated", ""},
		{"saturated in one trial", some(saturated), "acquire.p99>20ms", "passed", ""},
		{"saturated, and counted all the same", all(saturated), "errors>0", "passed", ""},
		{"saturated, and the response counts from the intended start", all(func(r *results.Record) {
			saturated(r)
			r.Latency[results.Response] = r.Latency[results.Acquire]
		}), "response.p99>20ms", "passed", ""},

		{"violated", some(func(r *results.Record) { r.Safety.Violations = 1 }), "violations>0", "missed", "violations 1, limit 0"},
		{"not claimed", all(func(r *results.Record) { r.Traits.Exclusive, r.Safety.Violations = false, 7 }), "violations>0", "inconclusive unclaimed", "does not claim"},
		{"not claimed, and fast", all(func(r *results.Record) { r.Traits.Exclusive = false }), "locks/s<3k", "passed", ""},
		{"nothing could have been seen", all(blind), "violations>0", "passed", "no client met a rival"},
	} {
		l, got := checked(t, c.recs, c.on)
		if got != c.want || !strings.Contains(l.Sentence()+"$", c.text) || strings.Contains(l.Why, "saturated") && !strings.HasPrefix(c.name, "saturated") {
			t.Errorf("%s: %s: %s; want %s: …%s…", c.name, got, l.Sentence(), c.want, c.text)
		}
	}
}

// TestCheckOfTheWhole judges several cells, the worst first.
func TestCheckOfTheWhole(t *testing.T) {
	of := func(clients int, rate float64, change func(r *results.Record)) *results.Record {
		r := trial(rate, time.Millisecond)
		r.Plan.Clients = clients
		r.Safety.Power = &results.Power{Watched: 50_000}
		change(r)
		return r
	}
	nothing := func(*results.Record) {}
	violate := func(r *results.Record) { r.Safety.Violations = 3 }
	unclaimed := func(r *results.Record) { r.Traits.Exclusive = false }
	early := func(revision string) func(r *results.Record) {
		return func(r *results.Record) { r.Run, r.Partial, r.Env.Revision = "another", "interrupted", revision }
	}
	for _, c := range []struct {
		name    string
		recs    []*results.Record
		on      string
		missing []string
		want    Verdict
		reasons []Reason
		first   string // limit
	}{
		{"nothing asked", []*results.Record{of(1, 1000, nothing)}, "", nil, "", nil, ""},
		{"nothing asked, and violated by a trial that ended early", []*results.Record{of(1, 1000, nothing), of(1, 1000, func(r *results.Record) { violate(r); r.Partial = "interrupted" })},
			"", nil, Violated, nil, "mutual exclusion: violations 0 · 50,000 of 100,000 grants could show one · rarer than 1 in 16,666 (95 %): 3 violations in trials that ended early"},
		{"wrong releases of an owned lock", []*results.Record{of(1, 1000, func(r *results.Record) { r.Traits.Owned, r.Safety.WrongReleases = true, 3 })},
			"violations>0", nil, Violated, nil, "mutual exclusion: violations 0 · 50,000 of 100,000 grants could show one: wrong releases 3"},
		{"wrong releases of a lock that anybody may release", []*results.Record{of(1, 1000, func(r *results.Record) { r.Safety.WrongReleases = 3 })},
			"violations>0", nil, Passed, nil, "violations 0, limit 0"},
		{"nothing asked, and violated", []*results.Record{of(1, 1000, violate)}, "", nil, Violated, nil, "mutual exclusion: violations 3 "},
		{"nothing asked, and partial", []*results.Record{of(1, 1000, func(r *results.Record) { r.Partial = "interrupted" })}, "", nil, "", nil, ""},
		{"all pass", []*results.Record{of(1, 1000, nothing), of(2, 2000, nothing)}, "locks/s<1k", nil, Passed, nil, "locks/s 1,000"},
		{"one misses", []*results.Record{of(1, 1000, nothing), of(2, 2000, nothing)}, "locks/s<500,locks/s>1500", nil, Missed, nil, "locks/s 2,000, limit 1,500"},
		{"one is not measured", []*results.Record{of(1, 1000, nothing)}, "locks/s<500,response.p50>1s", nil, Inconclusive, []Reason{Unmeasured}, "response.p50"},
		{"a miss is worse", []*results.Record{of(1, 1000, nothing)}, "response.p50>1s,locks/s<5k", nil, Missed, []Reason{Unmeasured}, "locks/s"},
		{"a violation is worse", []*results.Record{of(1, 1000, nothing), of(2, 2000, violate)}, "locks/s<5k", nil, Violated, nil, "mutual exclusion: violations 3 "},
		{"a cell is missing", []*results.Record{of(1, 1000, nothing)}, "locks/s<500", []string{"clients 2"}, Inconclusive, []Reason{NotRun}, "locks/s"},
		{"partial beside a whole one of its revision", []*results.Record{of(1, 1000, nothing), of(1, 400, early(""))}, "locks/s<500", nil, Passed, nil, "locks/s 1,000"},
		{"partial beside one of another", []*results.Record{of(1, 1000, nothing), of(1, 400, early("v2"))}, "locks/s<500", nil, Missed, nil, "locks/s 400"},
		{"no cell claims it", []*results.Record{of(1, 1000, unclaimed)}, "violations>0", nil, Inconclusive, []Reason{Unclaimed}, "violations 0"},
		{"one cell does not claim it", []*results.Record{of(1, 1000, unclaimed), of(2, 2000, nothing)}, "violations>0", nil, Passed, nil, "violations 0, limit 0: the design does not claim"},
	} {
		var list []Threshold
		if c.on != "" {
			list = thresholds(t, c.on)
		}
		found := CheckCells(cellsOf(t, c.recs), list, c.missing)
		if found.Verdict != c.want || !slices.Equal(found.Reasons(), c.reasons) {
			t.Errorf("%s: %q %v; want %q %v", c.name, found.Verdict, found.Reasons(), c.want, c.reasons)
		}
		first := ""
		if all := found.Limits(); len(all) > 0 {
			first = all[0].Sentence()
		}
		if !strings.HasPrefix(first, c.first) || c.first == "" && first != "" {
			t.Errorf("%s: the first is %q; want %q", c.name, first, c.first)
		}
	}
}
