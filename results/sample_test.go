package results

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// sampleLatencies are made once, because compressing histograms takes most of a test's time.
var sampleLatencies = sync.OnceValue(func() map[Metric]Latency {
	rec := NewRecorder(1)
	for i := range 100 {
		for n, m := range []MetricIndex{AcquireIndex, RefusalIndex, HandoffIndex, HoldIndex, ReleaseIndex} {
			rec.Borrow().Record(m, time.Duration(1+i*(n+1))*time.Microsecond)
		}
	}
	rec.Borrow().Record(HoldIndex, 2*time.Hour)
	return rec.Latencies()
})

// sample returns a record with every field set. What the first version knew of it never changes: see firstSample.
func sample() *Record {
	return &Record{
		Schema: 1, ID: "01J0000000000000000000000A", Run: "run1", Prefix: "lockbench:run1:", Cell: 3, Trial: 2, Side: "head", Pair: 1,
		Started: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC),
		Partial: "interrupted",
		Plan: spec.Plan{
			Load: spec.Load{
				Clients: 64, KeyDist: spec.Must(spec.ParseKeys("zipf:1.1")), Hold: time.Millisecond, HoldDist: spec.Must(spec.ParseTimes("exp:1ms")), Think: time.Microsecond,
				ThinkDist: spec.Must(spec.ParseTimes("exp:1us")), TTL: 30 * time.Second, Timeout: 10 * time.Second, TryOnly: 0.1, Crash: 0.01,
				Rate: spec.Must(spec.ParseRate("5000")), Arrival: "poisson", Burst: time.Second, MaxQueue: 1000,
			},
			Classes: []spec.Class{{Name: "readers", Load: spec.Load{Clients: 60, TTL: time.Second}}, {Name: "batch", Load: spec.Load{Clients: 4, Hold: time.Second, TTL: time.Minute}}},

			Workload: "hot-key", Ops: 1_000_000, Probe: 50,
			Driver: "rueidis", Lock: "set-nx", Wait: "backoff", Keys: 10,
			Topology: "replicated", Release: "lua", Renew: true, Reentry: 2, Lockers: 8, Handover: "swap", Processes: 2,
			Nodes: 5, Replicas: 2, Acks: 1, NodeTimeout: 50 * time.Millisecond, Params: "tries=3",

			Poll: 2 * time.Millisecond, BackoffMin: time.Millisecond, BackoffMax: time.Second,
			Duration: 5 * time.Second, Warmup: time.Second, Seed: 1<<63 + 7, Conns: 4, Pipelining: "on",
			FlushDelay: 20 * time.Microsecond, IOTimeout: 3 * time.Second, Oracle: true, Server: "private",
			Durability: "relaxed", Shared: true,
			Command: "lockbench -driver rueidis",
		},
		Traits: Traits{Exclusive: true, Owned: true, Expires: true, Fenced: true, Fair: true, Reentrant: true, Renews: true, Wakes: true, Waits: true, Session: true, Blocks: true},
		Wrong:  "a holder that outlives its lease overlaps the next one; waiters poll",
		Env: Env{
			Lockbench: "v0.1.0", Revision: "4b825dc", Go: "go1.26", OS: "linux", Arch: "amd64", Kernel: "6.1", CPU: "a CPU", CPUs: 2, GOMAXPROCS: 2,
			Libraries: map[string]string{"rueidis": "v1.0.79"},
			Variables: map[string]string{"GOGC": "50"},
		},
		Server: Server{
			Kind: "private", Name: "redis", Version: "7.0.15", Mode: "standalone", Persistence: "none", Replicas: 1,
			Addr: "127.0.0.1:7000", Network: "tcp", Durability: "relaxed", Connections: 66, Replaced: true, Evicted: 9,
		},
		Elapsed: 4 * time.Second,
		Counts: Counts{
			Acquired: 100, Contended: 1, TimedOut: 2, GaveUp: 9, Canceled: 3, Unknown: 4, Refused: 5, Unfinished: 6, Tries: 130,
			Released: 98, Lost: 1, ReleaseError: 1, LocalRefusals: 40,
			LostRenewal: 2, Renewals: 40, RenewError: 3, Reentries: 70, ReentryRefused: 4, ReentryError: 5,
			Offered: 140, Dropped: 7, Crashed: 3,
			SplitVotes: 8, NodeErrors: []int64{0, 3, 0, 0, 1},
			StuckKeys: 3, EarlyErrors: map[string]int64{"closed": 2},
			Errors: map[string]int64{"timeout": 4}, ErrorSample: map[string]string{"timeout": "redis: set: i/o timeout"},
		},
		Latency:  maps.Clone(sampleLatencies()),
		Fairness: Fairness{Clients: 12, Jain: 0.97, MinClient: 1, MaxClient: 9, Starved: 2, LongestWait: time.Second, OwnerChanges: 80, LongestRun: 4},
		Safety: Safety{
			Checked: true, Grants: 120, Violations: 1, Longest: time.Millisecond, Overlap: time.Millisecond,
			LostUpdates: 1, WrongReleases: 2, FenceRegress: 3,
			Possible: 1, Blind: time.Microsecond,
			LostEarly: 2, Explained: "the server was restarted",
			Ended:  map[string]int64{"FATAL: terminating connection due to idle-session timeout (SQLSTATE 57P05)": 2},
			Power:  &Power{Watched: 40, Refusals: 60, Sampled: 20, SampledTime: time.Millisecond},
			Events: []Violation{{At: time.Second, Key: 1, Holder: 2, Intruder: 3, Overlap: time.Millisecond}},
		},
		Cost:  Cost{Tries: 1.3, LocalRefusals: 0.4, Commands: 3.1, BytesIn: 120, BytesOut: 60, ServerCPUUs: 2.3, ClientCPUUs: 6.1, Wakeups: -1, Allocs: 4, RoundTrips: 2, Notices: 1, KeepAlives: 0.01},
		Bound: Bound{RTT: 55 * time.Microsecond, LocksPerS: 9478, Efficiency: 0.9, Little: 0.99, By: "keys", Pool: 10, Failing: 5 * time.Second, Dead: time.Second, DeadWaits: time.Minute, DeadKeys: 1, DeadFrom: time.Millisecond, InSystem: 3, LittleOpen: 0.98, Waited: time.Second, Transit: time.Second, Blocked: time.Millisecond, LoadRTT: 23 * time.Microsecond},
		Generator: Generator{CPU: 0.7, Machine: 0.8, Stolen: 0.1, GCPauses: time.Millisecond, GCLongest: time.Microsecond, Memory: 1 << 26, RunQueue: time.Millisecond, PerWrite: 12.5, Outside: 0.5,
			Quota: 0.5, Throttled: time.Second, CoreWait: time.Second, Pauses: []Pause{{At: time.Second, Length: time.Second}}, Paused: time.Second,
			Saturated: true, Why: "the machine was busy", Delayed: true},
		Ranks: []Rank{{
			Rank: 1, Host: "n1", PID: 7, CPUs: 2, Clients: 32, Acquired: 50, RTT: 55 * time.Microsecond, Offset: -time.Second, Bound: time.Microsecond,
			Late: time.Millisecond, Generator: Generator{CPU: 0.3},
		}},
		Thread: Thread{Ran: 0.6, Waited: 0.1},
		Series: []Interval{{At: time.Second, Length: time.Second, Warmup: true, Acquired: 25, P50: 1000, P99: 2000, Max: 3000, Errors: 1, Violations: 1}},
		Classes: []ClassResult{{
			Name: "readers", Counts: Counts{Acquired: 90}, Clients: 8, Starved: 1, Jain: 0.9,
			Latency: map[Metric]Latency{Acquire: sampleLatencies()[Acquire]},
		}},
		Steady:   Steady{FirstRate: 25, SecondRate: 20, P: 0.01, Drifts: true},
		Warnings: []string{"a warning of 5 µs"},
	}
}

