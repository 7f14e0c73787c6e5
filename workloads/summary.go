// The summary: from what the clients counted to the record.

package workloads

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

var errNoInspector = errors.New("the driver cannot inspect its server")

const (
	// saturatedShare is the share of the cores that lockbench may use before its figure is called its own limit.
	saturatedShare = 0.90
	// busyShare is the same for all that runs on the machine: beyond it, server and load take time from each other.
	busyShare = 0.97
	// failedShare of the clients' time lost to errors leaves less than half a trial, which is not a whole one.
	failedShare = 0.50
	// worthSaying is the share from which a reader has to know of it.
	worthSaying = 0.01
)

func (e *engine) record() *results.Record {
	p := e.run.Plan
	r := &results.Record{
		Schema:  results.SchemaVersion,
		ID:      rand.Text(),
		Started: e.began.UTC(),
		Plan:    p,
		Traits: results.Traits{
			Exclusive: e.traits.Exclusive, Owned: e.traits.Owned, Expires: e.traits.Expires, Fenced: e.traits.Fenced,
			Fair: e.traits.Fair, Reentrant: e.traits.Reentrant, Renews: e.traits.Renews, Wakes: e.traits.Wakes,
			Waits: e.traits.Waits, Session: e.traits.Session,
		},
		Elapsed: max(0, e.until()-e.from),
		Latency: map[results.Metric]results.Latency{},
	}
	for metric, l := range e.recorder.Latencies() {
		if l.Count > 0 {
			r.Latency[metric] = l
		}
	}
	t := e.sum(r)
	e.fillVotes(r)
	e.fillServer(r)
	e.fillSafety(r)
	e.fillCost(r, t)
	e.fillBound(r, t)
	e.fillGenerator(r)
	r.Series, r.Steps = e.course.series(), e.course.steps.series()
	e.warn(r, t)
	return r
}

// sum adds up the clients. It fills what follows from them alone and returns the sums that no field of r holds.
func (e *engine) sum(r *results.Record) (t tally) {
	n, f := &r.Counts, &r.Fairness
	var squares float64
	f.MinClient = e.clients[0].tally.acquired
	for i := range e.clients {
		c := &e.clients[i].tally
		n.Acquired += c.acquired
		n.Contended += c.contended
		n.TimedOut += c.timedOut
		n.Canceled += c.canceled
		n.Unknown += c.unknown
		n.Refused += c.refused
		n.Unfinished += c.unfinished
		n.Tries += c.attempts() + c.retries
		n.Released += c.released
		n.Lost += c.lost
		n.LostRenewal += c.lostRenewal
		n.ReleaseError += c.releaseError
		n.Reentries += c.reentries
		n.ReentryRefused += c.reentryRefused
		n.ReentryError += c.reentryError
		t.waits += c.waits
		t.thoughts += c.thoughts
		t.thought += c.thought
		t.failing += c.failing
		t.edges += c.edges
		squares += float64(c.acquired) * float64(c.acquired)
		f.MinClient = min(f.MinClient, c.acquired)
		f.MaxClient = max(f.MaxClient, c.acquired)
		f.LongestWait = max(f.LongestWait, c.longest)
		f.LongestRun = max(f.LongestRun, c.longestRun)
		f.OwnerChanges += c.changes
		if c.acquired == 0 {
			f.Starved++
		}
	}
	if squares > 0 { // Jain, Chiu, Hawe 1984
		f.Jain = float64(n.Acquired) * float64(n.Acquired) / (float64(len(e.clients)) * squares)
	}
	n.Renewals, n.RenewError = e.dog.renewals.Load(), e.dog.errors.Load()
	n.Errors, n.ErrorSample = e.errors.copy()
	return t
}

func (e *engine) fillServer(r *results.Record) {
	s := e.after.server
	if e.after.err != nil {
		s = e.before.server
	}
	r.Server = results.Server{
		Kind: r.Plan.Server, Name: s.Name, Version: s.Version, Mode: s.Mode, Persistence: s.Persistence, Replicas: s.Replicas,
		Durability: r.Plan.Durability, Connections: max(0, e.after.server.Connected),
	}
}

func (e *engine) fillSafety(r *results.Record) {
	if e.oracle == nil {
		return
	}
	r.Safety = e.oracle.Report()
	r.Safety.Grants = e.recorder.Granted()
	r.Safety.LostUpdates = r.Safety.Grants - e.oracle.Updates()
}

