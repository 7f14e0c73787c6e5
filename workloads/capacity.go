// The capacity that throughput is measured against, and whether the recorded times add up (Little's law).

package workloads

import (
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/shape"
)

// What may make a bound; see results.Bound.
const (
	byKeys        = "keys"
	byClients     = "clients"
	byConnections = "connections"
	byRate        = "rate"
)

// minReleases is how many releases it takes for a first decile that is not just the fastest of all.
const minReleases = 100

// fillBound finds the least of all limits, and how much time the recorded latencies account for.
func (e *engine) fillBound(r *results.Record, t rest) {
	b := &r.Bound
	release := r.Latency[results.Release]
	b.RTT, b.LoadRTT, b.Pool = e.rtt, loadedRTT(e.rtt, release), e.run.Pool
	b.Waited, b.Blocked, b.Failing = t.Waited, t.Blocked, t.Failing
	b.Transit = max(0, t.Transit+time.Duration(release.Count-t.Passed)*release.Mean) / 2
	e.fillDead(b)
	b.By, b.LocksPerS = minLimit(r, kindsOf(r, t))
	if b.LocksPerS > 0 {
		b.Efficiency = r.Throughput() / b.LocksPerS
	}
	if r.Elapsed > 0 {
		b.Little = max(0, float64(accounted(r, t))/float64(r.Elapsed)/float64(r.Made()))
		e.countArrivals(r, t)
	}
}

// fillDead fills in how long keys were locked by holders that had died. A key may be granted in another run after a
// death, which this one does not see.
func (e *engine) fillDead(b *results.Bound) {
	p := &e.run.Plan
	mortal := slices.ContainsFunc(p.Groups(), func(c spec.Class) bool { return c.Crash > 0 })
	if e.oracle == nil || !mortal || p.Shared {
		return
	}
	b.Dead, b.DeadWaits = time.Duration(e.dead.locked.Load()), time.Duration(e.dead.waited.Load())
	for key := range e.keys {
		died := e.oracle.Died(key)
		if e.ranks != nil {
			died = e.swept.Died[key]
		}
		if died == 0 || died >= e.until() {
			continue
		}
		freed := e.freed(died, p.Longest(spec.Lease))
		b.Dead += e.inside(died, freed)
		if freed < e.until() {
			continue
		}
		if b.DeadKeys++; b.DeadKeys == 1 || died-e.from < b.DeadFrom {
			b.DeadFrom = max(0, died-e.from)
		}
	}
}

// freed returns when a key is free whose holder died then: when its lease or session ends, or never.
func (e *engine) freed(died, lease time.Duration) time.Duration {
	if e.traits.Expires || e.traits.Session {
		return died + lease
	}
	return math.MaxInt64
}

// loadedRTT returns the round trip under the load, if that was faster than the idle one: an idle core sleeps between pings and
// has to be woken, and pings of 55 µs stood beside releases of 23 µs. A release takes a round trip, in many designs several,
// and queues behind others, so that the fast ones count: the first decile, if there are enough; the very fastest are too
// lucky to stand for all. A release that is far faster than any wake-up explains was answered within lockbench.
func loadedRTT(idle time.Duration, releases results.Latency) time.Duration {
	if idle == 0 || releases.Count < minReleases {
		return 0
	}
	h, err := releases.Histogram()
	if err != nil {
		return 0
	}
	fast := results.Quantile(h, 0.1)
	if fast >= idle || fast < idle/8 {
		return 0
	}
	return fast
}

// countArrivals applies Little's law to an open loop: L, the mean number of arrivals that were due and not answered, from
// the integral over the window; and λW, their rate times the recorded time of each from when it was due.
func (e *engine) countArrivals(r *results.Record, t rest) {
	stayed, recorded := t.InSystem, time.Duration(0)
	for _, cl := range e.classes {
		if !cl.open {
			continue
		}
		for _, m := range []results.MetricIndex{results.LagIndex, results.BacklogIndex, results.AcquireIndex, results.RefusalIndex} {
			l := cl.recorder.Latency(m)
			recorded += time.Duration(l.Count) * l.Mean
		}
	}
	if stayed <= 0 {
		return
	}
	r.Bound.InSystem = float64(stayed) / float64(r.Elapsed)
	r.Bound.LittleOpen = float64(recorded) / float64(stayed)
}