// firstSample returns what testdata/schema1.jsonl holds: the sample without the fields that came later within the schema, all
// of which are left out of the JSON form when they are zero.
func firstSample() *Record {
	r := sample()
	p, n := &r.Plan, &r.Counts
	p.Topology, p.Release, p.Renew, p.Reentry, p.Lockers, p.Handover = "", "", false, 0, 0, ""
	p.Processes, r.Ranks, r.Safety.Possible, r.Safety.Blind = 0, nil, 0, 0
	p.Nodes, p.Replicas, p.Acks, p.NodeTimeout, p.Params = 0, 0, 0, 0, ""
	n.LostRenewal, n.Renewals, n.RenewError, n.Reentries, n.ReentryRefused, n.ReentryError = 0, 0, 0, 0, 0, 0
	n.SplitVotes, n.NodeErrors = 0, nil
	n.StuckKeys, n.EarlyErrors, r.Bound.Blocked, r.Bound.Failing = 0, nil, 0, 0
	r.Bound.Dead, r.Bound.DeadWaits, r.Bound.DeadKeys, r.Bound.DeadFrom = 0, 0, 0, 0
	n.LocalRefusals, r.Cost.LocalRefusals = 0, 0
	p.Shared, r.Thread = false, Thread{}
	p.Durability, r.Server.Durability, r.Server.Connections = "", "", 0
	r.Server.Replaced, r.Server.Evicted = false, 0
	r.Traits.Waits, r.Traits.Session, r.Traits.Blocks = false, false, false
	r.Cost.RoundTrips, r.Cost.Notices, r.Cost.KeepAlives = 0, 0, 0
	r.Prefix, r.Wrong = "", ""
	first := p.Load
	p.Load = spec.Load{Clients: first.Clients, Hold: first.Hold, Think: first.Think, TTL: first.TTL, Timeout: first.Timeout}
	p.Classes, p.Workload, p.Ops, p.Probe = nil, "", 0, 0
	n.Offered, n.Dropped, n.Crashed, n.GaveUp = 0, 0, 0, 0
	r.Bound.By, r.Generator.RunQueue, r.Generator.GCLongest, r.Generator.PerWrite, r.Generator.Outside, r.Bound.Pool = "", 0, 0, 0, 0, 0
	r.Bound.InSystem, r.Bound.LittleOpen, r.Bound.Waited, r.Bound.Transit, r.Bound.LoadRTT, r.Generator.Memory = 0, 0, 0, 0, 0, 0
	r.Generator.Quota, r.Generator.Throttled, r.Generator.CoreWait, r.Generator.Pauses, r.Generator.Paused, r.Generator.Delayed, r.Generator.Stolen = 0, 0, 0, nil, 0, false, 0
	r.Safety.LostEarly, r.Safety.Explained, r.Safety.Ended, r.Safety.Power = 0, "", nil, nil
	r.Side, r.Pair, r.Env.Revision, r.Env.Variables, r.Fairness.Clients = "", 0, "", nil, 0
	r.Series, r.Classes, r.Steady = nil, nil, Steady{}
	return r
}

// numbered returns a whole record with an ID of its own.
func numbered(n int) *Record {
	r := sample()
	r.ID, r.Trial, r.Partial = fmt.Sprintf("r%d", n), n, ""
	return r
}
