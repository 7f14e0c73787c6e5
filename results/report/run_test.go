package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/view"
)

// record returns a whole trial. Those with different n differ in their figures alone.
func record(n int) *results.Record {
	acquired := int64(81_000 + 911*n)
	return &results.Record{
		Schema: results.SchemaVersion, ID: fmt.Sprintf("r%d", n), Trial: 1, Started: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC),
		Plan: spec.Plan{Load: spec.Load{Clients: 64, Hold: time.Millisecond, TTL: 30 * time.Second, Timeout: 10 * time.Second},
			Driver: "rueidis", Lock: "set-nx", Wait: "backoff", Keys: 10, BackoffMin: time.Millisecond, BackoffMax: 1500 * time.Millisecond,
			Duration: 10 * time.Second, Warmup: time.Second, Seed: uint64(n), IOTimeout: 3 * time.Second, Oracle: true, Server: "private",
			Command: "lockbench -hold 1ms",
		},
		Traits: results.Traits{Exclusive: true, Owned: true, Expires: true}, Wrong: "no fencing token; a fail-over can grant it twice",
		Env: results.Env{Lockbench: "v0.1.0", Go: "go1.26.8", OS: "linux", Arch: "amd64", CPU: "AMD EPYC 7B13", CPUs: 2, GOMAXPROCS: 2},
		Server: results.Server{Kind: "private", Name: "redis", Version: "7.0.15", Mode: "standalone", Persistence: "none", Network: "unix",
			Addr: fmt.Sprintf("/run/lockbench-%d.sock", n)},
		Elapsed: 10 * time.Second, Latency: maps.Clone(distributions(n)),
		Counts:    results.Counts{Acquired: acquired, Tries: 91_234, Released: acquired, Unfinished: 54},
		Fairness:  results.Fairness{Jain: 0.97, MinClient: 1201, MaxClient: 1388, LongestWait: 86 * time.Millisecond, OwnerChanges: 80_100, LongestRun: 3},
		Safety:    results.Safety{Checked: true, Grants: acquired + 8000, Power: &results.Power{Watched: 60_000, Refusals: 90_000}},
		Cost:      results.Cost{Tries: 1.13, Commands: 3.1, BytesIn: 181, BytesOut: 52.5, ServerCPUUs: 2.34, ClientCPUUs: 6.11, Wakeups: -1, Allocs: 4},
		Bound:     results.Bound{RTT: 55 * time.Microsecond, LocksPerS: 8807, Efficiency: 0.92, Little: 0.998, By: "keys"},
		Generator: results.Generator{CPU: 0.712, Machine: 0.81, GCPauses: 1234 * time.Microsecond, Memory: 30e6},
	}
}

var distributionsOf = map[int]map[results.Metric]results.Latency{} // since making them takes most of a test's time

func distributions(n int) map[results.Metric]results.Latency {
	if distributionsOf[n] == nil {
		rec := results.NewRecorder(1)
		shard := rec.Borrow()
		for i := range 5000 {
			x := time.Duration(i + 1)
			acquire := 40*time.Microsecond + x*x*x*time.Duration(10+n)/125_000
			shard.Record(results.AcquireIndex, acquire)
			shard.Record(results.HoldIndex, 1080*time.Microsecond+x*2)
			shard.Record(results.ReleaseIndex, 30*time.Microsecond+x*10)
			shard.Record(results.HandoffIndex, 50*time.Microsecond+x*time.Duration(n+1)*2)
		}
		distributionsOf[n] = rec.Latencies()
		maps.DeleteFunc(distributionsOf[n], func(_ results.Metric, l results.Latency) bool { return l.Count == 0 })
	}
	return distributionsOf[n]
}

