package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// made keeps the histograms of record, because compressing them takes most of a test's time.
var made = map[int]map[results.Metric]results.Latency{}

// TestFormulaOfTheBound: that of the most wanted key is for keys of which some are wanted more, if what was granted is spread as
// what was wanted.
func TestFormulaOfTheBound(t *testing.T) {
	for _, c := range []struct {
		keys     string
		timedOut int64
		want     string
	}{
		{"", 0, evenKeys}, {"sequential", 0, evenKeys}, {"zipf:0.99", 0, skewedKeys}, {"hot:80%:1", 0, skewedKeys},
		{"hot:80%:1", 81_000, evenKeys},
	} {
		r := TrialOf(0)
		r.Plan.KeyDist, r.Bound.By, r.Counts.TimedOut = spec.Must(spec.ParseKeys(c.keys)), "keys", c.timedOut
		if got := idealOf(CellsOf(t, r)[0]); got != c.want {
			t.Errorf("%q, %d timed out: %s, want %s", c.keys, c.timedOut, got, c.want)
		}
	}
}

// TestQuantilesOfTooFew: what is printed of a distribution has values enough, in the detail and in the table.
func TestQuantilesOfTooFew(t *testing.T) {
	l := results.Latency{Count: 500, Mean: 1, P50: 2, P90: 3, P99: 4, P999: 5, Max: 6}
	if got := strings.Join(distribution(l), " "); got != "500 1 ns 2 ns 3 ns 4 ns – 6 ns" {
		t.Errorf("of 500 values: %s", got)
	}
	l.Count = 5
	if got := strings.Join(distribution(l), " "); got != "5 1 ns – – – – 6 ns" {
		t.Errorf("of 5 values: %s", got)
	}
}

