package capacity

// The result of one trial: how many of the arrivals were late or failed, or why the trial does not count.

import (
	"cmp"
	"math"
	"time"

	"github.com/lockbench/lockbench/results"
)

// QueueGrew is the Partial of a record whose trial was stopped since it broke Trial.QueueLimit. It counts as one
// with more late arrivals than any objective allows.
const QueueGrew = "stopped: more arrivals waited than the objective allows, and their number grew"

const (
	// mayLack is the share of the arrivals that a trial may lack, beside chance.
	mayLack = 0.02
	// lagShare is the part of an objective's limit that a late generator may take of it, for 1 % of the arrivals.
	lagShare = 0.1
	// neighbourShare is the part of the cores that others may use: beyond it the figures are those beside them.
	neighbourShare = 0.2
	// mostly is the part of the cores that lockbench and its server use if the machine is too small for them.
	mostly = 0.5
	// full is the part of its cores from which a server has none left.
	full = 0.9
)

// goal is a condition on the arrivals: one of the SLO's objectives, or that few fail.
type goal struct {
	Objective
	failures bool // what fails breaks it. Limit is the patience then, at the end of which arrivals fail; 0: they have time
}

// goals returns those of all trials, that of failures last.
func (q *Question) goals() (list []goal) {
	for _, o := range q.SLO.Objectives {
		list = append(list, goal{Objective: o})
	}
	if q.SLO.HasErrors {
		list = append(list, goal{Objective{1 - q.SLO.Errors, q.load().Longest(timeout)}, true})
	}
	return list
}

// tally is how many arrivals broke a goal, of those that it is about.
type tally struct{ broke, of int64 }

func (n tally) share() float64 { return float64(n.broke) / float64(max(1, n.of)) }

// interval returns the share with its 95 % interval (Wilson 1927).
func (n tally) interval() Range {
	if n.of == 0 {
		return Range{High: 1}
	}
	const z = normal95
	p, of := n.share(), float64(n.of)
	mid, half := p+z*z/(2*of), z*math.Sqrt(p*(1-p)/of+z*z/(4*of*of))
	r := Range{Low: (mid - half) / (1 + z*z/of), Mid: p, High: min(1, (mid+half)/(1+z*z/of))}
	if n.broke == 0 {
		r.Low = 0 // without what is left by rounding
	}
	return r
}

// observed is one trial of a candidate.
type observed struct {
	stage    Stage
	level    float64
	record   *results.Record
	arrivals int64         // all of them
	granted  float64       // share of those that were not refused
	tallies  []tally       // of each goal
	fast     time.Duration // what one grant in ten took at most: nearly no wait in line, at a low level
	left     Reason        // why it does not count; empty if it does
}

// observe reads a record of a trial of t.
//
// An arrival that finds its key taken and goes (TryOnly) is answered, and its time is in no response: lateness is
// judged of those that were to be granted. What never returns is late; what fails is, too, unless the failures have a
// limit of their own. Of those that would have been refused it is as large a part as of the others.
func (t *track) observe(r *results.Record) observed {
	o := observed{stage: t.stage(), level: t.tidy(t.q.Level(&r.Plan)), record: r, granted: 1}
	var granted, refused, failed, open int64
	took := 0.0 // seconds, by all whose time is known
	add := func(n results.Counts, l map[results.Metric]results.Latency) {
		granted, refused, open = granted+n.Acquired, refused+n.Contended, open+n.Unfinished
		failed += n.Impatient() + n.Unknown + n.Refused + n.Dropped
		took += total(l[figures[t.q.Axis]]) + total(l[results.Refusal])
	}
	if len(r.Classes) == 0 {
		add(r.Counts, r.Latency)
	}
	for i, c := range r.Classes {
		if i < len(r.Plan.Classes) && r.Plan.Classes[i].Open() { // beside which others may be closed loops
			add(c.Counts, c.Latency)
		}
	}
	if granted+refused > 0 {
		o.granted = float64(granted) / float64(granted+refused)
	}
	lost := unreturned(r, open, took, math.MaxInt64)
	o.arrivals = granted + refused + failed + lost
	hist, err := r.Latency[figures[t.q.Axis]].Histogram()
	for _, g := range t.goals {
		if g.failures {
			o.tallies = append(o.tallies, tally{failed + lost, o.arrivals})
			continue
		}
		late := unreturned(r, open, took, g.Limit)
		if !t.q.SLO.HasErrors {
			late += failed
		}
		broke := int64(math.Round(float64(late) * o.granted))
		n := tally{broke, granted + broke}
		for value, times := range hist.ForEachBucket {
			if value > int64(g.Limit) {
				n.broke += times
			}
		}
		n.broke = min(n.broke, n.of)
		o.tallies = append(o.tallies, n)
	}
	switch {
	case r.Partial != "" && r.Partial != QueueGrew:
		o.left = Reason{Code: Partial, Text: r.Partial}
	case err != nil || o.tallies[0].of == 0:
		o.left = Reason{Code: Partial, Text: "no arrival was granted"}
	default:
		o.fast, o.left = results.Quantile(hist, 0.1), t.leftOut(&o)
	}
	return o
}