// opened returns a trial of an open loop.
func opened(n int) *results.Record {
	r := record(n)
	r.Plan.Rate, r.Plan.Arrival, r.Plan.MaxQueue = spec.Must(spec.ParseRate("9000")), "poisson", 500
	r.Counts.Offered, r.Counts.Dropped = 90_000, 1234
	r.Latency[results.Response], r.Latency[results.Lag] = r.Latency[results.Acquire], r.Latency[results.Release]
	r.Latency[results.ProbeIdle], r.Latency[results.Probe] = r.Latency[results.Release], r.Latency[results.Hold]
	r.Bound.By, r.Bound.InSystem, r.Bound.LittleOpen = "rate", 21.3, 0.998
	return r
}

func violated() results.Safety {
	return results.Safety{
		Checked: true, Grants: 89_000, Violations: 63, Longest: 30 * time.Millisecond, Overlap: 1900 * time.Millisecond,
		LostUpdates: 61, WrongReleases: 62, Power: &results.Power{Watched: 100},
		Events: []results.Violation{{At: 130 * time.Millisecond, Key: 3, Holder: 7, Intruder: 12, Overlap: 30 * time.Millisecond}, {At: time.Second, Key: 3}},
	}
}

// trials returns so many trials of a design, with rates from one on.
func trials(lock string, n, from int) (recs []*results.Record) {
	for i := range n {
		r := record(i % 3)
		r.ID, r.Trial, r.Plan.Lock, r.Counts.Acquired = fmt.Sprint(lock, i), 1+i, lock, int64(from+10*i)
		r.Latency[results.Acquire] = record(0).Latency[results.Acquire]
		recs = append(recs, r)
	}
	return recs
}

