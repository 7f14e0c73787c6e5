// What the clients count, and the totals: of the whole load, and of each class.

package workloads

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads/oracle"
)

// counters is what one client counted in the measured window; see results.Counts and results.Fairness.
type counters struct {
	// In every cycle:
	acquired, released int64
	longest            time.Duration // without a grant while it wanted one
	longestRun         int64         // grants of a key in a row
	changes            int64         // grants of a key that another client held before
	transit            time.Duration // see client.moved

	// Now and then:
	retries, waits                                            int64 // attempts after the first one of an acquisition
	local                                                     int64 // of all attempts, those refused by the local queue
	contended, timedOut, unknown, refused, lost, releaseError int64
	lostRenewal, reentries, reentryRefused, reentryError      int64
	crashed, gaveUp                                           int64
	canceled, unfinished, thoughts                            int64
	waited                                                    time.Duration // in the window for locks, from the answer of a first try that was refused
	thought                                                   time.Duration // in think pauses, as measured
	sampled                                                   time.Duration // by which holds were made longer; see sampleHold
	failing                                                   time.Duration // in requests that failed, and the pauses after them
	blocked                                                   time.Duration // in acquisitions of keys that failed requests had left locked
	edges                                                     time.Duration // see windowEdge
	passed                                                    int64         // see client.moved
	idle                                                      time.Duration // without an arrival to serve, or one of -n to claim, or a processor or a worker to begin on
	inSystem                                                  time.Duration // in the window, from when arrivals were due to their answers
}

// attempts returns the acquisitions that were answered in the measured window.
func (t *counters) attempts() int64 {
	return t.acquired + t.contended + t.timedOut + t.gaveUp + t.unknown + t.refused
}

// grant counts the start of a hold, for which the client has waited that long; g is zero without the oracle.
func (t *counters) grant(g *oracle.Grant, waited time.Duration) {
	t.acquired++
	t.longest = max(t.longest, waited)
	t.longestRun = max(t.longestRun, g.Run)
	if g.Moved {
		t.changes++
	}
}

// release counts the end of a hold. If the hold was lost before, the answer to its release says nothing new.
func (t *counters) release(removed bool, err error, lost bool) {
	switch {
	case lost:
		t.lostRenewal++
	case err != nil:
		t.releaseError++
	case removed:
		t.released++
	default:
		t.lost++
	}
}

// totals are the sums over some clients. Those of several processes are added to one another.
type totals struct {
	Counts   results.Counts
	Fairness results.Fairness // Jain comes last, when all are added
	Squares  float64          // of the clients' grants
	Rest     rest
}

// rest is what no field of a record holds of the clients' counters; see there.
type rest struct {
	Waits, Guessed, Thoughts, Passed                                           int64
	Thought, Waited, Sampled, Failing, Blocked, Transit, Edges, Idle, InSystem time.Duration
}

func sumOf(clients []client) totals {
	var b totals
	for i := range clients {
		c := &clients[i]
		b.count(&c.counters)
		if c.guessed {
			b.Rest.Guessed++
		}
		b.Rest.Idle += c.e.inside(0, c.joined) + c.e.inside(c.left, c.e.until())
		if !c.wanted() {
			continue
		}
		f, got := &b.Fairness, c.counters.acquired
		if f.Clients++; f.Clients == 1 || got < f.MinClient {
			f.MinClient = got
		}
		if got == 0 {
			f.Starved++
		}
	}
	return b
}

// count adds what one client counted.
func (b *totals) count(t *counters) {
	n, f, r := &b.Counts, &b.Fairness, &b.Rest
	n.Acquired += t.acquired
	n.Contended += t.contended
	n.TimedOut += t.timedOut
	n.GaveUp += t.gaveUp
	n.Canceled += t.canceled
	n.Unknown += t.unknown
	n.Refused += t.refused
	n.Unfinished += t.unfinished
	n.Tries += t.attempts() + t.retries - t.local
	n.LocalRefusals += t.local
	n.Released += t.released
	n.Lost += t.lost
	n.LostRenewal += t.lostRenewal
	n.ReleaseError += t.releaseError
	n.Crashed += t.crashed
	n.Reentries += t.reentries
	n.ReentryRefused += t.reentryRefused
	n.ReentryError += t.reentryError
	r.Waits += t.waits
	r.Thoughts += t.thoughts
	r.Thought += t.thought
	r.Waited += t.waited
	r.Sampled += t.sampled
	r.Failing += t.failing
	r.Blocked += t.blocked
	r.Transit += t.transit
	r.Passed += t.passed
	r.Edges += t.edges
	r.Idle += t.idle
	r.InSystem += t.inSystem
	b.Squares += float64(t.acquired) * float64(t.acquired)
	f.MaxClient = max(f.MaxClient, t.acquired)
	f.LongestWait = max(f.LongestWait, t.longest)
	f.LongestRun = max(f.LongestRun, t.longestRun)
	f.OwnerChanges += t.changes
}

// jain returns the index of fairness (Jain, Chiu, Hawe 1984).
func (b *totals) jain() float64 {
	if b.Squares == 0 {
		return 0
	}
	sum := float64(b.Counts.Acquired)
	return sum * sum / (float64(b.Fairness.Clients) * b.Squares)
}

