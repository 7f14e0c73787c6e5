// Evidence for the oracle. Refusals are shown to it; holds that take no time, during which no rival could be refused, are
// made longer now and then; and a release that finds nothing although the lease cannot have ended is counted. It is kept
// out of the cycle, so that clients without contention do not pay for it.

package workloads

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads/oracle"
)

// A sampled hold goes on until another client has been refused the key, which makes it a watched grant. This takes time of a
// key and of a client: neither takes part in another sampled hold before samplePrice times as long has passed, so that it
// is 0.2 % of the time at most. If no rival came, the client doubles that, maxMisses times at most. Only keys that have
// just moved from one client to another are sampled.
// A refused rival backs off, so such a hold costs more than its own time: with 512 clients on 10 keys, 3 % of the locks a second.
const (
	samplePrice = 500
	maxMisses   = 4

	// A rival that is refused takes a round trip, and under load several times the idle one.
	sampleTrips = 20
	minSample   = time.Millisecond
	maxSample   = 20 * time.Millisecond
)

// sampleLimit returns how long a sampled hold may be.
func sampleLimit(rtt time.Duration) time.Duration {
	return min(max(sampleTrips*rtt, minSample), maxSample)
}

// evidence is what a client contributes to the oracle's view, apart from Enter and Exit.
type evidence struct {
	resume    time.Duration // when a hold may be sampled again; never without the oracle
	asked     time.Duration // just before the acquisition was sent
	successor time.Duration // if the hold was superseded: when that was known first
	extra     time.Duration // by which the present hold was made longer
	woken     chan struct{} // one slot: the key has been watched
	sampling  atomic.Bool   // the hold waits for that
	misses    uint8         // sampled holds in a row without a rival
	handed    bool          // the lock was acquired by a Wait, so only ValidUntil may tell when its lease began

	power     results.Power // of its holds, and of its refusals
	lostEarly int64         // see results.Safety
	late      int64         // releases of untagged locks whose leases may have been over
}

// ServiceRefused implements wait.Observer: it shows the oracle the refusal.
func (c *client) ServiceRefused() {
	if c.e.oracle == nil {
		return
	}
	holder, watched, first := c.e.oracle.Refused(int(c.key), int(c.id))
	if !watched {
		return
	}
	c.power.Refusals++
	if !first {
		return
	}
	c.power.Watched++
	if h := &c.e.clients[holder]; h.sampling.Load() {
		select {
		case h.woken <- struct{}{}:
		default:
		}
	}
}

// sampleFor returns for how long a hold that is over may go on until it is watched; 0 if that is not due, or the lease does not
// allow it.
func (c *client) sampleFor() time.Duration {
	if !c.grant.Moved || c.sent < c.resume {
		return 0
	}
	return c.sampleDue()
}

// sampleDue is the rare part of sampleFor.
//
//go:noinline
func (c *client) sampleDue() time.Duration {
	e, key := c.e, int(c.key)
	most := e.sampled - (c.sent - c.granted)
	if most <= 0 || c.crashed || c.lost || !e.oracle.Due(key, c.sent) || e.oracle.Watched(key, &c.grant) {
		return 0
	}
	if end := c.leaseEnd(); c.sent+most > end-c.lease.TTL/2 {
		return 0
	}
	return most
}

// sampleHold makes a hold that is over longer, until it is watched.
//
//go:noinline
func (c *client) sampleHold(most time.Duration) {
	select {
	case <-c.woken: // left over
	default:
	}
	over := c.sent
	c.sampling.Store(true)
	if !c.e.oracle.Watched(int(c.key), &c.grant) { // a rival that is refused from here on wakes it
		c.alarm().Doze(most, c.e.stop, c.woken) // the time need not be exact, which would take a processor
		c.sent = c.e.clock.Now()
	}
	c.sampling.Store(false)
	c.sampled(over)
}

// sampled counts a hold that was made longer, when it was over.
func (c *client) sampled(over time.Duration) {
	e, key := c.e, int(c.key)
	c.extra = c.sent - over
	c.power.Sampled++
	c.power.SampledTime += c.extra
	if c.recorded {
		c.counters.sampled += c.extra
	}
	if e.oracle.Watched(key, &c.grant) {
		c.misses = 0
	} else {
		c.misses = min(c.misses+1, maxMisses)
	}
	c.resume = c.sent + samplePrice<<c.misses*c.extra
	e.oracle.Resume(key, c.resume)
}

// leaseEnd returns when the lease ends at the earliest if nobody renews it.
func (c *client) leaseEnd() time.Duration {
	switch {
	case !c.e.traits.Expires:
		return never
	case !c.lease.ValidUntil.IsZero():
		return c.e.clock.Reading(c.lease.ValidUntil)
	}
	return c.asked + c.lease.TTL
}

// leased reports whether the lease cannot have ended by that time, if the service keeps its word. Clocks may differ by as
// much as Redlock allows: 1 % of the lease and clockGrain. The lock of a session ends with the session, whatever its TTL,
// and no service says how much of that is left.
func (c *client) leased(now time.Duration) bool {
	return !c.e.traits.Session && now < c.leaseEnd()-c.lease.TTL/100-clockGrain
}

// fence returns the token that the oracle is to check. It is 0 if the grant may have come when its lease was over: such a
// grant is what a fence is for.
func (c *client) fence() uint64 {
	if c.lease.Fence == 0 || !c.e.traits.Fenced {
		return 0
	}
	// A session ends one TTL after its last heartbeat, and sends three of them in a TTL.
	if c.e.traits.Session && c.granted-c.asked < c.lease.TTL/3 || c.leased(c.granted) {
		return c.lease.Fence
	}
	return 0
}

