package capacity

// The result of one trial: how many arrivals were late, or why the trial does not count.

import (
	"fmt"
	"math"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// QueueGrew is the Partial of a record whose trial was stopped since it broke Trial.QueueLimit. It counts as one
// with more late arrivals than any objective allows.
const QueueGrew = "stopped: more arrivals waited than the objective allows, and their number grew"

const (
	// backlogShare is the share of the arrivals that may wait for a client.
	backlogShare = 0.01
	// lagShare is the part of an objective's limit that a late generator may take of it, for 1 % of the arrivals.
	lagShare = 0.1
)

// Why a trial does not count. Reasons of a record's own come behind the colon.
const (
	leftPartial   = "partial"
	leftClients   = "too few clients"
	leftSaturated = "generator-limited"
)

// observed is one trial of a candidate.
type observed struct {
	stage    Stage
	rate     float64 // arrivals a second that were asked for
	record   *results.Record
	arrivals int64
	late     []int64 // of each objective
	failed   int64
	fast     time.Duration // what one response in ten took at most: nearly no wait in line, at a low rate
	left     string        // why it does not count; empty if it does
}

// share returns the share of late arrivals, by the i-th objective.
func (o *observed) share(i int) float64 { return share(o.late[i], o.arrivals) }

func share(n, of int64) float64 { return float64(n) / float64(max(1, of)) }

// observe reads a record of a trial of c.
func observe(slo SLO, c *Candidate, stage Stage, r *results.Record) observed {
	o := observed{stage: stage, rate: Offered(&r.Plan), record: r, late: make([]int64, len(slo.Objectives))}
	counts := openCounts(r)
	o.failed = counts.Impatient() + counts.Unknown + counts.Refused + counts.Dropped
	o.arrivals = counts.Acquired + counts.Contended + o.failed
	hist, err := r.Latency[results.Response].Histogram()
	if err != nil {
		o.left = leftPartial + ": its histogram cannot be read"
		return o
	}
	unanswered := make([]int64, len(o.late))
	for i, objective := range slo.Objectives {
		unanswered[i] = max(0, counts.Unfinished-underWay(r, o.rate, objective.Limit))
		o.late[i] = o.failed + unanswered[i]
	}
	o.fast = results.Quantile(hist, 0.1)
	for value, n := range hist.ForEachBucket {
		for i, objective := range slo.Objectives {
			if value > int64(objective.Limit) {
				o.late[i] += n
			}
		}
	}
	o.arrivals += unanswered[len(unanswered)-1]
	for i := range o.late {
		o.late[i] = min(o.late[i], o.arrivals)
	}
	o.left = leftOut(slo, c, &o)
	return o
}

// underWay returns how many arrivals may have no answer when a window closes without one being late: by Little's law as many as come
// in the time of a mean response, with what chance adds, and those of a burst. They are no more than come in the time that an answer
// may take.
func underWay(r *results.Record, rate float64, limit time.Duration) (most int64) {
	of := func(d time.Duration) float64 {
		mean := rate * d.Seconds()
		return mean + 3*math.Sqrt(mean) + 1
	}
	// The number in an M/M/1 queue deviates by about its mean, which comes to three deviations more.
	most = int64(min(of(limit), of(4*r.Latency[results.Response].Mean)))
	for _, g := range r.Plan.Groups() {
		if g.Burst > 0 {
			most += int64(g.Clients)
		}
	}
	return most
}

// openCounts returns the outcomes of the arrivals, without the classes that are closed loops.
func openCounts(r *results.Record) results.Counts {
	if len(r.Classes) == 0 {
		return r.Counts
	}
	var sum results.Counts
	for i, g := range r.Plan.Groups() {
		if !g.Open() || i >= len(r.Classes) {
			continue
		}
		n := r.Classes[i].Counts
		sum.Acquired += n.Acquired
		sum.Contended += n.Contended
		sum.TimedOut += n.Impatient()
		sum.Unknown += n.Unknown
		sum.Refused += n.Refused
		sum.Dropped += n.Dropped
		sum.Unfinished += n.Unfinished
	}
	return sum
}

// leftOut returns why a trial does not count.
func leftOut(slo SLO, c *Candidate, o *observed) string {
	r := o.record
	last := len(slo.Objectives) - 1
	_, lag := r.Latency[results.Lag].Tail()
	_, sent := r.Latency[results.Worker].Tail()
	tolerable := time.Duration(lagShare * float64(slo.Objectives[0].Limit))
	switch {
	case r.Partial != "" && r.Partial != QueueGrew:
		return leftPartial + ": " + r.Partial
	case o.arrivals == 0:
		return leftPartial + ": no arrival was answered"
	case !c.FixedClients && r.Backlogged() >= backlogShare && o.share(last) < censored(slo.Strictest().Allowed()) && r.Plan.Clients < maxClients:
		return fmt.Sprintf("%s: %s of the arrivals found all %s busy", leftClients, format.Percent(r.Backlogged()), format.Count(r.Plan.Clients))
	case serverFull(r): // whatever else was busy
	case r.Generator.Saturated && !(r.Generator.Delayed && max(r.Generator.RunQueue, sent) <= tolerable):
		return leftSaturated + ": " + r.Generator.Why
	case lag > tolerable:
		return fmt.Sprintf("%s: arrivals began late though a client was free: p99 %s", leftSaturated, format.Duration(lag))
	}
	return ""
}
