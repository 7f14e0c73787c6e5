package results

// How a Limit is inferred. Times are in seconds, those of clients summed over the clients; shares are of 1.

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// inference is what is known of the trials of a cell while their limit is inferred.
type inference struct {
	Figures
	r      *Record // the first of them
	l      *Limit
	window float64 // of all trials
	all    float64 // that the clients had in it
	waited float64 // that they waited for locks or were refused
}

// limit infers the limit of the trials of a cell, of which r is the first, in windows that are as long as that in all.
func (f Figures) limit(r *Record, window time.Duration) Limit {
	l := Limit{By: ByUnknown, ServerCores: -1, Others: -1, Thread: f.Thread, Lost: f.lost()}
	i := &inference{Figures: f, r: r, l: &l, window: window.Seconds(), all: float64(r.Plan.Clients) * window.Seconds()}
	l.Failing = f.failing(i.all)
	if l.Stuck = f.Bound.Blocked.Seconds() / i.all; !(l.Stuck > littleSlack) {
		l.Stuck = 0
	}
	switch {
	case f.Breaches > 0:
		l.By = ""
		return l
	case window <= 0 || f.Rate <= 0 || f.Latency[Release].Count+f.Latency[Hold].Count == 0:
		if l.Failing+l.Stuck > 0 || l.Lost > backlogWorth {
			l.By = ByErrors
		} else if f.Bound.DeadWaits.Seconds() > mostly*i.all {
			l.By = ByDead
		}
		return l
	}
	i.waited = i.waitingTime()
	i.clientTime()
	i.keyTime()
	i.serverTime()
	l.Contended = l.Waiting > mostly || l.Held+l.Moving >= nearLimit || i.impatient()
	l.By = i.limitedBy()
	return l
}

// limitedBy finds what comes first in the order that Limit describes, by its numbers.
func (i *inference) limitedBy() LimitedBy {
	l := i.l
	switch {
	case i.foundFreeClients() && !i.impatient() && !i.lostToErrors(): // 1
		return ByRate
	case i.lostToErrors(): // 2
		return ByErrors
	case l.Held >= nearLimit, i.reaches("keys") && l.Known: // 3
		return ByKey
	case i.reaches("clients") && !l.Contended:
		return ByClients
	case i.reaches("connections"):
		return ByConnections
	case i.serverFull(): // 4
		return ByServerCPU
	case l.Contended && l.Blocked > mostly*l.Waiting: // 5
		return ByDead
	case i.Generator.Saturated && i.slowed(): // 6
		return i.busyCores()
	case i.poolFull(): // 7
		return ByConnections
	case l.Contended: // 8
		return i.keyOrLock()
	case l.Slower >= queuedRatio: // 9
		return i.queuedAt()
	}
	return ByClients // 10
}

// foundFreeClients reports whether all arrivals were those of open loops and found free clients.
func (i *inference) foundFreeClients() bool {
	closed := slices.ContainsFunc(i.r.Plan.Groups(), func(g spec.Class) bool { return !g.Open() })
	return !closed && !i.queued()
}

// impatient reports whether arrivals found free clients, and gave up.
func (i *inference) impatient() bool { return i.foundFreeClients() && i.gaveUp() > backlogWorth }

// lostToErrors reports whether errors took the clients' time, or arrivals that found free clients.
func (i *inference) lostToErrors() bool {
	return i.l.Failing+i.l.Stuck > 0 || i.foundFreeClients() && i.l.Lost > backlogWorth
}

// reaches reports whether the throughput is near the bound, and that is made by what it says.
func (i *inference) reaches(by string) bool { return i.Efficiency() >= nearLimit && i.Bound.By == by }

// slowed reports whether a machine with time to spare may raise the throughput by a tenth. If locks hold up the clients,
// it does so by what a change of hands takes longer than without load, and by as much of a wait for a key that is free
// as lockbench runs late.
func (i *inference) slowed() bool {
	l, late := i.l, i.Latency[Hiccup]
	if !l.Contended || !l.Known || late.Count == 0 {
		return true
	}
	keys := float64(i.r.Plan.Keys)
	unloaded := 0.0
	if l.Slower > 0 {
		unloaded = min(1, 1/l.Slower)
	}
	return l.Moving*(1-unloaded)+min(l.Waited, i.Rate/keys*late.Mean.Seconds()) > 1-nearLimit
}

// serverBusy returns what the server used of the cores that it can use; 0 if that is not known.
func (i *inference) serverBusy() float64 {
	if i.l.CoresOf == 0 {
		return 0
	}
	return i.l.ServerCores / i.l.CoresOf
}

// serverFull reports whether the server, or its thread that executes the commands, has no processor time left. A wait for a core
// is that if lockbench cannot have had the core.
func (i *inference) serverFull() bool {
	return i.serverBusy() >= nearLimit || i.Thread.Ran >= nearLimit || !i.Generator.Saturated && i.Thread.Busy() >= nearLimit
}

