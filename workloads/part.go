// Parts: what one of several processes has measured, and how rank 0 adds those of the others to its own. Nothing is summed up
// before: histograms are added slot by slot, and every figure of the record follows from the sums, as that of one process does.

package workloads

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/oracle"
)

// Fleet is what rank 0 knows of the other processes that make the load of a trial with it.
type Fleet interface {
	// Meet waits until all processes are ready, and returns when the load begins. An error means that it does not.
	Meet(ctx context.Context) (start time.Time, err error)

	// Others returns the sum of where the others stand. It does not wait for them.
	Others() Snapshot

	// Stop makes the others stop before their time.
	Stop()

	// Gather waits for the others to end, or until ctx is done makes them, and returns their parts, and the holds of all with those
	// of rank 0, which are nil without an oracle. Processes that were lost have none. It completes the own part.
	Gather(ctx context.Context, own *Part, holds *oracle.Logs) ([]*Part, []oracle.Ranked)
}

// Part is what a process has measured of a trial. It goes to rank 0 as JSON, the log of its holds aside.
type Part struct {
	Rank  results.Rank
	Until time.Duration // the end of its window
	Cut   bool          // it was stopped before its time…
	Why   string        // …for this reason, if it has one of its own

	Figures figures
	Latency []map[results.Metric]results.Latency // of each class
	Series  []valued[results.Interval]
	Waiting []unanswered // if holders die
}

// unanswered is a wait for a key that was not over when the window closed.
type unanswered struct {
	Key   int32
	Since time.Duration
}

// valued is an interval of the series, or a step, with its values.
type valued[T any] struct {
	Of     T
	Values results.Latency
}

// Contribute runs the share of a process that is not rank 0, which begins when meet says (see Fleet), and returns its part and the
// log of its holds, which is nil without an oracle. An error means that there is nothing.
func (r *Run) Contribute(ctx context.Context, meet func(context.Context) (time.Time, error)) (*Part, *oracle.Logs, error) {
	e, err := r.load(ctx, meet)
	if err != nil {
		return nil, nil, err
	}
	return e.part(), e.holds, nil
}

// part returns what this process has measured.
func (e *engine) part() *Part {
	p := &Part{
		Until: e.until(), Cut: e.cut.Load(), Why: e.why, Figures: e.all,
	}
	for _, cl := range e.classes {
		latency := map[results.Metric]results.Latency{}
		for m, name := range results.Metrics {
			if l := cl.recorder.Latency(results.MetricIndex(m)); l.Count > 0 {
				latency[name] = l
			}
		}
		p.Latency = append(p.Latency, latency)
	}
	for _, i := range e.timeseries.list {
		p.Series = append(p.Series, valued[results.Interval]{i.Interval, i.values.Latency()})
	}
	for i := range e.clients {
		if c := &e.clients[i]; c.class.Crash > 0 && c.wants < e.until() {
			p.Waiting = append(p.Waiting, unanswered{c.key, c.start})
		}
	}
	p.Rank = e.rank()
	return p
}

// rank says who this process is, and what it was worth as a generator, by its own figures.
func (e *engine) rank() results.Rank {
	r := &results.Record{
		Plan: e.run.Plan, Elapsed: max(0, e.until()-e.from), Latency: e.latencies(),
	}
	n := e.all.Totals.Counts
	r.Counts.Offered = n.Offered * int64(max(1, e.run.Share.Ranks)) // as many as all processes together would have had
	e.fillGenerator(r)
	return results.Rank{
		Rank: e.run.Share.Rank, CPUs: e.run.Record.Env.CPUs, Clients: len(e.clients), Acquired: n.Acquired, RTT: e.rtt,
		Late: e.skew, Generator: r.Generator,
	}
}

// gather adds the parts of the other processes to what this one has measured.
func (e *engine) gather(ctx context.Context) {
	own := e.part()
	parts, holds := e.run.Fleet.Gather(ctx, own, e.holds)
	if lost := e.run.Fleet.Others().Lost; lost != "" {
		e.stopFor(lost)
	}
	end := e.until()
	for _, p := range parts {
		end = max(end, p.Until)
	}
	e.end.Store(int64(end))
	e.ticker.grantGap = results.Pause{} // meanwhile others may have been granted locks
	for _, p := range append([]*Part{own}, parts...) {
		if p != own {
			if err := e.absorb(p); err != nil {
				e.stopFor(fmt.Sprintf("the figures of rank %d make no sense: %v", p.Rank.Rank, err))
				continue
			}
		}
		e.ranks = append(e.ranks, p.Rank)
		e.all.Totals.Rest.Idle += (end - p.Until) * time.Duration(p.Rank.Clients) // who has done its share of -n has nothing more to do
	}
	e.sweep(holds)
	e.waitedForDead(append(parts, own))
}