// overdue reports whether the lease was over for certain when the release was sent. Who has renewed it, or entered again,
// cannot tell.
func (c *client) overdue() bool {
	if p := &c.e.run.Plan; !c.e.traits.Expires || p.Renew || p.Reentry > 1 {
		return false
	}
	end := max(c.leaseEnd(), c.granted+c.lease.TTL)
	return c.sent > end+c.lease.TTL/100+clockGrain
}

// checkRelease counts a release whose answer says something about the lock.
//
//go:noinline
func (c *client) checkRelease(removed bool, now time.Duration) {
	e, key, me := c.e, int(c.key), int(c.id)
	leased := c.leased(now)
	if !removed {
		if ender, ok := drivers.As[drivers.Ender](c.session); ok && e.traits.Session {
			if err := ender.Ended(); drivers.ClassOf(err) == drivers.ClassEnded { // its client hears of it now
				e.errors.add("release", err, c.recorded)
			} else {
				e.ended.add(err)
			}
		}
		switch {
		case c.lost: // a renewal has said so, and nobody knows of how long before
		case leased:
			c.lostEarly++
			e.oracle.Lost(key, me, c.asked, now)
		case c.superseded && c.leased(c.successor):
			e.oracle.Lost(key, me, c.asked, c.successor)
		}
		return
	}
	mayBeOver := e.traits.Expires && !leased
	if wrong := c.superseded && (!e.traits.Owned || c.overdue()); wrong || mayBeOver {
		e.oracle.Removed(key, me, c.granted, c.sent, now, wrong)
	}
	if mayBeOver && !e.traits.Owned {
		c.late++
	}
}

// endings counts the holds whose sessions had ended, by the reasons that are known.
type endings struct {
	mu sync.Mutex
	by map[string]int64
}

// mostReasons bounds the reasons that are told apart: a server may send any text.
const mostReasons = 16

func (g *endings) add(err error) {
	if err == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.by == nil {
		g.by = map[string]int64{}
	}
	reason := shortened(err.Error())
	if _, known := g.by[reason]; !known && len(g.by) == mostReasons {
		reason = "other reasons"
	}
	g.by[reason]++
}

func (g *endings) copy() map[string]int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.by)
}

// witnessed is what the oracle and the clients have seen, before anything is made of it.
type witnessed struct {
	results.Safety
	Attributed int64 // see oracle.Oracle
	Late       int64 // see evidence
}

// witness returns what those of this process have seen. It knows clients by their numbers among all.
func (e *engine) witness() (w witnessed) {
	if e.oracle == nil {
		return w
	}
	w.Safety, w.Attributed = e.oracle.Report(), e.oracle.Attributed()
	for i := range w.Events {
		v := &w.Events[i]
		v.Holder, v.Intruder = v.Holder+e.classOf(v.Holder).before, v.Intruder+e.classOf(v.Intruder).before
	}
	for i := range e.clients {
		of := &e.clients[i].evidence
		results.Add(w.Power, of.power)
		w.LostEarly += of.lostEarly
		w.Late += of.late
	}
	w.Grants, w.Ended = e.granted(), e.ended.copy()
	w.LostUpdates = w.Grants - e.oracle.Updates()
	return w
}

// fillSafety returns what all have seen, and what it proves.
func (e *engine) fillSafety(r *results.Record) (s results.Safety) {
	if e.oracle == nil {
		return s
	}
	w := &e.all.Seen
	s = w.Safety
	s.Events = oracle.First(s.Events)
	s.Explained = e.explain(r, s.LostEarly+s.FenceRegress)
	if s.Explained == "" {
		s.WrongReleases += w.Attributed
		if w.Late > 0 {
			s.Explained = "holds may have outlasted their leases, and their releases remove any lock"
		}
	}
	return s
}

const wasReplaced = "the server was restarted or replaced"

// explain returns why locks that were lost early, or fencing tokens that went back, prove nothing against the lock; empty if
// there is no reason. It is generous: a restart of the server is taken for the cause, and so is a request whose answer was
// not heard and which may have had its effect late. A release of an owned lock removes one hold at most, so that with a
// server that was up all the time each failed request explains one breach, as does each key that it evicted.
func (e *engine) explain(r *results.Record, breaches int64) string {
	failed := e.all.Failed
	switch {
	case r.Server.Replaced:
		return wasReplaced
	case r.Server.Evicted >= breaches && breaches > 0:
		return "the server evicted keys"
	case failed >= breaches && failed > 0, failed > 0 && !(e.traits.Owned && e.sameServer()):
		return "requests failed, and may have had an effect later"
	case !readable(e.after.err):
		return "the server did not answer at the end, and may have been restarted"
	}
	for i, failed := range r.Counts.NodeErrors { // since the service was opened, those of other processes between the readings
		if failed > 0 || e.after.nodes[i].Failed > 0 {
			return "a node did not answer, and may have been restarted"
		}
	}
	return ""
}

// sameServer reports whether the server is known to be the one from before the load.
func (e *engine) sameServer() bool {
	return readable(e.after.err) && e.opened.RunID != "" && e.after.server.RunID == e.opened.RunID && !e.replaced()
}

// replaced reports whether the server is known to be another one than before the load.
func (e *engine) replaced() bool {
	before, after := e.opened.RunID, e.after.server.RunID
	return before != after && before != "" && after != "" || e.countersReset()
}
