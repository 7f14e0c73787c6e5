package view

// What limits the throughput of a cell, in words, and what to try next.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// Limits are what can limit a throughput, with what that means.
var Limits = []struct {
	By    results.LimitedBy
	Means string // a clause
}{
	{results.ByKey, "keys were held, or changed hands, for most of the time"},
	{results.ByLock, "keys stood free though clients waited for them"},
	{results.ByServerCPU, "the server had no processor time left"},
	{results.ByGenerator, "lockbench or its machine was busy, so that it is not the lock's limit"},
	{results.ByConnections, "requests waited for one of a pool"},
	{results.ByClients, "there were too few to keep the keys busy"},
	{results.ByRate, "all arrivals were served in time"},
	{results.ByErrors, "requests that failed took the clients' time"},
	{results.ByUnknown, "the records do not tell"},
}

// LimitLegend says what the limits of cells mean, each once.
func LimitLegend(cells []*results.Cell) string {
	var parts []string
	for _, l := range Limits {
		if slices.ContainsFunc(cells, func(c *results.Cell) bool { return c.Safety.Breaches() == 0 && c.Limit().By == l.By }) {
			parts = append(parts, format.Glue(string(l.By)+" –")+" "+l.Means)
		}
	}
	return strings.Join(parts, "; ")
}

// Limit returns what limits the throughput of c as a sentence that begins with its short name (results.LimitedBy), with the
// figures that say so.
func Limit(c *results.Cell) string {
	l := c.Limit()
	return string(l.By) + ": " + limitText(c, l)
}

func limitText(c *results.Cell, l results.Limit) string {
	switch l.By {
	case results.ByRate:
		return "all arrivals were served in time"
	case results.ByErrors:
		return fmt.Sprintf("%s failed; they and the pauses after them took %s of the clients' time", format.Plural(c.Counts.Failed(), "request"),
			format.Percent(1-c.Bound.Little))
	case results.ByServerCPU:
		return serverText(c, l)
	case results.ByGenerator:
		if !c.Generator.Saturated {
			return fmt.Sprintf("requests took %s times as long as without load, and the machine was %s busy, lockbench with %s of its %d cores",
				format.Three(l.Slower), format.Percent(c.Generator.Machine), format.Three(c.Generator.CPU), c.First().Env.CPUs)
		}
		return c.Generator.Why
	case results.ByConnections:
		return fmt.Sprintf("%s requests at a time were under way or waited for one of %s",
			format.Three(c.Requests()), format.Plural(c.Bound.Pool, "connection"))
	case results.ByKey, results.ByLock:
		return keyText(c, l)
	case results.ByClients:
		return clientText(c, l)
	}
	return "nothing was granted, or the record lacks holds and releases"
}

func serverText(c *results.Cell, l results.Limit) string {
	can := ""
	switch {
	case !isRedis(c.First().Server):
		can = fmt.Sprintf("the %s that lockbench left it", cores(l.CoresOf))
	case l.CoresOf > 1:
		can = fmt.Sprintf("the %s that its nodes execute on, one each", cores(l.CoresOf))
	default:
		can = "the one core that it executes on"
	}
	text := fmt.Sprintf("the server used %s of %s", format.Three(l.ServerCores), can)
	if l.Slower >= 2 {
		text += fmt.Sprintf("; requests took %s times as long as without load", format.Three(l.Slower))
	}
	return text
}

func cores(n float64) string { return format.Three(n) + " cores" }

// keyText says how keys spent their time, the larger part first.
func keyText(c *results.Cell, l results.Limit) string {
	if !l.Known {
		why := "of skewed keys the record does not say how busy the hottest was"
		if c.Safety.Breaches() > 0 || !c.First().Traits.Exclusive {
			why = "keys had several holders at once"
		}
		return fmt.Sprintf("clients waited for locks, or were refused, for %s of their time; %s", format.Percent(l.Waiting), why)
	}
	keys, were, stood := "keys", "were held", "stood free"
	switch {
	case l.Hottest:
		keys, were = "the hottest key", "was held"
	case c.Plan().Keys == 1:
		keys, were = "the key", "was held"
	}
	held := fmt.Sprintf("%s for %s of the time", were, format.Percent(l.Held))
	trip := ""
	if l.Trip > 0 {
		trip = fmt.Sprintf("changed hands for %s (a round trip each)", format.Percent(l.Trip))
	}
	waited := fmt.Sprintf("%s for %s while clients waited", stood, format.Percent(l.Waited))
	idle := ""
	if l.Idle >= 0.05 {
		idle = fmt.Sprintf("for %s with nobody waiting", format.Percent(l.Idle))
	}
	parts := []string{held, trip, waited, idle}
	if l.By == results.ByLock {
		parts = []string{fmt.Sprintf("%s for %s of the time while clients waited", stood, format.Percent(l.Waited)), idle,
			fmt.Sprintf("%s for %s", were, format.Percent(l.Held)), trip}
	}
	return keys + " " + format.And(nonEmpty(parts))
}

