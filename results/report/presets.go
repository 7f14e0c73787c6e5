package report

// What a run of a preset is about, in the words of its task: a sentence from the counts that every record has.

import (
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// tellings say what came of the presets, by their names.
var tellings = map[string]func(c *results.Cell) string{
	"batch-beside-online": func(c *results.Cell) string {
		online, batch := classOf(c, "online"), classOf(c, "batch")
		return format.Join(outOf(online.Acquired, finished(online), "online request")+" got the lock", gaveUp(online, "user"),
			format.Plural(batch.Acquired, "batch job")+" beside them")
	},
	"cron-herd": func(c *results.Cell) string {
		n, plan := c.Counts, c.Plan()
		clients := int64(max(1, plan.Clients))
		jobs := finished(n) / clients * int64(plan.Keys)
		ran := "each of " + format.Plural(jobs, "job") + " ran exactly once, with one clock for all hosts"
		switch outlived := n.Lost + n.LostRenewal; {
		case outlived > 0:
			ran = outOf(outlived, n.Acquired, "job") + " outlived the lease: another host that comes then runs the job again"
		case finished(n)%clients != 0, n.Unknown > 0: // how many jobs there were, or how many ran, is not known
			ran = format.Plural(n.Acquired, "run")
		case n.Acquired > jobs:
			ran = format.Plural(jobs, "job") + " ran " + format.Count(n.Acquired) + " times: some of them twice"
		case n.Acquired < jobs || c.Safety.Violations > 0:
			ran = format.Plural(n.Acquired, "run") + " of " + format.Plural(jobs, "job")
		}
		return format.Join(ran, outOf(n.Contended, finished(n), "host")+" skipped theirs")
	},
	"flash-sale": func(c *results.Cell) string {
		return format.Join(outOf(c.Counts.Acquired, finished(c.Counts), "buyer")+" reserved the article", gaveUp(c.Counts, "buyer"))
	},
	"hot-key": func(c *results.Cell) string {
		wait := c.Latency[view.Waiting(c)]
		text := format.Plural(c.Counts.Acquired, "request") + " had their account to themselves"
		if wait.Count > 0 {
			text += ", half of them within " + format.Duration(wait.P50) + ", all within " + format.Duration(wait.Max)
		}
		return format.Join(text, gaveUp(c.Counts, "request"))
	},
	"inventory": func(c *results.Cell) string {
		orders, counted := classOf(c, "orders"), classOf(c, "stocktaking")
		return format.Join(outOf(orders.Acquired, finished(orders), "order")+" reserved stock", gaveUp(orders, "order"),
			format.Plural(counted.Acquired, "article")+" counted meanwhile")
	},
	"job-dedupe": func(c *results.Cell) string {
		return format.Join(format.Plural(c.Counts.Acquired-c.Counts.Crashed, "job")+" done", format.Plural(c.Counts.Contended, "duplicate")+" dropped while the job was under way",
			died(c, "worker"))
	},
	"leader-election": func(c *results.Cell) string {
		return format.Join(format.Plural(c.Counts.Acquired, "term"), died(c, "leader"))
	},
	"long-jobs": func(c *results.Cell) string {
		return format.Join(format.Plural(c.Counts.Acquired-c.Counts.Crashed, "job")+" done", died(c, "worker"))
	},
	"rate-limiter": func(c *results.Cell) string {
		n := c.Counts
		return format.Join(outOf(n.Acquired, finished(n), "request")+" counted", format.Labelled("let through uncounted", n.TimedOut+n.Dropped))
	},
	"session-store": func(c *results.Cell) string {
		return format.Join(outOf(c.Counts.Acquired, finished(c.Counts), "page")+" got the session", gaveUp(c.Counts, "page"))
	},
}

// verdict returns the sentence that comes first: of a run of one preset, what came of its task before all else.
func verdict(v *view.Run) view.Finding {
	f := v.Verdict()
	if text := task(v.Cells[0]); text != "" && len(v.Cells) == 1 && f.Kind != view.Bad {
		f.Text = format.Upper(strings.ReplaceAll(format.Line(text), " · ", ", ")) + "; " + f.Text
	}
	return f
}

// tasks says of each cell what came of its preset, if there are several cells; the verdict says it of one.
func (t *cellTable) tasks() Section {
	var list List
	for _, r := range t.rows() {
		if text := task(t.Cells[r.cell]); text != "" && r.class == nil && len(t.Cells) > 1 {
			name := t.Names[r.cell]
			if len(t.blocks) == 1 {
				name = r.name
			}
			list = append(list, Item{Mark: name + ":", Text: text})
		}
	}
	return section("", "What came of each task", list)
}

// task says what came of the preset that ran; empty if none did.
func task(c *results.Cell) string {
	if tell := tellings[c.Plan().Workload]; tell != nil {
		return tell(c)
	}
	return ""
}

// finished returns how many acquisitions had an end in the window.
func finished(n results.Counts) int64 { return n.Wanted() - n.Unfinished }

// outOf returns a part of things: "16 of 20 hosts".
func outOf(part, all int64, thing string) string {
	return format.Count(part) + " of " + format.Plural(all, thing)
}

// gaveUp returns how many ran out of patience; empty if none did.
func gaveUp(n results.Counts, who string) string {
	if n.TimedOut == 0 {
		return ""
	}
	return format.Plural(n.TimedOut, who) + " ran out of patience"
}

// died returns how many holders died, and how long their keys stayed locked; empty if none did.
func died(c *results.Cell, who string) string {
	if c.Counts.Crashed == 0 {
		return ""
	}
	text := format.Plural(c.Counts.Crashed, who) + " died"
	switch l := c.Latency[results.Recovery]; {
	case l.Count > 1:
		text += ", and the next had the lock " + format.Duration(l.P50) + " later (median), " + format.Duration(l.Max) + " at the latest"
	case l.Count == 1:
		text += ", and the next had the lock " + format.Duration(l.Max) + " later"
	}
	return text
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
