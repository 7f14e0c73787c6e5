package results

import (
	"slices"
	"time"
)

// Times in which lockbench itself did not run, and the violations that they explain.

// Stopped reports whether lockbench was stopped or suspended at any time, and not just without a core.
func (g *Generator) Stopped() bool {
	return slices.ContainsFunc(g.Pauses, func(p Pause) bool { return !p.Starved })
}

// StoppedLong reports whether lockbench was stopped for so much of the window that the trial is less than a whole one.
// A busy machine keeps a process for 0.1 s now and then. Where it was starved, as on any machine that has too much to
// do, the verdict on the generator says so.
func (r *Record) StoppedLong() bool {
	paused := r.Generator.Paused
	return paused >= 500*time.Millisecond && 10*paused >= r.Elapsed
}

// LengthOf returns how long pauses of one process are together.
func LengthOf(pauses []Pause) (sum time.Duration) {
	for _, p := range pauses {
		sum += p.Length
	}
	return sum
}

// ViolationsByPauses returns how many of the violations, of those that are recorded with their times, came in a pause
// that may have ended a lease, or within a lease after it, when a holder from before may not have heard of its end. Any
// lease does that whose holder stops for so long. One may be half over when the pause begins: holds take their part of
// it, and it is renewed after a third.
func (r *Record) ViolationsByPauses() (n int) {
	if !r.Traits.Expires && !r.Traits.Session {
		return 0
	}
	var ttl time.Duration // the shortest
	for i, g := range r.Plan.Groups() {
		if i == 0 || g.TTL < ttl {
			ttl = g.TTL
		}
	}
	all := slices.Clone(r.Generator.Pauses)
	for i := range r.Ranks {
		all = append(all, r.Ranks[i].Generator.Pauses...)
	}
	for _, v := range r.Safety.Events {
		if slices.ContainsFunc(all, func(p Pause) bool {
			return p.Length >= ttl/2 && v.At >= p.At && v.At <= p.At+p.Length+ttl
		}) {
			n++
		}
	}
	return n
}
