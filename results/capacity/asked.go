package capacity

// The rate that is asked for: whether a candidate carries it, and what kept that from being known.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	moremath "github.com/aclements/go-moremath/stats"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/stats"
)

// mayLack is the share of the arrivals that a trial may lack and still be one at its rate.
const mayLack = 0.02

// isAsked reports whether a trial was at the rate that is asked for.
func (t *track) isAsked(o *observed) bool { return t.asked > 0 && equal(o.rate, t.asked) }

// saturated reports whether lockbench or its machine was the limit of a trial.
func (o *observed) saturated() bool { return strings.HasPrefix(o.left, leftSaturated) }

// shows reports whether a trial counts, or shows that the rate that is asked for is carried at the least: though the machine was the
// limit, it kept the SLO.
func (t *track) shows(o *observed) bool {
	return o.left == "" || t.isAsked(o) && o.saturated() && t.keeps(o)
}

// worked returns the trials at rates from low to high that made their arrivals, also those in which the machine was the limit:
// a lock that keeps its objectives there carries the rate at the least.
func (t *track) worked(low, high float64) []observed {
	return slices.DeleteFunc(slices.Clone(t.trials), func(o observed) bool {
		return o.left != "" && !o.saturated() || above(low, o.rate) || above(o.rate, high)
	})
}

// atAsked returns those at the rate that is asked for.
func (t *track) atAsked() []observed {
	if t.asked == 0 {
		return nil
	}
	return t.worked(t.asked, t.asked)
}

// carries reports whether enough trials at the rate that is asked for, or with those of a confirmation above it, kept the
// objectives together. Where no fit claims the rate, since the machine was the limit, they have to do so beyond chance.
func (t *track) carries() bool {
	if t.asked == 0 {
		return t.state == confirmed
	}
	all := t.atAsked()
	if len(all) < confirmTrials && t.state == confirmed {
		all = t.worked(t.asked, t.confirm.rate)
	}
	if len(all) < confirmTrials {
		return false
	}
	if sum := pool(all); !above(t.asked, t.claim()) {
		return t.keeps(&sum)
	}
	all = all[:min(looks, len(all)/confirmTrials)*confirmTrials]
	return t.madeArrivals(all) && t.keepsBeyondChance(all)
}

// looks is how often saturated trials are judged: when there are enough of them for the first time, and with twice as many. Who looks
// after each trial finds what he wants by chance.
const looks = 2

// madeArrivals reports whether trials had as many arrivals as the rate that is asked for makes, but for chance.
func (t *track) madeArrivals(all []observed) bool {
	window := 0.0
	for _, o := range all {
		window += o.record.Elapsed.Seconds()
	}
	due := t.q.Rate * window
	return float64(pool(all).arrivals) >= (1-mayLack)*due-3*math.Sqrt(due)
}

// keepsBeyondChance reports whether the shares of late arrivals and of errors that the objectives allow are above the intervals of those
// in several trials together. Late arrivals come together, while a queue is long. So the intervals are as wide as the scatter of the
// trials asks for, and at least as if the arrivals of one relaxation time were all late or all in time: few trials show no scatter if
// long queues are rare. They are widened for the number of candidates and looks (Bonferroni), so that at most one plan in 40 claims
// too much.
func (t *track) keepsBeyondChance(all []observed) bool {
	sum, of := pool(all), float64(len(all)-1)
	chance := 0.05 / float64(looks*max(1, len(t.q.Candidates)))
	wider := func(quantile float64) float64 { return quantile * quantile / (1.96 * 1.96) }
	normal, student := wider(math.Sqrt2*math.Erfinv(1-chance)), wider(moremath.InvCDF(moremath.TDist{V: of})(1-chance/2))
	if slo := t.q.SLO; slo.HasErrors && sum.failed > 0 && interval(sum.failed, sum.arrivals, normal).High > slo.Errors {
		return false
	}
	together := max(1, t.asked*t.c.Shares[0]*t.c.relaxation(t.asked, t.occupied()))
	for i, objective := range t.q.SLO.Objectives {
		p, scatter := sum.share(i), 0.0
		for _, o := range all {
			off := float64(o.late[i]) - p*float64(o.arrivals)
			scatter += off * off / max(1e-9, p*(1-p)*float64(o.arrivals)) / of
		}
		if interval(sum.late[i], sum.arrivals, max(normal*together, student*max(1, scatter))).High > objective.Allowed() {
			return false
		}
	}
	return t.keeps(&sum)
}

// pool returns the arrivals of several trials as those of one.
func pool(all []observed) (sum observed) {
	sum.late = make([]int64, len(all[0].late))
	for _, o := range all {
		sum.arrivals += o.arrivals
		sum.failed += o.failed
		for i, late := range o.late {
			sum.late[i] += late
		}
	}
	return sum
}

