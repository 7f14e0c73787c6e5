// Parts: what one of several processes has measured, and how rank 0 adds those of the others to its own. Nothing is summed up
// before: histograms are added slot by slot, and every figure of the record follows from the sums, as that of one process does.

package workloads

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/workloads/oracle"
)

// Fleet is what rank 0 knows of the other processes that make the load of a trial with it, and what another process knows of
// rank 0.
type Fleet interface {
	// Meet waits until all processes are ready, and returns when the load begins. An error means that it does not.
	Meet(ctx context.Context) (start time.Time, err error)

	// Others returns the sum of where the others stand, to rank 0. It does not wait for them.
	Others() Snapshot

	// Stop makes the others stop before their time.
	Stop(why string)

	// Gather waits for the others to end, and returns their parts, and the holds of all with those of rank 0, which are nil without
	// an oracle. Processes that were lost have none. It completes the own part.
	Gather(own *Part, holds *oracle.Logs) ([]*Part, []oracle.Ranked)
}

// Part is what a process has measured of a trial. It goes to rank 0 as JSON, the log of its holds aside.
type Part struct {
	Rank    results.Rank
	Until   time.Duration // the end of its window
	Cut     bool          // it was stopped before its time…
	Why     string        // …for this reason, if it has one of its own
	Totals  totals
	Classes []classPart
	Seen    witnessed
	Series  []intervalPart
	Steps   []stepPart

	FirstError string
	Failed     int64 // requests
	Errors     map[string]*errorClass
	Stuck      map[int32]*stuckKey
	FirstStuck string
	Ended      map[string]int64

	Renewals, RenewErrors, SplitVotes, LateGrants int64
	NodesFailed                                   []int64

	// Between the two readings:
	Granted int64
	CPU     time.Duration // -1: unknown
	Allocs  uint64
	Traffic drivers.Traffic
	Own     drivers.Usage
}

// classPart is a class's.
type classPart struct {
	Totals  totals
	Latency map[results.Metric]results.Latency
	Granted int64
	Ended   []int64 // by outcome

	Offered, Dropped, Untaken, Left, InSystem, Refused int64 // see arrivals
}

// intervalPart is an interval of the series with its values, and stepPart a step.
type intervalPart struct {
	results.Interval
	Values results.Latency
}

type stepPart struct {
	results.Step
	Values results.Latency
}

// Contribute runs the share of a process that is not rank 0, and returns its part and the log of its holds, which is nil without
// an oracle. An error means that there is nothing.
func (r *Run) Contribute(ctx context.Context) (*Part, *oracle.Logs, error) {
	e, err := r.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	return e.part(), e.holds, nil
}

// part returns what this process has measured.
func (e *engine) part() *Part {
	b, a := &e.before, &e.after
	p := &Part{
		Until: e.until(), Cut: e.cut.Load(), Why: e.why, Totals: e.totals(), Seen: e.witness(),
		FirstError: e.errors.firstError(), Failed: e.errors.total(), Errors: e.errors.classes, Stuck: e.stuck.keys, FirstStuck: e.stuck.first,
		Ended:    e.ended.copy(),
		Renewals: e.watchdog.renewals.Load(), RenewErrors: e.watchdog.errors.Load(),
		SplitVotes: e.votes.split.Load(), LateGrants: e.votes.late.Load(), NodesFailed: e.nodesFailed(),
		Granted: a.granted - b.granted, CPU: -1, Allocs: a.runtime.Allocs - b.runtime.Allocs, Own: spentBetween(b.own[0], a.own[1], drivers.Usage{}),
		Traffic: drivers.Traffic{
			RoundTrips: a.traffic.RoundTrips - b.traffic.RoundTrips, Notices: a.traffic.Notices - b.traffic.Notices,
			KeepAlives: a.traffic.KeepAlives - b.traffic.KeepAlives,
		},
	}
	if b.cpu >= 0 {
		p.CPU = a.cpu - b.cpu
	}
	for _, cl := range e.classes {
		of := classPart{
			Totals: sumOf(e.clients[cl.first : cl.first+cl.Clients]), Latency: map[results.Metric]results.Latency{}, Granted: cl.recorder.Granted(),
		}
		for m, name := range results.Metrics {
			if l := cl.recorder.Latency(results.MetricIndex(m)); l.Count > 0 {
				of.Latency[name] = l
			}
		}
		for _, o := range results.Outcomes {
			of.Ended = append(of.Ended, cl.recorder.Ended(o))
		}
		if c := cl.arrivals; c != nil {
			of.Offered, of.Dropped, of.Untaken = c.offered.Load(), c.dropped.Load(), c.untaken.Load()
			of.Left, of.InSystem, of.Refused = c.left.Load(), c.inSystem.Load(), c.refused.Load()
		}
		p.Classes = append(p.Classes, of)
	}
	for _, i := range e.timeseries.list {
		p.Series = append(p.Series, intervalPart{i.Interval, i.values.Latency()})
	}
	for i, s := range e.timeseries.steps.list {
		p.Steps = append(p.Steps, stepPart{s, e.timeseries.steps.values[i].Latency()})
	}
	p.Rank = e.rank(p)
	return p
}