func cellsOf(t testing.TB, recs ...*results.Record) []*results.Cell {
	t.Helper()
	for i, r := range recs {
		r.ID = fmt.Sprint(r.ID, "-", i)
	}
	cells, err := results.Group(recs)
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

// TestRun draws one cell, of which all is well and of which much is not, several of one load, and several loads.
func TestRun(t *testing.T) {
	bad := opened(3)
	bad.Partial, bad.Elapsed, bad.Wrong = "interrupted", 2*time.Second, ""
	bad.Counts.TimedOut, bad.Counts.Unknown, bad.Counts.Lost = 120, 7, 2
	bad.Counts.Errors = map[string]int64{"timeout": 15, "server": 3}
	bad.Counts.EarlyErrors, bad.Counts.ErrorSample = map[string]int64{"timeout": 2}, map[string]string{"server": "OOM\r\n\x1b[31m"}
	bad.Generator.Saturated, bad.Generator.Why = true, "2 of 2 cores busy for 97 % of the time"
	bad.Warnings = []string{"a", "b", "c", "d", "e", "holds of 1 ms lasted 1.30 ms (median): the figures are those of such holds"}
	bad.Plan.Hold = 500 * time.Microsecond
	classes := opened(0)
	classes.Plan.Classes = []spec.Class{{Name: "online", Load: classes.Plan.Load}, {Name: "batch", Load: spec.Load{Clients: 4, Hold: time.Second}}}
	classes.Classes = []results.ClassResult{
		{Name: "online", Counts: results.Counts{Acquired: 49_900, Offered: 50_000}, Jain: 0.98, Latency: classes.Latency},
		{Name: "batch", Counts: results.Counts{Acquired: 31_100, Contended: 17}, Starved: 1},
	}
	several := slices.Concat(trials("set-nx", 7, 81_000), trials("fenced", 7, 70_000), trials("set-nx-del", 1, 90_000))
	for _, r := range several[7:14] {
		r.Traits.Fenced, r.Wrong, r.Server.Persistence = true, "a resource has to check the token", "aof always"
	}
	several[14].Safety = violated()
	loads := []*results.Record{record(0), record(1), opened(2)}
	loads[1].Plan.Clients, loads[1].Plan.Keys = 8, 80
	ranked := record(4)
	ranked.Ranks = []results.Rank{{Rank: 0, Host: "a", Clients: 32, Acquired: 40_000}, {Rank: 1, Host: "b", Clients: 32, Acquired: 41_000}}
	for name, recs := range map[string][]*results.Record{
		"one": {ranked}, "bad": {bad}, "classes": {classes}, "several": several, "loads": loads,
	} {
		golden(t, "run-"+name, Run(cellsOf(t, recs...), nil))
	}
	if d := Run(nil, nil); d.Blocks != nil {
		t.Error("of no cells something is said")
	}
}

// TestOrder: a row is called first if it is ahead by more than the trials scatter, whatever its figure.
func TestOrder(t *testing.T) {
	strict := func(recs []*results.Record) []*results.Record {
		for _, r := range recs {
			r.Plan.Hold = 2 * time.Millisecond
		}
		return recs
	}
	saturated := trials("setnx", 7, 95_000)
	for _, r := range saturated {
		r.Generator.Saturated = true
	}
	slow := trials("fenced", 7, 70_000)
	for _, r := range append(slow, strict(trials("x", 1, 1))...) {
		r.Plan.Rate = spec.Must(spec.ParseRate("9000"))
		r.Latency[results.Acquire] = record(9).Latency[results.Acquire]
	}
	fast := trials("set-nx", 7, 60_000)
	for _, r := range fast {
		r.Plan.Rate = slow[0].Plan.Rate
	}
	inside := trials("mutex", 7, 900_000)
	for _, r := range inside {
		r.Plan.Server, r.Server.Kind = "in-process", "in-process"
	}
	for name, c := range map[string]struct {
		recs []*results.Record
		want string
	}{
		"services, no load but one": {slices.Concat(inside, trials("set-nx", 7, 84_000)), "2 servers · longest p99 9.75 ms: mutex"},
		"services beside rivals": {slices.Concat(inside, trials("set-nx", 7, 84_000), trials("fenced", 7, 60_000)),
			"in-process: no ranking · 1 other server"},
		"intervals apart": {slices.Concat(trials("set-nx", 7, 84_000), trials("fenced", 7, 60_000)), "set-nx first, 8,403 locks/s, 1.40 times fenced"},
		"by a little":     {slices.Concat(trials("set-nx", 7, 84_000), trials("fenced", 7, 83_000)), "set-nx first, 8,403 locks/s, 1.01 times fenced"},
		"overlap":         {slices.Concat(trials("set-nx", 7, 84_000), trials("fenced", 7, 83_980)), "set-nx and fenced lead, too close to rank"},
		"ranges apart":    {slices.Concat(trials("set-nx", 2, 84_000), trials("fenced", 3, 60_000)), "set-nx first, 8,401 locks/s, 1.40 times fenced"},
		"single trials":   {slices.Concat(trials("set-nx", 1, 84_000), trials("fenced", 1, 60_000)), "no ranking of single trials"},
		"doubtful": {slices.Concat(saturated, trials("set-nx", 7, 84_000), trials("fenced", 7, 60_000)),
			"set-nx first among valid rows, 8,403 locks/s, 1.40 times fenced · 1 of 3 rows doubtful: saturated"},
		"two loads": {slices.Concat(trials("set-nx", 7, 84_000), trials("fenced", 7, 60_000), strict(trials("set-nx", 7, 30_000)), strict(trials("fenced", 7, 29_990))),
			"hold 2 ms: set-nx and fenced lead, too close to rank · 1 other load"},
		"waits":       {slices.Concat(slow, fast), "set-nx first, p99 9.75 ms, fenced 18.5 ms"},
		"no rivals":   {[]*results.Record{strict(trials("set-nx", 1, 10_000))[0], record(0)}, "2 loads · longest p99 9.75 ms: hold 2 ms"},
		"no two rows": {slices.Concat(saturated, trials("fenced", 7, 60_000)), "no ranking · 1 of 2 rows doubtful: saturated"},
	} {
		if got := Run(cellsOf(t, c.recs...), nil).Title; strings.ReplaceAll(got, "\u00a0", " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestExcluded: a bound stands only where something could have been seen.
func TestExcluded(t *testing.T) {
	power := func(watched int64) *results.Power { return &results.Power{Watched: watched} }
	for _, c := range []struct {
		safety results.Safety
		shared bool
		want   string
		title  string
	}{
		{results.Safety{Grants: 81_942, Power: power(2310)}, false, "violations 0 · 2,310 of 81,942 grants could show one · rarer than 1 in 770 (95 %)", "no violation seen"},
		{results.Safety{Grants: 81_942, Power: power(2310)}, true, "violations 0 · 2,310 of 81,942 grants among its own clients could show one · rarer than 1 in 770 (95 %)",
			"no violation seen"},
		{results.Safety{Grants: 9, Power: power(0)}, false, "violations 0 in 9 grants: none could have been seen", ""},
		{results.Safety{Grants: 9, Power: power(5)}, false, "violations 0 · 5 of 9 grants could show one · too few to tell", "no violation seen"},
		{results.Safety{Grants: 9}, false, "violations 0 in 9 grants: unknown whether one could have been seen", ""},
		{results.Safety{}, false, "violations 0 in 0 grants: unknown whether one could have been seen", ""},
		{results.Safety{Grants: 9, LostEarly: 2, Power: power(9)}, false, "violations 0 · 9 of 9 grants could show one", "(2 of 9 grants)"},
		{results.Safety{Grants: 9, Violations: 2, Longest: time.Second, Overlap: time.Second}, false,
			"violations 2 in 9 grants · longest overlap 1.00 s, in all 1.00 s", "(2 of 9 grants)"},
	} {
		r := record(0)
		r.Safety, r.Safety.Checked, r.Plan.Shared = c.safety, true, true
		r.Plan.Shared = c.shared
		cell := cellsOf(t, r)[0]
		title := Run([]*results.Cell{cell}, nil).Title
		title = strings.ReplaceAll(title, "\u00a0", " ")
		if got := view.Exclusion(cell); got != c.want || !strings.Contains(title, c.title) || c.title == "" && strings.Contains(title, "violat") {
			t.Errorf("%q of %q, want %q", got, title, c.want)
		}
		r.Safety.Checked = false
		if got := view.Exclusion(cellsOf(t, r)[0]); c.safety.Violations == 0 && got != "not checked: the oracle was off" {
			t.Errorf("unchecked: %q", got)
		}
	}
}

// TestHottest: only what limits one key is said of the hottest.
func TestHottest(t *testing.T) {
	r := record(0)
	r.Plan.KeyDist = spec.Must(spec.ParseKeys("zipf:1.1"))
	if got := limited(cellsOf(t, r)[0]); !strings.HasPrefix(got, "hottest key: ") {
		t.Error(got)
	}
	r.Generator.Saturated, r.Generator.CPU, r.Bound.LocksPerS, r.Bound.Efficiency = true, 1.9, 88_070, 0.1
	if got := limited(cellsOf(t, r)[0]); !strings.HasPrefix(got, "generator: ") {
		t.Error(got)
	}
}

// TestQueueAdvised: a queue is advised where a lock changes hands slowly, and only to designs that have it.
func TestQueueAdvised(t *testing.T) {
	for _, tt := range []struct {
		driver, lock, wait string
		queue              bool
	}{
		{"rueidis", "set-nx", "backoff", true}, {"go-redis", "fenced", "poll", true}, {"rueidis", "set-nx", "pubsub", true},
		{"rueidis", "set-nx", "queue", false}, {"rueidis", "fair", "poll", false}, {"redislock", "library", "backoff", false},
	} {
		r := record(0)
		r.Plan.Driver, r.Plan.Lock, r.Plan.Wait = tt.driver, tt.lock, tt.wait
		hold := r.Latency[results.Hold]
		hold.Mean /= 100
		r.Latency[results.Hold], r.Bound.Transit = hold, r.Elapsed/2
		c := cellsOf(t, r)[0]
		if l := c.Limit(); l.By != results.ByKey || l.Moving <= l.Held {
			t.Fatalf("limited by %+v", l)
		}
		if got := next(c); (got == "-wait queue") != tt.queue {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}

// TestStuckAdvised: keys that failed requests left locked are free when their leases end.
func TestStuckAdvised(t *testing.T) {
	for _, expires := range []bool{true, false} {
		r := record(0)
		r.Counts.Unknown, r.Counts.StuckKeys, r.Bound.Blocked = 3, 3, 64*4*time.Second
		r.Traits.Expires = expires
		c := cellsOf(t, r)[0]
		if got := next(c); c.Limit().By != results.ByErrors || got != map[bool]string{true: "a shorter -ttl"}[expires] {
			t.Errorf("expires %t: limited by %q, next %q", expires, c.Limit().By, got)
		}
	}
}

// TestBatchesAdvised: clients in batches are advised where there are very many and the machine is busy, whatever used
// it, and to what has them.
func TestBatchesAdvised(t *testing.T) {
	limits := map[results.LimitedBy]func(r *results.Record){
		results.ByGenerator: func(r *results.Record) { r.Generator.CPU = 1.9 },
		results.ByOthers:    func(r *results.Record) { r.Generator.CPU = 0.3 },
		results.ByRate: func(r *results.Record) {
			r.Plan.Rate, r.Counts.Offered = spec.Must(spec.ParseRate("8143")), r.Counts.Acquired
			r.Latency[results.Lag] = r.Latency[results.Acquire]
		},
	}
	for by, limit := range limits {
		for _, tt := range []struct {
			driver, wait, pipelining string
			clients                  int
			batches                  bool
		}{
			{"rueidis", "backoff", "auto", 100_000, true}, {"go-redis", "none", "off", 10_000, true},
			{"rueidis", "backoff", "auto", 512, false}, {"rueidis", "backoff", "batch", 100_000, false},
			{"rueidis", "block", "auto", 100_000, false}, {"redislock", "native", "auto", 100_000, false},
		} {
			r := record(0)
			r.Plan.Driver, r.Plan.Wait, r.Plan.Pipelining, r.Plan.Clients = tt.driver, tt.wait, tt.pipelining, tt.clients
			r.Generator.Saturated, r.Generator.Machine, r.Bound.LocksPerS, r.Bound.Efficiency = true, 1, 88_070, 0.1
			hold := r.Latency[results.Hold]
			hold.Mean /= 100
			r.Latency[results.Hold] = hold
			limit(r)
			c := cellsOf(t, r)[0]
			if l := c.Limit(); l.By != by {
				t.Fatalf("limited by %+v, want %s", l, by)
			}
			if got := next(c); (got == "-pipelining batch") != tt.batches {
				t.Errorf("limited by %s, %+v: %s", by, tt, got)
			}
		}
	}
}

// TestBridgeStays: what an adapter costs stands in its row of the first screen, whatever else is wrong with it.
func TestBridgeStays(t *testing.T) {
	bare, bridged := record(0), record(1)
	bridged.Plan.Driver, bridged.Generator.Outside, bridged.Generator.Saturated = "redis-py", 0.5, true
	bridged.Counts.Errors = map[string]int64{"timeout": 3}
	cells := cellsOf(t, bare, bridged)
	var got []string
	for _, row := range cellTable(view.NewRun(cells), cells).Rows {
		for _, m := range row.Marks {
			got = append(got, row.Cells[0].Text+": "+m.Code+" "+m.Line)
		}
	}
	if len(got) != 2 || got[1] != "redis-py: bridge through an adapter: half of its native locks/s without contention" {
		t.Errorf("marks %q, want one of two, and that of an adapter", got)
	}
}

// TestThresholds: what was missed comes first, and the title says it.
func TestThresholds(t *testing.T) {
	var limits []compare.Threshold
	for _, text := range []string{"locks/s < 8150", "acquire.p99 > 20ms"} {
		limit, err := compare.ParseThresholds(text)
		if err != nil {
			t.Fatal(err)
		}
		limits = append(limits, limit...)
	}
	one := cellsOf(t, record(0))
	d := Run(one, compare.CheckCells(one, limits, nil))
	rows := d.Blocks[0].Table.Rows
	title := strings.ReplaceAll(d.Title, "\u00a0", " ")
	if d.Tone != Bad || !strings.HasPrefix(title, "thresholds missed · 8,100 locks/s") || rows[0].Cells[1].Tone != Bad || rows[1].Cells[0].Text != "passed" {
		t.Errorf("%s", dump(d))
	}
	var many []*results.Record
	for i := range 15 {
		r := record(1)
		r.Plan.Clients = 10 + i
		many = append(many, r)
	}
	cells := cellsOf(t, many...)
	d = Run(cells, compare.CheckCells(cells, limits, []string{"etcd"}))
	if shown := d.Blocks[0].Table.Rows; len(shown) != someRows || !strings.HasPrefix(shown[0].Cells[1].Text, "etcd: ") || len(d.Blocks[1].Table.Rows) != 31-someRows || d.Tone != Warn {
		t.Errorf("%s", dump(d))
	}
}

// TestLinear: four times as many cells take about four times as much work.
func TestLinear(t *testing.T) {
	work := func(n int) float64 {
		var recs []*results.Record
		for i := range n {
			r := record(1)
			r.Plan.Clients, r.Plan.Keys = 1+i%10, 1+i/10
			recs = append(recs, r)
		}
		cells := cellsOf(t, recs...)
		return testing.AllocsPerRun(1, func() { Run(cells, nil) })
	}
	if few, many := work(50), work(200); many > 6*few {
		t.Errorf("%s allocations for 50 cells, %s for 200", format.Three(few), format.Three(many))
	}
}

// TestPausedLine: what a stop of lockbench explains is not the lock's fault, and starvation is no stop.
func TestPausedLine(t *testing.T) {
	const ms = time.Millisecond
	starved := results.Pause{At: 100 * ms, Length: 300 * ms, Starved: true}
	stopped := results.Pause{At: 2 * time.Second, Length: 700 * time.Millisecond}
	for name, c := range map[string]struct {
		pauses     []results.Pause
		violations []time.Duration
		saturated  bool
		line, next string
	}{
		"stopped":        {pauses: []results.Pause{starved, stopped}, saturated: true, line: "lockbench did not run for 700 ms · first at 2.00 s · latencies include it"},
		"starved":        {pauses: []results.Pause{starved}, line: "lockbench got no core for 300 ms · first at 100 ms · latencies include it"},
		"saturated says": {pauses: []results.Pause{starved}, saturated: true},
		"violations from it": {pauses: []results.Pause{stopped}, violations: []time.Duration{2100 * ms},
			line: "lockbench did not run for 700 ms · first at 2.00 s · latencies include it · all violations came from it", next: "run again"},
		"violations before it": {pauses: []results.Pause{stopped}, violations: []time.Duration{1100 * ms, 2100 * ms},
			line: "lockbench did not run for 700 ms · first at 2.00 s · latencies include it", next: "another design"},
	} {
		r := record(0)
		r.Plan.TTL, r.Traits.Expires = 500*ms, true
		r.Generator.Pauses, r.Generator.Saturated = c.pauses, c.saturated
		for _, at := range c.violations {
			r.Safety.Events = append(r.Safety.Events, results.Violation{At: at})
			r.Safety.Violations++
		}
		cell := cellsOf(t, r)[0]
		line := ""
		if slices.ContainsFunc(marks(cell), func(m Mark) bool { return m.Code == "paused" }) {
			line = strings.ReplaceAll(pausedLine(cell), "\u00a0", " ")
		}
		if next := cmp.Or(view.Cause(cell).Remedy, next(cell)); line != c.line || !strings.HasPrefix(next, c.next) {
			t.Errorf("%s: %q, next %q; want %q, next %q", name, line, next, c.line, c.next)
		}
	}
}
