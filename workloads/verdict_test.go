// The verdict on lockbench, the bound and the doubts, each on records made by hand.

package workloads

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
)

const us = time.Microsecond

// of returns a distribution as far as the verdict reads it.
func of(count int64, mean, p99 time.Duration) results.Latency {
	return results.Latency{Count: count, Mean: mean, P50: mean, P99: p99, Max: p99}
}

// healthy returns a trial of 10 s that nothing can be said against: 64 clients, 5,000 locks a second.
func healthy() *results.Record {
	p := plan("rueidis", "set-nx")
	p.Clients, p.Keys = 64, 1000
	return &results.Record{
		Plan: p, Elapsed: 10 * time.Second,
		Counts: results.Counts{Acquired: 50_000, Released: 50_000, Tries: 50_000},
		Latency: map[results.Metric]results.Latency{
			results.Acquire: of(50_000, 200*us, 900*us), results.Hold: of(50_000, ms, 2*ms), results.Release: of(50_000, 200*us, 900*us),
		},
		Bound:     results.Bound{RTT: 50 * us, Little: 1},
		Generator: results.Generator{CPU: 0.7, Machine: 0.6, GCPauses: 20 * ms, GCLongest: ms, RunQueue: 150 * us},
	}
}

// arriving makes an open loop of healthy: all arrivals found a free client.
func arriving() *results.Record {
	r := healthy()
	r.Plan.Rate, r.Plan.Arrival = spec.Must(spec.ParseRate("5000")), "poisson"
	r.Counts.Offered = 50_000
	r.Latency[results.Lag] = of(50_000, 15*us, 60*us)
	r.Latency[results.Response] = of(50_000, 215*us, 950*us)
	return r
}

// bursting makes a record one of 64 clients at a time, each second for ten.
func bursting(r *results.Record, offered int64) {
	r.Plan.Rate, r.Plan.Arrival, r.Plan.Clients, r.Plan.Burst = spec.Rate{}, "", 64, time.Second
	r.Counts.Offered = offered
}

