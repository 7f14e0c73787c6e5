package results

// What limits the throughput of a load: read off the record, so that a report of last year's runs says it too.

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// LimitedBy is what limits a throughput, in the words of tables and exports.
type LimitedBy string

const (
	ByRate        LimitedBy = "rate"        // an open loop whose arrivals were all answered in time
	ByErrors      LimitedBy = "errors"      // requests that failed, and the pauses after them, took the clients' time or lost arrivals
	ByKey         LimitedBy = "key"         // keys are locked for most of the time: held, or changing hands
	ByServerCPU   LimitedBy = "server CPU"  // the server has no processor time left
	ByLease       LimitedBy = "lease"       // clients wait for keys whose holders have died
	ByGenerator   LimitedBy = "generator"   // lockbench or its machine
	ByMachine     LimitedBy = "machine"     // lockbench and its private server, on the cores that they share
	ByConnections LimitedBy = "connections" // requests wait for one of a pool
	ByLock        LimitedBy = "lock (wait)" // keys are free though clients wait for them
	ByClients     LimitedBy = "clients"     // there are too few to keep the keys busy
	ByUnknown     LimitedBy = "not known"   // the record does not hold what it takes to tell
)

// Busy reports whether the limit is that lockbench's own cores were busy, with whatever is on them.
func (by LimitedBy) Busy() bool { return by == ByGenerator || by == ByMachine }

// Limit is what limits a throughput, and the shares of time that it is inferred from.
//
// A key's time has four parts: a client holds it; it changes hands; it is dead, which is locked by a holder that has died;
// or it is free. Free time is split by whether a client waits for the key.
//
// A key changes hands while it is locked at the server and no client holds it: while the answer to the grant is on its way to
// the client, and later the request that releases it. The answers to a grant and to a release are alike, so the release that was
// measured under the load, from its request to its answer, stands for both ways. A design that acquires in several requests
// is locked for longer than that, after the first of them. Where a service makes the next client in line the holder as it releases
// (see passes), the key stays locked until that client learns of it: the rest of the hand-off. A key that is passed on within
// lockbench (Plan.Handover) is locked as well, but for microseconds, and now and then it is released in earnest.
//
// The limits are tried in this order, from what is certain to what is inferred from times that the former would stretch:
//
//  1. rate: all clients are open loops, and less than 1 % of the arrivals waited for a client, were dropped, gave up or were
//     lost to an error. A single try that found the lock taken was answered. Nothing else can limit a load that got all it
//     asked for, on however busy a machine.
//  2. errors: failed requests took the clients' time, or waits for the keys that they left locked did, so that all other
//     times are those of the rest; or arrivals that found free clients were lost to them.
//  3. key, if it is held for 90 % of the time: no server and no other lock makes that faster. Then what makes the bound
//     (Bound.By), if the throughput is 90 % of it: keys, connections, or clients that locks do not hold up. That takes round
//     trips as short as without load, so that nothing else is busy enough to matter.
//  4. server CPU, if it used 90 % of what it can: Redis and Valkey execute on one core a node, other servers of
//     lockbench's own on all that lockbench leaves them. Before the generator, which may be busy as well: a faster one
//     would find the same server. So if the thread that executes the commands of a node ran for 90 % of the time; or ran
//     or waited for a core, if lockbench cannot be what had that core: it is kept on others (Plan.Pin), or is not busy by
//     its own verdict.
//  5. lease, if the clients are held up by locks (Contended) and spend more than half of their waits at dead keys. Leases end
//     by the clock, on however busy a machine.
//  6. generator, by its own verdict; or machine, if lockbench and a private server used up the cores that they share, and
//     the server a third of it at least. All that follows is inferred from times that a busy machine stretches.
//  7. connections: as many requests are under way or wait for a connection as the pool has.
//  8. key or lock, if the clients are held up by locks: whichever takes the larger part of the key's time, being locked (held or
//     changing hands) or being free although a client waits. If that is not Known, neither is the
//     limit.
//  9. server CPU, generator or machine, if requests take four times as long as a round trip without load: there they queue, at a
//     server that used more than half of what it can, or on a machine that was 85 % busy. On cores of its own the server
//     is also the limit if it ran or waited for a core for more than half of the time, and lockbench's cores were less busy. At an external server whose
//     processors nobody knows, they may.
//  10. clients: the keys are free, nothing queues, and the clients are busy with requests of their own, holds and pauses.
//
// It errs where the record knows averages alone. The waits are not recorded key by key: a key with w waiting clients on
// average counts as waited for during 1 − e^−w of its free time, as if they came independently, and at least for the
// recorded hand-offs. Who wants a dead key counts as waiting for half of the time that it is dead, and all clients at the
// most for all of it; but at least as many wait while a key is dead as at other times. Of
// skewed keys only the busiest is known, and only if it makes the bound (Bound.By); else Known is false. An external
// server may share its processor with others. CPU time that is not known rules nothing out: see ServerCores.
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

