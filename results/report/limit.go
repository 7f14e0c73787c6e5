package report

// What limits the throughput of a cell, and what to try next.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// part is a share of some time.
type part struct {
	of    string
	share float64
}

// limited returns what limits a throughput, with the figures that say so; empty if several clients held a key at once.
func limited(c *results.Cell) string {
	l, shares, more := c.Limit(), []part{}, ""
	switch l.By {
	case results.ByKey, results.ByLock:
		shares = []part{{"held", l.Held}, {"moving", l.Moving}, {"dead", l.Dead}, {"free while wanted", l.Waited},
			{"free", l.Idle}}
		if more = "release " + format.Duration(c.Latency[results.Release].Mean); l.Slower >= 2 {
			more += fmt.Sprintf(", %.1f times idle", l.Slower)
		}
	case results.ByLease:
		shares = []part{{"dead", l.Dead}, {"clients waited for that", l.Blocked}}
	case results.ByServerCPU:
		shares = []part{{"its thread ran", l.Thread.Ran}, {"and waited for a core", l.Thread.Waited}}
		if l.CoresOf > 0 {
			more = fmt.Sprintf("%s of %s cores", format.Three(l.ServerCores), format.Three(l.CoresOf))
		}
	case results.ByGenerator, results.ByMachine:
		more = format.Plural(c.First().Env.CPUs, "core") + ", lockbench used " + format.Three(c.Generator.CPU)
		if l.ServerCores > 0 {
			more += ", the server " + format.Three(l.ServerCores)
		}
	case results.ByConnections:
		more = format.Three(c.Requests()) + " requests at a time on " + format.Plural(c.Bound.Pool, "connection")
	case results.ByClients:
		shares = []part{{"in requests", l.Requests}, {"holding", l.Holding}, {"waiting", l.Waiting}}
	case results.ByErrors:
		shares = []part{{"failing", l.Failing}, {"stuck", l.Stuck}}
	case results.ByUnknown:
		shares = []part{{"clients waited", l.Waiting}}
	}
	var texts []string
	for _, p := range shares {
		if p.share >= 0.005 {
			texts = append(texts, p.of+" "+format.Percent(p.share))
		}
	}
	if texts != nil {
		texts[0] += " of the time"
	}
	by := string(l.By)
	if l.Hottest {
		by = "hottest " + by
	}
	return strings.TrimSuffix(by+": "+format.Join(append(texts, more)...), ": ")
}

// limitRemedies are what to change about a limit, unless another line of waiting would help.
var limitRemedies = map[results.LimitedBy]string{
	results.ByKey:         "more keys (-keys), or shorter holds",
	results.ByLock:        otherDesign,
	results.ByLease:       "a shorter -ttl",
	results.ByServerCPU:   "a faster server, or one of its own (-addr)",
	results.ByGenerator:   "fewer clients, or lockbench on a machine of its own",
	results.ByMachine:     "lockbench on another machine than the server (-addr)",
	results.ByConnections: "more connections (-conns)",
	results.ByClients:     "more clients (-clients)",
	results.ByRate:        "more arrivals (-rate)",
}

const otherDesign = "another design: lockbench list"

// next returns what to try; empty if nothing is known to help.
func next(c *results.Cell, missed bool) string {
	p, l := c.Plan(), c.Limit()
	switch {
	case c.Violated() && p.TTL > 0 && p.Hold >= p.TTL && !p.Renew:
		return "-renew, or -ttl above the hold of " + format.Exact(p.Hold)
	case c.Violated():
		return otherDesign
	case missed && l.By == results.ByRate:
		return "fewer arrivals (-rate), or " + otherDesign
	case (l.By == results.ByLock || l.By == results.ByKey && l.Moving > l.Held) && queues(c):
		return "-wait queue"
	}
	return limitRemedies[l.By]
}

// queues reports whether the clients of c could wait in a line within lockbench, and do not: their releases wake
// waiters, as those of all designs on Redis do but of those that queue on the server.
func queues(c *results.Cell) bool {
	p := c.Plan()
	redis := slices.Contains([]string{"redis", "valkey", "miniredis"}, c.First().Server.Name)
	own := slices.Contains([]string{"queue", "library", "native"}, p.Wait) || p.Lock == "fair"
	return !view.TriesOnce(p) && p.Wait != "queue" && (c.First().Traits.Wakes || redis && !own)
}

// prove returns the command that shows what can go wrong with the lock of a cell; empty if it claims nothing.
func prove(c *results.Cell) string {
	p := c.Plan()
	if !c.First().Traits.Exclusive || p.Driver == "" {
		return ""
	}
	driver := p.Driver
	if slices.Contains([]string{"redlock", "replicated", "sentinel"}, p.Topology) { // the others are proven on one server
		driver += "@" + p.Topology
	}
	return "lockbench prove -driver " + driver + " -lock " + p.Lock
}