// unreturned returns how many of the arrivals that had no answer when the window closed are late by a limit. Each of
// the last burst is, if the limit had passed. Of others as many are under way as the times tell that all together have
// taken: by Little's law, that is their mean number. All beyond are late, unless chance explains them: the number of a
// Poisson distribution deviates by the root of its mean.
func unreturned(r *results.Record, unfinished int64, took float64, limit time.Duration) int64 {
	if every := r.Plan.Longest(burst); every > 0 && cmp.Or(r.Elapsed%every, every) >= limit { // bursts come with the window
		return unfinished
	}
	mean := took / max(1e-9, r.Elapsed.Seconds())
	if beyond := float64(unfinished) - mean; beyond > 2*math.Sqrt(mean+1) {
		return int64(math.Round(beyond))
	}
	return 0
}

// leftOut returns why a trial does not count although it ran: the machine was the limit, and it broke the goals, or had
// too few arrivals. A lock that keeps them on such a machine carries the level at the least. A server that has used up
// its cores is no matter of the machine: a faster one would find the same server.
func (t *track) leftOut(o *observed) Reason {
	r := o.record
	_, lag := r.Latency[results.Lag].Tail()
	_, sent := r.Latency[results.Worker].Tail()
	tolerable := time.Duration(lagShare * float64(t.q.SLO.Objectives[0].Limit))
	delayed := r.Generator.Delayed && max(r.Generator.RunQueue, sent) <= tolerable
	limited := (lag > tolerable || r.Generator.Saturated && !delayed) && fullServer(r).Code == ""
	due := Offered(&r.Plan) * r.Elapsed.Seconds()
	if !limited || t.keeps(o) && float64(o.arrivals) >= (1-mayLack)*due-3*math.Sqrt(due) {
		return Reason{}
	}
	return usedBy(r, lag)
}

// usedBy returns who used the largest share of lockbench's machine. If most of it was free, that lockbench was late is
// a matter of the moment, as when a burst is sent.
func usedBy(r *results.Record, lag time.Duration) Reason {
	l, of := r.Limit(), float64(r.Env.CPUs)
	own, others := max(0, r.Generator.CPU), l.Others
	if !r.Server.Elsewhere() {
		own += max(0, l.ServerCores)
	}
	if l.Mixed {
		others = 0
	}
	switch {
	case others > max(own, l.Stolen):
		return Reason{Code: Others, Cores: others, Of: of}
	case l.Stolen > own:
		return Reason{Code: Host, Cores: l.Stolen, Of: of}
	case own < mostly*of && r.Generator.Quota == 0:
		return Reason{Code: Slow, Time: lag, Cores: own, Of: of}
	}
	return Reason{Code: Machine, Cores: own, Of: of}
}

// fullServer returns that the server used up the cores that it can use; empty if it did not.
func fullServer(r *results.Record) Reason {
	l := r.Limit()
	own := r.Server.Kind == "external" || l.CoresOf == float64(max(1, r.Plan.Nodes))
	if own && l.CoresOf > 0 && l.ServerCores >= full*l.CoresOf {
		return Reason{Code: ServerFull, Cores: l.ServerCores, Of: l.CoresOf}
	}
	return Reason{}
}

// pool returns the arrivals of several trials as those of one.
func (t *track) pool(all []observed) observed {
	sum := observed{tallies: make([]tally, len(t.goals))}
	for _, o := range all {
		for i, n := range o.tallies {
			sum.tallies[i].broke += n.broke
			sum.tallies[i].of += n.of
		}
	}
	return sum
}
