package render

// Marks: the words that mark a figure not to be believed as it stands, and what they mean. They follow from the
// figures of a record alone; whatever a record has to say besides is in its warnings.

import "github.com/lockbench/lockbench/results"

const (
	starved        = "clients that were never granted a lock in the window; acquire latencies cannot show their waits"
	unbalanced     = "figures contradict each other"
	unaccounted    = "the rest went into requests that failed and the pauses after them"
	lostRenewal    = "holds cut short, since a renewal said \"not yours\" or none was confirmed in the lease's time"
	unknownOutcome = "an unknown outcome may have left a lock behind until its TTL, or the end of its session"
)

// mark is a word in the column of notes.
type mark struct {
	word  func(c *results.Cell) string // "" if it does not apply
	means string                       // a line below the table
}

var marks = []mark{
	{func(c *results.Cell) string {
		if c.Generator.Saturated {
			return "saturated"
		}
		return ""
	}, "saturated: lockbench or its machine was the bottleneck, so this is not the lock's limit."},
	{func(c *results.Cell) string {
		if c.Bound.Little > 0 && !c.Bound.Balanced() && (c.Bound.Little > 1 || errorCount(c.Counts) == 0) {
			return "unbalanced"
		}
		return ""
	}, "unbalanced: by Little's law, " + unbalanced + "."},
	{func(c *results.Cell) string { return some("starved", int64(c.Fairness.Starved)) }, "starved: " + starved + "."},
	{func(c *results.Cell) string { return some("errors", errorCount(c.Counts)) }, "errors: requests whose answer was not heard, or was a refusal; the record has the first of each class."},
	{func(c *results.Cell) string { return some("lost", c.Counts.LostRenewal) }, "lost: " + lostRenewal + "."},
	{func(c *results.Cell) string { return some("unknown", c.Counts.Unknown) }, "unknown: " + unknownOutcome + "."},
}