// TestAlarm: red for a broken promise, yellow for figures not to be believed.
func TestAlarm(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(r *results.Record)
		want   Tone
	}{
		{"nothing", func(*results.Record) {}, Plain},
		{"violations", func(r *results.Record) { r.Safety.Violations = 3 }, Bad},
		{"nothing claimed", func(r *results.Record) { r.Safety.Violations, r.Traits.Exclusive = 3, false }, Warn},
		{"saturated", func(r *results.Record) { r.Generator.Saturated = true }, Warn},
		{"partial", func(r *results.Record) { r.Partial = "interrupted" }, Warn},
		{"drifts", func(r *results.Record) { r.Steady.Drifts = true }, Warn},
		{"unbalanced", func(r *results.Record) { r.Bound.Little = 0.9 }, Warn},
		{"balanced but for errors", func(r *results.Record) { r.Bound.Little, r.Counts.Errors = 0.9, map[string]int64{"timeout": 1} }, Plain},
		{"behind", func(r *results.Record) { r.Bound.LittleOpen, r.Bound.InSystem = 0.5, 100 }, Warn},
	} {
		r := TrialOf(1)
		c.change(r)
		cells, err := results.Group([]*results.Record{r})
		if err != nil {
			t.Fatal(err)
		}
		if got := alarm(cells[0]); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestLength: a window may end after a number of operations, and have no length beforehand.
func TestLength(t *testing.T) {
	for _, c := range []struct {
		ops  int64
		d    time.Duration
		want string
	}{{0, 10 * time.Second, "10 s"}, {50_000, 0, "50,000 operations"}, {1, time.Minute, "1 operation or 60 s"}} {
		if got := length(&spec.Plan{Ops: c.ops, Duration: c.d}); got != c.want {
			t.Errorf("-n %d -duration %v: %q, want %q", c.ops, c.d, got, c.want)
		}
	}
}

// TestMerged: warnings of a cell that differ in their numbers are one, with the least and the most of each.
func TestMerged(t *testing.T) {
	got := merged([]string{
		"node 2 of 5 did not answer 1,204 requests: 127.0.0.1:99: i/o timeout", "the load had not settled",
		"node 1 of 5 did not answer 31 requests: 127.0.0.1:80: i/o timeout", "node 4 of 5 did not answer 2 requests: 127.0.0.1:80: i/o timeout",
	})
	want := []string{"node 1 to 4 of 5 did not answer 2 to 1,204 requests: 127.0.0.1:80 to 99: i/o timeout", "the load had not settled"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRanges(t *testing.T) {
	for want, numbers := range map[string][]int{"": nil, "3": {3}, "1,2": {2, 1}, "1–3": {3, 1, 2}, "1,4–6,8,9": {6, 4, 5, 9, 8, 1}} {
		if got := ranges(numbers); got != want {
			t.Errorf("%v: %q, want %q", numbers, got, want)
		}
	}
}

// TestShareOfABeatenBound: a bound that was too low is nothing to have a share of.
func TestShareOfABeatenBound(t *testing.T) {
	i := slices.IndexFunc(columns, func(col column) bool { return col.Group == "of" && col.Title == "bound" })
	r := TrialOf(0)
	for efficiency, want := range map[float64]string{0.92: "92 %", 1.004: "100 %", 4156.47: "–"} {
		r.Bound.Efficiency = efficiency
		if got := columns[i].text(CellsOf(t, r)[0]); got != want {
			t.Errorf("%v of the bound: %q, want %q", efficiency, got, want)
		}
	}
}

// TestDropOrder keeps the order in which columns go a total one, so that no two tables drop differently.
func TestDropOrder(t *testing.T) {
	seen := map[int]string{}
	for _, c := range columns {
		if other := seen[c.Drop]; other != "" && c.Drop != 0 {
			t.Errorf("%s and %s go at the same time", other, c.head())
		}
		seen[c.Drop] = c.head()
	}
	for i := range len(seen) {
		if seen[i] == "" {
			t.Errorf("no column goes as number %d", i)
		}
	}
}

func latencies(n int) map[results.Metric]results.Latency {
	if l := made[n]; l != nil {
		return maps.Clone(l)
	}
	rec := results.NewRecorder(1)
	shard := rec.Borrow()
	for i := range 1000 {
		x := time.Duration(i + 1)
		shard.Record(results.AcquireIndex, 40*time.Microsecond+x*x*x*time.Duration(10+n)/1000)
		shard.Record(results.HandoffIndex, 50*time.Microsecond+x*time.Duration(n+1)*10)
		shard.Record(results.HoldIndex, 1080*time.Microsecond+x*10)
		shard.Record(results.ReleaseIndex, 30*time.Microsecond+x*50)
	}
	made[n] = rec.Latencies()
	return maps.Clone(made[n])
}

// record returns a plausible trial; n varies its figures and its ID.
func TrialOf(n int) *results.Record {
	return &results.Record{
		Schema: results.SchemaVersion, ID: fmt.Sprintf("r%d", n), Trial: 1,
		Started: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC),
		Plan: spec.Plan{Load: spec.Load{Clients: 64, Hold: time.Millisecond, TTL: 30 * time.Second, Timeout: 10 * time.Second},
			Driver: "rueidis", Lock: "set-nx", Wait: "backoff", Keys: 10,
			BackoffMin: time.Millisecond, BackoffMax: 1500 * time.Millisecond,
			Duration: 10 * time.Second, Warmup: time.Second, Seed: uint64(n), IOTimeout: 3 * time.Second, Oracle: true,
			Server: "private", Command: fmt.Sprintf("lockbench -driver rueidis -clients 64 -keys 10 -hold 1ms -seed %d", n),
		},
		Traits: results.Traits{Exclusive: true, Owned: true, Expires: true},
		Env: results.Env{
			Lockbench: "v0.1.0", Go: "go1.26.8", OS: "linux", Arch: "amd64", Kernel: "6.1.0", CPU: "AMD EPYC 7B13", CPUs: 2,
			GOMAXPROCS: 2, Libraries: map[string]string{"rueidis": "v1.0.79"},
		},
		Server: results.Server{
			Kind: "private", Name: "redis", Version: "7.0.15", Mode: "standalone", Persistence: "none",
			Addr: fmt.Sprintf("/run/lockbench-%d.sock", n), Network: "unix",
		},
		Elapsed: 10 * time.Second,
		Counts:  results.Counts{Acquired: int64(81_000 + 911*n), Tries: 91_234, Released: int64(81_000 + 911*n), Unfinished: 54},
		Latency: latencies(n),
		Fairness: results.Fairness{
			Jain: 0.97, MinClient: 1201, MaxClient: 1388, LongestWait: 86 * time.Millisecond, OwnerChanges: 80_100, LongestRun: 3,
		},
		Safety:    results.Safety{Checked: true, Grants: int64(89_000 + 911*n), Power: &results.Power{Watched: 60_000, Refusals: 90_000}},
		Cost:      results.Cost{Tries: 1.13, Commands: 3.1, BytesIn: 181, BytesOut: 52.5, ServerCPUUs: 2.34, ClientCPUUs: 6.11, Wakeups: -1, Allocs: 4},
		Bound:     results.Bound{RTT: 55 * time.Microsecond, LocksPerS: 8807, Efficiency: 0.92, Little: 0.998},
		Generator: results.Generator{CPU: 0.712, Machine: 0.81, GCPauses: 1234 * time.Microsecond},
	}
}

func CellsOf(t *testing.T, recs ...*results.Record) []*results.Cell {
	t.Helper()
	cells, err := results.Group(recs)
	if err != nil {
		t.Fatal(err)
	}
	return cells
}
