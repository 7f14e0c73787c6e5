package results

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// opened returns a trial of an open loop: 64 clients, 5,000 locks a second of 1 ms each on 100 keys, 0.2 ms a request. Nothing
// limits it but the rate, until a test changes it.
func opened() *Record {
	r := closed()
	r.Plan.Rate = spec.Must(spec.ParseRate("5000"))
	r.Counts.Offered = 50_000
	r.Latency[Lag] = of(50_000, 10*time.Microsecond)
	return r
}

// closed returns a trial of a closed loop with the same figures, whose 64 clients think for most of the time.
func closed() *Record {
	return &Record{
		Plan: spec.Plan{Load: spec.Load{Clients: 64}, Keys: 100}, Elapsed: 10 * time.Second, Counts: Counts{Acquired: 50_000},
		Traits: Traits{Exclusive: true}, Env: Env{CPUs: 4}, Server: Server{Kind: "private", Name: "redis"},
		Latency: map[Metric]Latency{
			Acquire: of(50_000, 250*time.Microsecond), Hold: of(50_000, time.Millisecond), Release: of(50_000, 200*time.Microsecond),
		},
		Bound: Bound{RTT: 100 * time.Microsecond, LocksPerS: 90_000, By: "keys"},
		Cost:  Cost{Tries: 1, RoundTrips: -1, ServerCPUUs: 20}, // no wake-ups: no client has waited; a tenth of a core
	}
}

func of(n int64, mean time.Duration) Latency { return Latency{Count: n, Mean: mean} }

// waiting lets the clients wait for locks for most of their time, though keys are held for 36 % and change hands for 7 %.
func waiting(r *Record) {
	r.Plan.Keys, r.Bound.Waited = 14, 600*time.Second // of 640
}

// sharing keeps the four cores of the machine busy, with so much of a private ZooKeeper and of lockbench.
func sharing(r *Record, server, lockbench float64) {
	r.Server.Name, r.Cost.ServerCPUUs = "zookeeper", server/5000*1e6
	r.Generator.Saturated, r.Generator.CPU, r.Generator.Machine = true, lockbench, 0.99
}

// dying lets holders die: 18 times in 10 s one of 14 keys stays locked for a lease of 2 s, and most clients wait for those.
func dying(r *Record) {
	waiting(r)
	r.Plan.TTL, r.Plan.Crash, r.Counts.Acquired, r.Counts.Crashed = 2*time.Second, 0.01, 2000, 20
	r.Latency[Recovery] = of(18, 2*time.Second)
}

