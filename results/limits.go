package results

// What limits the throughput of a load: read off the record, so that a report of last year's runs says it too.

import (
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// LimitedBy is what limits a throughput, in the words of tables and exports.
type LimitedBy string

const (
	ByRate        LimitedBy = "rate"        // an open loop whose arrivals were all served in time
	ByErrors      LimitedBy = "errors"      // clients were busy with requests that failed, and the pauses after them
	ByKey         LimitedBy = "key"         // keys are held, or on their way from one holder to the next, for most of the time
	ByServerCPU   LimitedBy = "server CPU"  // the server has no processor time left
	ByGenerator   LimitedBy = "generator"   // lockbench or its machine
	ByConnections LimitedBy = "connections" // requests wait for one of a pool
	ByLock        LimitedBy = "lock (wait)" // keys are free though clients wait for them
	ByClients     LimitedBy = "clients"     // there are too few to keep the keys busy
	ByUnknown     LimitedBy = "not known"   // the record does not hold what it takes to tell
)

// Limit is what limits a throughput, and the shares of time that it is inferred from.
//
// A key's time has three parts: it is held; it is on its way from one holder to the next, which takes a round trip at
// least; or it is free. Free time is split by whether a client waits for the key.
//
// The limits are tried in this order, from what is certain to what is inferred from times that the former would stretch:
//
//  1. rate: all clients are open loops, and less than 1 % of the arrivals waited for a client, were dropped or gave up.
//     Nothing else can limit a load that got all it asked for, on however busy a machine.
//  2. errors: failed requests took the clients' time, so that all other times are those of the rest.
//  3. key, if it is held for 90 % of the time: no server and no other lock makes that faster.
//  4. server CPU, if it used 90 % of what it can: Redis and Valkey execute on one core a node, other servers of
//     lockbench's own on all that lockbench leaves them. Before the generator, which may be busy as well: a faster one
//     would find the same server.
//  5. generator, by its own verdict. All that follows is inferred from times that a busy machine stretches.
//  6. connections: as many requests are under way or wait for a connection as the pool has.
//  7. key or lock, if clients spend more than half of their time waiting for locks or being refused, or the keys are
//     busy for 90 %: whichever takes the larger part of the key's time, the holds with their round trips or the time in
//     which the key is free although a client waits. Of an open loop whose arrivals found free clients and were refused
//     it is one of the two as well.
//  8. server CPU or generator, if requests take four times as long as a round trip without load: there they queue, at a
//     server that used more than half of what it can, or on a machine that was 85 % busy.
//  9. clients: the keys are free, nothing queues, and the clients are busy with requests of their own, holds and pauses.
//
// It errs where the record knows averages alone. The waits are not recorded key by key: a key with w waiting clients on
// average counts as waited for during 1 − e^−w of its free time, as if they came independently, and at least for the
// recorded hand-offs. The round trip is that without load, so what requests take beyond it under load counts as free. Of
// skewed keys only the busiest is known, and only if it makes the bound (Bound.By); else Known is false. An external
// server may share its processor with others. CPU time that is not known rules nothing out: see ServerCPU.
type Limit struct {
	By LimitedBy

	// Shares of the time of the average key, or with Hottest of the busiest one; they add up to 1. All are 0 unless Known:
	// several clients held a key at once, or the keys are skewed and another bound is lower.
	Known   bool
	Hottest bool
	Held    float64
	Trip    float64 // a round trip for each lock
	Waited  float64 // free, while a client waited
	Idle    float64 // free, and nobody waited

	// Shares of the clients' time; the rest is think time, or waiting for arrivals. Waiting includes attempts that were
	// refused or gave up.
	Waiting, Requests, Holding float64

	ServerCores float64 // that the server used; negative: not known
	CoresOf     float64 // that it can use; 0: not known

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
// all: by Little's law, with what may be missing or too much by chance, since some √L arrivals more lie across one edge
// of the window than across the other, for as long as the slowest take (p99). A closed loop keeps up.
func (r *Record) KeptUp() bool { return r.Figures().keptUp() }

// KeptUp returns that of the median trial.
func (c *Cell) KeptUp() bool { return c.Figures().keptUp() }

func (f Figures) keptUp() bool {
	b := f.Bound
	if b.LittleOpen == 0 || b.InSystem == 0 || f.Elapsed == 0 {
		return true
	}
	chance := 3 * math.Sqrt(2*max(1, b.InSystem)) * float64(f.Latency[Response].P99) / (b.InSystem * float64(f.Elapsed))
	return math.Abs(b.LittleOpen-1) <= littleSlack+chance
}

// Backlogged returns the share of the arrivals of an open loop that found all clients busy.
func (r *Record) Backlogged() float64 { return r.Figures().backlogged() }

// Backlogged returns the share of the arrivals of an open loop that found all clients busy.
func (c *Cell) Backlogged() float64 { return c.Figures().backlogged() }

// Queued reports whether arrivals of an open loop waited for a client, or were dropped, by more than 1 %.
func (c *Cell) Queued() bool { return c.Figures().queued() }

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

// failing reports whether requests that failed, and the pauses after them, took more of the clients' time than the books may
// be out by: then it was those that arrivals waited for, whatever the others took.
func (f Figures) failing() bool {
	return f.Counts.Failed() > 0 && f.Bound.Little > 0 && f.Bound.Little < 1-littleSlack
}

// Limit returns what limits the throughput of r.
func (r *Record) Limit() Limit { return r.Figures().limit(r, r.Elapsed) }

// Limit returns what limits the throughput of c, over all its trials.
func (c *Cell) Limit() Limit {
	return c.Figures().limit(c.First(), sumOf(c.Trials, func(r *Record) time.Duration { return r.Elapsed }))
}

// limit infers the limit of the trials of a cell, of which r is the first, in windows that are as long as that in all.
func (f Figures) limit(r *Record, window time.Duration) Limit {
	l := Limit{By: ByUnknown, ServerCores: -1}
	if window <= 0 || f.Rate <= 0 || f.Latency[Release].Count+f.Latency[Hold].Count == 0 {
		if f.failing() {
			l.By = ByErrors
		}
		return l
	}
	waited := f.waitingTime(&r.Plan, window)
	f.clientTime(&l, waited, time.Duration(r.Plan.Clients)*window)
	f.keyTime(&l, r, waited, window)
	f.serverTime(&l, r)
	l.By = f.limitedBy(&l, r)
	return l
}

func (f Figures) limitedBy(l *Limit, r *Record) LimitedBy {
	closed := slices.ContainsFunc(r.Plan.Groups(), func(g spec.Class) bool { return !g.Open() })
	free := !closed && !f.queued() // clients were
	refused := f.refused() > backlogWorth
	serverBusy := 0.0
	if l.CoresOf > 0 {
		serverBusy = l.ServerCores / l.CoresOf
	}
	contended := l.Waiting > mostly || l.Held+l.Trip >= nearLimit || free && refused
	unused := l.Waited
	if free && refused {
		unused += l.Idle // who is refused would have used it
	}
	switch pool := f.Bound.Pool; {
	case free && !refused && !f.failing():
		return ByRate
	case f.failing():
		return ByErrors
	case l.Held >= nearLimit:
		return ByKey
	case serverBusy >= nearLimit:
		return ByServerCPU
	case f.Generator.Saturated:
		return ByGenerator
	case pool > 0 && pool < r.Plan.Clients && f.requests() >= nearLimit*float64(pool):
		return ByConnections
	case contended && l.Known && l.Held+l.Trip >= unused:
		return ByKey
	case contended:
		return ByLock
	case l.Slower >= queuedRatio && serverBusy > mostly:
		return ByServerCPU
	case l.Slower >= queuedRatio && f.Generator.Machine >= crowded:
		return ByGenerator
	}
	return ByClients
}

// clientTime fills in what the clients did, of the time that they had together. In an open loop that had clients left it is
// of the time that they were busy, so that waiting means the same at every rate.
func (f Figures) clientTime(l *Limit, waiting float64, all time.Duration) {
	holding := f.sum(Hold)
	requests := max(0, f.sum(Acquire)+f.sum(Refusal)-waiting) + f.sum(Release)
	whole := float64(all)
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
	if idle := func(g spec.Class) bool { return g.Open() || g.Think > 0 }; !slices.ContainsFunc(p.Groups(), idle) && !f.failing() {
		all := float64(p.Clients) * float64(window)
		waited = max(waited, all-requests-f.sum(Hold)-f.sum(Release))
	}
	return waited
}

// keyTime splits the time of a key.
func (f Figures) keyTime(l *Limit, r *Record, waited float64, window time.Duration) {
	if !r.Traits.Exclusive || f.Safety.Breaches() > 0 || r.Plan.Keys < 1 {
		return
	}
	hold, trip := f.Latency[Hold].Mean.Seconds(), f.Bound.RoundTrip().Seconds()
	share := 1 / float64(r.Plan.Keys) // of all locks, those of the key
	if r.Plan.Keys > 1 && slices.ContainsFunc(r.Plan.Groups(), skewed) {
		b := f.Bound
		if b.By != "keys" || b.LocksPerS <= 0 || hold+trip <= 0 {
			return
		}
		share = 1 / (b.LocksPerS * (hold + trip))
		l.Hottest = f.refused() <= backlogWorth // see Bound: all keys are the limit else
	}
	l.Known = true
	l.Held = min(1, f.Rate*share*hold)
	l.Trip = min(1-l.Held, f.Rate*share*trip)
	free := 1 - l.Held - l.Trip
	if free <= 0 {
		return
	}
	waiters := waited / float64(window) * share
	handoff := f.Latency[Handoff]
	recorded := float64(handoff.Count) * (float64(handoff.Mean) - 1e9*trip) / float64(window) * share
	l.Waited = min(free, max(recorded, free*(1-math.Exp(-waiters))))
	l.Idle = free - l.Waited
}

// skewed reports whether the clients of g prefer some keys to others.
func skewed(g spec.Class) bool {
	return slices.ContainsFunc(g.KeyDist.Parts(), func(p spec.KeyPart) bool {
		return p.Ranged || p.Kind != spec.KeysUniform && p.Kind != spec.KeysSequential
	})
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
	switch private := r.Server.Kind == "private"; {
	case r.Server.Name == "redis" || r.Server.Name == "valkey":
		l.CoresOf = float64(max(1, r.Plan.Nodes))
		if private && cores > 0 {
			l.CoresOf = min(l.CoresOf, cores)
		}
	case private && cores > 0 && l.ServerCores >= f.Generator.CPU:
		l.CoresOf = cores - max(0, f.Generator.CPU)
	}
}
