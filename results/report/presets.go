package report

// What came of the task of a preset, from the counts that every record has.

import (
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// tasks are what the clients of presets are, and what they get.
var tasks = map[string]struct{ who, got string }{
	"flash-sale":      {"buyer", "reserved the article"},
	"hot-key":         {"request", "had their account alone"},
	"job-dedupe":      {"job", "done"},
	"leader-election": {"term", "begun"},
	"long-jobs":       {"job", "done"},
	"rate-limiter":    {"request", "counted"},
	"session-store":   {"page", "got the session"},
}

// task says what came of the preset that ran; empty if none did.
func task(c *results.Cell) string {
	n := c.Counts
	switch name := c.Plan().Workload; name {
	case "batch-beside-online":
		online, batch := classOf(c, "online"), classOf(c, "batch")
		return format.Join(outOf(online, "online request", "served"), outOf(batch, "batch job", "done"))
	case "inventory":
		orders, counted := classOf(c, "orders"), classOf(c, "stocktaking")
		return format.Join(outOf(orders, "order", "filled"), outOf(counted, "article", "counted"))
	case "cron-herd":
		return format.Join(jobs(c), "hosts that skipped theirs "+format.Count(n.Contended))
	default:
		if t := tasks[name]; t.who != "" {
			return outOf(n, t.who, t.got)
		}
	}
	return ""
}

// outOf returns how many got what they came for, and what became of the others.
func outOf(n results.Counts, who, got string) string {
	done, all := n.Acquired-n.Crashed, n.Wanted()-n.Unfinished
	if done == all {
		return format.Plural(done, who) + " " + got
	}
	return format.Join(format.Count(done)+" of "+format.Plural(all, who)+" "+got, format.Labelled("gave up", n.TimedOut),
		format.Labelled("refused", n.Contended), format.Labelled("dropped", n.Dropped), format.Labelled("died", n.Crashed))
}

// jobs says whether each job ran once, which is known only if all hosts tried and all answers were heard.
func jobs(c *results.Cell) string {
	n, clients := c.Counts, int64(max(1, c.Plan().Clients))
	ended := n.Wanted() - n.Unfinished
	due := ended / clients * int64(c.Plan().Keys)
	switch outlived := n.Lost + n.LostRenewal; {
	case outlived > 0:
		return format.Count(outlived) + " of " + format.Plural(n.Acquired, "job") + " outlived the lease"
	case ended%clients != 0, n.Unknown > 0:
		return format.Plural(n.Acquired, "run")
	case n.Acquired == due && c.Safety.Violations == 0:
		return "each of " + format.Plural(due, "job") + " ran once"
	}
	return format.Plural(due, "job") + " ran " + format.Count(n.Acquired) + " times"
}

// classOf returns the counts of a class; none if the cell has no class of that name.
func classOf(c *results.Cell, name string) results.Counts {
	for _, class := range c.Classes {
		if class.Name == name {
			return class.Counts
		}
	}
	return results.Counts{}
}
