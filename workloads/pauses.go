// Warnings of pauses of lockbench itself, and of times without a grant.

package workloads

import (
	"fmt"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

const (
	// stoppedShare of the window in which lockbench was stopped, if it is minStopped or more, makes a trial less than a
	// whole one. A busy machine keeps a process for 0.1 s now and then. Where it was starved, as on any machine that has too
	// much to do, the verdict on the generator says so.
	stoppedShare = 0.10
	minStopped   = 500 * time.Millisecond

	// longGrantGap is a time without a grant that is worth a word, if it is also grantGapFactor times as long as it is from one
	// grant to the next on average, and twice as long as holds, pauses and bursts may keep all clients busy.
	longGrantGap   = time.Second
	grantGapFactor = 20
)

// pauseWarning returns when lockbench itself did not run, and what that explains; empty if it always ran.
//
// Violations that a pause explains stay violations, with their exit code: the lock did lose its exclusion, as each lease does
// whose holder stops for longer than it lasts, and a record cannot tell a lock that failed by the pause from one that failed
// during it. But it was lockbench that made its clients stop, and a reader of the violations must read that first.
func pauseWarning(r *results.Record) string {
	pauses := r.Generator.Pauses
	if len(pauses) == 0 {
		return ""
	}
	longest, sum, starved := pauses[0], time.Duration(0), 0
	for _, p := range pauses {
		sum += p.Length
		if p.Starved {
			starved++
		}
		if p.Length > longest.Length {
			longest = p
		}
	}
	text := fmt.Sprintf("lockbench itself did not run for %s, from %s after the load began", round(longest.Length), round(longest.At))
	if len(pauses) > 1 {
		text = fmt.Sprintf("lockbench itself did not run for %s in all, in %d pauses, the longest of %s from %s after the load began",
			round(sum), len(pauses), round(longest.Length), round(longest.At))
	}
	switch starved {
	case 0:
		text += " (stopped or suspended)"
	case len(pauses):
		text += " (starved of CPU time)"
	default:
		text += " (stopped, suspended or starved of CPU time)"
	}
	text += ": latencies have it in them"
	ttl, leased := shortestLease(r)
	if !leased || longest.Length < ttl/2 {
		return text
	}
	text += fmt.Sprintf(", and leases of %s ended meanwhile", ttl)
	if near := duringPauses(r, ttl); near > 0 {
		which := fmt.Sprintf("%d of %s", near, format.Plural(r.Safety.Violations, "violation"))
		switch {
		case near == r.Safety.Violations && near == 1:
			which = "the violation"
		case near == r.Safety.Violations:
			which = "all " + format.Plural(near, "violation")
		}
		text += fmt.Sprintf("; %s came in such a pause or within a lease's time after it, which is what any lease does whose holder "+
			"stops that long, and nothing else against the lock", which)
	}
	if lost := r.Counts.Lost + r.Counts.LostRenewal; lost > 0 {
		text += fmt.Sprintf("; %s lost in this run", format.Plural(lost, "lock"))
	}
	return text
}

// shortestLease returns the shortest of the plan's leases, if the locks have one.
func shortestLease(r *results.Record) (ttl time.Duration, leased bool) {
	for _, g := range r.Plan.Groups() {
		if ttl == 0 || g.TTL < ttl {
			ttl = g.TTL
		}
	}
	return ttl, r.Traits.Expires || r.Traits.Session
}

// duringPauses counts the violations, of those that are recorded with their times, that came during a pause which may have
// ended a lease, or so soon after it that a holder from before may not have heard of it. A lease may be half over when the
// pause begins: holds take their part of it, and it is renewed after a third.
func duringPauses(r *results.Record, ttl time.Duration) (n int64) {
	for _, v := range r.Safety.Events {
		for _, p := range r.Generator.Pauses {
			if p.Length >= ttl/2 && v.At >= p.At && v.At <= p.At+p.Length+ttl {
				n++
				break
			}
		}
	}
	return n
}

// grantGapWarning says for how long no lock was granted, if that was far longer than from one grant to the next; else it is
// empty. It says nothing where the plan makes holders die or outlast their leases, which is what it wants to see.
func grantGapWarning(r *results.Record, d results.Pause) string {
	if d.Length < longGrantGap || r.Counts.Acquired == 0 {
		return ""
	}
	busy := r.Latency[results.Hold].Max
	for _, g := range r.Plan.Groups() {
		if g.Crash > 0 || g.Overstay > 0 {
			return ""
		}
		busy = max(busy, r.Latency[results.Hold].Max+g.Think, g.Burst)
	}
	if d.Length < grantGapFactor*r.Elapsed/time.Duration(r.Counts.Acquired) || d.Length < 2*busy {
		return ""
	}
	return fmt.Sprintf("no lock was granted for %s, from %s after the load began, where it is %s from one grant to the next on average: "+
		"an outage, or locks that requests left behind whose answer was lost", round(d.Length), round(d.At), round(r.Elapsed/time.Duration(r.Counts.Acquired)))
}
