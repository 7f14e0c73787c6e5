package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// cmdRecords writes records that nobody has measured, so that what is said of them is known: records FILE NAME=VALUE….
// They scatter by ± 1 %.
func cmdRecords(ts *testscript.TestScript, _ bool, args []string) {
	file := ts.MkAbs(args[0])
	set := map[string]string{"trials": "10", "rate": "80000", "clients": "64", "driver": "rueidis", "cpu": "EPYC", "kind": "private"}
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		set[name] = value
	}
	number := func(name string) int {
		n, err := strconv.Atoi(set[name])
		ts.Check(err)
		return n
	}
	var rate spec.Rate
	ts.Check(rate.UnmarshalText([]byte(set["open"])))
	for i := range number("trials") {
		f := 1 + 0.002*float64(i) - 0.009
		p99 := time.Duration(10e6 / f)
		r := &results.Record{
			Schema: results.SchemaVersion, ID: fmt.Sprint(filepath.Base(file), args, i), Run: args[0], Trial: i + 1, Side: set["side"],
			Started: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Partial: set["partial"],
			Plan: spec.Plan{Driver: set["driver"], Lock: "set-nx", Wait: "backoff", Keys: 10, Load: spec.Load{Clients: number("clients"), Rate: rate},
				Duration: 10 * time.Second, Seed: uint64(i), Oracle: set["oracle"] == "", Server: set["kind"]},
			Traits: results.Traits{Exclusive: true},
			Env: results.Env{Lockbench: "v1", Go: "go1.26", OS: "linux", Arch: "amd64", CPU: set["cpu"], CPUs: 2, GOMAXPROCS: 2,
				Revision: set["revision"]},
			Server:  results.Server{Kind: set["kind"], Name: "redis", Version: "7"},
			Elapsed: 10 * time.Second, Counts: results.Counts{Acquired: int64(10 * f * float64(number("rate")))},
			Latency:  map[results.Metric]results.Latency{},
			Fairness: results.Fairness{Jain: 0.9},
			Safety:   results.Safety{Checked: set["oracle"] == "", Grants: 1000},
			Cost:     results.Cost{Tries: -1, Commands: -1, BytesIn: -1, BytesOut: -1, ServerCPUUs: -1, ClientCPUUs: 5 / f, Wakeups: -1, Allocs: -1},
		}
		if v := set["violations"]; v != "" {
			r.Safety.Violations = int64(number("violations"))
		}
		if r.Partial = cmp.Or(r.Partial, set["replaced"]); set["replaced"] != "" {
			r.Server.Replaced = true
		}
		if set["saturated"] != "" {
			r.Generator.Saturated, r.Generator.Why = true, "lockbench used all of its cores"
		}
		rec := results.NewRecorder(1)
		for range 1000 {
			rec.Borrow().Record(results.AcquireIndex, p99)
		}
		r.Latency[results.Acquire] = rec.Latency(results.AcquireIndex)
		if set["open"] != "" {
			r.Latency[results.Response] = r.Latency[results.Acquire]
		}
		if set["oracle"] != "" {
			r.Safety = results.Safety{}
		}
		ts.Check(r.Validate())
		ts.Check((&results.Appender{Path: file}).Append(r))
	}
}
