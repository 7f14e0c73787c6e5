package render

// Marks: the words that mark a figure not to be believed as it stands, and what they mean. They follow from the
// figures of a record alone; whatever a record has to say besides is in its warnings.

import (
	"fmt"

	"github.com/lockbench/lockbench/results"
)

const (
	starved     = "clients that were never granted a lock in the window; acquire latencies cannot show their waits"
	unbalanced  = "figures contradict each other"
	unaccounted = "the rest went into requests that failed and the pauses after them"
	lostRenewal = "holds cut short, since a renewal said \"not yours\" or none was confirmed in the lease's time"
	boundBeaten = "the bound is an estimate and was too low: round trips under the load were shorter than the one that it is from, " +
		"locks changed hands without one, or arrivals from before the window were served in it"
	unknownOutcome = "an unknown outcome may have left a lock behind until its TTL, or the end of its session"
)

// mark is a word in the column of notes.
type mark struct {
	word  func(c *results.Cell) string // "" if it does not apply
	means string                       // a line below the table
}

// unbalancedCell tells of books that do not balance, where no errors explain it.
func unbalancedCell(c *results.Cell) bool {
	return c.Bound.Little > 0 && !c.Bound.Balanced() && (c.Bound.Little > 1 || errorCount(c.Counts) == 0)
}

// ifLimit marks the cells that are held up by that.
func ifLimit(l results.Limit) func(*results.Cell) string {
	return func(c *results.Cell) string {
		if c.Limit() != l {
			return ""
		}
		return string(l)
	}
}

// when is a mark without a figure.
func when(is func(*results.Cell) bool, word string) func(*results.Cell) string {
	return func(c *results.Cell) string {
		if is(c) {
			return word
		}
		return ""
	}
}

var marks = []mark{
	{when(func(c *results.Cell) bool { return c.Generator.Saturated }, "saturated"),
		"saturated: lockbench or its machine was the bottleneck, so this is not the lock's limit."},
	{when(func(c *results.Cell) bool { return len(c.Generator.Pauses) > 0 }, "paused"),
		"paused: lockbench itself did not run for a while, which the latencies have in them, and leases may have ended meanwhile."},
	{drifting, "drifts: the second half of the window was faster or slower than the first, by 5 % at least and not by chance " +
		"(Mann-Whitney, p < 0.05): the load had not settled, so the figures depend on how long it ran."},
	{when(unbalancedCell, "unbalanced"), "unbalanced: by Little's law, " + unbalanced + "."},
	{when(func(c *results.Cell) bool { return c.Bound.Beaten() }, "beaten"), "beaten: " + boundBeaten + "."},
	{when(func(c *results.Cell) bool { return !c.KeptUp() }, "behind"),
		"behind: by Little's law the clients did not keep up with the arrivals, " +
			"or still worked off those of the warm-up; the times of arrivals that still waited at the end are in no latency."},
	{ifLimit(results.ClientLimited), "client-limited: arrivals found all clients busy, and neither the lock nor the connections " +
		"held those up: more clients would go faster, and the response shows what waiting for one took."},
	{ifLimit(results.ConnectionLimited), "connection-limited: requests waited for a connection of the pool; more of them would go faster."},
	{ifLimit(results.LockLimited), "lock-limited: arrivals found all clients busy with waiting for the lock, which does not keep " +
		"up with the rate; more clients would only wait there."},
	{func(c *results.Cell) string { return some("overflow", overflows(c)) }, "overflow: latencies above one hour, counted as one hour."},
	{func(c *results.Cell) string { return some("starved", int64(c.Fairness.Starved)) }, "starved: " + starved + "."},
	{func(c *results.Cell) string { return some("errors", errorCount(c.Counts)) },
		"errors: requests whose answer was not heard, or was a refusal; the record has the first of each class."},
	{func(c *results.Cell) string { return some("lost", c.Counts.LostRenewal) }, "lost: " + lostRenewal + "."},
	{func(c *results.Cell) string { return some("unknown", c.Counts.Unknown) }, "unknown: " + unknownOutcome + "."},
}

// drifting marks cells with trials that were not steady, and in how many of several.
func drifting(c *results.Cell) string {
	switch {
	case c.Drifting == 0:
		return ""
	case len(c.Trials) == 1:
		return "drifts"
	}
	return fmt.Sprintf("drifts %d/%d", c.Drifting, len(c.Trials))
}

func overflows(c *results.Cell) (n int64) {
	for _, l := range c.Latency {
		n += l.Overflow
	}
	return n
}
