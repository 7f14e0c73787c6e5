// The verdict on lockbench itself: whether it or its machine limited the figures.

package workloads

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
)

const (
	// saturatedShare is the share of the cores from which lockbench itself is called the limit.
	saturatedShare = 0.90
	// busyShare is the same for the whole machine: beyond it, those that share it take time from each other.
	busyShare = 0.97
	// pausedShare is the share of the window that the garbage collector may stop lockbench for. Beyond 1 % p99 is the
	// collector's. go-redis, which allocates most, comes to 0.3 to 0.7 % on two busy cores.
	pausedShare = 0.01
	// lateLag is the lag of an open loop (p99) that is beyond what timers and wake-ups cost on a healthy machine; the
	// pacer alone stays below a tenth of it. It matters if it is also more than lagShare of the median response, of which
	// it is a part. The same holds for the lateness of the workers of batches, of which lagShare is one of the time of all
	// requests and holds.
	lateLag  = time.Millisecond
	lagShare = 0.10
	// shortfall is the share of the arrivals that may be missing before the machine is said not to reach the rate.
	shortfall = 0.01
	// longQueue is the wait for a processor (p99 over all goroutines) that counts, if the median acquisition takes no
	// longer: clients of a pipelined connection are woken a batch at a time, and the last of them waits for the others.
	longQueue = time.Millisecond
	// throttledShare is the share of the window for which a quota may stop lockbench, for the same reason as pausedShare.
	throttledShare = 0.01
	// starvedRatio is how many times as long as its threads ran they may have waited for a core, and starvedShare the share
	// of the window that this must come to before it counts. Clients that share two cores with their server wait up to 1.7
	// times as long as they run, since threads wait for each other as well.
	starvedRatio = 2
	starvedShare = 0.05
)

// fillGenerator is the verdict on lockbench itself.
func (e *engine) fillGenerator(r *results.Record) {
	if e.ranks != nil {
		r.Generator = together(e.ranks)
		return
	}
	judgeGenerator(r, &e.before, &e.after)
	if e.after.at > e.before.at {
		r.Generator.Pauses, r.Generator.Paused = e.ticker.pauses, e.ticker.paused
	}
}

// judgeGenerator is what two readings say of it.
func judgeGenerator(r *results.Record, before, after *reading) {
	g := &r.Generator
	*g = results.Generator{CPU: -1, Machine: -1, Throttled: -1, CoreWait: -1, GCPauses: after.pauses - before.pauses}
	wall := after.at - before.at
	if wall <= 0 {
		return
	}
	if before.cpu >= 0 {
		g.CPU = (after.cpu - before.cpu).Seconds() / wall.Seconds()
	}
	if capacity := after.capacity - before.capacity; capacity > 0 { // idle times may run backwards (proc(5))
		g.Machine = min(1, max(0, (after.busy-before.busy)/capacity))
		g.Stolen = min(g.Machine, max(0, (after.stolen-before.stolen)/capacity))
	}
	sent, already := after.sent[0], before.sent[1]
	if writes := sent.Writes - already.Writes; writes > 0 {
		g.PerWrite = float64(sent.Requests-already.Requests) / float64(writes)
	}
	g.Memory = after.runtime.Memory
	g.GCLongest = after.runtime.Pauses.Since(before.runtime.Pauses).Quantile(1)
	g.Quota, g.Throttled, g.CoreWait = after.quota.Quota, after.quota.Since(before.quota), after.delay.Since(before.delay)
	g.RunQueue = after.runtime.Queue.Since(before.runtime.Queue).Quantile(0.99)
	limits, delays := saturationReasons(r, wall, runtime.GOMAXPROCS(0)), delayReasons(r)
	if text := outsideReason(r, before, after); text != "" {
		limits = append(limits, text)
	}
	why := append(limits, delays...)
	g.Saturated, g.Why, g.Delayed = len(why) > 0, strings.Join(why, "; "), len(limits) == 0 && len(delays) > 0
}

