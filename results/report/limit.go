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

// limited returns what limits a throughput, with the figures that say so, most of them shares of time; empty if several
// clients held a key at once.
func limited(c *results.Cell) string {
	l, release := c.Limit(), lasting("release", c.Latency[results.Release].Mean)
	if l.Slower >= 2 {
		release += fmt.Sprintf(", %.1f × unloaded", l.Slower)
	}
	share := func(title string, of float64) string {
		if of < 0.005 {
			return ""
		}
		return title + " " + format.Percent(of)
	}
	var of []string
	switch l.By {
	case results.ByKey, results.ByLock, results.ByLease:
		of = []string{share("held", l.Held), share("in transit", l.Moving), share("dead", l.Dead),
			share("free while wanted", l.Waited), share("free", l.Idle), release}
	case results.ByClients, results.ByErrors, results.ByUnknown:
		of = []string{share("in requests", l.Requests), share("holding", l.Holding), share("waiting", l.Waiting),
			share("failing", l.Failing), share("stuck", l.Stuck)}
	case results.ByServerCPU, results.ByGenerator, results.ByMachine:
		cores := " of " + format.Plural(c.First().Env.CPUs, "core")
		of = []string{share("machine busy", c.Generator.Machine), titled("lockbench", format.Three(c.Generator.CPU)+cores),
			titled("server", known(l.ServerCores, format.Three)), share("server thread ran", l.Thread.Ran),
			share("waited for a core", l.Thread.Waited)}
	case results.ByConnections:
		of = []string{titled("requests at a time", format.Three(c.Requests())),
			titled("connections", format.Count(c.Bound.Pool))}
	}
	by := map[bool]string{true: "hottest "}[l.Hottest] + string(l.By)
	return strings.TrimSuffix(by+": "+format.Join(of...), ": ")
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
	case c.Generator.Saturated && l.By == results.ByRate:
		return limitRemedies[results.ByMachine]
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
	p, redis := c.Plan(), slices.Contains([]string{"redis", "valkey", "miniredis"}, c.First().Server.Name)
	each := slices.Contains([]string{"poll", "backoff", "pubsub"}, p.Wait) && p.Lock != "fair"
	return !view.TriesOnce(p) && p.Wait != "queue" && (c.First().Traits.Wakes || redis && each)
}

// prove returns the command that shows what can go wrong with the lock of a cell; empty if it claims nothing.
func prove(c *results.Cell) string {
	p := c.Plan()
	if !c.First().Traits.Exclusive || p.Driver == "" {
		return ""
	}
	driver := p.Driver // the other topologies are proven on one server
	if slices.Contains([]string{"redlock", "replicated", "sentinel"}, p.Topology) {
		driver += "@" + p.Topology
	}
	return "lockbench prove -driver " + driver + " -lock " + p.Lock
}