func TestSuspicions(t *testing.T) {
	for _, c := range []struct {
		name   string
		record *results.Record
		change func(r *results.Record)
		want   []string // the beginning of each, in order
	}{
		{"healthy", healthy(), func(*results.Record) {}, nil},
		{"healthy open loop", arriving(), func(*results.Record) {}, nil},
		{"CPU", healthy(), func(r *results.Record) { r.Generator.CPU = 1.81 }, []string{"lockbench used 1.81 of its 2 cores"}},
		{"machine", healthy(), func(r *results.Record) { r.Generator.Machine = 0.98 }, []string{"machine 98 % busy, lockbench"}},
		{"unknown", healthy(), func(r *results.Record) { r.Generator = results.Generator{CPU: -1, Machine: -1} }, nil},
		{"a quota", healthy(), func(r *results.Record) { r.Generator.Quota, r.Generator.Throttled = 0.5, 4700*ms },
			[]string{"its CPU quota of 0.50 cores stopped it for 47 % of the time"}},
		{"a quota on several cores", healthy(), func(r *results.Record) { r.Generator.Throttled = 15 * time.Second },
			[]string{"its CPU quota stopped it for 100 % of the time"}},
		{"a quota that hardly matters", healthy(), func(r *results.Record) { r.Generator.Quota, r.Generator.Throttled = 1.5, 50*ms }, nil},
		{"a core that others use", healthy(), func(r *results.Record) { r.Generator.CPU, r.Generator.CoreWait = 0.05, 7500*ms },
			[]string{"starved: its threads waited 7.50 s for a core and ran 500 ms"}},
		{"threads that wait for each other", healthy(), func(r *results.Record) { r.Generator.CoreWait = 12 * time.Second }, nil},
		{"hardly a need of a core", healthy(), func(r *results.Record) { r.Generator.CPU, r.Generator.CoreWait = 0.01, 400*ms }, nil},
		{"waits without a CPU time", healthy(), func(r *results.Record) { r.Generator.CPU, r.Generator.CoreWait = -1, 7500*ms }, nil},
		{"neither quota nor waits known", healthy(), func(r *results.Record) { r.Generator.Throttled, r.Generator.CoreWait = -1, -1 }, nil},
		{"GC", healthy(), func(r *results.Record) { r.Generator.GCPauses = 101 * ms }, []string{"garbage collection stopped it for 1.0 % of the time, at most 1.00 ms"}},
		{"run queue", healthy(), func(r *results.Record) { r.Generator.RunQueue = 1100 * us }, []string{"its goroutines waited for a processor: p99 1.10 ms"}},
		{"run queue within the acquisition", healthy(), func(r *results.Record) {
			r.Generator.RunQueue, r.Latency[results.Acquire] = 1800*us, of(50_000, 2400*us, 9*ms)
		}, nil},
		{"run queue of a lock in memory", healthy(), func(r *results.Record) {
			r.Generator.RunQueue, r.Latency[results.Acquire] = 60*us, of(50_000, us, 5*us)
		}, nil},
		{"lag", arriving(), func(r *results.Record) { r.Latency[results.Lag] = of(50_000, 15*us, 1500*us) }, []string{"arrivals began late though a client was free: p99 1.50 ms"}},
		{"lag that drowns in the response", arriving(), func(r *results.Record) {
			r.Latency[results.Lag], r.Latency[results.Response] = of(50_000, 15*us, 1500*us), of(50_000, 20*ms, 50*ms)
		}, nil},
		{"late workers", healthy(), func(r *results.Record) { r.Latency[results.Worker] = of(100_000, 400*us, 1500*us) },
			[]string{"its workers sent requests late: mean 400 µs, p99 1.50 ms"}},
		{"workers that are late now and then", healthy(), func(r *results.Record) { r.Latency[results.Worker] = of(100_000, 40*us, 1500*us) }, nil},
		{"workers that are a little late", healthy(), func(r *results.Record) { r.Latency[results.Worker] = of(100_000, 400*us, 900*us) }, nil},
		{"late workers in an open loop", arriving(), func(r *results.Record) {
			r.Latency[results.Lag], r.Latency[results.Worker] = of(50_000, 15*us, 1500*us), of(100_000, 15*us, 1400*us)
		}, []string{"its workers sent requests late: mean 15.0 µs, p99 1.40 ms"}},
		{"too few arrivals", arriving(), func(r *results.Record) { r.Counts.Offered = 48_000 }, []string{"too slow for this rate: 48,000 of 50,000 arrivals"}},
		{"few arrivals by chance", arriving(), func(r *results.Record) { r.Counts.Offered = 48_500 }, nil},
		{"the same without chance", arriving(), func(r *results.Record) { r.Plan.Arrival, r.Counts.Offered = "constant", 48_500 }, []string{"too slow for this rate"}},
		{"too few arrivals beside a closed loop", arriving(), func(r *results.Record) {
			r.Plan.Classes = []spec.Class{{Name: "open", Load: r.Plan.Load}, {Name: "closed"}}
			r.Counts.Offered = 48_000
		}, []string{"too slow for this rate: 48,000 of 50,000 arrivals"}},
		{"a rate that rises", arriving(), func(r *results.Record) { r.Plan.Rate = spec.Must(spec.ParseRate("2000:8000:10s")) }, nil}, // 50,000 in 10 s
		{"a rate that should have risen", arriving(), func(r *results.Record) { r.Plan.Rate = spec.Must(spec.ParseRate("2000:9000:10s")) }, []string{"too slow for this rate: 50,000 of 55,000 arrivals"}},
		{"a number of operations", arriving(), func(r *results.Record) { r.Plan.Ops, r.Counts.Offered = 100, 100 }, nil},
		{"bursts, the last just after the window", arriving(), func(r *results.Record) { bursting(r, 9*64) }, nil},
		{"bursts that did not come", arriving(), func(r *results.Record) { bursting(r, 8*64) }, []string{"too slow for this rate: 512 of 640 arrivals"}},
		{"all at once", arriving(), func(r *results.Record) { r.Generator.CPU, r.Generator.GCPauses = 2, time.Second }, []string{"lockbench used", "garbage"}},
	} {
		c.change(c.record)
		got := append(saturationReasons(c.record, c.record.Elapsed, 2), delayReasons(c.record)...)
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestDoubts(t *testing.T) {
	for _, c := range []struct {
		name   string
		record *results.Record
		change func(r *results.Record)
		want   []string // in order; the beginning of each
	}{
		{"healthy", healthy(), func(*results.Record) {}, nil},
		{"healthy open loop", arriving(), func(*results.Record) {}, nil},
		{"slow replicas", healthy(), func(r *results.Record) {
			r.Plan.NodeTimeout, r.Counts.Errors = 50*ms, map[string]int64{"unacked": 12}
		}, []string{"12 locks taken back because too few replicas had acknowledged them within 50ms (unacked): if they are only slow, raise -node-timeout"}},
		{"holds on a coarse timer", healthy(), func(r *results.Record) {
			r.Plan.Hold, r.Latency[results.Hold] = 200*us, of(50_000, 1050*us, 2*ms)
		}, []string{"holds of 200 µs lasted 1.05 ms (median)"}},
		{"holds that end early", healthy(), func(r *results.Record) {
			r.Plan.Hold, r.Latency[results.Hold] = 200*us, of(50_000, 100*us, 2*ms)
		}, []string{"holds of 200 µs lasted 100 µs (median)"}},
		{"exact holds", healthy(), func(r *results.Record) {
			r.Plan.Hold, r.Latency[results.Hold] = 200*us, of(50_000, 215*us, 2*ms)
		}, nil},
	} {
		c.change(c.record)
		if got := recordWarnings(c.record); !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestBounds has known answers for each limit: a round trip of 1 ms, 9 ms of hold, 10 clients, 20 keys unless it says
// otherwise.
func TestBounds(t *testing.T) {
	class := func(name string, clients int, dist string) spec.Class {
		return spec.Class{Name: name, Load: spec.Load{Clients: clients, KeyDist: spec.Must(spec.ParseKeys(dist))}}
	}
	classResult := func(acquired int64, hold time.Duration) results.ClassResult {
		return results.ClassResult{Counts: results.Counts{Acquired: acquired}, Latency: map[results.Metric]results.Latency{results.Hold: of(acquired, hold, hold)}}
	}
	for _, c := range []struct {
		name   string
		change func(r *results.Record)
		by     string
		locks  float64
	}{
		{"clients", func(*results.Record) {}, "clients", 10 / 0.011},
		{"pauses", func(r *results.Record) { r.Plan.Think = 89 * ms }, "clients", 100},
		{"keys", func(r *results.Record) { r.Plan.Keys = 2 }, "keys", 200},
		{"hot key", func(r *results.Record) { r.Plan.KeyDist = spec.Must(spec.ParseKeys("hot:50%:1")) }, "keys", 200},
		{"hot key and refusals", func(r *results.Record) {
			r.Plan.KeyDist, r.Counts.Contended, r.Plan.Keys = spec.Must(spec.ParseKeys("hot:50%:1")), 50, 4
		}, "keys", 400},
		{"zipf", func(r *results.Record) { r.Plan.KeyDist, r.Plan.Keys = spec.Must(spec.ParseKeys("zipf:1")), 4 }, "keys", 100 * (1 + 1./2 + 1./3 + 1./4)},
		{"own", func(r *results.Record) { r.Plan.KeyDist = spec.Must(spec.ParseKeys("own")) }, "clients", 10 / 0.011},
		{"connections", func(r *results.Record) { r.Bound.Pool = 1 }, "connections", 500},
		{"rate", func(r *results.Record) { r.Plan.Rate, r.Counts.Offered = spec.Must(spec.ParseRate("100")), 1000 }, "rate", 100},
		{"rate of a number of operations", func(r *results.Record) {
			r.Plan.Rate, r.Plan.Ops, r.Counts.Offered = spec.Must(spec.ParseRate("500")), 1000, 1000
		}, "rate", 500},
		{"bursts of a number of operations", func(r *results.Record) { r.Plan.Burst, r.Plan.Ops, r.Counts.Offered = 100*ms, 10, 10 }, "rate", 100},
		{"a rate beyond the keys", func(r *results.Record) {
			r.Plan.Rate, r.Counts.Offered, r.Plan.Keys = spec.Must(spec.ParseRate("1000")), 10_000, 2
		}, "keys", 200},
		{"rate without round trips", func(r *results.Record) {
			r.Plan.Rate, r.Counts.Offered, r.Bound.RTT = spec.Must(spec.ParseRate("100")), 1000, 0
		}, "rate", 100},
		{"nothing known", func(r *results.Record) { r.Bound.RTT = 0 }, "", 0},
		{"round trips that were faster under the load", func(r *results.Record) { r.Bound.LoadRTT, r.Bound.RTT = ms, 2*ms }, "clients", 10 / 0.011},
		// Half of the locks are the first class's, of which half are on key 0, for 9 + 1 ms; the other's are on all alike,
		// for 19 + 1: a lock keeps key 0 busy for 0.5 × 0.5 × 10 + 0.5 × 0.05 × 20 = 3 ms on average.
		{"classes", func(r *results.Record) {
			r.Plan.Classes = []spec.Class{class("a", 100, "hot:50%:1"), class("b", 100, "")}
			r.Classes = []results.ClassResult{classResult(500, 9*ms), classResult(500, 19*ms)}
		}, "keys", 1000 / 3.},
		// One client of the first class makes at most 1/(0.009+0.002) locks a second, which are a tenth of all.
		{"clients of one class", func(r *results.Record) {
			r.Plan.Classes = []spec.Class{class("a", 1, ""), class("b", 1000, "")}
			r.Classes = []results.ClassResult{classResult(100, 9*ms), classResult(900, 9*ms)}
		}, "clients", 10 / 0.011},
	} {
		p := plan("rueidis", "set-nx")
		p.Clients, p.Keys = 10, 20
		r := &results.Record{
			Plan: p, Elapsed: 10 * time.Second, Counts: results.Counts{Acquired: 1000}, Bound: results.Bound{RTT: ms},
			Latency: map[results.Metric]results.Latency{results.Hold: of(1000, 9*ms, 9*ms)},
		}
		c.change(r)
		by, locks := minLimit(r, kindsOf(r, rest{}))
		if by != c.by || math.Abs(locks-c.locks) > 1e-6*c.locks {
			t.Errorf("%s: %v locks a second by %s, want %v by %s", c.name, locks, by, c.locks, c.by)
		}
	}
}

// TestLoadedRTT has idle pings of 55 µs.
func TestLoadedRTT(t *testing.T) {
	for _, c := range []struct {
		name       string
		n          int
		fast, rest time.Duration
		idle, want time.Duration
	}{
		{"cores that are awake", 10_000, 23 * us, 40 * us, 55 * us, 23 * us},
		{"fast ones among slow ones", 10_000, 23 * us, 5 * ms, 55 * us, 23 * us},
		{"a busy server", 10_000, 90 * us, 5 * ms, 55 * us, 0},
		{"too few", 90, 23 * us, 40 * us, 55 * us, 0},
		{"answered within lockbench", 10_000, us, 40 * us, 55 * us, 0},
		{"no round trip known", 10_000, 23 * us, 40 * us, 0, 0},
	} {
		rec := results.NewRecorder(1)
		for i := range c.n {
			took := c.rest
			if i < c.n/8 {
				took = c.fast
			}
			rec.Borrow().Record(results.ReleaseIndex, took)
		}
		got := loadedRTT(c.idle, rec.Latency(results.ReleaseIndex))
		if got.Round(us) != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestSteadyOnlyWhereTheLoadIs compares halves unless the plan makes them differ.
func TestSteadyOnlyWhereTheLoadIs(t *testing.T) {
	var series []results.Interval
	for i := range 10 {
		series = append(series, results.Interval{Length: time.Second, Acquired: int64(100 - 50*(i/5) + i)})
	}
	for _, c := range []struct {
		load   spec.Load
		drifts bool
	}{
		{spec.Load{}, true}, {spec.Load{Rate: spec.Must(spec.ParseRate("5000"))}, true}, {spec.Load{Rate: spec.Must(spec.ParseRate("0.5"))}, true},
		{spec.Load{Rate: spec.Must(spec.ParseRate("1000:5000:10s"))}, false}, {spec.Load{Burst: time.Second}, false},
	} {
		r := &results.Record{Plan: spec.Plan{Load: c.load}, Series: series}
		(&engine{}).fillSteady(r)
		if r.Steady.Drifts != c.drifts {
			t.Errorf("%+v: %+v", c.load, r.Steady)
		}
	}
	if !stats.Steady(series).Drifts {
		t.Error("the series is steady: the test shows nothing")
	}
}
