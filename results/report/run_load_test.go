package report_test

import (
	"fmt"
	"maps"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// opened returns a trial of an open loop with all that a record can say of one. Quantiles are of 5,000 values, p99.9 among
// them.
func opened(n int) *results.Record {
	r := record(n)
	r.Plan.Rate, r.Plan.Arrival, r.Plan.MaxQueue = spec.Must(spec.ParseRate("9000")), "poisson", 500
	r.Plan.KeyDist, r.Plan.HoldDist = spec.Must(spec.ParseKeys("zipf:0.99")), spec.Must(spec.ParseTimes("exp:1ms"))
	r.Plan.Probe, r.Plan.Workload = 50, "hot-key"
	r.Counts.Offered, r.Counts.Dropped = 90_000, 1234
	r.Bound.By, r.Bound.LocksPerS, r.Bound.Efficiency = "rate", 9000, r.Throughput()/9000
	r.Generator.RunQueue, r.Generator.GCLongest = 180*time.Microsecond, 240*time.Microsecond
	r.Latency = maps.Clone(openLatencies(n))
	for i := range 12 {
		locks := int64(8100 + 60*(i*7%5) - 400*max(0, 2-i))
		r.Series = append(r.Series, results.Interval{
			At: time.Duration(i) * time.Second, Length: time.Second, Warmup: i < 2, Acquired: locks,
			P50: 2 * time.Millisecond, P99: time.Duration(9+i%3) * time.Millisecond, Max: 20 * time.Millisecond,
		})
	}
	r.Bound.InSystem, r.Bound.LittleOpen = 21.3, 0.998
	r.Steady = results.Steady{FirstRate: 8160, SecondRate: 8220, P: 0.42}
	return r
}

var madeOpen = map[int]map[results.Metric]results.Latency{}

func openLatencies(n int) map[results.Metric]results.Latency {
	if l := madeOpen[n]; l != nil {
		return l
	}
	rec := results.NewRecorder(1)
	shard := rec.Borrow()
	for i := range 5000 {
		x := time.Duration(i + 1)
		acquire := 40*time.Microsecond + x*x*x*time.Duration(10+n)/125_000
		shard.Record(results.AcquireIndex, acquire)
		shard.Record(results.HoldIndex, 1080*time.Microsecond+x*2)
		shard.Record(results.ReleaseIndex, 30*time.Microsecond+x*10)
		shard.Record(results.HandoffIndex, 50*time.Microsecond+x*time.Duration(n+1)*2)
		if i%8 == 0 {
			shard.Record(results.BacklogIndex, 300*time.Microsecond+x)
			shard.Record(results.ResponseIndex, acquire+300*time.Microsecond+x)
		} else {
			shard.Record(results.LagIndex, 10*time.Microsecond+x*10)
			shard.Record(results.ResponseIndex, acquire+10*time.Microsecond+x*10)
		}
	}
	for i := range 400 {
		shard.Record(results.ProbeIndex, 120*time.Microsecond+time.Duration(i)*time.Microsecond)
		if i < 50 {
			shard.Record(results.ProbeIdleIndex, 60*time.Microsecond+time.Duration(i)*time.Microsecond)
		}
	}
	l := rec.Latencies()
	maps.DeleteFunc(l, func(_ results.Metric, l results.Latency) bool { return l.Count == 0 })
	madeOpen[n] = l
	return l
}

// classedTrial returns a trial with two classes, of which one is an open loop.
func classedTrial(n int) *results.Record {
	r := record(n)
	r.Plan.Classes = []spec.Class{
		{Name: "online", Load: spec.Load{Clients: 60, Hold: time.Millisecond, TTL: 30 * time.Second, Timeout: 10 * time.Second, Rate: spec.Must(spec.ParseRate("5000")), Arrival: "constant"}},
		{Name: "batch", Load: spec.Load{Clients: 4, Hold: time.Second, KeyDist: spec.Must(spec.ParseKeys("own")), TTL: 30 * time.Second, Timeout: 10 * time.Second, TryOnly: 0.25}},
	}
	l := openLatencies(n)
	r.Counts.Offered = 50_000
	r.Bound.By = "keys"
	r.Latency = maps.Clone(l)
	r.Classes = []results.ClassResult{
		{Name: "online", Counts: results.Counts{Acquired: 49_900, Offered: 50_000}, Jain: 0.98, Latency: map[results.Metric]results.Latency{
			results.Acquire: l[results.Acquire], results.Response: l[results.Response], results.Hold: l[results.Hold],
		}},
		{Name: "batch", Counts: results.Counts{Acquired: int64(31_100 + 911*n), Contended: 17}, Jain: 0.91, Starved: 1, Latency: map[results.Metric]results.Latency{
			results.Acquire: l[results.Release], results.Hold: l[results.Hold],
		}},
	}
	return r
}

// climbed returns a trial of an old record, whose rate went in steps.
func climbed(n int) *results.Record {
	r := opened(n)
	if err := r.Plan.Rate.UnmarshalText([]byte("ladder:1000:4000:4")); err != nil {
		panic(err)
	}
	r.Plan.Workload, r.Steady, r.Series = "", results.Steady{}, nil
	return r
}

// loads returns the scenes of what clients do, and of what came of it in the course of time.
func loads() map[string][]*results.Record {
	planted := record(5)
	planted.Plan.Crash, planted.Plan.Overstay, planted.Plan.TTL = 0.01, 0.02, 100*time.Millisecond
	planted.Counts.Crashed = 810
	planted.Counts.Released -= 810
	rec := results.NewRecorder(1)
	for i := range 810 {
		rec.Borrow().Record(results.RecoveryIndex, 100*time.Millisecond+time.Duration(i)*time.Microsecond)
	}
	planted.Latency[results.Recovery] = rec.Latency(results.RecoveryIndex)
	worse := record(6)
	worse.Plan = planted.Plan
	worse.Plan.Lock, worse.Counts.Crashed, worse.Safety.LostUpdates, worse.Safety.Violations = "set-nx-del", 700, 2, 2
	worse.Latency[results.Recovery] = rec.Latency(results.RecoveryIndex)

	drifting := opened(6)
	drifting.Steady = results.Steady{FirstRate: 8900, SecondRate: 7832, P: 0.003, Drifts: true}
	drifting.Warnings = []string{"the second half was 12 % slower than the first (p 0.003): not steady, lengthen -warmup"}
	drifting.Bound.By, drifting.Bound.Efficiency = "keys", 0.94
	drifting.Plan.Arrival = "constant"
	drifting.Plan.KeyDist, drifting.Plan.HoldDist, drifting.Plan.Workload = spec.Keys{}, spec.Times{}, ""
	lost := opened(7)
	lost.Bound.Little = 0.8
	behind := opened(9)
	behind.Bound.InSystem, behind.Bound.LittleOpen, behind.Plan.Rate = 812, 0.4, spec.Must(spec.ParseRate("12000"))
	lost.Plan.Rate, lost.Plan.Arrival = spec.Must(spec.ParseRate("1000:50000:10s")), "constant"

	few := record(8)
	few.Plan.Keys = 11
	few.Steady = results.Steady{FirstRate: 9, SecondRate: 11, P: 0.28}
	few.Counts.Acquired, few.Counts.Released, few.Safety.Grants = 20, 20, 20
	few.Safety.Power = &results.Power{Watched: 2, Refusals: 2, Sampled: 2, SampledTime: 400 * time.Microsecond}
	sparse := results.NewRecorder(1)
	for i := range 20 {
		for _, m := range []results.MetricIndex{results.AcquireIndex, results.HoldIndex, results.ReleaseIndex} {
			sparse.Borrow().Record(m, time.Duration(1+i)*time.Millisecond)
		}
	}
	sparse.Borrow().Record(results.AcquireIndex, 2*time.Hour)
	few.Latency = sparse.Latencies()
	maps.DeleteFunc(few.Latency, func(_ results.Metric, l results.Latency) bool { return l.Count == 0 })

	pooled := record(9)
	pooled.Bound.By, pooled.Bound.Pool, pooled.Bound.Efficiency = "connections", 4, 0.6
	pooled.Latency[results.Release] = results.Latency{Count: 1000, Mean: 5 * time.Millisecond, Min: time.Millisecond, P50: 5 * time.Millisecond,
		P90: 6 * time.Millisecond, P99: 7 * time.Millisecond, P999: 8 * time.Millisecond, Max: 9 * time.Millisecond, HDR: pooled.Latency[results.Release].HDR}

	var eight []*results.Record
	for i := range 8 {
		r := opened(i % 3)
		r.ID, r.Trial = fmt.Sprintf("t%d", i), i+1
		r.Counts.Acquired = 81_000 + int64(i*i*100)
		r.Steady.Drifts = i == 3
		eight = append(eight, r)
	}
	var trials []*results.Record
	trials = append(trials, eight...)
	for i := range 3 {
		r := opened(i)
		r.ID, r.Trial, r.Plan.Wait = fmt.Sprintf("u%d", i), i+1, "pubsub"
		trials = append(trials, r)
	}

	var twenty []*results.Record
	for i := range 20 {
		r := opened(i % 4)
		r.ID = fmt.Sprintf("o%d", i)
		r.Plan.Driver = []string{"go-redis", "rueidis"}[i%2]
		r.Plan.Rate = spec.Must(spec.ParseRate([]string{"1000", "5000", "9000", "20000", "50000"}[i/2%5]))
		r.Plan.Wait = []string{"backoff", "pubsub"}[i/10]
		r.Bound.By = []string{"rate", "keys"}[i/13]
		r.Steady.Drifts = i == 8
		twenty = append(twenty, r)
	}
	closed, mixed, byClients := record(1), classedTrial(0), classedTrial(1)
	byClients.Bound.By = "clients"
	mixed.Plan.Classes[1].TryOnly, mixed.Plan.Classes[1].Hold = 0, time.Millisecond
	return map[string][]*results.Record{
		"open1": {opened(0)}, "opendrift1": {drifting}, "ladder1": {climbed(0)},
		"classes1": {classedTrial(0)}, "classclients1": {byClients}, "classes": {classedTrial(0), classedTrial(1)}, "classesamong": {closed, mixed},
		"planted1": {planted}, "behind1": {behind}, "planted": {planted, worse}, "few1": {few}, "pooled1": {pooled},
		"eighttrials1": eight, "eighttrials": trials, "opentwenty": twenty,
		"loads": alike(closed, opened(2), drifting, lost, behind),
	}
}

// alike gives records that differ in their load no other difference.
func alike(recs ...*results.Record) []*results.Record {
	for i, r := range recs {
		c := *r
		c.Plan.KeyDist, c.Plan.HoldDist, c.Plan.Workload, c.Plan.Probe = spec.Keys{}, spec.Times{}, "", 0
		recs[i] = &c
	}
	return recs
}
