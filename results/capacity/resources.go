package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/results"
)

// resources returns what the arrivals of t use up, the first first, in the median of the trials that kept the goals: an
// overloaded queue distorts the others.
func (t *track) resources(occupies Range) (list []Resource) {
	add := func(name string, demand Range, units float64) {
		if demand.Low > 0 {
			list = append(list, Resource{name, demand, units, Range{units / demand.High, units / demand.Mid, units / demand.Low}})
		}
	}
	if hottest := t.keys.hottest() / 1e9; waiting(t.q.load()) > 0 { // of nanoseconds
		add("hottest key", Range{hottest * occupies.Low, hottest * occupies.Mid, hottest * occupies.High}, 1)
	}
	for name, busy := range map[string]func(*results.Record) (units, of float64){
		"server CPU": func(r *results.Record) (float64, float64) { return r.Limit().ServerCores, r.Limit().CoresOf },
		"clients": func(r *results.Record) (float64, float64) { // by their holds; as many as it takes, unless they are fixed
			fixed := map[bool]int{true: r.Plan.Clients}[t.q.FixedClients]
			return total(r.Latency[results.Hold]) / r.Elapsed.Seconds(), float64(fixed)
		},
		"connections": func(r *results.Record) (float64, float64) { return r.Requests(), float64(r.Bound.Pool) },
		"generator": func(r *results.Record) (float64, float64) {
			return r.Cost.ClientCPUUs / 1e6 * r.Throughput(), cmp.Or(r.Generator.Quota, float64(cmp.Or(r.Env.GOMAXPROCS, r.Env.CPUs)))
		},
	} {
		var each []float64 // seconds of a unit
		units := 0.0
		for _, o := range t.counted() {
			if used, of := busy(o.record); t.keeps(&o) && used > 0 && of > 0 {
				each, units = append(each, used*o.record.Elapsed.Seconds()/float64(o.arrivals)), of
			}
		}
		if slices.Sort(each); len(each) > 0 {
			add(name, Range{each[0], each[len(each)/2], each[len(each)-1]}, units)
		}
	}
	slices.SortFunc(list, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(cmp.Or(a.Full.Mid, math.Inf(1)), cmp.Or(b.Full.Mid, math.Inf(1))), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// total returns the sum of the values of l, in seconds.
func total(l results.Latency) float64 { return l.Mean.Seconds() * float64(l.Count) }