// responses returns the response of all trials at the rate that is asked for, at the quantile of each objective; nil if there
// was none.
func (t *track) responses() (list []time.Duration) {
	all := t.atAsked()
	if len(all) == 0 {
		return nil
	}
	sum, err := all[0].record.Latency[results.Response].Histogram()
	for _, o := range all[1:] {
		h, wrong := o.record.Latency[results.Response].Histogram()
		if err = cmp.Or(err, wrong); err == nil {
			sum.Merge(h)
		}
	}
	if err != nil {
		return nil // never: a trial whose histogram cannot be read is partial
	}
	for _, objective := range t.q.SLO.Objectives {
		list = append(list, results.Quantile(sum, objective.Quantile))
	}
	return list
}

// neighbours returns how many cores of those of lockbench other programs used during a trial; negative if that is not known.
func neighbours(r *results.Record) float64 {
	if l := r.Limit(); !l.Mixed {
		return l.Others
	}
	return -1
}

// disturbed reports whether other programs kept the machine busy. Bursts use all of it for a moment and nothing between.
func disturbed(r *results.Record) bool {
	used := neighbours(r)
	return used > 0 && used >= neighbourShare*float64(r.Env.CPUs) && longestBurst(&r.Plan) == 0
}

// crowded says in words that other programs used many of the cores in most trials; empty if they did not.
func (t *track) crowded() string {
	var used []float64
	cores := 0
	for _, o := range t.trials {
		if disturbed(o.record) {
			used = append(used, neighbours(o.record))
			cores = o.record.Env.CPUs
		}
	}
	if 2*len(used) <= len(t.trials) {
		return ""
	}
	return fmt.Sprintf("other programs used %s of this machine's %s", format.Three(stats.Of(used).Median), format.Plural(cores, "core"))
}

// tooSmall says that the machine is, with what it carried and what would be enough.
func (t *track) tooSmall() (why, remedy string) {
	why, remedy = "this machine is too small for the question", "use a larger machine"
	last := t.trials[len(t.trials)-1].record
	if n := last.Env.CPUs; n > 0 {
		why += fmt.Sprintf(": with its %s it carried ", format.Plural(n, "core"))
	} else {
		why += ": it carried "
	}
	switch least := max(t.claim(), t.least()); {
	case least <= 0:
		why += "no rate that was tried"
	case least < t.q.Rate:
		why += format.Three(least) + "/s"
	default:
		why += format.Three(t.q.Rate) + "/s in some trials only"
	}
	if n := t.cores(); n > 0 {
		remedy = "use " + format.Plural(n, "core")
	}
	if last.Server.Kind == "private" {
		remedy += ", or a server on a machine of its own"
	}
	return why, remedy
}

// cores returns how many the rate that is asked for takes, by the trial in which an arrival took the least of them; 0 if that is
// not known.
func (t *track) cores() int {
	const full = 0.9 // beyond it, what shares the cores takes time from each other
	each := math.Inf(1)
	for _, o := range t.trials {
		used := o.record.Generator.CPU
		if used <= 0 || o.arrivals == 0 || o.record.Elapsed <= 0 {
			continue
		}
		if o.record.Server.Kind == "private" {
			used += o.record.Limit().ServerCores
		}
		each = min(each, used*o.record.Elapsed.Seconds()/float64(o.arrivals))
	}
	if math.IsInf(each, 1) || t.q.Rate == 0 {
		return 0
	}
	return max(t.trials[0].record.Env.CPUs+1, int(math.Ceil(t.q.Rate*each/full)))
}

// serverFull reports whether the server used up the cores that it can use, and that is no matter of the machine: a faster
// lockbench would find the same server.
func serverFull(r *results.Record) bool {
	const full = 0.9
	l := r.Limit()
	own := r.Server.Kind == "external" || l.CoresOf == float64(max(1, r.Plan.Nodes))
	return own && l.CoresOf > 0 && l.ServerCores >= full*l.CoresOf
}

// fullServer says that the server was the limit of trials that broke the objectives; empty if it was not.
func (t *track) fullServer() string {
	broke, full, used := 0, 0, results.Limit{}
	for _, o := range t.counted() {
		if t.keeps(&o) {
			continue
		}
		if broke++; serverFull(o.record) {
			full++
			used = o.record.Limit()
		}
	}
	if 2*full <= broke {
		return ""
	}
	return fmt.Sprintf("beyond that its server used %s of the %s that it can use", format.Three(used.ServerCores), format.Plural(int(used.CoresOf), "core"))
}