// KeptUp returns that of the median trial.
func (c *Cell) KeptUp() bool { return c.Figures().keptUp() }

func (f Figures) keptUp() bool {
	b := f.Bound
	switch {
	case b.InSystem == 0 || f.Elapsed == 0:
		return true
	case b.LittleOpen == 0:
		return b.InSystem < 1
	}
	chance := 3 * math.Sqrt(2*max(1, b.InSystem)) * float64(f.Latency[Response].P99) / (b.InSystem * float64(f.Elapsed))
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
	return f.backlogged() >= backlogWorth || !f.keptUp() || float64(f.Counts.Dropped) > backlogWorth*float64(f.Counts.Offered)
}

// refused returns the share of the acquisitions that found the lock taken or gave up.
func (f Figures) refused() float64 {
	no := float64(f.Counts.Contended + f.Counts.TimedOut)
	return no / max(1, no+float64(f.Counts.Acquired))
}

// gaveUp returns the share of the answered acquisitions whose patience had run out.
func (f Figures) gaveUp() float64 {
	n := f.Counts
	return float64(n.TimedOut) / max(1, float64(n.Acquired+n.Contended+n.TimedOut))
}

// lost returns the share of the acquisitions that ended in an error.
func (f Figures) lost() float64 {
	n := f.Counts
	no := float64(n.Unknown + n.Refused)
	return no / max(1, no+float64(n.Acquired+n.Contended+n.TimedOut))
}

// failing returns the share of the clients' time that requests that failed took, with the pauses after them, if it is more than
// the books may be out by: then it was those that arrivals waited for, whatever the others took.
func (f Figures) failing() float64 {
	if f.Counts.Failed() == 0 || f.Bound.Little <= 0 || f.Bound.Little >= 1-littleSlack {
		return 0
	}
	return 1 - f.Bound.Little
}

// Limit returns what limits the throughput of r.
func (r *Record) Limit() Limit { return r.Figures().limit(r, r.Elapsed) }

// Limit returns what limits the throughput of c, over all its trials.
func (c *Cell) Limit() Limit {
	return c.Figures().limit(c.First(), sumOf(c.Trials, func(r *Record) time.Duration { return r.Elapsed }))
}

// limit infers the limit of the trials of a cell, of which r is the first, in windows that are as long as that in all.
func (f Figures) limit(r *Record, window time.Duration) Limit {
	all := float64(r.Plan.Clients) * float64(window)
	l := Limit{By: ByUnknown, ServerCores: -1, Thread: f.Thread, Failing: f.failing(), Lost: f.lost()}
	if l.Stuck = float64(f.Bound.Blocked) / max(1, all); l.Stuck <= littleSlack {
		l.Stuck = 0
	}
	switch {
	case f.Breaches > 0:
		l.By = ""
		return l
	case window <= 0 || f.Rate <= 0 || f.Latency[Release].Count+f.Latency[Hold].Count == 0:
		if l.Failing+l.Stuck > 0 || l.Lost > backlogWorth {
			l.By = ByErrors
		}
		return l
	}
	waited := f.waitingTime(&r.Plan, window)
	f.clientTime(&l, waited, all)
	f.keyTime(&l, r, waited, window)
	f.serverTime(&l, r)
	l.By = f.limitedBy(&l, r)
	return l
}

