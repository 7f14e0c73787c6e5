package export

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
)

// latencies are made once, because compressing histograms takes most of a test's time.
var latencies = sync.OnceValue(func() map[results.Metric]results.Latency {
	rec := results.NewRecorder(1)
	shard := rec.Borrow()
	for i := range 1000 {
		x := time.Duration(i + 1)
		shard.Record(results.AcquireIndex, 40*time.Microsecond+x*x*x/100)
		shard.Record(results.ReleaseIndex, 30*time.Microsecond+x*50)
	}
	return rec.Latencies()
})

// record returns a plausible trial; n varies its figures and its ID.
func record(n int) *results.Record {
	return &results.Record{
		Schema: results.SchemaVersion, ID: fmt.Sprintf("r%d", n), Run: "run", Trial: n + 1,
		Started: time.Date(2026, 5, 4, 3, 2, 1+n, 0, time.UTC),
		Plan: spec.Plan{Load: spec.Load{Clients: 64, Hold: time.Millisecond, TTL: 30 * time.Second, Timeout: 10 * time.Second},
			Driver: "rueidis", Lock: "set-nx", Wait: "backoff", Keys: 10,
			BackoffMin: time.Millisecond, BackoffMax: 1500 * time.Microsecond,
			Duration: 10 * time.Second, Warmup: time.Second, Seed: uint64(n), IOTimeout: 3 * time.Second, Oracle: true,
			Server: "private", Command: "lockbench -clients 64 -keys 10 -hold 1ms",
		},
		Traits: results.Traits{Exclusive: true, Owned: true, Expires: true},
		Env: results.Env{
			Lockbench: "v0.1.0", Go: "go1.26.8", OS: "linux", Arch: "amd64", Kernel: "6.1.0", CPU: "AMD EPYC 7B13", CPUs: 2,
			GOMAXPROCS: 2, Libraries: map[string]string{"rueidis": "v1.0.79"},
		},
		Server:   results.Server{Kind: "private", Name: "redis", Version: "7.0.15", Persistence: "none", Addr: "/run/x.sock", Network: "unix"},
		Elapsed:  10 * time.Second,
		Counts:   results.Counts{Acquired: int64(81_000 + 911*n), Tries: 91_234, Released: int64(81_000 + 911*n)},
		Latency:  maps.Clone(latencies()),
		Fairness: results.Fairness{Jain: 0.97, MinClient: 1201, MaxClient: 1388, LongestWait: 86 * time.Millisecond, OwnerChanges: 80_100, LongestRun: 3},
		Safety:   results.Safety{Checked: true, Grants: int64(89_000 + 911*n)},
		Cost:     results.Cost{Tries: 1.13, Commands: 3.1, BytesIn: 181, BytesOut: 52.5, ServerCPUUs: 2.34, ClientCPUUs: 6.11, Wakeups: -1, Allocs: 4},
		Bound:    results.Bound{RTT: 55 * time.Microsecond, LocksPerS: 8807, Efficiency: 0.92, Little: 0.998},
		Generator: results.Generator{
			CPU: 0.712, Machine: 0.81, GCPauses: 1234 * time.Microsecond, Memory: 1 << 26,
		},
	}
}