// inspected tells whether the two readings of the server can be subtracted. Those of a driver without an Inspector can:
// all that may stand in them is the CPU time of the server's process, which ServerCPU answers for.
func (e *engine) inspected() bool {
	if e.before.err == errNoInspector && e.after.err == errNoInspector {
		return true
	}
	return e.before.err == nil && e.after.err == nil && e.before.server.RunID == e.after.server.RunID && !e.fell()
}

// fell tells whether a total of the server is below what it was, which happens to one that was restarted and does not say
// so by its RunID.
func (e *engine) fell() bool {
	b, a := e.before.usage, e.after.usage
	fell := func(before, after int64) bool { return 0 <= after && after < before }
	return fell(int64(b.CPU), int64(a.CPU)) || fell(b.Commands, a.Commands) || fell(b.BytesIn, a.BytesIn) || fell(b.BytesOut, a.BytesOut)
}

// fillCost divides what was spent between the two readings by the locks granted between them. That window is not
// quite the measured one, but numerator and denominator have the same. The first reading is spent in it as well, and
// so are the probes; both are taken off.
func (e *engine) fillCost(r *results.Record, t tally) {
	c := &r.Cost
	*c = results.Cost{Tries: -1, Commands: -1, BytesIn: -1, BytesOut: -1, ServerCPUUs: -1, ClientCPUUs: -1, Wakeups: -1, Allocs: -1,
		RoundTrips: -1, Notices: -1, KeepAlives: -1}
	if n := r.Counts; n.Acquired > 0 {
		c.Tries = float64(n.Tries) / float64(n.Acquired)
		c.Wakeups = float64(t.waits) / float64(n.Acquired)
	}
	b, a := &e.before, &e.after
	locks := float64(a.granted - b.granted)
	if locks <= 0 || r.Elapsed == 0 { // stopped in the warm-up: the readings are next to each other
		return
	}
	per := func(after, before, look int64) float64 {
		if before < 0 || after < before {
			return -1
		}
		return max(0, float64(after-before-look)/locks)
	}
	if e.inspected() {
		other := e.look.Plus(e.probe.spent(a.probes - b.probes))
		c.Commands = per(a.usage.Commands, b.usage.Commands, other.Commands)
		c.BytesIn = per(a.usage.BytesIn, b.usage.BytesIn, other.BytesIn)
		c.BytesOut = per(a.usage.BytesOut, b.usage.BytesOut, other.BytesOut)
		if ns := per(int64(a.usage.CPU), int64(b.usage.CPU), int64(other.CPU)); ns >= 0 {
			c.ServerCPUUs = ns / 1e3
		}
	}
	if a.counted { // by the driver, whatever has become of the server
		c.RoundTrips = per(a.traffic.RoundTrips, b.traffic.RoundTrips, 0)
		c.Notices = per(a.traffic.Notices, b.traffic.Notices, 0)
		c.KeepAlives = per(a.traffic.KeepAlives, b.traffic.KeepAlives, 0)
	}
	if b.cpu >= 0 {
		c.ClientCPUUs = float64(a.cpu-b.cpu) / 1e3 / locks
	}
	c.Allocs = float64(a.allocs-b.allocs) / locks
}

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
		inSystem := t.thought + t.edges
		for metric, l := range r.Latency {
			switch metric {
			case results.Handoff, results.Reentry, results.Renew: // parts of acquire and hold
			case results.AcquireAll, results.Probe, results.ProbeIdle: // in which no client waits
			default:
				inSystem += time.Duration(l.Count) * l.Mean
			}
		}
		b.Little = max(0, float64(inSystem)/float64(r.Elapsed)/float64(p.Clients))
	}
}

// machineShare is the share of the cores that was busy between two readings, and negative if the system does not tell.
// It is clamped: the system's idle times may run backwards (proc(5)), which between two readings in quick succession
// made a share above 1, and a record that no reader accepts.
func machineShare(before, after reading) float64 {
	capacity := after.capacity - before.capacity
	if capacity <= 0 {
		return -1
	}
	return min(1, max(0, (after.busy-before.busy)/capacity))
}

