package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/results"
)

// resources returns what the arrivals of t use of what there is only so much of, the first to be used up first. Trials
// that broke the objectives do not count: an overloaded queue distorts them.
func (t *track) resources(occupies Range) (list []Resource) {
	if hottest := t.keys.Hottest() / 1e9; waiting(&t.c.Plan) > 0 { // of nanoseconds
		list = append(list, resource("hottest key", Range{hottest * occupies.Low, hottest * occupies.Mid, hottest * occupies.High}, 1))
	}
	for _, of := range []struct {
		name string
		// busy returns how many units of it were busy on average, and how many there are; 0 if the record does not tell.
		busy func(r *results.Record) (units, of float64)
	}{{"server CPU", serverCPU}, {"connections", connections}, {"clients", clients}, {"generator", generator}} {
		var values []float64
		units := 0.0
		for _, o := range t.trials {
			if o.left.Code != "" || !t.keeps(&o) {
				continue
			}
			if d, n := of.busy(o.record); d > 0 && n > 0 {
				values, units = append(values, d*o.record.Elapsed.Seconds()/float64(o.arrivals)), max(units, n)
			}
		}
		if slices.Sort(values); len(values) > 0 {
			list = append(list, resource(of.name, Range{values[0], values[len(values)/2], values[len(values)-1]}, units))
		}
	}
	full := func(r Resource) float64 { return cmp.Or(r.Full.Mid, math.Inf(1)) }
	slices.SortStableFunc(list, func(a, b Resource) int { return cmp.Compare(full(a), full(b)) })
	return list
}

func resource(name string, demand Range, units float64) Resource {
	r := Resource{Name: name, Demand: demand, Units: units}
	if demand.Low > 0 {
		r.Full = Range{units / demand.High, units / demand.Mid, units / demand.Low}
	}
	return r
}

// serverCPU is in cores. Redis and Valkey execute on one.
func serverCPU(r *results.Record) (cores, of float64) {
	l := r.Limit()
	return l.ServerCores, l.CoresOf
}

func connections(r *results.Record) (busy, pool float64) { return r.Requests(), float64(r.Bound.Pool) }

// clients are busy from the first request to the answer to the release, or to their refusal (Little's law). Those of a
// closed loop are never short.
func clients(r *results.Record) (busy, count float64) {
	if Offered(&r.Plan) == 0 {
		return 0, 0
	}
	for _, m := range []results.Metric{results.Acquire, results.Refusal, results.Hold, results.Release} {
		busy += total(r.Latency[m])
	}
	return busy / r.Elapsed.Seconds(), float64(r.Plan.Clients)
}

// generator is lockbench itself, in cores.
func generator(r *results.Record) (cores, of float64) {
	return r.Cost.ClientCPUUs / 1e6 * r.Throughput(),
		cmp.Or(r.Generator.Quota, float64(cmp.Or(r.Env.GOMAXPROCS, r.Env.CPUs)))
}

// total returns the sum of the values of l, in seconds.
func total(l results.Latency) float64 { return l.Mean.Seconds() * float64(l.Count) }