// TestLimit plants what limits a load, record by record.
func TestLimit(t *testing.T) {
	backlog := func(r *Record) { r.Latency[Backlog] = of(1000, time.Millisecond) }
	for _, c := range []struct {
		name   string
		record func() *Record
		change func(r *Record)
		want   LimitedBy
	}{
		{"all served", opened, func(*Record) {}, ByRate},
		{"all served on a busy machine", opened, func(r *Record) { r.Generator.Saturated = true }, ByRate},
		{"too few clients for the arrivals", opened, backlog, ByClients},
		{"a handful waited", opened, func(r *Record) { r.Latency[Backlog] = of(400, time.Millisecond) }, ByRate}, // below 1 %
		{"arrivals dropped", opened, func(r *Record) { r.Counts.Dropped = 1000 }, ByClients},
		{"too few clients on a busy machine", opened, func(r *Record) { backlog(r); r.Generator.Saturated = true }, ByGenerator},
		{"keys that other runs hold too", opened, func(r *Record) { backlog(r); r.Bound.Waited, r.Plan.Shared = 100*time.Second, true }, ByUnknown},
		{"arrivals that waited for locks", opened, func(r *Record) { backlog(r); r.Bound.Waited = 100 * time.Second }, ByLock},
		{"arrivals that tried once and were refused", opened, func(r *Record) { r.Counts.Contended = 5000 }, ByRate},
		{"the same with keys of which nothing is known", opened, func(r *Record) {
			r.Counts.Contended, r.Plan.KeyDist, r.Bound.By = 5000, spec.Must(spec.ParseKeys("zipf:0.8")), "rate"
		}, ByRate},
		{"arrivals that gave up", opened, func(r *Record) { r.Counts.TimedOut = 5000 }, ByLock},
		{"arrivals that gave up, each key held", opened, func(r *Record) { r.Counts.TimedOut, r.Plan.Keys = 5000, 6 }, ByKey},
		{"a server that was gone", opened, func(r *Record) {
			backlog(r)
			r.Counts.Errors, r.Bound.Little = map[string]int64{"connect": 4606}, 0.17
		}, ByErrors},
		{"arrivals lost to errors", opened, func(r *Record) {
			r.Counts.Refused, r.Counts.Errors, r.Bound.Little = 40_000, map[string]int64{"timeout": 40_000}, 0.98
		}, ByErrors},
		{"arrivals of which nobody knows the answer", opened, func(r *Record) { r.Counts.Unknown = 1000 }, ByErrors},
		{"nothing but errors", opened, func(r *Record) { r.Counts.Acquired, r.Counts.Unknown = 0, 1000 }, ByErrors},
		{"a few lost", opened, func(r *Record) { r.Counts.Unknown = 400 }, ByRate},
		{"requests lost that took no time, in a closed loop", closed, func(r *Record) { r.Counts.Refused = 5000 }, ByClients},
		{"a handful of errors", opened, func(r *Record) {
			backlog(r)
			r.Bound.Waited = 100 * time.Second
			r.Counts.Errors, r.Bound.Little = map[string]int64{"closed": 2}, 0.99
		}, ByLock},
		{"each first try slow, a few waits", opened, func(r *Record) {
			backlog(r)
			r.Latency[Acquire] = of(50_000, 5*time.Millisecond)
			r.Cost.Wakeups, r.Bound.Waited = 0.01, 9*time.Second
		}, ByClients},
		{"waits of a record from before they were measured", opened, func(r *Record) {
			backlog(r)
			r.Cost.Wakeups, r.Latency[Acquire] = 1, of(50_000, 3*time.Millisecond)
		}, ByLock},

		{"waits that were not measured and did not end", closed, func(r *Record) { r.Plan.Keys, r.Cost.Wakeups = 14, 1 }, ByLock},
		{"the same of clients that think", closed, func(r *Record) { r.Plan.Keys, r.Cost.Wakeups, r.Plan.Think = 14, 1, 10*time.Millisecond }, ByClients},

		{"clients that think", closed, func(*Record) {}, ByClients},
		{"clients that are held up by nothing but their holds", closed, func(r *Record) { r.Plan.Clients = 8 }, ByClients},
		{"own keys, held all the time", closed, func(r *Record) {
			r.Plan.Keys, r.Plan.Clients, r.Plan.KeyDist, r.Bound.By = 5, 5, spec.Must(spec.ParseKeys("own")), "clients"
		}, ByClients},
		{"free keys that clients wait for", closed, waiting, ByLock},
		{"keys held for the larger part", closed, func(r *Record) { waiting(r); r.Plan.Keys = 8 }, ByKey},
		{"keys held throughout", closed, func(r *Record) { waiting(r); r.Plan.Keys = 5 }, ByKey},
		{"keys held throughout, on a busy machine", closed, func(r *Record) { waiting(r); r.Plan.Keys, r.Generator.Saturated = 5, true }, ByKey},
		{"keys that change hands", closed, func(r *Record) {
			waiting(r)
			r.Plan.Keys, r.Latency[Hold], r.Bound.RTT = 1, of(50_000, 0), 20*time.Microsecond
			r.Latency[Release] = of(50_000, 120*time.Microsecond)
		}, ByKey},
		{"keys that are released, and acquired late", closed, func(r *Record) {
			waiting(r)
			r.Plan.Wait, r.Plan.Handover, r.Latency[Handoff] = "queue", "release", of(50_000, 800*time.Microsecond)
		}, ByLock},
		{"keys that are passed on late, and locked meanwhile", closed, func(r *Record) {
			waiting(r)
			r.Latency[Handoff], r.Bound.Transit = of(50_000, 800*time.Microsecond), 50_000*800*time.Microsecond
		}, ByKey},
		{"keys that a library takes late from Redis", closed, func(r *Record) {
			waiting(r)
			r.Plan.Wait, r.Traits.Session, r.Latency[Handoff] = "native", true, of(50_000, 800*time.Microsecond)
		}, ByLock},

		{"a bound by clients reached on a busy machine", closed, func(r *Record) {
			r.Bound.By, r.Bound.Efficiency, r.Generator.Saturated = "clients", 0.96, true
		}, ByClients},
		{"a bound by keys reached on a busy machine", closed, func(r *Record) {
			waiting(r)
			r.Bound.Efficiency, r.Generator.Saturated = 0.92, true
		}, ByKey},
		{"a bound by connections reached on a busy machine", closed, func(r *Record) {
			r.Bound.By, r.Bound.Efficiency, r.Generator.Saturated = "connections", 0.93, true
		}, ByConnections},
		{"a bound by keys of a lock that does not claim to exclude", closed, func(r *Record) {
			r.Traits.Exclusive, r.Bound.Efficiency, r.Generator.Saturated = false, 0.92, true
		}, ByGenerator},
		{"a bound that is not reached on a busy machine", closed, func(r *Record) {
			r.Bound.By, r.Bound.Efficiency, r.Generator.Saturated = "clients", 0.8, true
		}, ByGenerator},
		{"arrivals of which some were dropped, near the bound", opened, func(r *Record) {
			r.Counts.Dropped, r.Bound.By, r.Bound.Efficiency = 1000, "rate", 0.98
		}, ByClients},
		{"free keys, on a busy machine", closed, func(r *Record) { waiting(r); r.Plan.Keys, r.Generator.Saturated = 50, true }, ByGenerator},
		{"long holds of few keys, on a busy machine", closed, func(r *Record) {
			r.Plan.Clients, r.Plan.Keys, r.Bound.Waited, r.Counts.Acquired = 8, 4, 44*time.Second, 33
			r.Bound.Efficiency, r.Bound.LocksPerS, r.Generator.Saturated = 0.82, 4, true
			r.Latency[Hold], r.Latency[Acquire], r.Latency[Handoff] = of(33, time.Second), of(33, time.Second), of(20, 250*time.Millisecond)
			r.Latency[Release], r.Latency[Hiccup] = of(33, 2*time.Millisecond), of(2000, 20*time.Millisecond)
		}, ByKey},
		{"a far server, on a busy machine", closed, func(r *Record) {
			r.Plan.Keys, r.Bound.Waited, r.Bound.Transit, r.Bound.RTT = 1, 630*time.Second, 8500*time.Millisecond, 10*time.Millisecond
			r.Counts.Acquired, r.Bound.Efficiency, r.Generator.Saturated = 850, 0.85, true
			r.Latency[Hold], r.Latency[Acquire], r.Latency[Release] = of(850, 0), of(850, 700*time.Millisecond), of(850, 10200*time.Microsecond)
			r.Latency[Hiccup] = of(2000, 300*time.Microsecond)
		}, ByKey},
		{"short holds of few keys, on a busy machine", closed, func(r *Record) {
			waiting(r)
			r.Generator.Saturated, r.Latency[Hiccup] = true, of(2000, time.Millisecond)
		}, ByGenerator},
		{"one try each, mostly refused", closed, func(r *Record) {
			r.Counts.Contended, r.Latency[Refusal] = 2_000_000, of(2_000_000, 200*time.Microsecond)
		}, ByLock},

		{"the hottest of many keys", closed, func(r *Record) { // its share of the locks: 1 in 5.5
			waiting(r)
			r.Plan.Keys, r.Plan.KeyDist, r.Bound.LocksPerS = 1000, spec.Must(spec.ParseKeys("zipf:1.1")), 5000
		}, ByKey},
		{"skewed keys of which the hottest is free", closed, func(r *Record) {
			waiting(r)
			r.Plan.Keys, r.Plan.KeyDist, r.Bound.LocksPerS = 1000, spec.Must(spec.ParseKeys("zipf:1.1")), 25_000
		}, ByLock},
		{"skewed keys of which nothing is known", closed, func(r *Record) {
			waiting(r)
			r.Plan.Keys, r.Plan.KeyDist, r.Bound.By = 1000, spec.Must(spec.ParseKeys("zipf:1.1")), "clients"
		}, ByUnknown},
		{"a lock that does not claim to exclude", closed, func(r *Record) { waiting(r); r.Traits.Exclusive = false }, ByUnknown},

		{"keys of dead holders", closed, dying, ByDead},
		{"clients that wait through several deaths", closed, func(r *Record) {
			dying(r)
			r.Plan.Keys, r.Counts.Acquired, r.Latency[Hold], r.Latency[Recovery] = 2, 30, of(30, time.Millisecond), of(8, 2*time.Second)
		}, ByDead},
		{"keys of dead holders, on a busy machine", closed, func(r *Record) { dying(r); r.Generator.Saturated = true }, ByDead},
		{"arrivals that gave up at keys of dead holders", opened, func(r *Record) { dying(r); r.Counts.TimedOut, r.Counts.Offered = 100, 2100 }, ByDead},
		{"a dead holder among many waits", closed, func(r *Record) {
			waiting(r)
			r.Plan.TTL, r.Latency[Recovery] = 2*time.Second, of(1, 2*time.Second)
		}, ByLock},
		{"a dead holder whose key nobody wants for long after its lease", closed, func(r *Record) {
			waiting(r)
			r.Plan.TTL, r.Latency[Recovery] = 2*time.Second, of(1, time.Minute)
		}, ByLock},
		{"dead holders whose keys are free at once", closed, func(r *Record) {
			waiting(r)
			r.Plan.TTL, r.Latency[Recovery] = 2*time.Second, of(1000, 2*time.Millisecond)
		}, ByLock},
		{"keys of dead holders that nobody wants", closed, func(r *Record) {
			r.Plan.TTL, r.Latency[Recovery] = 2*time.Second, of(4, 60*time.Second)
		}, ByClients},

		{"a full core of Redis", closed, func(r *Record) { waiting(r); r.Cost.ServerCPUUs = 190 }, ByServerCPU},
		{"a full core of Redis, and lockbench busy", closed, func(r *Record) { r.Cost.ServerCPUUs, r.Generator.Saturated = 190, true }, ByServerCPU},
		{"a full core of four nodes", closed, func(r *Record) { waiting(r); r.Cost.ServerCPUUs, r.Plan.Nodes = 190, 4; r.Plan.Keys = 50 }, ByLock},
		{"most of what lockbench left PostgreSQL", closed, func(r *Record) {
			r.Cost.ServerCPUUs, r.Server.Name, r.Generator.CPU = 560, "postgresql", 1
		}, ByServerCPU},
		{"a core of PostgreSQL's four", closed, func(r *Record) { r.Cost.ServerCPUUs, r.Server.Name, r.Generator.CPU = 190, "postgresql", 0.5 }, ByClients},
		{"a server elsewhere with processors that nobody knows", closed, func(r *Record) {
			r.Cost.ServerCPUUs, r.Server.Name, r.Server.Kind = 700, "postgresql", "external"
		}, ByClients},
		{"a server in lockbench", closed, func(r *Record) { r.Cost.ServerCPUUs, r.Server.Kind = 190, "embedded" }, ByClients},
		{"requests that queue at the server", closed, func(r *Record) { r.Cost.ServerCPUUs, r.Bound.RTT = 140, 20*time.Microsecond }, ByServerCPU},
		{"requests that queue on the machine", closed, func(r *Record) { r.Generator.Machine, r.Bound.RTT = 0.9, 20*time.Microsecond }, ByOthers},
		{"requests that queue elsewhere, at processors that nobody knows", closed, func(r *Record) {
			r.Server.Name, r.Server.Kind, r.Bound.RTT = "postgresql", "external", 20*time.Microsecond
		}, ByUnknown},
		{"requests that queue nobody knows where", closed, func(r *Record) { r.Bound.RTT = 20 * time.Microsecond }, ByClients},

		{"a machine that ZooKeeper shares", closed, func(r *Record) { sharing(r, 1.8, 2) }, ByMachine},
		{"a machine that ZooKeeper shares, where requests queue", closed, func(r *Record) {
			sharing(r, 1.7, 1.9)
			r.Generator.Saturated, r.Generator.Machine, r.Bound.RTT = false, 0.9, 20*time.Microsecond
		}, ByMachine},
		{"a machine that lockbench fills beside a server", closed, func(r *Record) { sharing(r, 0.5, 3.2) }, ByGenerator},
		{"processors of lockbench that are full beside a server", closed, func(r *Record) {
			sharing(r, 1.8, 2)
			r.Env.GOMAXPROCS = 2
		}, ByGenerator},
		{"a machine that something else fills", closed, func(r *Record) { sharing(r, 0.5, 0.6) }, ByOthers},
		{"a machine beside a server elsewhere", closed, func(r *Record) {
			sharing(r, 1.8, 2)
			r.Server.Kind, r.Server.Addr = "external", "redis://10.0.0.2:6379"
		}, ByGenerator},
		{"the same server, which is here", closed, func(r *Record) {
			sharing(r, 1.8, 2)
			r.Server.Kind, r.Server.Addr = "external", "redis://localhost:6379"
		}, ByMachine},
		{"a machine that a server of unknown use, and perhaps others, have the largest share of", closed, func(r *Record) {
			sharing(r, 0, 0.4)
			r.Cost.ServerCPUUs, r.Server.Kind, r.Server.Addr = -1, "external", "redis://localhost:6379"
		}, ByOthers},
		{"a machine that something else has the largest share of", closed, func(r *Record) { sharing(r, 0.4, 1.6) }, ByOthers},
		{"a machine whose host gave most of it to others", closed, func(r *Record) { sharing(r, 0.4, 1.2); r.Generator.Stolen = 0.5 }, ByHost},
		{"a machine whose host gave a little of it to others", closed, func(r *Record) { sharing(r, 0.4, 3.1); r.Generator.Stolen = 0.1 }, ByGenerator},
		{"adapters that lockbench's time includes", closed, func(r *Record) { sharing(r, 0.4, 2.6); r.Generator.Outside = 0.9 }, ByGenerator},
		{"a machine of which ZooKeeper took the larger part", closed, func(r *Record) { sharing(r, 2.6, 0.9) }, ByMachine},
		{"a server that used most of the machine", closed, func(r *Record) { sharing(r, 2, 1.9) }, ByServerCPU},

		{"the busiest of four nodes", closed, func(r *Record) { r.Plan.Nodes, r.Thread = 4, Thread{Ran: 0.92} }, ByServerCPU},
		{"the busiest of four nodes, and lockbench busy", closed, func(r *Record) {
			r.Plan.Nodes, r.Thread, r.Generator.Saturated = 4, Thread{Ran: 0.92}, true
		}, ByServerCPU},
		{"a server whose core something else uses", closed, func(r *Record) { r.Thread = Thread{Ran: 0.5, Waited: 0.45} }, ByServerCPU},
		{"the same on a machine that lockbench fills", closed, func(r *Record) {
			r.Thread, r.Generator.Saturated = Thread{Ran: 0.5, Waited: 0.45}, true
		}, ByGenerator},

		{"connections", closed, func(r *Record) { r.Bound.Pool = 2 }, ByConnections}, // 5,000 × 2 × 0.2 ms
		{"connections of an open loop", opened, func(r *Record) { backlog(r); r.Bound.Pool = 2 }, ByConnections},
		{"connections enough", closed, func(r *Record) { r.Bound.Pool = 3 }, ByClients},
		{"round trips counted", closed, func(r *Record) { r.Bound.Pool, r.Cost.RoundTrips = 3, 3 }, ByConnections},
		{"no more clients than connections", closed, func(r *Record) { r.Bound.Pool, r.Plan.Clients = 2, 2; r.Plan.Keys = 100 }, ByClients},

		{"several holders", closed, func(r *Record) { waiting(r); r.Plan.Keys, r.Safety.Violations = 1, 100 }, ""},
		{"several holders, of an open loop", opened, func(r *Record) { r.Safety.Violations = 100 }, ""},
		{"a closed class beside an open one", opened, func(r *Record) {
			r.Plan.Classes = []spec.Class{{Name: "web", Load: r.Plan.Load}, {Name: "batch", Load: spec.Load{Clients: 4}}}
		}, ByClients},
		{"nothing granted, of keys that failed requests left locked", closed, func(r *Record) {
			r.Counts.Acquired, r.Bound.Blocked = 0, 64*time.Second
		}, ByErrors},
		{"1 % waited", opened, func(r *Record) {
			r.Latency[Lag], r.Latency[Backlog] = of(49_500, time.Microsecond), of(500, time.Millisecond)
		}, ByRate},
		{"1 % were dropped", opened, func(r *Record) { r.Counts.Dropped = 500 }, ByRate},
		{"1 % gave up", opened, func(r *Record) { r.Counts.Acquired, r.Counts.TimedOut = 49_500, 500 }, ByRate},
		{"1 % were lost", opened, func(r *Record) { r.Counts.Acquired, r.Counts.Unknown = 49_500, 500 }, ByRate},
		{"1 % of nothing but errors", opened, func(r *Record) { r.Counts.Acquired, r.Counts.Contended, r.Counts.Unknown = 0, 49_500, 500 }, ByUnknown},
		{"nothing granted", closed, func(r *Record) { r.Counts.Acquired = 0 }, ByUnknown},
		{"no latencies", closed, func(r *Record) { r.Latency = nil }, ByUnknown},
	} {
		r := c.record()
		c.change(r)
		l := r.Limit()
		if l.By != c.want {
			t.Errorf("%s: %q, want %q (%+v)", c.name, l.By, c.want, l)
		}
		if sum := l.Held + l.Moving + l.Dead + l.Waited + l.Idle; l.Known && math.Abs(sum-1) > 1e-9 || !l.Known && sum != 0 {
			t.Errorf("%s: the parts of a key's time add up to %v: %+v", c.name, sum, l)
		}
	}
}