// saturationReasons returns the reasons to think that the figures of r are lockbench's limit or the machine's, but for those of
// delayReasons.
func saturationReasons(r *results.Record, wall time.Duration, procs int) (why []string) {
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	g := &r.Generator
	switch {
	case g.CPU >= saturatedShare*float64(procs):
		say("lockbench used %s of its %d cores", format.Three(g.CPU), procs)
	case g.Machine >= busyShare:
		stolen := map[bool]string{true: ", " + format.Percent(g.Stolen) + " stolen by its host"}[g.Stolen >= shortfall]
		say("machine %s busy%s, lockbench %s of %d cores", format.Percent(g.Machine), stolen, format.Three(g.CPU), procs)
	}
	switch ran := time.Duration(g.CPU * float64(wall)); {
	case float64(g.Throttled) >= throttledShare*float64(wall):
		quota := "its CPU quota"
		if g.Quota > 0 {
			quota += " of " + format.Three(g.Quota) + " cores"
		}
		say("%s stopped it for %s of the time", quota, format.Percent(min(1, float64(g.Throttled)/float64(wall))))
	case ran >= 0 && g.CoreWait >= starvedRatio*ran && float64(g.CoreWait) >= starvedShare*float64(wall):
		say("starved: its threads waited %s for a core and ran %s", format.Duration(g.CoreWait), format.Duration(ran))
	}
	if share := float64(g.GCPauses) / float64(wall); share >= pausedShare {
		say("garbage collection stopped it for %s of the time, at most %s", format.Percent(share), format.Duration(g.GCLongest))
	}
	if due, slack := arrivalsDue(r); due > 0 && float64(r.Counts.Offered) < due-slack {
		say("too slow for this rate: %s of %s arrivals", format.Count(r.Counts.Offered), format.Count(int64(due)))
	}
	return why
}

// outsideReason says which part of the limit the processes outside are that have the sessions; empty if none.
func outsideReason(r *results.Record, before, after *reading) string {
	g, all := &r.Generator, 0.0
	for i, cpu := range after.outside {
		if i < len(before.outside) {
			share := (cpu - before.outside[i]).Seconds() / (after.at - before.at).Seconds()
			g.Outside, all = max(g.Outside, share), all+share
		}
	}
	switch {
	case g.OneCore():
		return fmt.Sprintf("a process of %s used %s cores", r.Plan.Driver, format.Three(g.Outside))
	case all > 0 && g.CPU >= saturatedShare*float64(runtime.GOMAXPROCS(0)):
		return fmt.Sprintf("%s used %s of these", r.Plan.Driver, format.Three(all))
	}
	return ""
}

// delayReasons returns those that are delays within lockbench, which a response includes.
func delayReasons(r *results.Record) (why []string) {
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	lag, response, worker := r.Latency[results.Lag], r.Latency[results.Response], r.Latency[results.Worker]
	lags, by := lag.Tail()
	sends, behind := worker.Tail()
	late := by > lateLag && float64(by) > lagShare*float64(response.P50)
	if behind > lateLag && workerShare(r) > lagShare || late && 2*behind > by {
		say("its workers sent requests late: mean %s, %s %s", format.Duration(worker.Mean), sends, format.Duration(behind))
	} else if late {
		say("arrivals began late though a client was free: %s %s", lags, format.Duration(by))
	}
	if acquire := r.Latency[results.Acquire]; acquire.P50 > 0 && r.Generator.RunQueue >= longQueue && r.Generator.RunQueue >= acquire.P50 {
		say("its goroutines waited for a processor: p99 %s, acquire p50 %s",
			format.Duration(r.Generator.RunQueue), format.Duration(acquire.P50))
	}
	return why
}

// workerShare returns by how much the workers of batches were late, as a share of the time of all requests and holds.
func workerShare(r *results.Record) float64 {
	whole := 0.0
	total := func(m results.Metric) float64 { return float64(r.Latency[m].Count) * float64(r.Latency[m].Mean) }
	for _, m := range []results.Metric{results.Acquire, results.Refusal, results.Hold, results.Release} {
		whole += total(m)
	}
	if whole == 0 {
		return 0
	}
	return total(results.Worker) / whole
}

// arrivalsDue returns how many arrivals the plan of an open loop wants in the window, and how many may be missing without
// anybody being to blame: a Poisson process of n arrivals has a standard deviation of √n, and a window may be a burst short
// of its share. It is 0 in a closed loop, and where it cannot be told: of steps that were not gone through to the end, and of
// a number of operations, after which nothing comes any more while the last ones are served.
func arrivalsDue(r *results.Record) (due, slack float64) {
	if r.Plan.Ops > 0 {
		return 0, 0
	}
	variance := 0.0
	for _, g := range r.Plan.Groups() {
		if !g.Open() {
			continue
		}
		if g.Burst > 0 {
			due += g.BurstRate() * r.Elapsed.Seconds()
			slack += float64(g.Clients)
			continue
		}
		of := g.Rate.Mean(r.Elapsed) * r.Elapsed.Seconds()
		due += of
		if g.Arrival == spec.Poisson {
			variance += of
		}
	}
	return due, slack + 1 + shortfall*due + 5*math.Sqrt(variance)
}

// fillSteady compares the halves of the window, unless the plan itself makes them differ: a rate that changes, or bursts
// that lie in some seconds and not in others.
func (e *engine) fillSteady(r *results.Record) {
	for _, g := range r.Plan.Groups() {
		if g.Burst > 0 || g.Rate.Over > 0 {
			return
		}
	}
	r.Steady = stats.Steady(r.Series)
}
