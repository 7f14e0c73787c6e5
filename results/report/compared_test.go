package report

// Comparisons of all kinds, to be drawn.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
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

// sidesOf returns n cells of those kinds on both sides, after each has changed their trials.
func sidesOf(n int, each func(cell int, head bool, r *results.Record)) (base, head []*results.Cell) {
	rng := rand.New(rand.NewPCG(1, 2))
	side := func(i int, head bool, k change) *results.Cell {
		c := &results.Cell{}
		for trial := range k.trials {
			scatter := func() float64 { return math.Exp(k.scatter * rng.NormFloat64()) }
			p99 := time.Duration(12e6 * k.wait * scatter())
			r := &results.Record{
				Schema: results.SchemaVersion, ID: fmt.Sprintf("%d-%t-%d", i, head, trial), Run: "run", Trial: trial + 1,
				Started: time.Date(2026, 5, 4, 3, 0, 0, 0, time.UTC).Add(time.Duration(2*trial+map[bool]int{true: 1}[head]) * time.Minute),
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

// asIs changes nothing.
func asIs(int, bool, *results.Record) {}

// comparisonOf compares two sides by thresholds, or by the default ones.
func comparisonOf(base, head []*results.Cell, on string) *compare.Comparison {
	var o compare.Options
	var err error
	if on != "" {
		if o.Thresholds, err = compare.ParseThresholds(on); err != nil {
			panic(err)
		}
	}
	c, err := compare.Compare(compare.Input{Name: "base.jsonl", Cells: base}, compare.Input{Name: "head.jsonl", Cells: head}, o)
	if err != nil {
		panic(err)
	}
	return c
}

// ofCells compares n cells after each has changed their trials.
func ofCells(n int, on string, each func(cell int, head bool, r *results.Record)) *compare.Comparison {
	base, head := sidesOf(n, each)
	return comparisonOf(base, head, on)
}

// allComparisons returns comparisons of all kinds, by name. They are not to be changed.
var allComparisons = sync.OnceValue(func() map[string]*compare.Comparison {
	base, head := sidesOf(8, asIs)
	second := func(on string) *compare.Comparison { return comparisonOf(base[1:2], head[1:2], on) }
	b2i := func(b bool) (n int64) {
		if b {
			n = 1
		}
		return n
	}
	return map[string]*compare.Comparison{
		"one":      ofCells(1, "", asIs),
		"slower":   second("locks/s<-5%,acquire.p99>+10%,violations>0,locks/s<75k"),
		"eight":    ofCells(8, "", asIs),
		"forty":    ofCells(40, "", asIs),
		"violated": ofCells(2, "", func(_ int, head bool, r *results.Record) { r.Safety.Violations = b2i(head && r.Trial == 3) }),
		"lone":     comparisonOf(base[:4], head[2:], ""),
		"unlike":   ofCells(3, "", func(_ int, head bool, r *results.Record) { r.Env.CPUs += int(b2i(head)) }),
		"replaced": ofCells(2, "", func(_ int, head bool, r *results.Record) { r.Server.Replaced = head && r.Trial == 3 }),
		"within":   comparisonOf(base[4:5], head[4:5], ""),
		"allowed": comparisonOf(slices.Concat(base[:1], base[4:5]), slices.Concat(head[:1], head[4:5]),
			"locks/s<-5%,cores>+50%,violations>0"),
		"paired": ofCells(2, "", func(i int, head bool, r *results.Record) {
			r.Side, r.Pair = map[bool]string{false: results.SideBase, true: results.SideHead}[head], i
		}),
		"absolute": ofCells(3, "locks/s<50k", asIs),
		"zero":     ofCells(2, "timed-out>+5%,locks/s<-5%", func(_ int, head bool, r *results.Record) { r.Counts.TimedOut = 7 * b2i(head) }),
		"few":      comparisonOf(base[6:7], head[6:7], ""),
		"revised": ofCells(1, "", func(_ int, head bool, r *results.Record) {
			r.Env.Revision = map[bool]string{false: "1a2b3c", true: "4d5e6f"}[head]
		}),
		"hostile": ofCells(2, "", func(_ int, head bool, r *results.Record) {
			r.Server.Version = "7<script>|`*_[x](y) @all\x1b[31m"
			r.Safety.Violations = 3 * b2i(head)
		}),
	}
})