// accounted returns the recorded time of the clients: in acquisitions, granted or not, holds, releases and pauses, and in
// waiting for arrivals, corrected at the edges of the window.
func accounted(r *results.Record, t rest) time.Duration {
	sum := t.Thought + t.Sampled + t.Edges + t.Idle
	// The other metrics are parts of these, or no client's time.
	for _, m := range []results.Metric{results.Acquire, results.Refusal, results.Hold, results.Release} {
		l := r.Latency[m]
		sum += time.Duration(l.Count) * l.Mean
	}
	return sum
}

// kind is a class of clients as the limits see it.
type kind struct {
	spec.Load
	share       float64       // of all granted locks
	hold, think time.Duration // measured means
}

// kindsOf returns the classes with their measured shares of all locks. A plan without classes has one kind.
func kindsOf(r *results.Record, t rest) []kind {
	var kinds []kind
	for i, g := range r.Plan.Groups() {
		k := kind{Load: g.Load, share: 1, hold: r.Latency[results.Hold].Mean, think: g.Think}
		if t.Thoughts > 0 && len(r.Plan.Classes) == 0 {
			k.think = t.Thought / time.Duration(t.Thoughts)
		}
		if i < len(r.Classes) {
			c := r.Classes[i]
			k.hold = c.Latency[results.Hold].Mean
			k.share = 0
			if r.Counts.Acquired > 0 {
				k.share = float64(c.Counts.Acquired) / float64(r.Counts.Acquired)
			}
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// minLimit returns the least of what the keys, the clients, the connections and the arrivals can give, in locks a second at
// the mix of classes that there was; the throughput divided by it is how busy the busiest of them is. It is 0 if nothing
// is known.
func minLimit(r *results.Record, kinds []kind) (by string, locks float64) {
	least := func(name string, limit float64) {
		if limit > 0 && (by == "" || limit < locks) {
			by, locks = name, limit
		}
	}
	if rtt := r.Bound.RoundTrip().Seconds(); rtt > 0 {
		least(byKeys, keyLimit(r, kinds, rtt))
		least(byClients, clientLimit(kinds, rtt))
		least(byConnections, float64(r.Bound.Pool)/(2*rtt)) // the request that acquires and the one that releases
	}
	if closed := func(k kind) bool { return !k.Open() }; !slices.ContainsFunc(kinds, closed) && r.Elapsed > 0 {
		least(byRate, arrivalRate(r, kinds))
	}
	return by, locks
}

// arrivalRate returns the rate of the arrivals that were due, in an open loop. With -n it is the planned rate: the last
// arrivals may be served long after all were due, and over that time the rate would be that of the served ones.
func arrivalRate(r *results.Record, kinds []kind) (rate float64) {
	if r.Plan.Ops == 0 {
		return float64(r.Counts.Offered) / r.Elapsed.Seconds()
	}
	for _, k := range kinds {
		if k.Burst > 0 {
			rate += k.BurstRate()
		} else {
			rate += k.Rate.Mean(r.Elapsed)
		}
	}
	return rate
}

// keyLimit: a key cannot change hands faster than once a hold and a round trip, and with a distribution that prefers some
// keys the most wanted one is the first that cannot follow: with a share s of all locks it lets through 1/(s × (hold + round
// trip)) of them. For keys that are all alike that is keys/(hold + round trip).
//
// Where many give up or are refused this is no limit, for then the most wanted keys are refused more often than others,
// and the locks that are granted are spread more evenly than they are asked for: all keys together are the limit then.
func keyLimit(r *results.Record, kinds []kind, rtt float64) float64 {
	n := r.Counts
	refused := n.Contended + n.Impatient()
	even := float64(refused) > reportShare*float64(n.Acquired+refused)
	busy := make([]float64, r.Plan.Keys) // seconds for which a lock of the mix occupies each key, on average
	for _, k := range kinds {
		dist := k.KeyDist
		if even {
			dist = spec.Keys{}
		}
		for i, share := range shape.Shares(dist, len(busy), k.Clients) {
			busy[i] += share * k.share * (k.hold.Seconds() + rtt)
		}
	}
	busiest := slices.Max(busy)
	if busiest == 0 {
		return 0
	}
	return 1 / busiest
}

// clientLimit: a client cannot get round faster than hold, think and the two round trips of its acquire and release.
func clientLimit(kinds []kind, rtt float64) (limit float64) {
	for _, k := range kinds {
		if k.share == 0 {
			continue
		}
		own := float64(k.Clients) / (k.hold.Seconds() + k.think.Seconds() + 2*rtt)
		if of := own / k.share; limit == 0 || of < limit {
			limit = of
		}
	}
	return limit
}
