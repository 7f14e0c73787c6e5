package cli

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// cmdNights appends to a file what as many nightly runs of three trials would, beginning at a date, with so many locks a
// second and a scatter of 1 %: nights runs.jsonl 2026-03-01 12 50000 [violated].
func cmdNights(ts *testscript.TestScript, _ bool, args []string) {
	first, err := time.Parse(time.DateOnly, args[1])
	ts.Check(err)
	nights, err := strconv.Atoi(args[2])
	ts.Check(err)
	level, err := strconv.ParseFloat(args[3], 64)
	ts.Check(err)
	rng := rand.New(rand.NewPCG(uint64(first.Unix()), 1))
	for night := range nights {
		date := first.AddDate(0, 0, night)
		tonight := level * (1 + 0.01*rng.NormFloat64())
		for trial := range 3 {
			rate := tonight * (1 + 0.005*rng.NormFloat64())
			r := &results.Record{
				Schema: results.SchemaVersion, ID: fmt.Sprintf("%s-%d", date, trial), Run: date.String(), Trial: trial + 1,
				Started: date.Add(time.Duration(trial) * time.Minute),
				Plan: spec.Plan{Driver: "rueidis", Lock: "set-nx", Wait: "backoff", Keys: 10, Server: "private",
					Load: spec.Load{Clients: 64, TTL: 30 * time.Second}, Duration: 10 * time.Second},
				Env: results.Env{Lockbench: "v0.1.0", Revision: "night-" + date.Format("0102"), Go: "go1.26.8", OS: "linux", Arch: "amd64",
					CPU: "a CPU", CPUs: 2, GOMAXPROCS: 2},
				Server:  results.Server{Kind: "private", Name: "redis", Version: "7.0.15"},
				Elapsed: 10 * time.Second,
				Counts:  results.Counts{Acquired: int64(10 * rate), Tries: int64(20 * rate), Released: int64(10 * rate)},
				Latency: map[results.Metric]results.Latency{},
				Cost:    results.Cost{Tries: 2, Commands: -1, ServerCPUUs: -1, ClientCPUUs: -1},
				Bound:   results.Bound{RTT: 50 * time.Microsecond},
			}
			if slices.Contains(args, "violated") {
				r.Traits.Exclusive, r.Safety = true, results.Safety{Checked: true, Grants: r.Counts.Acquired, Violations: 1}
			}
			ts.Check((&results.Appender{Path: ts.MkAbs(args[0])}).Append(r))
		}
	}
}