// limitedBy finds what comes first in the order that Limit describes.
func (f Figures) limitedBy(l *Limit, r *Record) LimitedBy {
	closed := slices.ContainsFunc(r.Plan.Groups(), func(g spec.Class) bool { return !g.Open() })
	free := !closed && !f.queued() // clients were
	gaveUp := free && f.gaveUp() > backlogWorth
	lost := free && l.Lost > backlogWorth
	serverBusy := 0.0
	if l.CoresOf > 0 {
		serverBusy = l.ServerCores / l.CoresOf
	}
	apart := r.Cores.Pinned()
	l.Contended = l.Waiting > mostly || l.Held+l.Moving >= nearLimit || gaveUp
	unused := l.Waited
	if gaveUp {
		unused += l.Idle // who gave up would have used it
	}
	switch pool := f.Bound.Pool; {
	case free && !gaveUp && !lost && l.Failing+l.Stuck == 0:
		return ByRate
	case lost || l.Failing+l.Stuck > 0:
		return ByErrors
	case l.Held >= nearLimit:
		return ByKey
	case f.Efficiency() >= nearLimit && f.Bound.By == "keys" && r.Traits.Exclusive:
		return ByKey
	case f.Efficiency() >= nearLimit && f.Bound.By == "clients" && !l.Contended:
		return ByClients
	case f.Efficiency() >= nearLimit && f.Bound.By == "connections":
		return ByConnections
	case serverBusy >= nearLimit:
		return ByServerCPU
	case l.Thread.Ran >= nearLimit, l.Thread.Busy() >= nearLimit && (apart || !f.Generator.Saturated):
		return ByServerCPU
	case l.Contended && l.Blocked > mostly*l.Waiting:
		return ByLease
	case f.Generator.Saturated:
		return f.busyCores(l, r)
	case pool > 0 && pool < r.Plan.Clients && f.requests() >= nearLimit*float64(pool):
		return ByConnections
	case l.Contended && !l.Known:
		return ByUnknown
	case l.Contended && l.Held+l.Moving >= unused:
		return ByKey
	case l.Contended:
		return ByLock
	case l.Slower >= queuedRatio && serverBusy > mostly:
		return ByServerCPU
	case l.Slower >= queuedRatio && apart && l.Thread.Busy() > max(mostly, f.Generator.Machine):
		return ByServerCPU
	case l.Slower >= queuedRatio && f.Generator.Machine >= crowded:
		return f.busyCores(l, r)
	case l.Slower >= queuedRatio && l.CoresOf == 0 && r.Server.Kind == "external":
		return ByUnknown
	}
	return ByClients
}

// busyCores returns what used up the cores that lockbench runs on: ByMachine if a private server did so together with it, else
// ByGenerator.
func (f Figures) busyCores(l *Limit, r *Record) LimitedBy {
	if r.Server.Kind != "private" || r.Cores.Pinned() || f.Generator.Quota > 0 {
		return ByGenerator
	}
	own, server, cores := f.Generator.CPU, l.ServerCores, r.Env.CPUs
	alone := own >= nearLimit*float64(cmp.Or(r.Env.GOMAXPROCS, cores)) || server < (own+server)/3
	if alone || own+server < crowded*float64(cores) {
		return ByGenerator
	}
	return ByMachine
}

// clientTime fills in what the clients did, of the time that they had together. In an open loop that had clients left it is
// of the time that they were busy, so that waiting means the same at every rate.
func (f Figures) clientTime(l *Limit, waiting, all float64) {
	holding := f.sum(Hold)
	requests := max(0, f.sum(Acquire)+f.sum(Refusal)-waiting) + f.sum(Release)
	whole := all
	if f.Latency[Lag].Count+f.Latency[Backlog].Count > 0 {
		whole = holding + waiting + requests
	}
	if whole <= 0 {
		return
	}
	l.Holding, l.Waiting, l.Requests = min(1, holding/whole), min(1, waiting/whole), min(1, requests/whole)
}

// sum returns the sum of all values of m, in nanoseconds.
func (f Figures) sum(m Metric) float64 {
	return float64(f.Latency[m].Count) * float64(f.Latency[m].Mean)
}

// waitingTime returns for how long clients waited for locks or were refused, summed over the clients, in nanoseconds. Records
// from before the waits were measured have what acquisitions took beyond one request, for which a release stands; and
// where clients do nothing else, also the waits that did not end in the window.
func (f Figures) waitingTime(p *spec.Plan, window time.Duration) float64 {
	if f.Bound.Waited > 0 {
		return max(float64(f.Bound.Waited), f.sum(Refusal))
	}
	if f.Cost.Wakeups <= 0 && (f.Cost.Wakeups == 0 || f.Cost.Tries <= 1) { // negative: not known
		return f.sum(Refusal) // who is granted at the first try has not waited
	}
	requests := float64(f.Latency[Acquire].Count) * float64(f.Latency[Release].Mean)
	waited := max(0, f.sum(Acquire)-requests) + f.sum(Refusal)
	if idle := func(g spec.Class) bool { return g.Open() || g.Think > 0 }; !slices.ContainsFunc(p.Groups(), idle) && f.failing() == 0 {
		all := float64(p.Clients) * float64(window)
		waited = max(waited, all-requests-f.sum(Hold)-f.sum(Release))
	}
	return waited
}