// wanted reports whether the client wanted a lock in the window. In an open loop it wants none without an arrival, and of
// -n operations there may be none left for it.
func (c *client) wanted() bool {
	t := &c.counters
	return !c.class.open && c.e.budget == nil || t.attempts()+t.unfinished+t.canceled > 0
}

// figures are what a process counts. That of several is added up (results.Add).
type figures struct {
	Totals  totals
	Classes []totals
	Seen    witnessed

	Granted, Failed int64                   // since the load began, warm-up included
	Stuck           map[int32]time.Duration `ranks:"max"` // in the window: for how long failed requests had left keys locked

	// Between the two readings:
	Locks   int64
	CPU     time.Duration `ranks:"known"` // -1: unknown
	Allocs  uint64
	Traffic drivers.Traffic
}

// count returns what this process has counted, when its load is over.
func (e *engine) count() figures {
	b, a := &e.before, &e.after
	c := figures{
		Seen: e.witness(), Granted: e.granted(), Failed: e.errors.total(), Stuck: e.stuck.lasted(e),
		Locks: a.granted - b.granted, CPU: -1, Allocs: a.runtime.Allocs - b.runtime.Allocs,
		Traffic: drivers.Traffic{
			RoundTrips: a.traffic.RoundTrips - b.traffic.RoundTrips, Notices: a.traffic.Notices - b.traffic.Notices,
			KeepAlives: a.traffic.KeepAlives - b.traffic.KeepAlives,
		},
	}
	if b.cpu >= 0 {
		c.CPU = a.cpu - b.cpu
	}
	for _, cl := range e.classes {
		of := sumOf(e.clients[cl.first : cl.first+cl.Clients])
		if e.addArrivals(&of.Counts, cl); cl.open {
			of.Rest.InSystem += time.Duration(cl.arrivals.inSystem.Load())
		}
		c.Classes = append(c.Classes, of)
		results.Add(&c.Totals, of)
	}
	for _, w := range e.workers {
		c.Totals.Rest.Idle += w.late.acquiring
	}
	n := &c.Totals.Counts
	n.Renewals, n.RenewError = e.watchdog.renewals.Load(), e.watchdog.errors.Load()
	n.Errors = e.errors.byClass(func(c *errorClass) int64 { return c.counted })
	n.EarlyErrors = e.errors.byClass(func(c *errorClass) int64 { return c.early })
	n.ErrorSample = e.errors.samples()
	n.SplitVotes, n.NodeErrors = e.splitVotes.Load(), e.nodesFailed()
	return c
}

// sum fills in what follows from the clients alone, and returns the totals that have no field in r.
func (e *engine) sum(r *results.Record) rest {
	all := &e.all.Totals
	r.Counts, r.Fairness = all.Counts, all.Fairness
	r.Fairness.Jain = all.jain()
	if e.ranks != nil {
		r.Fairness.OwnerChanges, r.Fairness.LongestRun = e.swept.Changes, e.swept.LongestRun
	}
	for _, lasted := range e.all.Stuck {
		if float64(lasted) > stuckShare*float64(r.Elapsed) {
			r.Counts.StuckKeys++
		}
	}
	if len(r.Plan.Classes) > 0 {
		for _, cl := range e.classes {
			r.Classes = append(r.Classes, e.result(cl))
		}
	}
	return all.Rest
}

// classMetrics are the distributions that a class has of its own.
var classMetrics = []results.MetricIndex{
	results.AcquireIndex, results.RefusalIndex, results.HoldIndex, results.ResponseIndex, results.BacklogIndex,
}

// result returns what a class had of the whole.
func (e *engine) result(cl *class) results.ClassResult {
	b := &e.all.Classes[cl.number]
	latency := map[results.Metric]results.Latency{}
	for _, m := range classMetrics {
		if l := cl.recorder.Latency(m); l.Count > 0 {
			latency[results.Metrics[m]] = l
		}
	}
	return results.ClassResult{
		Name: cl.name, Counts: b.Counts, Latency: latency, Clients: b.Fairness.Clients, Starved: b.Fairness.Starved, Jain: b.jain(),
	}
}

// addArrivals adds a class's arrivals. Those that no client had taken up were under way when the window closed.
func (e *engine) addArrivals(n *results.Counts, cl *class) {
	if !cl.open {
		return
	}
	n.Offered += cl.arrivals.offered.Load()
	n.Dropped += cl.arrivals.dropped.Load()
	if untaken := cl.arrivals.untaken.Load(); e.cut.Load() {
		n.Canceled += untaken
	} else {
		n.Unfinished += untaken
	}
}

func (e *engine) latencies() map[results.Metric]results.Latency {
	all := map[results.Metric]results.Latency{}
	for m, name := range results.Metrics {
		if l := results.LatencyOf(e.sources(results.MetricIndex(m))...); l.Count > 0 {
			all[name] = l
		}
	}
	return all
}

// granted returns how many locks were granted and given back since the load began.
func (e *engine) granted() (n int64) {
	for _, cl := range e.classes {
		n += cl.recorder.Granted()
	}
	return n
}