// poolFull reports whether as many requests are under way or wait as the pool has connections.
func (i *inference) poolFull() bool {
	pool := i.Bound.Pool
	return pool > 0 && pool < i.r.Plan.Clients && i.requests() >= nearLimit*float64(pool)
}

// keyOrLock tells whether the keys were locked for longer than they were free although a client wanted them.
func (i *inference) keyOrLock() LimitedBy {
	unused := i.l.Waited
	if i.impatient() {
		unused += i.l.Idle // who gave up would have used it
	}
	switch {
	case !i.l.Known:
		return ByUnknown
	case i.l.Held+i.l.Moving >= unused:
		return ByKey
	}
	return ByLock
}

// queuedAt tells where requests queued that took much longer than without load.
func (i *inference) queuedAt() LimitedBy {
	switch {
	case i.serverBusy() > mostly:
		return ByServerCPU
	case i.Generator.Machine >= crowded:
		return i.busyCores()
	case i.l.CoresOf == 0 && i.r.Server.Kind == "external":
		return ByUnknown
	}
	return ByClients
}

// busyCores returns who used up the cores that lockbench runs on: who had the largest share of them, but for a server
// that had a third of what both used.
func (i *inference) busyCores() LimitedBy {
	g, l, cores := i.Generator, i.l, float64(i.r.Env.CPUs)
	own, server := g.CPU, i.serverHere()
	alone := own < 0 || own >= nearLimit*float64(cmp.Or(i.r.Env.GOMAXPROCS, i.r.Env.CPUs))
	switch {
	case g.Quota > 0 || alone || max(g.Machine, (own+server)/cores) < crowded:
	case l.Stolen > max(own, server, l.Others):
		return ByHost
	case l.Others > max(own, server):
		return ByOthers
	case server > max(own, l.Others), server >= (own+server)/3 && own+server >= crowded*cores:
		return ByMachine
	}
	return ByGenerator
}

// serverHere returns how many cores of lockbench's machine the server used.
func (i *inference) serverHere() float64 {
	if i.r.Server.Elsewhere() {
		return 0
	}
	return max(0, i.l.ServerCores)
}

// mean returns the mean of a metric, and total the sum of its values.
func (f Figures) mean(m Metric) float64  { return f.Latency[m].Mean.Seconds() }
func (f Figures) total(m Metric) float64 { return float64(f.Latency[m].Count) * f.mean(m) }

// waitingTime returns for how long clients waited for locks or were refused.
func (i *inference) waitingTime() float64 {
	refused := i.total(Refusal)
	if i.Bound.Waited > 0 {
		gaveUp := min(refused, i.patience()) // is in Waited as well, but for the first tries
		return max(i.Bound.Waited.Seconds(), gaveUp) + refused - gaveUp
	}
	// Records from before the waits were measured have what acquisitions took beyond one request, for which a release stands.
	if i.Cost.Wakeups <= 0 && (i.Cost.Wakeups == 0 || i.Cost.Tries <= 1) { // negative: not known
		return refused // who is granted at the first try has not waited
	}
	requests := float64(i.Latency[Acquire].Count) * i.mean(Release)
	waited := max(0, i.total(Acquire)-requests) + refused
	if !i.resting() && i.l.Failing == 0 { // also the waits that did not end in the window
		waited = max(waited, i.all-requests-i.total(Hold)-i.total(Release))
	}
	return waited
}

// patience returns for how long those waited who gave up, or more if classes differ; no less than all refusals if nobody was
// refused at once.
func (i *inference) patience() float64 {
	if i.Counts.Contended == 0 {
		return math.Inf(1)
	}
	longest := i.r.Plan.Longest(func(l *spec.Load) time.Duration { return l.Timeout })
	return float64(i.Counts.Impatient()) * longest.Seconds()
}

// resting reports whether clients do something else than asking for locks and holding them.
func (i *inference) resting() bool {
	return slices.ContainsFunc(i.r.Plan.Groups(), func(g spec.Class) bool { return g.Open() || g.Think > 0 })
}

// clientTime fills in what the clients did, of the time that they had together. In an open loop that had clients left it is
// of the time that they were busy, so that waiting means the same at every rate.
func (i *inference) clientTime() {
	holding := i.total(Hold)
	requests := max(0, i.total(Acquire)+i.total(Refusal)-i.waited) + i.total(Release)
	whole := i.all
	if i.Latency[Lag].Count+i.Latency[Backlog].Count > 0 {
		whole = holding + i.waited + requests
	}
	if whole <= 0 {
		return
	}
	i.l.Holding = min(1, holding/whole)
	i.l.Waiting = min(1, i.waited/whole)
	i.l.Requests = min(1, requests/whole)
}

