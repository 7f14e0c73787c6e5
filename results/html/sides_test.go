package html

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/spec"
)

// change is what becomes of a cell from base to head: both figures by these factors, with trials that scatter so much.
type change struct {
	rate, wait, scatter float64
	trials              int
}

// kinds are those of cells that a page has to show, in turn.
var kinds = []change{
	{1, 1, 0.01, 10},        // the same
	{0.88, 1.02, 0.01, 10},  // slower
	{1.2, 0.8, 0.02, 10},    // faster
	{1, 1.06, 0.12, 10},     // nobody knows
	{0.97, 1.05, 0.005, 10}, // worse, within the limit
	{0.3, 5, 0.02, 10},      // far beyond the scale
	{0.9, 1.2, 0.02, 3},     // too few trials
}

// sides are n cells of those kinds.
func sides(n int, each func(cell int, head bool, r *results.Record)) (base, head []*results.Cell) {
	rng := rand.New(rand.NewPCG(1, 2))
	side := func(i int, head bool, k change) *results.Cell {
		c := &results.Cell{}
		for trial := range k.trials {
			scatter := func() float64 { return math.Exp(k.scatter * rng.NormFloat64()) }
			p99 := time.Duration(12e6 * k.wait * scatter())
			r := &results.Record{
				Schema: results.SchemaVersion, ID: fmt.Sprintf("%d-%t-%d", i, head, trial), Run: "run", Trial: trial + 1,
				Started: time.Date(2026, 5, 4, 3, 0, 0, 0, time.UTC).Add(time.Duration(2*trial+b2i(head)) * time.Minute),
				Plan: spec.Plan{Driver: []string{"rueidis", "go-redis"}[i%2], Lock: "set-nx", Wait: "backoff", Keys: 10,
					Load: spec.Load{Clients: 8 * (i + 1), TTL: 30 * time.Second}, Duration: 10 * time.Second, Oracle: true,
					Server: "private", Command: fmt.Sprintf("lockbench -lock set-nx -wait backoff -clients %d -keys 10", 8*(i+1))},
				Traits: results.Traits{Exclusive: true},
				Env: results.Env{Lockbench: "v1.0.0", Revision: map[bool]string{false: "1a2b3c4", true: "5d6e7f8"}[head], Go: "go1.26.8",
					OS: "linux", Arch: "amd64", Kernel: "6.1", CPU: "AMD EPYC 7B13", CPUs: 4, GOMAXPROCS: 4},
				Server:  results.Server{Kind: "private", Name: "redis", Version: "7.0.15", Mode: "standalone", Network: "unix"},
				Elapsed: 10 * time.Second, Counts: results.Counts{Acquired: int64(10 * 80_000 * k.rate * scatter())},
				Latency: map[results.Metric]results.Latency{
					results.Acquire: {Count: 800_000, P50: p99 / 40, P90: p99 / 4, P99: p99, P999: p99 * 3, Max: p99 * 5},
				},
				Fairness: results.Fairness{Jain: 0.97}, Safety: results.Safety{Checked: true, Grants: 800_000, Power: &results.Power{Watched: 600_000, Refusals: 600_000}},
				Cost: results.Cost{Tries: 1, Commands: 3, ServerCPUUs: 9 / k.rate * scatter(), ClientCPUUs: 12 * scatter()},
			}
			each(i, head, r)
			c.Trials = append(c.Trials, r)
		}
		return c
	}
	for i := range n {
		k := kinds[i%len(kinds)]
		before := k
		before.rate, before.wait = 1, 1
		base, head = append(base, side(i, false, before)), append(head, side(i, true, k))
	}
	return base, head
}

func asIs(int, bool, *results.Record) {}

func compareSides(t testing.TB, base, head []*results.Cell, on string, o compare.Options) *compare.Comparison {
	t.Helper()
	if on != "" {
		list, err := compare.ParseThresholds(on)
		if err != nil {
			t.Fatal(err)
		}
		o.Thresholds = list
	}
	c, err := compare.Compare(compare.Input{Name: "base.jsonl", Cells: base}, compare.Input{Name: "head.jsonl", Cells: head}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// made are comparisons; they are not to be changed.
var made map[string]*compare.Comparison

// comparisons returns those of all kinds.
func comparisons(t testing.TB) map[string]*compare.Comparison {
	if made != nil {
		return made
	}
	of := func(n int, on string, each func(int, bool, *results.Record)) *compare.Comparison {
		base, head := sides(n, each)
		return compareSides(t, base, head, on, compare.Options{})
	}
	base, head := sides(8, asIs)
	second := func(on string) *compare.Comparison {
		return compareSides(t, base[1:2], head[1:2], on, compare.Options{})
	}
	made = map[string]*compare.Comparison{
		"one":      of(1, "", asIs),
		"slower":   second("locks/s<-5%,acquire.p99>+10%,violations>0,locks/s<75k"),
		"eight":    of(8, "", asIs),
		"forty":    of(40, "", asIs),
		"violated": of(2, "", func(_ int, head bool, r *results.Record) { r.Safety.Violations = int64(b2i(head && r.Trial == 3)) }),
		"lone":     compareSides(t, base[:4], head[2:], "", compare.Options{}),
		"unlike":   of(3, "", func(_ int, head bool, r *results.Record) { r.Env.CPUs += b2i(head) }),
		"within":   compareSides(t, base[4:5], head[4:5], "", compare.Options{}),
		"allowed": compareSides(t, slices.Concat(base[:1], base[4:5]), slices.Concat(head[:1], head[4:5]),
			"locks/s<-5%,cores>+50%,violations>0", compare.Options{}),
		"paired": of(2, "", func(i int, head bool, r *results.Record) {
			r.Side, r.Pair = map[bool]string{false: results.SideBase, true: results.SideHead}[head], i
		}),
		"absolute": of(3, "locks/s<50k", asIs),
		"zero":     of(2, "timed-out>+5%,locks/s<-5%", func(_ int, head bool, r *results.Record) { r.Counts.TimedOut = int64(7 * b2i(head)) }),
	}
	return made
}
