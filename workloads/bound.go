// The ideal that a throughput is measured against, and whether the books balance.

package workloads

import (
	"time"

	"github.com/lockbench/lockbench/results"
)

// fillBound reckons the ideal: a key cannot change hands faster than once a hold and a round trip, and a client
// cannot get round faster than hold, think and the two round trips of its acquire and release.
func (e *engine) fillBound(r *results.Record, t tally) {
	b, p := &r.Bound, &r.Plan
	b.RTT = e.rtt
	hold, think := r.Latency[results.Hold].Mean, p.Think
	if t.thoughts > 0 {
		think = t.thought / time.Duration(t.thoughts)
	}
	if e.rtt > 0 {
		byKeys := float64(p.Keys) / (hold + e.rtt).Seconds()
		byClients := float64(p.Clients) / (hold + think + 2*e.rtt).Seconds()
		b.LocksPerS = min(byKeys, byClients)
		b.Efficiency = r.Throughput() / b.LocksPerS
	}
	if r.Elapsed > 0 {
		inSystem := t.thought + t.edges + t.idle
		for metric, l := range r.Latency {
			switch metric {
			case results.Handoff, results.Reentry, results.Renew: // parts of acquire and hold
			case results.AcquireAll, results.Probe, results.ProbeIdle: // in which no client waits
			case results.Response, results.Lag, results.Backlog, results.Recovery: // of arrivals and keys, not of clients
			default:
				inSystem += time.Duration(l.Count) * l.Mean
			}
		}
		b.Little = max(0, float64(inSystem)/float64(r.Elapsed)/float64(p.Clients))
	}
}
