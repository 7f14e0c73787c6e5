// The summary: from what the clients counted to the record.

package workloads

import (
	"cmp"
	"crypto/rand"
	"errors"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

var errNoInspector = errors.New("the driver cannot inspect its server")

// Recorded returns what a record has of a design's traits.
func Recorded(t drivers.Traits) results.Traits {
	return results.Traits{
		Exclusive: t.Exclusive, Owned: t.Owned, Expires: t.Expires, Fenced: t.Fenced, Fair: t.Fair, Reentrant: t.Reentrant,
		Renews: t.Renews, Wakes: t.Wakes, Waits: t.Waits, Session: t.Session, Blocks: t.Blocks,
	}
}

func (e *engine) record() *results.Record {
	whole := e.run.Record
	r := &whole
	r.Schema, r.ID, r.Started = results.SchemaVersion, rand.Text(), e.began.UTC()
	r.Plan, r.Traits = e.run.Plan, Recorded(e.traits)
	r.Elapsed, r.Latency = max(0, e.until()-e.from), e.latencies()
	t := e.sum(r)
	r.Ranks = e.ranks
	e.fillServer(r)
	r.Safety = e.fillSafety(r)
	e.fillCost(r, t)
	e.fillBound(r, t)
	e.fillGenerator(r)
	fillThread(r, &e.before, &e.after)
	r.Series = e.timeseries.series()
	e.fillSteady(r)
	e.warn(r, t)
	return r
}

func (e *engine) fillServer(r *results.Record) {
	s := e.after.server
	if e.after.err != nil {
		s = e.before.server
	}
	r.Server = results.Server{
		Kind: r.Plan.Server, Name: cmp.Or(s.Name, r.Server.Name), Version: s.Version, Mode: s.Mode, Replicas: s.Replicas,
		Persistence: cmp.Or(s.Persistence, r.Server.Persistence), Durability: r.Plan.Durability,
		Addr: r.Server.Addr, Network: r.Server.Network, Connections: max(0, e.after.server.Connected),
		Replaced: e.replaced() || e.restarted(),
	}
	if !r.Server.Replaced {
		r.Server.Evicted = max(0, e.after.server.Evicted-e.opened.Evicted)
	}
}

// fillThread says what the busiest thread of the server did between the two readings.
func fillThread(r *results.Record, before, after *reading) {
	wall := float64(after.at - before.at)
	if wall <= 0 {
		return
	}
	busiest := after.threads.Busiest(before.threads)
	r.Thread = results.Thread{Ran: min(1, float64(busiest.Ran)/wall), Waited: min(1, float64(busiest.Waited)/wall)}
}

// comparable reports whether the two readings of the server can be subtracted. Those of a driver without an Inspector can:
// all that may stand in them is the CPU time of the server's process, which ServerCPU answers for.
func (e *engine) comparable() bool {
	if e.before.err == errNoInspector && e.after.err == errNoInspector {
		return true
	}
	return e.before.err == nil && e.after.err == nil && !e.restarted() && !e.countersReset()
}

// restarted reports whether the server says that it is not the one that it was. One that could not tell when it was asked
// says nothing.
func (e *engine) restarted() bool {
	before, after := e.before.server.RunID, e.after.server.RunID
	return before != after && before != "" && after != ""
}

// countersReset reports whether a total of the server is below what it was, which happens to one that was restarted and does
// not say so by its RunID.
func (e *engine) countersReset() bool {
	b, a := e.before.usage, e.after.usage
	fell := func(before, after int64) bool { return readable(e.after.err) && 0 <= after && after < before }
	return fell(int64(b.CPU), int64(a.CPU)) || fell(b.Commands, a.Commands) || fell(b.BytesIn, a.BytesIn) || fell(b.BytesOut, a.BytesOut)
}

// fillCost divides what was spent between the two readings by the locks granted between them. That window is not
// quite the measured one, but numerator and denominator have the same. The first reading is spent in it as well, and
// so are the probes; both are taken off.
func (e *engine) fillCost(r *results.Record, t rest) {
	c := &r.Cost
	*c = results.UnknownCost()
	if n := r.Counts; n.Acquired > 0 {
		if t.Guessed == 0 {
			c.Tries = float64(n.Tries) / float64(n.Acquired)
		}
		c.LocalRefusals = float64(n.LocalRefusals) / float64(n.Acquired)
		c.Wakeups = float64(t.Waits) / float64(n.Acquired)
	}
	b, a := &e.before, &e.after
	locks := float64(e.all.Locks)
	if locks <= 0 || r.Elapsed == 0 { // stopped in the warm-up: the readings are next to each other
		return
	}
	per := func(after, before, look int64) float64 {
		if before < 0 || after < before {
			return -1
		}
		return max(0, float64(after-before-look)/locks)
	}
	if e.comparable() && !e.lacksRanks() && !r.Plan.Shared {
		other := e.inspectionCost.Plus(e.probe.spent(a.probes - b.probes))
		c.Commands = per(a.usage.Commands, b.usage.Commands, other.Commands)
		c.BytesIn = per(a.usage.BytesIn, b.usage.BytesIn, other.BytesIn)
		c.BytesOut = per(a.usage.BytesOut, b.usage.BytesOut, other.BytesOut)
		if ns := per(int64(a.usage.CPU), int64(b.usage.CPU), int64(other.CPU)); ns >= 0 {
			c.ServerCPUUs = ns / 1e3
		}
	}
	if a.counted { // by the driver, whatever has become of the server
		c.RoundTrips = per(e.all.Traffic.RoundTrips, 0, 0)
		c.Notices = per(e.all.Traffic.Notices, 0, 0)
		c.KeepAlives = per(e.all.Traffic.KeepAlives, 0, 0)
	}
	if e.all.CPU >= 0 {
		c.ClientCPUUs = float64(e.all.CPU) / 1e3 / locks
	}
	c.Allocs = float64(e.all.Allocs) / locks
}