func clientText(c *results.Cell, l results.Limit) string {
	if c.Open() && c.Queued() {
		return fmt.Sprintf("%s of the arrivals found all %s busy, which waited for locks for %s of that time",
			format.Percent(c.Backlogged()), format.Plural(c.Plan().Clients, "client"), format.Percent(l.Waiting))
	}
	rest := ""
	if other := 1 - l.Requests - l.Holding - l.Waiting; other >= 0.05 {
		rest = "thought or paused for " + format.Percent(other)
	}
	text := format.Plural(c.Plan().Clients, "client") + " " + format.And(nonEmpty([]string{
		fmt.Sprintf("spent %s of the time in requests", format.Percent(l.Requests)), "held locks for " + format.Percent(l.Holding), rest,
		"waited for " + format.Percent(l.Waiting)}))
	if l.Known {
		text += "; keys were free for " + format.Percent(l.Waited+l.Idle)
	}
	return text
}

func nonEmpty(parts []string) (kept []string) {
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return kept
}

// Next returns what to try next, given what limits c: a flag to change, and why; empty if nothing is known to help.
func Next(c *results.Cell) string {
	if c.Violated() {
		if p := c.Plan(); p.TTL > 0 && p.Hold >= p.TTL && !p.Renew {
			return fmt.Sprintf("-renew, or a longer -ttl than %s: holds outlast the lease", format.Exact(p.TTL))
		}
		return "another design (lockbench list): whatever this one's speed, it does not exclude"
	}
	p, l := c.Plan(), c.Limit()
	switch l.By {
	case results.ByRate:
		if rate := p.Rate.Mean(c.First().Elapsed); len(p.Classes) == 0 && rate > 0 && !p.Rate.Stepped() {
			return fmt.Sprintf("-rate %.0f: see whether twice the rate is served in time as well", 2*rate)
		}
		return "raise -rate until arrivals have to wait: that is the capacity"
	case results.ByErrors:
		return "see the errors: the figures are those of the requests that were left"
	case results.ByKey:
		if line := queue(c); l.Known && l.Trip > l.Held && line != "" {
			return line + ": clients of one process then pass a key on among themselves"
		}
		if l.Hottest {
			return "shorter holds, or a load that is spread more evenly (-key-dist): more keys leave the hottest as it is"
		}
		return fmt.Sprintf("-keys %d, or shorter holds: a key cannot be busy for more than all the time", 2*p.Keys)
	case results.ByServerCPU:
		if line := queue(c); c.Cost.Tries >= 1.5 && line != "" {
			return fmt.Sprintf("%s: a lock took %s tries, and one of each process is enough", line, format.Three(c.Cost.Tries))
		}
		if isRedis(c.First().Server) && p.Topology != "cluster" {
			return "-topology cluster: the keys of several nodes have several cores"
		}
		return "a server with more processors, or a machine of its own (-addr)"
	case results.ByGenerator:
		if k := c.First().Server.Kind; k == "in-process" || k == "embedded" {
			return "fewer clients, or a machine with more processors: the lock runs within lockbench"
		}
		return "run lockbench on another machine than the server (-addr)"
	case results.ByConnections:
		return fmt.Sprintf("-conns %d: requests waited for a connection, not for the server", 2*c.Bound.Pool)
	case results.ByLock:
		return lockNext(c)
	case results.ByClients:
		if len(p.Classes) > 0 {
			return "raise the clients of its classes: keys and server had room for more"
		}
		return fmt.Sprintf("-clients %d: keys and server had room for more", 4*max(1, p.Clients))
	}
	return ""
}

func lockNext(c *results.Cell) string {
	why := "keys stood free although clients waited"
	if gap := c.Latency[results.Handoff]; gap.Quantile(0.5) > 0 {
		why = fmt.Sprintf("keys stood free for %s between holders", format.Duration(gap.P50))
	}
	if line := queue(c); line != "" {
		return line + ": " + why
	}
	return "another design (lockbench list): " + why
}

// queue returns the flags of the line within lockbench that c could have and has not; empty if there is nothing left. A lock
// is in it if its releases wake waiters, as those of all designs on Redis can but the one that queues on the server; and a
// release can hand over that of the plain designs.
func queue(c *results.Cell) string {
	p, flags := c.Plan(), []string{}
	redis := isRedis(c.First().Server) && p.Wait != "library" && p.Wait != "native"
	switch {
	case p.Wait == "queue":
	case c.First().Traits.Wakes, redis && p.Lock != "fair":
		flags = append(flags, "-wait queue")
	default:
		return ""
	}
	if p.Handover != "swap" && p.Topology != "redlock" && slices.Contains([]string{"set-nx", "fenced"}, p.Lock) {
		flags = append(flags, "-handover swap")
	}
	return strings.Join(flags, " ")
}

func isRedis(s results.Server) bool {
	return slices.Contains([]string{"redis", "valkey", "miniredis"}, s.Name)
}