// TestLimitFigures has the shares that a limit is inferred from, by hand: 64 clients have 640 s in 10 s, in which 50,000
// locks are held for 50 s, their acquisitions take 12.5 s, and their releases 10 s.
func TestLimitFigures(t *testing.T) {
	const all = 640.
	for _, c := range []struct {
		name   string
		record func() *Record
		change func(r *Record)
		want   Limit // its numbers
	}{
		// Each of 100 keys is granted 50 times a second.
		{"nobody waits", closed, func(*Record) {},
			Limit{Held: 0.05, Moving: 0.01, Idle: 0.94, Requests: 22.5 / all, Holding: 50 / all, ServerCores: 0.1, CoresOf: 1, Slower: 2}},
		{"of the busy time in an open loop", opened, func(*Record) {},
			Limit{Held: 0.05, Moving: 0.01, Idle: 0.94, Requests: 22.5 / 72.5, Holding: 50 / 72.5, ServerCores: 0.1, CoresOf: 1, Slower: 2}},
		// 14 keys have 8/14 of their time free, with 600/14/10 waiters each: that none is there has the probability of Poisson.
		{"clients that wait", closed, waiting,
			Limit{Held: 5. / 14, Moving: 1. / 14, Waited: 8. / 14 * (1 - math.Exp(-60./14)), Idle: 8. / 14 * math.Exp(-60./14),
				Waiting: 600 / all, Requests: 10 / all, Holding: 50 / all, ServerCores: 0.1, CoresOf: 1, Slower: 2}},
		// 5,000/14 hand-offs a second take 0.6 ms longer than a release.
		{"hand-offs that take long", closed, func(r *Record) {
			waiting(r)
			r.Bound.Waited = 14 * time.Second
			r.Latency[Handoff] = of(50_000, 800*time.Microsecond)
		},
			Limit{Held: 5. / 14, Moving: 1. / 14, Waited: 3. / 14, Idle: 5. / 14,
				Waiting: 14 / all, Requests: 10 / all, Holding: 50 / all, ServerCores: 0.1, CoresOf: 1, Slower: 2}},
		// 18 leases of 2 s are 36 s of the 140 s of the keys. Of 2,000 acquisitions as many came then, and waited for half of a lease.
		{"dead holders", closed, dying,
			Limit{Held: 0.2 / 14, Moving: 0.04 / 14, Dead: 3.6 / 14, Waited: 10.16 / 14 * (1 - math.Exp(-(600-7200./14)/140)), Idle: 10.16 / 14 * math.Exp(-(600-7200./14)/140),
				Waiting: 600 / all, Blocked: 7200. / 14 / all, Requests: 10 / all, Holding: 50 / all, ServerCores: 0.004, CoresOf: 1, Slower: 2}},
		{"refusals", closed, func(r *Record) {
			r.Counts.Contended, r.Latency[Refusal] = 2_000_000, of(2_000_000, 200*time.Microsecond)
		},
			Limit{Held: 0.05, Moving: 0.01, Waited: 0.94 * (1 - math.Exp(-0.4)), Idle: 0.94 * math.Exp(-0.4),
				Waiting: 400 / all, Requests: 22.5 / all, Holding: 50 / all, ServerCores: 0.1, CoresOf: 1, Slower: 2}},
		// An acquisition takes 0.05 ms more than a request, and clients that do nothing else wait for the rest of their time.
		{"waits that were not measured", closed, func(r *Record) { r.Cost.Wakeups = 1 },
			Limit{Held: 0.05, Moving: 0.01, Waited: 0.94 * (1 - math.Exp(-0.57)), Idle: 0.94 * math.Exp(-0.57),
				Waiting: 570 / all, Requests: 10 / all, Holding: 50 / all, ServerCores: 0.1, CoresOf: 1, Slower: 2}},
		{"waits that were not measured, and refusals, of clients that think", closed, func(r *Record) {
			r.Cost.Wakeups, r.Plan.Think, r.Counts.Contended, r.Latency[Refusal] = 1, time.Millisecond, 100_000, of(100_000, 200*time.Microsecond)
		}, Limit{Held: 0.05, Moving: 0.01, Waited: 0.94 * (1 - math.Exp(-0.0225)), Idle: 0.94 * math.Exp(-0.0225),
			Waiting: 22.5 / all, Requests: 20 / all, Holding: 50 / all, ServerCores: 0.1, CoresOf: 1, Slower: 2}},
		// 5,000 locks/s of 1.1 ms at one key that gets a share of 1/5.5.
		{"the hottest key", closed, func(r *Record) {
			r.Plan.KeyDist, r.Bound.LocksPerS = spec.Must(spec.ParseKeys("zipf:1.1")), 5000
		}, Limit{Held: 5 / 5.5, Moving: 0.5 / 5.5, Requests: 22.5 / all, Holding: 50 / all, ServerCores: 0.1, CoresOf: 1, Slower: 2}},
		{"errors", closed, func(r *Record) {
			r.Counts.Refused, r.Counts.Unknown, r.Counts.TimedOut = 2000, 3000, 5000
			r.Counts.Errors, r.Bound.Little, r.Bound.Blocked = map[string]int64{"timeout": 5000}, 0.75, 64*time.Second
		}, Limit{Held: 0.05, Moving: 0.01, Idle: 0.94, Requests: 22.5 / all, Holding: 50 / all, Failing: 0.25, Stuck: 0.1, Lost: 5. / 60,
			ServerCores: 0.1, CoresOf: 1, Slower: 2}},
		{"errors that took little, while long waits were under way", closed, func(r *Record) {
			r.Counts.Unknown, r.Counts.Errors = 60, map[string]int64{"timeout": 60}
			r.Bound.Little, r.Bound.Failing = 0.75, 3*time.Second
		}, Limit{Held: 0.05, Moving: 0.01, Idle: 0.94, Requests: 22.5 / all, Holding: 50 / all, Lost: 60. / 50060, ServerCores: 0.1, CoresOf: 1, Slower: 2}},
		{"what lockbench left of four cores", closed, func(r *Record) { r.Cost.ServerCPUUs, r.Server.Name, r.Generator.CPU = 400, "postgresql", 1.5 },
			Limit{Held: 0.05, Moving: 0.01, Idle: 0.94, Requests: 22.5 / all, Holding: 50 / all, ServerCores: 2, CoresOf: 2.5, Slower: 2}},
		{"several keys at once, of which nothing is known", closed, func(r *Record) { r.Traits.Exclusive = false },
			Limit{Requests: 22.5 / all, Holding: 50 / all, ServerCores: 0.1, CoresOf: 1, Slower: 2}},
	} {
		r := c.record()
		c.change(r)
		got, want := reflect.ValueOf(r.Limit()), reflect.ValueOf(c.want)
		for i := range got.NumField() {
			if got.Field(i).CanFloat() && !(math.Abs(got.Field(i).Float()-want.Field(i).Float()) < 1e-9) {
				t.Errorf("%s: %s is %v, want %v", c.name, got.Type().Field(i).Name, got.Field(i), want.Field(i))
			}
		}
	}
}