// rank says who this process is, and what it was worth as a generator, by its own figures.
func (e *engine) rank(p *Part) results.Rank {
	r := &results.Record{
		Plan: e.run.Plan, Cores: e.run.Record.Cores, Elapsed: max(0, e.until()-e.from), Latency: e.latencies(),
	}
	for _, cl := range p.Classes { // as many as all processes together would have had
		r.Counts.Offered += cl.Offered * int64(max(1, e.run.Share.Ranks))
	}
	e.fillGenerator(r)
	return results.Rank{
		Rank: e.run.Share.Rank, CPUs: e.run.Record.Env.CPUs, Clients: len(e.clients), Acquired: p.Totals.Counts.Acquired, RTT: e.rtt,
		Late: e.skew, Generator: r.Generator,
	}
}

// gather adds the parts of the other processes to what this one has measured.
func (e *engine) gather() {
	own := e.part()
	parts, holds := e.run.Fleet.Gather(own, e.holds)
	if lost := e.run.Fleet.Others().Lost; lost != "" {
		e.stopFor(lost)
	}
	end := e.until()
	for _, p := range parts {
		end = max(end, p.Until)
	}
	e.end.Store(int64(end))
	e.ticker.grantGap = results.Pause{} // meanwhile others may have been granted locks
	e.ranks, e.seen = []results.Rank{own.Rank}, own.Seen
	for _, p := range parts {
		p.Totals.Rest.Idle += (end - p.Until) * time.Duration(p.Rank.Clients) // who has done its share of -n has nothing more to do
		if err := e.absorb(p); err != nil {
			e.stopFor(fmt.Sprintf("the figures of rank %d make no sense: %v", p.Rank.Rank, err))
			continue
		}
		e.parts, e.ranks = append(e.parts, p), append(e.ranks, p.Rank)
		e.seen.add(p.Seen)
		if p.Cut && e.why == "" {
			e.why = p.Why
		}
		e.cut.Store(e.cut.Load() || p.Cut)
	}
	if why := exceeded(e.run.Plan.MaxErrors, e.errors.total(), e.attempts()); why != "" {
		e.stopFor(why)
	}
	e.sweep(holds)
}

// lacksRanks reports whether some were lost, whose requests the server has counted.
func (e *engine) lacksRanks() bool { return e.ranks != nil && len(e.ranks) < e.run.Share.Ranks }

// stopFor makes the trial a partial one, for the first reason that there is.
func (e *engine) stopFor(why string) {
	e.cut.Store(true)
	if e.why == "" {
		e.why = why
	}
}

