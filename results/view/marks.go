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
	Text  string `json:"text"`  // the code, with a count if there is one: "drifts 2/5"
	Line  string `json:"means"` // what it means; help marks has a paragraph
	Doubt bool   `json:"doubt"` // the figures are not valid as they stand
}

// mark is a row of the table of marks, with its text of a cell; empty: it does not apply.
type mark struct {
	code  string
	doubt bool
	line  string
	text  func(c *results.Cell) string
}

// marks are all marks, in the order of their weight. The first are about where figures came from.
var marks = []mark{
	when("partial", true, "it ended early", func(c *results.Cell) bool { return c.Partial() != "" }),
	when("embedded", true, "a stand-in inside lockbench, not a real server", func(c *results.Cell) bool {
		return c.First().Server.Kind == "embedded"
	}),
	when("shared", true, "other runs had the same keys", func(c *results.Cell) bool { return c.Plan().Shared }),
	when("saturated", true, "lockbench or its machine was the limit, not the lock", func(c *results.Cell) bool {
		return c.Generator.Saturated
	}),
	when("paused", true, "lockbench itself stood still for a while: latencies include it", func(c *results.Cell) bool {
		return len(c.Generator.Pauses) > 0
	}),
	when("unbalanced", true, "by Little's law its figures contradict each other", func(c *results.Cell) bool {
		b := c.Bound // that errors may explain
		return b.Little > 0 && !b.Balanced() && (b.Little > 1 || c.Counts.Failed() == 0)
	}),
	when("behind", true, "clients did not keep up with the arrivals", func(c *results.Cell) bool {
		return !c.KeptUp()
	}),
	{"drifts", true, "the two halves of the window differ: it had not settled", func(c *results.Cell) string {
		if c.Drifting > 0 && len(c.Trials) > 1 {
			return fmt.Sprintf("drifts %d/%d", c.Drifting, len(c.Trials))
		}
		return map[bool]string{true: "drifts"}[c.Drifting > 0]
	}},
	counted("stuck", true, "keys stayed locked after requests that failed", func(c *results.Cell) int64 {
		return c.Counts.StuckKeys
	}),
	when("replaced", true, "the server was restarted or replaced during the load", func(c *results.Cell) bool {
		return slices.ContainsFunc(c.Trials, func(r *results.Record) bool { return r.Server.Replaced })
	}),
	counted("evicted", true, "keys that the server evicted to free memory", func(c *results.Cell) (n int64) {
		for _, r := range c.Trials {
			n += r.Server.Evicted
		}
		return n
	}),
	counted("dead keys", true, "holders died, and most of their keys stayed locked", func(c *results.Cell) int64 {
		if n := c.Counts.Crashed - c.Latency[results.Recovery].Count; 2*n > c.Counts.Crashed {
			return n
		}
		return 0
	}),
	when("unverified", false, "the server's certificate was not verified", func(c *results.Cell) bool {
		return c.First().Server.Network == results.Unverified
	}),
	when("beaten", false, "it was faster than the estimated bound", (*results.Cell).Beaten),
	counted("overflow", false, "latencies above one hour, counted as one hour", func(c *results.Cell) (n int64) {
		for _, l := range c.Latency {
			n += l.Overflow
		}
		return n
	}),
	counted("starved", false, "clients got no lock: their waits are in no latency", func(c *results.Cell) int64 {
		if TriesOnce(c.Plan()) { // who goes without waits for no turn
			return 0
		}
		return int64(c.Fairness.Starved)
	}),
	counted("errors", false, "requests failed", func(c *results.Cell) int64 { return c.Counts.Failed() }),
	counted("lost", false, "holds ended early because a renewal failed", func(c *results.Cell) int64 {
		return c.Counts.LostRenewal
	}),
	counted("unknown", false, "unknown outcomes may have left locks behind", func(c *results.Cell) int64 {
		return c.Counts.Unknown
	}),
}

// origins are how many marks say where figures came from.
const origins = 3

func when(code string, doubt bool, line string, is func(*results.Cell) bool) mark {
	return mark{code, doubt, line, func(c *results.Cell) string { return map[bool]string{true: code}[is(c)] }}
}

func counted(code string, doubt bool, line string, of func(*results.Cell) int64) mark {
	return mark{code, doubt, line, func(c *results.Cell) string { return format.Labelled(code, of(c)) }}
}

// Marks returns the marks of c, what weighs most first.
func Marks(c *results.Cell) []Mark {
	all := marked(c, marks)
	for i := range all {
		if all[i].Code == "partial" {
			all[i].Line = c.Partial() + ", after " + format.Duration(c.First().Elapsed)
		}
	}
	return all
}

// Flags returns the marks of c that no field of its records has.
func Flags(c *results.Cell) []Mark { return marked(c, marks[origins:]) }

func marked(c *results.Cell, of []mark) (all []Mark) {
	for _, m := range of {
		if text := m.text(c); text != "" {
			all = append(all, Mark{m.code, text, m.line, m.doubt})
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

// AllMarks returns every mark that a cell can have.
func AllMarks() (all []Mark) {
	for _, m := range marks {
		all = append(all, Mark{m.code, m.code, m.line, m.doubt})
	}
	return all
}