// waitedForDead counts how long clients waited for keys whose last holder had died, of which their own process may know nothing.
func (e *engine) waitedForDead(parts []*Part) {
	e.dead.waited.Store(0)
	for _, p := range parts {
		for _, w := range p.Waiting {
			if died, dead := e.swept.Died[int(w.Key)]; dead {
				e.dead.waited.Add(int64(e.inside(max(died, w.Since), e.freed(died, e.run.Plan.Longest(spec.Lease)))))
			}
		}
	}
}

// lacksRanks reports whether some were lost, whose requests the server has figures.
func (e *engine) lacksRanks() bool { return e.ranks != nil && len(e.ranks) < e.run.Share.Ranks }

// stopFor makes the trial a partial one, for the first reason that there is.
func (e *engine) stopFor(why string) {
	e.cut.Store(true)
	if e.why == "" {
		e.why = why
	}
}

// absorb adds a part. An error leaves figures that are no longer of use.
func (e *engine) absorb(p *Part) error {
	if n := len(e.classes); len(p.Latency) != n || len(p.Figures.Classes) != n {
		return fmt.Errorf("it has not %d classes of clients", n)
	}
	for i, cl := range e.classes {
		shard := cl.recorder.Borrow()
		defer cl.recorder.Return(shard)
		for m, name := range results.Metrics {
			if err := shard.Add(results.MetricIndex(m), p.Latency[i][name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if err := e.timeseries.absorb(p); err != nil {
		return err
	}
	results.Add(&e.all, p.Figures)
	if p.Cut {
		e.cut.Store(true)
		e.why = cmp.Or(e.why, p.Why)
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
		at, middle := 0, i.Of.At+i.Of.Length/2
		for ; at+1 < len(s.list); at++ {
			next := s.list[at+1]
			if (next.At > middle || next.Warmup != i.Of.Warmup) && (i.Of.Warmup || !s.list[at].Warmup) {
				break
			}
		}
		s.list[at].include(interval{i.Of, values})
	}
	return nil
}

// MaxLogs bounds the holds that all processes of a load log, in bytes: some 30 million. Rank 0 keeps them all.
const MaxLogs = 256 << 20

// LogLimit returns the share of MaxLogs that each of so many processes has.
func LogLimit(processes int) int64 { return MaxLogs / int64(processes) }

// logHold logs a hold that is over.
//
//go:noinline
func (c *client) logHold() {
	h := oracle.Hold{
		Key: int(c.key), Client: int(c.id) + c.class.before, Start: c.start, From: c.granted, To: c.sent,
		Fence: c.fence(), Crashed: c.crashed, Counted: c.grant.Counted,
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
	lease := e.freed(0, e.run.Plan.Longest(spec.Lease))
	e.dead.locked.Store(0) // this process saw some of the grants that end it
	record := func(m results.MetricIndex, d time.Duration) {
		if shard.Record(m, d); m == results.RecoveryIndex {
			e.dead.locked.Add(int64(min(d, lease)))
		}
	}
	if e.run.Plan.Shared {
		record = func(results.MetricIndex, time.Duration) {}
	}
	swept, err := oracle.Sweep(holds, len(e.keys), e.from, e.until(), record, e.timeseries.violated)
	if err != nil {
		e.stopFor(fmt.Sprintf("the holds of all ranks cannot be compared: %v", err))
	}
	if e.run.Plan.Shared {
		swept.Changes, swept.LongestRun = 0, 0
	}
	e.swept = swept
	if swept.Until < e.until() {
		e.unswept = fmt.Sprintf("holds from %s after the load began on were not compared with those of other ranks: a rank has no room for more of them",
			format.Duration(swept.Until))
	}
	s := &e.all.Seen.Safety
	results.Add(s, swept.Safety)
	s.Power.Watched = max(s.Power.Watched, s.Violations) // which of them their own processes have watched as well is not known
}

// together is the verdict on all processes as generators: each is judged by itself, and one that was the limit makes the figures
// that of all. CPU time and memory are sums.
func together(ranks []results.Rank) results.Generator {
	g := ranks[0].Generator
	for _, r := range ranks[1:] {
		results.Add(&g, r.Generator)
		if results.LengthOf(r.Generator.Pauses) > results.LengthOf(g.Pauses) {
			g.Pauses = r.Generator.Pauses
		}
	}
	g.Delayed = g.Saturated && !slices.ContainsFunc(ranks, func(r results.Rank) bool {
		return r.Generator.Saturated && !r.Generator.Delayed
	})
	why := map[string][]results.Rank{}
	for _, r := range ranks {
		if r.Generator.Saturated {
			why[r.Host] = append(why[r.Host], r)
		}
	}
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