// TestChangingHands: keys change hands for as long as was measured, and in records from before for as long as the
// releases took under the load, whatever a round trip takes without it.
func TestChangingHands(t *testing.T) {
	for transit, want := range map[time.Duration]time.Duration{0: 200 * time.Microsecond, 40 * time.Second: 800 * time.Microsecond} {
		r := closed()
		waiting(r)
		r.Bound.RTT, r.Bound.LoadRTT, r.Bound.Transit = 40*time.Microsecond, 20*time.Microsecond, transit
		if l := r.Limit(); math.Abs(l.Moving-5000*want.Seconds()/14) > 1e-9 {
			t.Errorf("%v in transit: keys changed hands for %v of the time", transit, l.Moving)
		}
	}
}

// TestLimitOfTrials adds the trials of a cell up.
func TestLimitOfTrials(t *testing.T) {
	var trials []*Record
	for i := range 3 {
		r := closed()
		waiting(r)
		r.Trial = i + 1
		trials = append(trials, r)
	}
	one := trials[0].Limit()
	c := &Cell{Trials: trials, Latency: map[Metric]Latency{}}
	c.sum(nil)
	for m, l := range trials[0].Latency {
		c.Latency[m] = of(3*l.Count, l.Mean)
	}
	if l := c.Limit(); l != one {
		t.Errorf("of three trials %+v, of one %+v", l, one)
	}
}

