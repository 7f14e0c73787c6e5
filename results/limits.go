package results

// What limits the throughput of a load: read off the record, so that a report of last year's runs says it too.

import (
	"math"
	"time"
)

// LimitedBy is what limits a throughput, in the words of tables and exports.
type LimitedBy string

const (
	ByRate        LimitedBy = "rate"           // an open loop whose clients kept up with all arrivals
	ByErrors      LimitedBy = "errors"         // requests that failed, and the pauses after them, took the clients' time or lost arrivals
	ByKey         LimitedBy = "key"            // keys are locked for most of the time: held, or changing hands
	ByServerCPU   LimitedBy = "server CPU"     // the server has no processor time left
	ByDead        LimitedBy = "dead holders"   // clients wait for keys whose holders have died
	ByGenerator   LimitedBy = "generator"      // lockbench or its machine
	ByMachine     LimitedBy = "machine"        // lockbench and its private server, on the cores that they share
	ByOthers      LimitedBy = "other programs" // other programs of lockbench's machine, or an external server there
	ByHost        LimitedBy = "host"           // the hypervisor of lockbench's machine gave its cores to others
	ByConnections LimitedBy = "connections"    // requests wait for one of a pool
	ByLock        LimitedBy = "lock (wait)"    // keys are free though clients wait for them
	ByClients     LimitedBy = "clients"        // there are too few to keep the keys busy
	ByUnknown     LimitedBy = "not known"      // the record does not hold what it takes to tell
)

// Busy reports whether the limit is that lockbench's own cores were busy, with whatever is on them.
func (by LimitedBy) Busy() bool {
	return by == ByGenerator || by == ByMachine || by == ByOthers || by == ByHost
}

// Limit is what limits a throughput, and the shares of time that it is inferred from.
//
// A key's time has four parts: a client holds it; it changes hands (Bound.Transit); it is locked by a holder that has
// died; or it is free. In records from before that was measured, the mean release stands for a change of hands, or
// the hand-off of a fair lock, which is passed on.
//
// The limits are tried in this order, from what is certain to what is inferred from times that the former would stretch:
//
//  1. rate: all clients are open loops, and no more than 1 % of the arrivals waited, were dropped, gave up or were lost.
//  2. errors: failed requests, or waits for the keys that they left locked, took the clients' time; or arrivals that found free
//     clients were lost to errors.
//  3. key, if it is held for 90 % of the time. Then what makes the bound (Bound.By), if the throughput is 90 % of it: keys,
//     clients that locks do not hold up, or connections.
//  4. server CPU, if the server used 90 % of what it can (Redis and Valkey execute on one core a node), or the thread that
//     executes the commands ran for 90 % of the time; or ran or waited for a core that lockbench cannot have had.
//  5. dead holders, if locks hold up the clients (Contended), and more than half of their waits are for dead keys.
//  6. generator, by its own verdict; or what else had the larger share of the cores that lockbench runs on: other programs, the
//     host, or the server (machine), for which a third of what both used is enough. Not if locks hold up the clients, and
//     nine tenths of the keys' time would be as it is on a machine with time to spare.
//  7. connections: as many requests are under way or wait for a connection as the pool has.
//  8. key or lock, if locks hold up the clients: key if it is locked (held or changing hands) for longer than it is free although
//     a client waits. If that is not Known, neither is the limit.
//  9. server CPU, generator or machine, if requests take four times as long as a round trip without load, since they queue: at a
//     server that used more than half of what it can, or on a machine that was 85 % busy. At an external server whose processors
//     nobody knows, the limit is not known.
//  10. clients: the keys are free, nothing queues, and the clients are busy with requests of their own, holds and pauses.
//
// The record has averages of the waits, and not those of each key, so some shares are estimates. A key with w waiting clients
// on average counts as waited for during 1 − e^−w of its free time, as if they came independently, and at least for the recorded
// hand-offs. A client that wants a dead key counts as waiting for half of the time that it is dead; no fewer wait than at other
// times. Of skewed keys only the busiest is known, and only if it makes the bound. CPU time that is not known rules nothing out.
type Limit struct {
	By LimitedBy // empty: several clients held a key at once, and then no throughput means anything

	// Contended: clients are held up by locks. They wait for locks, or are refused, for more than half of their time; or
	// the keys are busy for 90 %; or the arrivals of an open loop found free clients and gave up.
	Contended bool

	// Shares of the time of the average key, or with Hottest of the busiest one; they add up to 1. All are 0 unless Known:
	// the lock does not claim to exclude, or the keys are skewed and another bound is lower.
	Known   bool
	Hottest bool
	Held    float64
	Moving  float64 // locked while no client holds it: changing hands
	Dead    float64 // locked by a holder that has died, for as long as its lease at the most
	Waited  float64 // free, while a client waited
	Idle    float64 // free, and nobody waited

	// Shares of the clients' time; the rest is think time, or waiting for arrivals. Waiting includes attempts that were
	// refused or gave up; Blocked is the part of it that was for dead keys.
	Waiting, Blocked, Requests, Holding float64

	Failing float64 // share of the clients' time that failed requests took, with the pauses after them; 0: less than 5 %
	Stuck   float64 // share of the clients' time that acquisitions took of keys that failed requests had left locked
	Lost    float64 // share of the acquisitions that ended in an error

	ServerCores float64 // that the server used; negative: not known
	CoresOf     float64 // that it can use; 0: not known
	Others      float64 // cores that other programs of lockbench's machine used; negative: not known
	Mixed       bool    // the server is one of them: nobody tells what it used
	Stolen      float64 // cores that the host of that machine gave to others

	Thread Thread // see Record

	Slower float64 // the mean release by a round trip without load; 0: not known
}

