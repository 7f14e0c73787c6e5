package capacity

// The limited resources that a lock uses.

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/stats"
)

// demand returns what one arrival uses of a resource, in seconds of one unit, by a record at a rate in arrivals a second, and how
// many units there are. It is 0 if the record does not tell. An arrival that is refused uses its part as well.
type demand func(r *results.Record, arrivals float64) (seconds, units float64)

// resources returns what the arrivals of t use at a rate, in the order in which the resources are used up.
func (t *track) resources(occupies Range, rate float64) (list []Resource) {
	share := t.keys.Hottest() / 1e9 // of nanoseconds
	hottest := Range{share * occupies.Low, share * occupies.Mid, share * occupies.High}
	if waiting(&t.c.Plan) > 0 {
		list = append(list, resource("hottest key", hottest, 1, rate))
	}
	for _, of := range []struct {
		name   string
		demand demand
	}{{"server CPU", serverCPU}, {"connections", connections}, {"clients", clients}, {"generator", generator}} {
		var values []float64
		units := 0.0
		for _, o := range t.trials {
			if o.left != "" || o.arrivals == 0 || o.record.Elapsed <= 0 || !t.keeps(&o) {
				continue // an overloaded queue distorts them
			}
			if d, n := of.demand(o.record, float64(o.arrivals)/o.record.Elapsed.Seconds()); d > 0 {
				values, units = append(values, d), max(units, n)
			}
		}
		if len(values) > 0 {
			list = append(list, resource(of.name, rangeOf(values), units, rate))
		}
	}
	full := func(r Resource) float64 { return cmp.Or(r.Full.Mid, math.Inf(1)) }
	slices.SortStableFunc(list, func(a, b Resource) int { return cmp.Compare(full(a), full(b)) })
	return list
}

// rangeOf returns the median of a value over trials, with its interval if there are enough of them, else with their range.
func rangeOf(values []float64) Range {
	e := stats.Of(values)
	if !e.Known() {
		return Range{e.Min, e.Median, e.Max}
	}
	return Range{e.Low, e.Median, e.High}
}

// resource applies the utilisation law.
func resource(name string, demand Range, units, rate float64) Resource {
	r := Resource{Name: name, Demand: demand, Units: units}
	if units <= 0 || demand.Low <= 0 {
		return r
	}
	r.Used = Range{rate * demand.Low / units, rate * demand.Mid / units, rate * demand.High / units}
	r.Full = Range{units / demand.High, units / demand.Mid, units / demand.Low}
	return r
}

// serverCPU is in seconds of a core. Redis and Valkey execute on one.
func serverCPU(r *results.Record, arrivals float64) (seconds, cores float64) {
	l := r.Limit()
	if l.ServerCores <= 0 {
		return 0, 0
	}
	return l.ServerCores / arrivals, l.CoresOf
}

func connections(r *results.Record, arrivals float64) (seconds, pool float64) {
	if r.Bound.Pool == 0 {
		return 0, 0
	}
	return r.Requests() / arrivals, float64(r.Bound.Pool)
}

// clients are busy from the first request to the answer to the release, or to their refusal.
func clients(r *results.Record, arrivals float64) (seconds, count float64) {
	busy := 0.0 // clients, by Little's law
	for _, m := range []results.Metric{results.Acquire, results.Refusal, results.Hold, results.Release} {
		l := r.Latency[m]
		busy += l.Mean.Seconds() * float64(l.Count) / r.Elapsed.Seconds()
	}
	return busy / arrivals, float64(r.Plan.Clients)
}

// generator is the processor time of lockbench itself, in seconds of a core.
func generator(r *results.Record, arrivals float64) (seconds, cores float64) {
	if r.Cost.ClientCPUUs <= 0 {
		return 0, 0
	}
	return r.Cost.ClientCPUUs / 1e6 * r.Throughput() / arrivals, cmp.Or(r.Generator.Quota, float64(cmp.Or(r.Env.GOMAXPROCS, r.Env.CPUs)))
}
