// The verdict on lockbench itself, and what a reader must know before he believes the figures.

package workloads

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/lockbench/lockbench/results"
)

const (
	// saturatedShare is the share of the cores that lockbench may use before its figure is called its own limit.
	saturatedShare = 0.90
	// busyShare is the same for all that runs on the machine: beyond it, server and load take time from each other.
	busyShare = 0.97
	// failedShare of the clients' time lost to errors leaves less than half a trial, which is not a whole one.
	failedShare = 0.50
	// worthSaying is the share from which a reader has to know of it.
	worthSaying = 0.01
)

// fillGenerator is the verdict on lockbench itself.
func (e *engine) fillGenerator(r *results.Record) {
	g := &r.Generator
	*g = results.Generator{CPU: -1, Machine: -1, GCPauses: e.after.pauses - e.before.pauses}
	wall := (e.after.at - e.before.at).Seconds()
	if wall <= 0 {
		return
	}
	procs := float64(runtime.GOMAXPROCS(0))
	if e.before.cpu >= 0 {
		g.CPU = (e.after.cpu - e.before.cpu).Seconds() / wall
	}
	g.Machine = machineShare(e.before, e.after)
	switch {
	case g.CPU >= saturatedShare*procs:
		g.Saturated = true
		g.Why = fmt.Sprintf("lockbench used %.2f of its %.0f cores: this is its limit, not the lock's", g.CPU, procs)
	case g.Machine >= busyShare:
		g.Saturated = true
		g.Why = fmt.Sprintf("the machine was %.0f %% busy, lockbench with %.2f of its %.0f cores: what shares the machine shares the limit", 100*g.Machine, g.CPU, procs)
	}
}

// machineShare is the share of the cores that was busy between two readings, and negative if the system does not tell.
// It is clamped: the system's idle times may run backwards (proc(5)), which between two readings in quick succession
// made a share above 1, and a record that no reader accepts.
func machineShare(before, after reading) float64 {
	capacity := after.capacity - before.capacity
	if capacity <= 0 {
		return -1
	}
	return min(1, max(0, (after.busy-before.busy)/capacity))
}

// warn collects what a reader must know and cannot see in the figures, and says whether the trial is a whole one.
func (e *engine) warn(r *results.Record, t tally) {
	p := &r.Plan
	r.Warnings = Warnings(*p, e.traits)
	add := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	failing := 0.0 // share of the clients' time
	if r.Elapsed > 0 {
		failing = float64(t.failing) / float64(r.Elapsed) / float64(p.Clients)
	}
	switch {
	case e.cut.Load():
		r.Partial = cmp.Or(e.why, "interrupted")
	case e.after.err != nil && e.after.err != errNoInspector:
		r.Partial = fmt.Sprintf("the server did not answer at the end: %v", e.after.err)
	}
	if r.Partial == "" && failing > failedShare {
		r.Partial = fmt.Sprintf("requests that failed, and the pauses after them, took %.0f %% of the clients' time", 100*failing)
	} else if failing > worthSaying {
		add("requests that failed, and the pauses after them, took %.0f %% of the clients' time: the figures are those of the rest", 100*failing)
	}
	if e.before.err != nil && e.before.err != errNoInspector && r.Elapsed > 0 {
		add("the server did not answer when the window opened: what a lock costs it is unknown: %v", e.before.err)
	}
	if e.before.err == nil && e.after.err == nil && !e.inspected() {
		how := "was restarted"
		if e.before.server.RunID == e.after.server.RunID {
			how = "counts from a new beginning, as after a restart,"
		}
		add("the server %s during the measured window: what it spent is unknown, and locks without persistence were lost", how)
	}
	for i, n := range r.Counts.NodeErrors {
		if err := e.after.nodes[i].Err; n > 0 {
			add("node %d of %d did not answer %d requests, the first of all because: %v", i+1, len(r.Counts.NodeErrors), n, err)
		}
	}
	if text := e.probe.warning(); text != "" {
		add("%s", text)
	}
	if p.Server == "embedded" {
		add("the server ran inside lockbench: client CPU and allocations include it, and its speed says nothing about a real server")
	}
	for _, f := range []struct {
		what string
		err  error
	}{{"deleting the run's keys", e.cleanError}, {"leaving the wait", e.closeError}} {
		if f.err != nil {
			add("%s: %v", f.what, f.err)
		}
	}
}