const (
	// backlogWorth is the share of the arrivals that may find all clients busy. It is below what the p99 of the response
	// would show. The same share may be dropped, or refused.
	backlogWorth = 0.01
	// nearLimit is the share of a capacity from which it counts as reached.
	nearLimit = 0.90
	// mostly is the larger part of anything.
	mostly = 0.50
	// queuedRatio is how many times as long as without load requests take where they queue, and crowded the share of a
	// machine that was busy enough for that.
	queuedRatio = 4
	crowded     = 0.85
)

// KeptUp reports whether the clients kept up with the arrivals of an open loop, so that the recorded times are those of
// all. Little's law must hold to 5 %, plus what chance moves across the edges of the window: some √L arrivals, each for a
// p99 at most. If nothing was recorded, less than one arrival must have waited on average. A closed loop keeps up.
func (r *Record) KeptUp() bool { return r.Figures().keptUp() }

// KeptUp reports whether the clients kept up, by the figures of the median trial.
func (c *Cell) KeptUp() bool { return c.Figures().keptUp() }

func (f Figures) keptUp() bool {
	b := f.Bound
	switch {
	case b.InSystem == 0 || f.Elapsed == 0:
		return true
	case b.LittleOpen == 0:
		return b.InSystem < 1
	}
	_, response := f.Latency[Response].Tail()
	chance := 3 * math.Sqrt(2*max(1, b.InSystem)) * float64(response) / (b.InSystem * float64(f.Elapsed))
	return math.Abs(b.LittleOpen-1) <= littleSlack+chance
}

// Backlogged returns the share that found all clients busy, of the arrivals of an open loop that a client took up.
func (r *Record) Backlogged() float64 { return r.Figures().backlogged() }

// Backlogged returns the share that found all clients busy, of the arrivals of an open loop that a client took up.
func (c *Cell) Backlogged() float64 { return c.Figures().backlogged() }

// Queued reports whether arrivals of an open loop waited for a client, or were dropped, by more than 1 %.
func (c *Cell) Queued() bool { return c.Figures().queued() }

// Requests returns the mean number of requests of r that were under way; see Cell.Requests.
func (r *Record) Requests() float64 { return r.Figures().requests() }

// Requests returns the mean number of requests of c that were under way, or waited for a connection: by Little's law their
// rate times the time of one, for which a release stands, which never waits for a lock. It is 0 if nothing was released.
func (c *Cell) Requests() float64 { return c.Figures().requests() }

func (f Figures) backlogged() float64 {
	waited, began := f.Latency[Backlog].Count, f.Latency[Lag].Count
	if waited == 0 {
		return 0
	}
	return float64(waited) / float64(waited+began)
}

func (f Figures) requests() float64 {
	each := f.Cost.RoundTrips // per lock
	if each <= 0 {
		each = max(1, f.Cost.Tries) + 1
	}
	return f.Rate * each * f.Latency[Release].Mean.Seconds()
}

// queued reports whether arrivals waited for a client, or were dropped.
func (f Figures) queued() bool {
	return f.backlogged() > backlogWorth || !f.keptUp() || float64(f.Counts.Dropped) > backlogWorth*float64(f.Counts.Offered)
}

// refused returns the share of the acquisitions that found the lock taken or gave up.
func (f Figures) refused() float64 {
	no := float64(f.Counts.Contended + f.Counts.Impatient())
	return no / max(1, no+float64(f.Counts.Acquired))
}

// gaveUp returns the share of the answered acquisitions whose patience had run out.
func (f Figures) gaveUp() float64 {
	n := f.Counts
	return float64(n.Impatient()) / max(1, float64(n.Acquired+n.Contended+n.Impatient()))
}

// lost returns the share of the acquisitions that ended in an error.
func (f Figures) lost() float64 {
	n := f.Counts
	no := float64(n.Unknown + n.Refused)
	return no / max(1, no+float64(n.Acquired+n.Contended+n.Impatient()))
}

// failing returns the share of the clients' time that requests that failed took, with the pauses after them, if it is more than
// the books may be out by: then it was those that arrivals waited for, whatever the others took. all is that time in
// seconds. In records from before it was measured it is what the books lack.
func (f Figures) failing(all float64) float64 {
	share := f.Bound.Failing.Seconds() / max(1e-9, all)
	if f.Bound.Failing == 0 && f.Counts.Failed() > 0 && f.Bound.Little > 0 {
		share = 1 - f.Bound.Little
	}
	if !(share > littleSlack) {
		return 0
	}
	return share
}

// Limit returns what limits the throughput of r.
func (r *Record) Limit() Limit { return r.Figures().limit(r, r.Elapsed) }

// Limit returns what limits the throughput of c, over all its trials.
func (c *Cell) Limit() Limit {
	return c.Figures().limit(c.First(), sumOf(c.Trials, func(r *Record) time.Duration { return r.Elapsed }))
}
