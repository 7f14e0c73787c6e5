package view

import (
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// Mark is a code that says how the figures of a cell are to be taken. It follows from fields of records; what else they
// have to say is in their warnings.
type Mark struct {
	Code  string `json:"name"`
	Text  string `json:"text"`  // the code, with a count if there is one: "stuck 3"
	Line  string `json:"means"` // what it means; help marks has a paragraph
	Doubt bool   `json:"doubt"` // the figures are not valid as they stand

	// Remedy is what to do if this, and not the lock, is the cause of violations and lost time.
	Remedy string `json:"-"`

	of func(c *results.Cell) string // the text, empty if it does not apply
}

// AllMarks are the marks that a cell can have, in the order of their weight.
var AllMarks = []Mark{
	when("partial", true, "it ended early, or most of it was lost", func(c *results.Cell) bool { return c.Partial() != "" }),
	when("embedded", true, "a stand-in inside lockbench, not a real server",
		func(c *results.Cell) bool { return c.First().Server.Kind == "embedded" }),
	when("shared", true, "other runs had the same keys, and their holds are unchecked", func(c *results.Cell) bool { return c.Plan().Shared }),
	{Code: "saturated", Doubt: true, Line: "lockbench or its machine was too busy: the lock may do better", of: saturated},
	when("paused", true, "lockbench itself did not run for a while: latencies include it",
		func(c *results.Cell) bool { // who was just starved is saturated
			return c.Generator.Stopped() || len(c.Generator.Pauses) > 0 && !c.Generator.Saturated
		}).remedy("run again; lockbench prove shows what a pause does"),
	when("unbalanced", true, "by Little's law its figures contradict each other", func(c *results.Cell) bool {
		b := c.Bound // that errors may explain
		return b.Little > 0 && !b.Balanced() && (b.Little > 1 || c.Counts.Failed() == 0)
	}),
	when("behind", true, "clients did not keep up with the arrivals",
		func(c *results.Cell) bool { return !c.KeptUp() }),
	counted("drifts", true, "trials that became faster or slower: they had not settled",
		func(c *results.Cell) int64 { return int64(c.Drifting) }),
	counted("stuck", true, "keys stayed locked after requests that failed",
		func(c *results.Cell) int64 { return c.Counts.StuckKeys }),
	when("replaced", true, "the server was restarted or replaced during the load", func(c *results.Cell) bool {
		return slices.ContainsFunc(c.Trials, func(r *results.Record) bool { return r.Server.Replaced })
	}).remedy("run again; lockbench prove shows what a restart does"),
	counted("evicted", true, "keys that the server evicted to free memory", func(c *results.Cell) (n int64) {
		for _, r := range c.Trials {
			n += r.Server.Evicted
		}
		return n
	}).remedy("more memory for the server, or maxmemory-policy noeviction"),
	failed("no room", "full", "the server had no room left, and refused requests"),
	failed("read-only", "readonly", "the server took no writes"),
	failed("conn limit", "limit", "the server or the role may have no more connections"),
	failed("time limit", "ended", "the server ended requests at a limit of its user"),
	counted("dead keys", true, "holders died, and most of their keys stayed locked", DeadKeys),
	when("unverified", false, "the server's certificate was not verified",
		func(c *results.Cell) bool { return c.First().Server.Network == results.Unverified }),
	when("beaten", false, "it was faster than the estimated bound", (*results.Cell).Beaten),
	counted("overflow", false, "latencies above one hour, counted as one hour", func(c *results.Cell) (n int64) {
		for _, l := range c.Latency {
			n += l.Overflow
		}
		return n
	}),
	counted("starved", false, "clients got no lock, and no latency includes their waits", func(c *results.Cell) int64 {
		if TriesOnce(c.Plan()) { // who goes without waits for no turn
			return 0
		}
		return int64(c.Fairness.Starved)
	}),
	counted("gave up", false, "calls that the library ended by itself (-param again=true goes on)",
		func(c *results.Cell) int64 { return c.Counts.GaveUp }),
	when("bridge", false, "through an adapter: half of its native locks/s without contention",
		func(c *results.Cell) bool { return c.Generator.Outside > 0 }),
	counted("errors", false, "requests failed", func(c *results.Cell) int64 { return c.Counts.Failed() }),
	counted("lost", false, "holds ended early because a renewal failed",
		func(c *results.Cell) int64 { return c.Counts.LostRenewal }),
	counted("unknown", false, "unknown outcomes may have left locks behind",
		func(c *results.Cell) int64 { return c.Counts.Unknown }),
}

func when(code string, doubt bool, line string, is func(*results.Cell) bool) Mark {
	text := map[bool]string{true: code}
	return Mark{Code: code, Line: line, Doubt: doubt, of: func(c *results.Cell) string { return text[is(c)] }}
}

func counted(code string, doubt bool, line string, n func(*results.Cell) int64) Mark {
	text := func(c *results.Cell) string { return format.Labelled(code, n(c)) }
	return Mark{Code: code, Line: line, Doubt: doubt, of: text}
}

// failed marks a cell of whose acquisitions 1 % or more failed with errors of a class (drivers.Class). Drivers write what
// helps, and which setting it is, into those errors.
func failed(code, class, line string) Mark {
	return counted(code, true, line, func(c *results.Cell) int64 {
		n := c.Counts.Errors[class] + c.Counts.EarlyErrors[class]
		if 100*n < c.Counts.Acquired {
			return 0
		}
		return n
	}).remedy("what the errors advise")
}

// DeadKeys returns how many keys were still locked by holders that had died when a trial of c was over, at the most, if
// those are most of its deaths.
func DeadKeys(c *results.Cell) (most int64) {
	for _, r := range c.Trials {
		if n := r.Bound.DeadKeys; 2*n > r.Counts.Crashed {
			most = max(most, n)
		}
	}
	return most
}

func (m Mark) remedy(text string) Mark {
	m.Remedy = text
	return m
}

// Cause returns the mark of what the server did to the locks of c, or the pauses that all recorded violations came from; empty
// if nothing is known.
func Cause(c *results.Cell) Mark {
	for _, m := range Marks(c) {
		if m.Remedy != "" && (m.Code != "paused" || byPauses(c)) {
			return m
		}
	}
	return Mark{}
}

func byPauses(c *results.Cell) bool {
	return c.Violated() && !slices.ContainsFunc(c.Trials, func(r *results.Record) bool {
		return r.ViolationsByPauses() < len(r.Safety.Events)
	})
}

// saturated says how many trials are, of several.
func saturated(c *results.Cell) string {
	switch n := slices.DeleteFunc(slices.Clone(c.Trials), func(r *results.Record) bool { return !r.Generator.Saturated }); len(n) {
	case 0:
		return ""
	case len(c.Trials):
		return "saturated"
	default:
		return fmt.Sprintf("saturated %d of %d", len(n), len(c.Trials))
	}
}

// Marks returns the marks of c, what weighs most first.
func Marks(c *results.Cell) (all []Mark) {
	for _, m := range AllMarks {
		if m.Text = m.of(c); m.Text == "partial" {
			m.Line = c.Partial()
			if r := c.First(); c.Counts.Acquired > 0 && r.Elapsed < r.Plan.Duration {
				m.Line += ", after " + format.Duration(c.First().Elapsed)
			}
		}
		if m.Text != "" {
			m.Doubt = m.Doubt && (m.Code != "saturated" || c.Generator.Saturated) // half of the trials are
			all = append(all, m)
		}
	}
	return all
}

// Doubts returns the codes that make the figures of c doubtful.
func Doubts(c *results.Cell) (codes []string) {
	for _, m := range Marks(c) {
		if m.Doubt {
			codes = append(codes, m.Code)
		}
	}
	return codes
}
