// The warnings of a record: what its figures do not show.

package workloads

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

const (
	// failedShare is the share of the clients' time lost to errors from which a trial is partial.
	failedShare = 0.50
	// reportShare is the share of anything from which a record warns of it.
	reportShare = 0.01
	// roomShare is the share of the server's room from which a load comes near to its end.
	roomShare = 0.80
)

// warn fills in the warnings of r, and why it is partial if it is.
func (e *engine) warn(r *results.Record, t rest) {
	p := &r.Plan
	known := r.Warnings
	r.Warnings = matrix.Warnings(*p, e.traits)
	add := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	stuck, failing := stuckText(r), failingText(r, t)
	r.Partial = e.partial(r, t)
	switch {
	case r.Partial == "" && failing != "":
		add("%s: the figures are those of the rest", failing)
	case r.Partial == "" && stuck != "":
		add("%s: the figures are those of the others", stuck)
	}
	addAll := func(texts ...string) {
		r.Warnings = append(r.Warnings, slices.DeleteFunc(texts, func(text string) bool { return text == "" })...)
	}
	addAll(matrix.SessionWarning(*p, e.after.server.Session))
	if !e.standing.ended {
		addAll(grantGapWarning(r, e.ticker.grantGap))
	}
	if !readable(e.before.err) && r.Elapsed > 0 {
		add("the server did not answer when the window opened: what a lock costs it is unknown: %v", e.before.err)
	}
	for i, n := range r.Counts.NodeErrors {
		switch node := e.after.nodes[i]; {
		case node.Failed == 0 && node.Err != nil:
			add("node %d of %d has no vote, because it could not be opened: %v", i+1, len(r.Counts.NodeErrors), node.Err)
		case n > 0:
			add("node %d of %d did not answer %s, the first of all because: %v", i+1, len(r.Counts.NodeErrors), format.Plural(n, "request"), node.Err)
		}
	}
	addAll(e.leftWarning(r), e.unswept, e.room)
	r.Warnings = append(r.Warnings, recordWarnings(r)...)
	for _, f := range []struct {
		what string
		err  error
	}{{"deleting the run's keys", e.cleanError}, {"leaving the wait", e.closeError}} {
		if f.err != nil {
			add("%s: %v", f.what, f.err)
		}
	}
	r.Warnings = append(r.Warnings, known...)
}

// lookForRoom warns if the load, going on as it has gone so far, makes more locks than its server has room for. The text
// is the same in all trials, so that it is said once of each server.
func (e *engine) lookForRoom() {
	now := e.clock.Now()
	if e.opened.Room == 0 || e.room != "" || now < time.Second {
		return
	}
	granted := e.granted()
	if e.run.Fleet != nil {
		granted += e.run.Fleet.Others().Acquired
	}
	whole := e.from + e.length(PhaseMeasure, now-e.from, e.until()-e.from)
	room, needs := float64(e.opened.Room/e.opened.LockBytes), float64(granted)*float64(whole)/float64(now)
	if needs < roomShare*room {
		return
	}
	e.room = "the server may not have room for all locks of this load, and a full server refuses everybody's writes: " +
		"lower -rate or -duration, or raise its quota"
	if e.run.SayOnce != nil {
		e.run.SayOnce("warning: %s: %s", cmp.Or(e.run.Record.Server.Addr, e.opened.Name), e.room)
	}
}

// leftWarning says what stays locked after a trial that has to leave its keys to other runs; empty if it ends by itself.
func (e *engine) leftWarning(r *results.Record) string {
	n := r.Counts.ReleaseError + r.Counts.Crashed + r.Counts.Unknown
	if !r.Plan.Shared || e.traits.Expires || e.traits.Session || n == 0 {
		return ""
	}
	return fmt.Sprintf("%s has no lease: of %s what was not released stays locked for all runs until the last of them ends",
		r.Plan.Lock, format.Plural(n, "hold or attempt"))
}

// partial returns why r is less than a whole trial; empty for a whole one.
func (e *engine) partial(r *results.Record, t rest) string {
	switch {
	case e.cut.Load():
		return cmp.Or(e.why, "interrupted")
	case !readable(e.after.err):
		return fmt.Sprintf("the server did not answer at the end: %v", e.after.err)
	case r.StoppedLong():
		return fmt.Sprintf("lockbench itself did not run for %s of %s", format.Duration(r.Generator.Paused), format.Duration(r.Elapsed))
	case r.Counts.Acquired == 0 && r.Counts.Wanted() > 0:
		return e.nothingText(r, t)
	case failingShare(r, t) > failedShare:
		return failingText(r, t)
	}
	return ""
}

// nothingText says that nothing was granted in the window of r, and why.
func (e *engine) nothingText(r *results.Record, t rest) string {
	text := "nothing was granted in the window"
	if e.all.Granted == 0 {
		text = "nothing was granted"
	}
	switch failing := failingText(r, t); {
	case failing != "":
		return text + ": " + failing
	case r.Plan.Shared:
		return text + ": other runs had the locks, or what they have left"
	case r.Server.Replaced:
		return text + ": " + wasReplaced
	case e.all.Granted == 0:
		return text
	case r.Bound.DeadKeys > 0:
		return fmt.Sprintf("%s: the holders of %s had died", text, format.Part(r.Bound.DeadKeys, int64(r.Plan.Keys), "key"))
	}
	return text + ": the locks of the warm-up were held to its end; lengthen -duration, or shorten -hold"
}

// failingShare returns the share of the clients' time that failed requests took, with what came of them.
func failingShare(r *results.Record, t rest) float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return min(1, float64(t.Failing+t.Blocked)/float64(r.Elapsed)/float64(r.Made())) // an attempt may fail on a key that was left locked
}

// failingText says what failed requests took of the clients' time, and which keys they left locked; empty if it is not worth a warning.
func failingText(r *results.Record, t rest) string {
	share, stuck, cause := failingShare(r, t), stuckText(r), ""
	if r.Server.Replaced {
		cause = wasReplaced + ": "
	}
	switch {
	case share <= reportShare:
		return ""
	case stuck == "":
		return fmt.Sprintf("%srequests that failed, and the pauses after them, took %.0f %% of the clients' time", cause, 100*share)
	}
	return fmt.Sprintf("%s%s; they, the pauses after them and the waits for those keys took %.0f %% of the clients' time",
		cause, stuck, 100*share)
}

// recordWarnings returns the warnings that follow from the figures alone, without what a mark says (lockbench help marks).
func recordWarnings(r *results.Record) (w []string) {
	add := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }
	if taken := r.Counts.Errors[string(drivers.ClassUnacked)]; taken > 0 {
		add("%s taken back because too few replicas had acknowledged them within %v (unacked): if they are only slow, "+
			"raise -node-timeout", format.Plural(taken, "lock"), r.Plan.NodeTimeout)
	}
	for i, lasted := range r.HoldsLasted() {
		if load := r.Plan.Groups()[i]; results.Apart(load.Hold, lasted) {
			add("%sholds of %s lasted %s (%s): the figures are those of such holds", classPrefix(load), format.Duration(load.Hold), format.Duration(lasted),
				averageOf(load.HoldDist))
		}
	}
	return w
}

// classPrefix names the class of a load in front of a warning, if the plan has several.
func classPrefix(g spec.Class) string {
	if g.Name == "" {
		return ""
	}
	return g.Name + ": "
}

// averageOf returns which average stands for holds of such a distribution.
func averageOf(dist spec.Times) string {
	if dist == (spec.Times{}) {
		return "median"
	}
	return "mean"
}