// keyTime splits the time of a key.
func (i *inference) keyTime() {
	l := i.l
	if i.waited > 0 {
		l.Blocked = l.Waiting * min(1, i.Bound.DeadWaits.Seconds()/i.waited)
	}
	share, known := i.keyShare()
	if !known {
		return
	}
	l.Known = true
	rate := i.Rate * share // of the key's locks
	handoffs := float64(i.Latency[Handoff].Count) * share / i.window
	passed := 0.0
	if i.r.Traits.Fair {
		passed = max(0, handoffs*(i.mean(Handoff)-i.mean(Release)))
	}
	moving := cmp.Or(i.Bound.Transit.Seconds()*share/i.window, rate*i.mean(Release)+passed)
	gaps := handoffs * (i.mean(Handoff) - moving/rate) // between releases and the next grants
	l.Held = min(1, rate*i.mean(Hold))
	l.Moving = min(1-l.Held, moving)
	blocked := i.deadTime(share)
	if i.waited > 0 {
		l.Blocked = l.Waiting * blocked / i.waited
	}
	free := 1 - l.Held - l.Moving - l.Dead
	if free <= 0 {
		return
	}
	waiters := (i.waited - blocked) * share / i.window
	wanted := free * (1 - math.Exp(-waiters))
	l.Waited = min(free, max(gaps, wanted))
	l.Idle = free - l.Waited
}

// keyShare returns the share of all locks that the key has whose time is split: the busiest one if clients prefer some keys.
func (i *inference) keyShare() (share float64, known bool) {
	p := &i.r.Plan
	switch {
	case !i.r.Traits.Exclusive || p.Keys < 1 || p.Shared: // other runs held them too
		return 0, false
	case p.Keys == 1 || !uneven(p):
		return 1 / float64(p.Keys), true
	}
	locks := i.Bound.LocksPerS * (i.mean(Hold) + i.Bound.RoundTrip().Seconds()) // by the bound: one a key at a time
	if i.Bound.By != "keys" || locks <= 0 {
		return 0, false
	}
	i.l.Hottest = i.refused() <= backlogWorth // see Bound: all keys are the limit else
	return 1 / locks, true
}

// deadTime fills in for how much of a key's time it is locked by holders that have died, and returns for how much of the time that
// clients waited they did so for such keys. share is that of all locks that the key has. What a recovery takes beyond a lease is
// not the dead holder's doing: nobody wanted the key, or those who did were slow to see it free. Records from before
// it was measured have the deaths that others recovered from, each for a lease at the most.
func (i *inference) deadTime(share float64) (blocked float64) {
	lease := i.r.Plan.Longest(spec.Lease)
	deaths, each := float64(i.Latency[Recovery].Count), i.mean(Recovery)
	if lease > 0 {
		each = min(each, lease.Seconds())
	}
	l, n := i.l, i.Counts
	dead := cmp.Or(i.Bound.Dead.Seconds(), deaths*each)
	l.Dead = min(1-l.Held-l.Moving, dead*share/i.window)
	wanted := float64(n.Acquired + n.Contended + n.Impatient() + n.Unfinished)
	came := min(wanted*l.Dead*each/2, deaths*float64(i.r.Plan.Clients)*each)
	return min(i.waited, max(came, i.waited*l.Dead, i.Bound.DeadWaits.Seconds()))
}

// Hottest reports whether the bound by keys is that of the most wanted one: clients prefer some keys to others, and so few
// were refused that the locks that were granted are spread in the same way; see Bound.
func (c *Cell) Hottest() bool { return uneven(c.Plan()) && c.Figures().refused() <= backlogWorth }

// uneven reports whether clients prefer some keys to others.
func uneven(p *spec.Plan) bool {
	return slices.ContainsFunc(p.Groups(), func(g spec.Class) bool {
		return g.KeyDist != (spec.Keys{}) && g.KeyDist.Kind != spec.KeysSequential // one after the other is alike in the long run
	})
}

// serverTime fills in what the server used, and how much longer requests took under the load.
func (i *inference) serverTime() {
	l, r := i.l, i.r
	if trip := i.Bound.RTT.Seconds(); trip > 0 && i.Latency[Release].Count > 0 {
		l.Slower = i.mean(Release) / trip
	}
	apart := r.Server.Kind != "embedded" && r.Server.Kind != "in-process"
	if apart && i.Cost.ServerCPUUs >= 0 {
		l.ServerCores = i.Rate * i.Cost.ServerCPUUs / 1e6
	}
	cores := float64(r.Env.CPUs)
	if g := i.Generator; g.CPU >= 0 && g.Machine >= 0 {
		l.Stolen, l.Mixed = g.Stolen*cores, apart && l.ServerCores < 0 && !r.Server.Elsewhere()
		l.Others = max(0, g.Machine*cores-g.CPU-i.serverHere()-l.Stolen)
	}
	if l.ServerCores < 0 {
		return
	}
	switch private := r.Server.Kind == "private"; {
	case r.Server.Name == "redis" || r.Server.Name == "valkey":
		l.CoresOf = float64(max(1, r.Plan.Nodes))
		if private && cores > 0 {
			l.CoresOf = min(l.CoresOf, cores)
		}
	case private && cores > 0 && l.ServerCores >= i.Generator.CPU:
		l.CoresOf = cores - max(0, i.Generator.CPU)
	}
}