// fillGenerator is the verdict on lockbench itself.
func (e *engine) fillGenerator(r *results.Record) {
	g := &r.Generator
	*g = results.Generator{CPU: -1, Machine: -1, GCPauses: e.after.pauses - e.before.pauses}
	wall := (e.after.at - e.before.at).Seconds()
	if wall <= 0 {
		return
	}
	procs := float64(runtime.GOMAXPROCS(0))
	if e.before.cpu >= 0 {
		g.CPU = (e.after.cpu - e.before.cpu).Seconds() / wall
	}
	g.Machine = machineShare(e.before, e.after)
	switch {
	case g.CPU >= saturatedShare*procs:
		g.Saturated = true
		g.Why = fmt.Sprintf("lockbench used %.2f of its %.0f cores: this is its limit, not the lock's", g.CPU, procs)
	case g.Machine >= busyShare:
		g.Saturated = true
		g.Why = fmt.Sprintf("the machine was %.0f %% busy, lockbench with %.2f of its %.0f cores: what shares the machine shares the limit", 100*g.Machine, g.CPU, procs)
	}
}

// warn collects what a reader must know and cannot see in the figures, and says whether the trial is a whole one.
func (e *engine) warn(r *results.Record, t tally) {
	p := &r.Plan
	r.Warnings = Warnings(*p, e.traits)
	add := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	failing := 0.0 // share of the clients' time
	if r.Elapsed > 0 {
		failing = float64(t.failing) / float64(r.Elapsed) / float64(p.Clients)
	}
	switch {
	case e.cut.Load():
		r.Partial = cmp.Or(e.why, "interrupted")
	case e.after.err != nil && e.after.err != errNoInspector:
		r.Partial = fmt.Sprintf("the server did not answer at the end: %v", e.after.err)
	}
	if r.Partial == "" && failing > failedShare {
		r.Partial = fmt.Sprintf("requests that failed, and the pauses after them, took %.0f %% of the clients' time", 100*failing)
	} else if failing > worthSaying {
		add("requests that failed, and the pauses after them, took %.0f %% of the clients' time: the figures are those of the rest", 100*failing)
	}
	if e.before.err != nil && e.before.err != errNoInspector && r.Elapsed > 0 {
		add("the server did not answer when the window opened: what a lock costs it is unknown: %v", e.before.err)
	}
	if e.before.err == nil && e.after.err == nil && !e.inspected() {
		how := "was restarted"
		if e.before.server.RunID == e.after.server.RunID {
			how = "counts from a new beginning, as after a restart,"
		}
		add("the server %s during the measured window: what it spent is unknown, and locks without persistence were lost", how)
	}
	for i, n := range r.Counts.NodeErrors {
		if err := e.after.nodes[i].Err; n > 0 {
			add("node %d of %d did not answer %d requests, the first of all because: %v", i+1, len(r.Counts.NodeErrors), n, err)
		}
	}
	if text := e.probe.warning(); text != "" {
		add("%s", text)
	}
	if p.Server == "embedded" {
		add("the server ran inside lockbench: client CPU and allocations include it, and its speed says nothing about a real server")
	}
	for _, f := range []struct {
		what string
		err  error
	}{{"deleting the run's keys", e.cleanError}, {"leaving the wait", e.closeError}} {
		if f.err != nil {
			add("%s: %v", f.what, f.err)
		}
	}
}

// errorLog counts those errors by class that belong to the measured window, and keeps the first of each class, whenever
// it came. Errors are rare (clients pause after each), so one
// lock serves all.
type errorLog struct {
	mu     sync.Mutex
	n      int64            // all of them
	all    map[string]int64 // by class
	counts map[string]int64 // those of the measured window
	sample map[string]string
}

func (g *errorLog) add(op string, err error, recorded bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
	g.count(string(drivers.ClassOf(err)), op, err, recorded)
}

// note counts an error that is none of the lock's: it is in no total.
func (g *errorLog) note(class string, err error, recorded bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count(class, class, err, recorded)
}

func (g *errorLog) count(class, op string, err error, recorded bool) {
	if g.all == nil {
		g.all, g.counts, g.sample = map[string]int64{}, map[string]int64{}, map[string]string{}
	}
	if _, have := g.sample[class]; !have {
		g.sample[class] = op + ": " + err.Error()
	}
	if recorded {
		g.counts[class]++
	}
	g.all[class]++
}

func (g *errorLog) total() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n
}

func (g *errorLog) byClass() map[string]int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.all)
}

func (g *errorLog) copy() (counts map[string]int64, sample map[string]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.counts), maps.Clone(g.sample)
}