// keyTime splits the time of a key.
func (f Figures) keyTime(l *Limit, r *Record, waited float64, window time.Duration) {
	if !r.Traits.Exclusive || r.Plan.Keys < 1 {
		return
	}
	hold, release := f.Latency[Hold].Mean.Seconds(), f.Latency[Release].Mean.Seconds()
	share := 1 / float64(r.Plan.Keys) // of all locks, those of the key
	if r.Plan.Keys > 1 && uneven(&r.Plan) {
		b := f.Bound
		each := hold + b.RoundTrip().Seconds()
		if b.By != "keys" || b.LocksPerS <= 0 || each <= 0 {
			return
		}
		share = 1 / (b.LocksPerS * each)
		l.Hottest = f.refused() <= backlogWorth // see Bound: all keys are the limit else
	}
	l.Known = true
	l.Held = min(1, f.Rate*share*hold)
	handoff := f.Latency[Handoff]
	gaps := float64(handoff.Count) * (float64(handoff.Mean) - 1e9*release) / float64(window) * share // between releases and the next grants
	moving := f.Rate * share * release
	if r.passes() {
		moving, gaps = moving+max(0, gaps), 0
	}
	l.Moving = min(1-l.Held, moving)
	blocked := f.deadTime(l, r, waited, share, window)
	if waited > 0 {
		l.Blocked = l.Waiting * blocked / waited
	}
	free := 1 - l.Held - l.Moving - l.Dead
	if free <= 0 {
		return
	}
	waiters := (waited - blocked) / float64(window) * share
	l.Waited = min(free, max(gaps, free*(1-math.Exp(-waiters))))
	l.Idle = free - l.Waited
}

// passes reports whether a release makes the next client in line the holder, in the same step, as in services with sessions and a
// line of their own. Redis has no such line.
func (r *Record) passes() bool {
	redis := r.Server.Name == "redis" || r.Server.Name == "valkey" || r.Server.Name == "miniredis"
	return r.Plan.Wait == "native" && r.Traits.Session && !redis
}

// deadTime fills in for how much of a key's time it is locked by holders that have died, and returns for how much of the time that
// clients waited they did so for such keys, in nanoseconds. share is that of all locks that the key has. What a recovery takes
// beyond a lease is not the dead holder's doing: nobody wanted the key, or those who did were slow to see it free.
func (f Figures) deadTime(l *Limit, r *Record, waited, share float64, window time.Duration) (blocked float64) {
	var lease time.Duration
	for _, g := range r.Plan.Groups() {
		lease = max(lease, g.TTL)
	}
	deaths, each := float64(f.Latency[Recovery].Count), float64(f.Latency[Recovery].Mean)
	if lease > 0 {
		each = min(each, float64(lease))
	}
	l.Dead = min(1-l.Held-l.Moving, deaths*each/float64(window)*share)
	n := f.Counts
	wanted := float64(n.Acquired + n.Contended + n.TimedOut + n.Unfinished)
	came := min(wanted*l.Dead*each/2, deaths*float64(r.Plan.Clients)*each)
	return min(waited, max(came, waited*l.Dead))
}

// Hottest reports whether the bound by keys is that of the most wanted one: clients prefer some keys to others, and so few
// were refused that the locks that were granted are spread in the same way; see Bound.
func (c *Cell) Hottest() bool { return uneven(c.Plan()) && c.Figures().refused() <= backlogWorth }

// uneven reports whether clients prefer some keys to others.
func uneven(p *spec.Plan) bool {
	return slices.ContainsFunc(p.Groups(), func(g spec.Class) bool { return !g.KeyDist.Even() })
}

// serverTime fills in what the server used, and how much longer requests took under the load.
func (f Figures) serverTime(l *Limit, r *Record) {
	if trip := f.Bound.RTT; trip > 0 && f.Latency[Release].Count > 0 {
		l.Slower = float64(f.Latency[Release].Mean) / float64(trip)
	}
	if f.Cost.ServerCPUUs < 0 || r.Server.Kind == "embedded" || r.Server.Kind == "in-process" {
		return
	}
	l.ServerCores = f.Rate * f.Cost.ServerCPUUs / 1e6
	cores := float64(r.Env.CPUs)
	if r.Cores.Pinned() {
		cores = float64(len(r.Cores.Server))
	}
	switch private := r.Server.Kind == "private"; {
	case r.Server.Name == "redis" || r.Server.Name == "valkey":
		l.CoresOf = float64(max(1, r.Plan.Nodes))
		if private && cores > 0 {
			l.CoresOf = min(l.CoresOf, cores)
		}
	case r.Cores.Pinned():
		l.CoresOf = cores
	case private && cores > 0 && l.ServerCores >= f.Generator.CPU:
		l.CoresOf = cores - max(0, f.Generator.CPU)
	}
}