// cells collects what a test has made.
func cells(t *testing.T, recs ...*results.Record) []*results.Cell {
	t.Helper()
	var c results.Collector
	for _, r := range recs {
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		if err := c.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	return c.Cells()
}

// three returns two trials of one cell, one of another, and one that ended early.
func three(t *testing.T) []*results.Cell {
	other := record(2)
	other.Cell, other.Trial, other.Plan.Driver, other.Plan.Wait, other.Plan.Clients = 1, 1, "go-redis", "pubsub", 512
	other.Env.Revision, other.Side = "=cmd|' /C calc'!A0", results.SideHead
	other.Plan.BackoffMin, other.Plan.BackoffMax, other.Plan.Rate, other.Plan.Arrival = 0, 0, spec.Must(spec.ParseRate("5000")), "poisson"
	other.Generator.Saturated, other.Generator.Why = true, "lockbench used 1.9 of 2 cores"
	partial := record(3)
	partial.Partial = "stopped by interrupt"
	return cells(t, record(0), record(1), other, partial)
}

// weird are texts that no format may trip over.
var weird = []string{
	"", " ", "=1+1", "+x", "-x", "@x", "a,b", `a"b`, "a\nb", "a\r\nb", "a\tb", "<a>&amp;]]>", "::error::x", "100%", "ä · µ → ✓", "\x00\x1b[31m",
	"\xff\xfe", "\u202eevil", "\u2028", "\ufffe", "'", "/a/../b", "a b=c", strings.Repeat("long ", 200),
}

func named(t *testing.T, name string) *metric.Metric {
	t.Helper()
	f, ok := metric.Named(name)
	if !ok {
		t.Fatalf("no figure %s", name)
	}
	return f
}

// comparison has one of everything. The texts of the first cell are label and why.
func comparison(t *testing.T, label, why string) *compare.Comparison {
	t.Helper()
	nan := math.NaN()
	estimate := func(n int, median, low, high float64) stats.Estimate {
		return stats.Estimate{N: n, Median: median, Low: low, High: high, Min: low, Max: high}
	}
	rate, p99, violations, jain := named(t, "locks/s"), named(t, "acquire.p99"), named(t, "violations"), named(t, "jain")
	slower := &compare.Threshold{Figure: rate, Less: true, Relative: true, Value: -0.05, Text: "locks/s<-5%"}
	later := &compare.Threshold{Figure: p99, Relative: true, Value: 0.1, Text: "acquire.p99>+10%"}
	unsafe := &compare.Threshold{Figure: violations, Text: "violations>0"}
	fell := stats.Change{
		Base: estimate(10, 41_000, 40_500, 41_700), Head: estimate(10, 37_600, 37_100, 38_000),
		Ratio: 37_600. / 41_000, Low: 0.9, High: 0.93, P: 0.0001,
	}
	rose := stats.Change{
		Base: estimate(3, 12e6, nan, nan), Head: estimate(3, 13.5e6, nan, nan), Ratio: 13.5 / 12, Low: nan, High: nan, P: 0.1,
	}
	same := stats.Change{Base: estimate(10, 0, 0, 0), Head: estimate(10, 0, 0, 0), Ratio: nan, Low: nan, High: nan, P: 1}
	better := stats.Change{
		Base: estimate(10, 12e6, 11e6, 13e6), Head: estimate(10, 9e6, 8e6, 9.5e6), Ratio: 0.75, Low: 0.7, High: 0.8, P: 0.0002,
	}
	return &compare.Comparison{
		Base:  compare.Side{Name: "base.jsonl", Trials: 20, Partial: 1, Revisions: []string{"v1"}},
		Head:  compare.Side{Name: "head.jsonl", Trials: 20, Duplicates: 2},
		Notes: []string{"the base has lockbench v0.1.0, the head v0.2.0"}, Missing: []string{"etcd"}, Lacking: true,
		Alpha: 0.05, Tests: 4, Verdict: compare.Regressed,
		Cells: []compare.Cell{
			{
				Label: label, Base: []*results.Record{record(0)}, Head: []*results.Record{record(1)},
				Command: "lockbench -clients 64 -keys 10 -hold 1ms", Notes: []string{"1 trial of the head drifts"}, Verdict: compare.Regressed,
				Figures: []compare.Result{
					{Figure: rate, Threshold: slower, Change: fell, P: 0.0004, Verdict: compare.Regressed, Why: why},
					{Figure: p99, Threshold: later, Change: rose, P: 0.4, Verdict: compare.Inconclusive, Reason: compare.TooFew, Why: "3 trials a side can't tell", Needed: 12},
					{Figure: violations, Threshold: unsafe, Change: same, P: nan, Verdict: compare.Unchanged},
					{Figure: jain, Change: same, P: nan},
				},
			},
			{
				Label: "go-redis", Verdict: compare.Improved,
				Figures: []compare.Result{{Figure: p99, Threshold: later, Change: better, P: 0.0006, Verdict: compare.Improved}},
			},
		},
	}
}

// TestGoldens pins what every format looks like.
func TestGoldens(t *testing.T) {
	all := three(t)
	c := comparison(t, "rueidis · clients 64, 1.5 ms", "a drop of 8.3 %: more than 5 %")
	for name, write := range map[string]func(io.Writer) error{
		"cells.csv":               func(w io.Writer) error { return CSV(w, all) },
		"cells.bench.txt":         func(w io.Writer) error { return Benchfmt(w, all) },
		"acquire.hgrm":            func(w io.Writer) error { return WriteHgrm(w, all[0].Latency[results.Acquire]) },
		"comparison.csv":          func(w io.Writer) error { return ComparisonCSV(w, c) },
		"comparison.json":         func(w io.Writer) error { return ComparisonJSON(w, c) },
		"comparison.junit.xml":    func(w io.Writer) error { return JUnitComparison(w, c) },
		"report.json":             func(w io.Writer) error { return CheckJSON(w, checked(t, onAll)) },
		"report.junit.xml":        func(w io.Writer) error { return JUnitCheck(w, checked(t, onAll)) },
		"report.safety.junit.xml": func(w io.Writer) error { return JUnitCheck(w, checked(t, "")) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		pagetest.Golden(t, name, b.String())
	}
}

// full is a disk with no room left.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestErrors has every format meet a disk that is full.
func TestErrors(t *testing.T) {
	all, c := three(t), comparison(t, "", "")
	for name, write := range map[string]func() error{
		"csv": func() error { return CSV(full{}, all) }, "benchfmt": func() error { return Benchfmt(full{}, all) },
		"hgrm": func() error {
			return Hgrm(all, make([]string, len(all)), func(_ string, write func(io.Writer) error) error { return write(full{}) })
		},
		"comparison csv": func() error { return ComparisonCSV(full{}, c) }, "json": func() error { return ComparisonJSON(full{}, c) },
		"junit":       func() error { return JUnitComparison(full{}, c) },
		"report json": func() error { return CheckJSON(full{}, checked(t, onAll)) }, "report junit": func() error { return JUnitCheck(full{}, checked(t, onAll)) },
	} {
		if err := write(); err != io.ErrShortWrite {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNothing is what becomes of no cells: an empty file of the format rather than none.
func TestNothing(t *testing.T) {
	var b bytes.Buffer
	if err := CSV(&b, nil); err != nil || !strings.HasPrefix(b.String(), "run,cell,trial,") {
		t.Errorf("%q, %v", b.String(), err)
	}
}