func TestKeptUp(t *testing.T) {
	for _, c := range []struct {
		little, inSystem float64
		p99              time.Duration
		want             bool
	}{
		{0, 0, 0, true}, {1, 5, time.Second, true}, {0.94, 5, time.Millisecond, false}, {1.06, 5, time.Millisecond, false},
		{1.11, 1.2, 200 * time.Millisecond, true}, // two slow ones across an edge
		{0.5, 25, 490 * time.Millisecond, false},
		// 3 × √(2 × 25) × 0.49 s / (25 × 2 s) is 0.208, and 3 × √2 × 0.1 s / (0.5 × 2 s) is 0.424: 5 % more is allowed.
		{1.257, 25, 490 * time.Millisecond, true}, {1.259, 25, 490 * time.Millisecond, false}, {0.741, 25, 490 * time.Millisecond, false},
		{1.473, 0.5, 100 * time.Millisecond, true}, {1.475, 0.5, 100 * time.Millisecond, false},
		{0, 5, 0, false}, {0, 1, 0, false}, {0, 0.9, 0, true}, // nothing was recorded
	} {
		r := &Record{Elapsed: 2 * time.Second, Bound: Bound{LittleOpen: c.little, InSystem: c.inSystem}}
		r.Latency = map[Metric]Latency{Response: {P99: c.p99}}
		if got := r.KeptUp(); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// TestGroupClasses adds classes up over trials: counts, histograms, and the median of rates.
func TestGroupClasses(t *testing.T) {
	var recs []*Record
	for i, acquired := range []int64{40, 400, 80} {
		r := trial(i+1, 1000)
		recorder := NewRecorder(1)
		for range acquired {
			recorder.Borrow().Record(AcquireIndex, time.Duration(i+1)*time.Millisecond)
		}
		r.Classes = []ClassResult{{
			Name: "readers", Counts: Counts{Acquired: acquired}, Starved: i, Jain: float64(i) / 4,
			Latency: map[Metric]Latency{Acquire: recorder.Latency(AcquireIndex)},
		}}
		r.Steady = Steady{FirstRate: float64(i), Drifts: i == 1}
		r.Generator.GCLongest = time.Duration(3-i) * time.Millisecond
		recs = append(recs, r)
	}
	cells, err := Group(recs)
	if err != nil || len(cells) != 1 {
		t.Fatalf("%d cells, %v", len(cells), err)
	}
	c := cells[0].Classes[0]
	if c.Name != "readers" || c.Counts.Acquired != 520 || c.Rate != (Spread{Median: 20, Min: 10, Max: 100}) || c.Starved != 2 || c.Jain != 0.25 {
		t.Errorf("%+v", c)
	}
	if l := c.Latency[Acquire]; l.Count != 520 || l.P50.Round(time.Millisecond) != 2*time.Millisecond {
		t.Errorf("%d values, median %v", l.Count, l.P50)
	}
	if cells[0].Drifting != 1 || cells[0].Steady.FirstRate != 1 || cells[0].Generator.GCLongest != 3*time.Millisecond {
		t.Errorf("%d drift, %+v, %v", cells[0].Drifting, cells[0].Steady, cells[0].Generator.GCLongest)
	}
	recs[0].Classes[0].Latency[Acquire] = Latency{Count: 1, HDR: "?"}
	if _, err := Group(recs); err == nil {
		t.Error("a damaged histogram of a class is merged")
	}
}

// TestBeaten holds an estimate against what was reached: 100 % as it is printed is no warning yet.
func TestBeaten(t *testing.T) {
	for efficiency, want := range map[float64]bool{0.9: false, 1: false, 1.004: false, 1.006: true, 1.3: true} {
		c := &Cell{Trials: []*Record{closed()}, Bound: Bound{LocksPerS: 5000, Efficiency: efficiency}}
		if got := c.Beaten(); got != want {
			t.Errorf("%v of the bound: beaten %t", efficiency, got)
		}
		c.First().Safety.Violations = 1
		if e := c.Figures().Efficiency(); !math.IsNaN(e) || c.Beaten() {
			t.Errorf("%v of the bound with two holders at once: efficiency %v, beaten %t", efficiency, e, c.Beaten())
		}
	}
	if c := (&Cell{Trials: []*Record{closed()}, Bound: Bound{LocksPerS: 64, Efficiency: 1.05}}); c.Beaten() {
		t.Error("beaten by half a lock of each client, which the window had at its edges")
	}
	if c := (&Cell{Trials: []*Record{closed()}, Bound: Bound{Efficiency: 2}}); c.Beaten() {
		t.Error("beaten without a bound")
	}
}

// TestWaitsAndRefusals: who waits and who is refused at once take the clients' time together, and who gave up is in both books.
func TestWaitsAndRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		waited              time.Duration
		refused, gaveUp     int64
		timeout, eachRefuse time.Duration
		want                float64
	}{
		"waits beside refusals at once":     {300 * time.Second, 3000, 0, 0, 100 * time.Millisecond, 600},
		"waits alone":                       {300 * time.Second, 0, 0, 0, 0, 300},
		"refusals alone":                    {0, 3000, 0, 0, 100 * time.Millisecond, 300},
		"waits that ended in giving up":     {300 * time.Second, 0, 31, 10 * time.Second, 10 * time.Second, 310},
		"some gave up, some refused":        {350 * time.Second, 30, 10, 10 * time.Second, 10 * time.Second, 350 + 300},
		"more gave up than waits are known": {50 * time.Second, 30, 10, 10 * time.Second, 10 * time.Second, 100 + 300},
	} {
		r := closed()
		r.Plan.Clients, r.Elapsed, r.Plan.Timeout = 64, 10*time.Second, c.timeout
		r.Bound.Waited, r.Counts.Contended, r.Counts.TimedOut = c.waited, c.refused, c.gaveUp
		r.Cost.Wakeups = 0
		r.Latency[Refusal] = Latency{Count: c.refused + c.gaveUp, Mean: c.eachRefuse}
		i := &inference{Figures: r.Figures(), r: r, all: 640}
		if got := i.waitingTime(); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v s, want %v", name, got, c.want)
		}
		if share := r.Limit().Waiting; math.Abs(share-min(1, c.want/640)) > 1e-6 {
			t.Errorf("%s: waiting %v of the time, want %v", name, share, c.want/640)
		}
	}
}