// absorb adds a part, but for what e.parts are kept for. An error leaves figures that are no longer of use.
func (e *engine) absorb(p *Part) error {
	if len(p.Classes) != len(e.classes) {
		return fmt.Errorf("it has %d classes of clients, and not %d", len(p.Classes), len(e.classes))
	}
	for i, of := range p.Classes {
		if err := e.classes[i].absorb(&of); err != nil {
			return err
		}
	}
	if err := e.timeseries.absorb(p); err != nil {
		return err
	}
	e.errors.absorb(p)
	e.stuck.absorb(p)
	for reason, n := range p.Ended {
		e.ended.addN(reason, n)
	}
	e.watchdog.renewals.Add(p.Renewals)
	e.watchdog.errors.Add(p.RenewErrors)
	e.votes.split.Add(p.SplitVotes)
	e.votes.late.Add(p.LateGrants)
	a := &e.after
	for i, n := range p.NodesFailed {
		if i < len(a.nodes) {
			a.nodes[i].Failed += n
		}
	}
	a.granted += p.Granted
	a.runtime.Allocs += p.Allocs
	a.traffic = drivers.Traffic{
		RoundTrips: a.traffic.RoundTrips + p.Traffic.RoundTrips, Notices: a.traffic.Notices + p.Traffic.Notices,
		KeepAlives: a.traffic.KeepAlives + p.Traffic.KeepAlives,
	}
	a.own[1] = a.own[1].Plus(p.Own)
	if a.cpu += p.CPU; p.CPU < 0 {
		e.before.cpu = -1
	}
	return nil
}

func (cl *class) absorb(p *classPart) error {
	shard := cl.recorder.Borrow()
	defer cl.recorder.Return(shard)
	for m, name := range results.Metrics {
		if err := shard.Add(results.MetricIndex(m), p.Latency[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	shard.Granted.Add(p.Granted)
	for i, n := range p.Ended {
		if i < len(results.Outcomes) {
			shard.EndN(results.Outcomes[i], n)
		}
	}
	if c := cl.arrivals; c != nil {
		c.offered.Add(p.Offered)
		c.dropped.Add(p.Dropped)
		c.untaken.Add(p.Untaken)
		c.left.Add(p.Left)
		c.inSystem.Add(p.InSystem)
		c.refused.Add(p.Refused)
	}
	return nil
}

// absorb adds the intervals of another process to those in the middle of which they lie, and its steps to the steps.
func (s *timeseries) absorb(p *Part) error {
	for _, i := range p.Series {
		values, err := i.Values.Values()
		if err != nil {
			return err
		}
		if len(s.list) == 0 {
			break
		}
		at, middle := 0, i.At+i.Length/2
		for at+1 < len(s.list) && s.list[at+1].At <= middle && s.list[at+1].Warmup == i.Warmup || at+1 < len(s.list) && s.list[at].Warmup && !i.Warmup {
			at++
		}
		s.list[at].include(interval{i.Interval, values})
	}
	for i, of := range p.Steps {
		values, err := of.Values.Values()
		if err != nil {
			return err
		}
		if i < len(s.steps.list) {
			s.steps.include(i, of.Step, values)
		}
	}
	return nil
}

// absorb adds the errors of another process.
func (g *errorLog) absorb(p *Part) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n += p.Failed
	if g.first == "" {
		g.first = p.FirstError
	}
	for class, of := range p.Errors {
		if of == nil {
			continue
		}
		if g.classes == nil {
			g.classes = map[string]*errorClass{}
		}
		c := g.classes[class]
		if c == nil {
			c = &errorClass{Sample: of.Sample}
			g.classes[class] = c
		}
		c.All, c.Counted, c.Early = c.All+of.All, c.Counted+of.Counted, c.Early+of.Early
	}
}

// absorb adds the keys that another process has left locked.
func (s *stuck) absorb(p *Part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == "" {
		s.first = p.FirstStuck
	}
	for key, of := range p.Stuck {
		if of == nil {
			continue
		}
		if s.keys == nil {
			s.keys = map[int32]*stuckKey{}
		}
		if k := s.keys[key]; k == nil || k.Lasted < of.Lasted {
			s.keys[key] = of
		}
	}
}

// MaxLogs bounds the holds that a process logs for rank 0, in bytes: some 30 million.
const MaxLogs = 256 << 20

// logHold logs a hold that is over.
//
//go:noinline
func (c *client) logHold() {
	h := oracle.Hold{
		Key: int(c.key), Client: int(c.id) + c.class.before, Start: c.start, From: c.granted, To: c.sent,
		Fence: c.fence(), Crashed: c.crashed,
	}
	if c.grant.Overstays {
		h.Ends = c.leaseEnd() - clockGrain
	}
	c.holds.Add(&h)
}

// sweep looks at the holds of all processes together, from which hand-offs follow as well: a process sees those of its own keys
// only.
func (e *engine) sweep(holds []oracle.Ranked) {
	if e.oracle == nil {
		return
	}
	for _, r := range e.recorders() {
		r.Forget(results.HandoffIndex)
		r.Forget(results.RecoveryIndex)
	}
	shard := e.recorder.Borrow()
	defer e.recorder.Return(shard)
	swept, err := oracle.Sweep(holds, len(e.keys), e.from, e.until(), shard.Record)
	if err != nil {
		e.stopFor(fmt.Sprintf("the holds of all ranks cannot be compared: %v", err))
	}
	e.swept = swept
	if swept.Until < e.until() {
		e.unswept = fmt.Sprintf("holds from %s after the load began on were not compared with those of other ranks: a rank has no room for more of them",
			round(swept.Until))
	}
	e.seen.add(witnessed{Safety: results.Safety{
		Violations: swept.Certain, Overstayed: swept.Overstayed, Longest: swept.Longest, Overlap: swept.Overlap,
		FenceRegress: swept.FenceRegress, Events: swept.Events,
	}})
	// Which of the wrong grants their own processes have watched as well is not known.
	e.seen.Power.Watched = max(e.seen.Power.Watched, e.seen.Violations)
	e.seen.Possible, e.seen.Blind = swept.Possible, swept.Blind
}

// together is the verdict on all processes as generators: each is judged by itself, and one that was the limit makes the figures
// that of all. CPU time and memory are sums.
func together(ranks []results.Rank) results.Generator {
	g := ranks[0].Generator
	g.Pauses = nil
	saturated, delayed, why := 0, true, map[string][]results.Rank{}
	for i, r := range ranks {
		of := r.Generator
		if i > 0 {
			g.CPU = sumKnown(g.CPU, of.CPU)
			g.Memory += of.Memory
			g.Machine, g.Paused = max(g.Machine, of.Machine), max(g.Paused, of.Paused)
			g.GCPauses, g.GCLongest = max(g.GCPauses, of.GCPauses), max(g.GCLongest, of.GCLongest)
			g.RunQueue, g.Throttled, g.CoreWait = max(g.RunQueue, of.RunQueue), max(g.Throttled, of.Throttled), max(g.CoreWait, of.CoreWait)
		}
		g.Pauses = append(g.Pauses, of.Pauses...)
		if of.Saturated {
			saturated++
			delayed = delayed && of.Delayed
			why[r.Host] = append(why[r.Host], r)
		}
	}
	g.Saturated, g.Delayed, g.Why = saturated > 0, saturated > 0 && delayed, ""
	var texts []string
	for _, r := range ranks {
		of := why[r.Host]
		if len(of) == 0 {
			continue
		}
		delete(why, r.Host)
		text := fmt.Sprintf("rank %d", of[0].Rank)
		if len(of) > 1 {
			text += " and " + format.Plural(len(of)-1, "other")
		}
		if slices.ContainsFunc(ranks, func(o results.Rank) bool { return o.Host != r.Host }) {
			text += " on " + r.Host
		}
		texts = append(texts, text+": "+of[0].Generator.Why)
	}
	g.Why = strings.Join(texts, "; ")
	return g
}

func sumKnown(a, b float64) float64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}
