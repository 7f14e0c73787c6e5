package report

// What limits the throughput of a cell, and what to try next.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// limited returns what limits a throughput, with the figures that say so; empty if several clients held a key at once.
func limited(c *results.Cell) string {
	l, n, g := c.Limit(), c.Counts, c.Generator
	shares := func(of ...any) (parts []string) { // names and shares, of which the first says what it is a share of
		for i := 0; i < len(of); i += 2 {
			if share := of[i+1].(float64); share >= 0.005 {
				parts = append(parts, of[i].(string)+" "+format.Percent(share))
			}
		}
		if parts != nil {
			parts[0] += " of the time"
		}
		return parts
	}
	held, wanted := []any{"held", l.Held, "moving", l.Moving, "dead", l.Dead}, []any{"free while wanted", l.Waited}
	release, slower := "", ""
	if l.Slower >= 2 {
		slower = fmt.Sprintf("%.1f times idle", l.Slower)
	}
	if l.Moving > 0 {
		release = strings.TrimSuffix("release "+format.Duration(c.Latency[results.Release].Mean)+", "+slower, ", ")
	}
	var parts []string
	switch l.By {
	case results.ByKey:
		parts = append(shares(append(append(held, wanted...), "free", l.Idle)...), release)
	case results.ByLock:
		parts = append(shares(append(wanted, held...)...), release)
	case results.ByLease:
		parts = shares("dead", l.Dead, "clients waited for that", l.Blocked)
	case results.ByServerCPU:
		parts = shares("its thread ran", l.Thread.Ran, "and waited for a core", l.Thread.Waited)
		if l.CoresOf > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s cores", format.Three(l.ServerCores), format.Three(l.CoresOf)))
		}
	case results.ByGenerator, results.ByMachine:
		parts = []string{format.Plural(c.First().Env.CPUs, "core"), "lockbench " + format.Three(g.CPU)}
		if l.ServerCores > 0 {
			parts = append(parts, "server "+format.Three(l.ServerCores))
		}
	case results.ByConnections:
		parts = []string{format.Three(c.Requests()) + " requests at a time", format.Plural(c.Bound.Pool, "connection")}
	case results.ByClients:
		parts = shares("in requests", l.Requests, "holding", l.Holding, "waiting", l.Waiting, "keys free", l.Waited+l.Idle)
	case results.ByRate:
		parts = []string{"all arrivals were served", format.Labelled("refused", n.Contended)}
	case results.ByErrors:
		parts = append(shares("failing", l.Failing, "stuck", l.Stuck), format.Labelled("failed", n.Failed()))
	case results.ByUnknown:
		parts = append(shares("clients waited", l.Waiting), strings.TrimSuffix("requests "+slower, "requests "))
	}
	by := string(l.By)
	if l.Hottest {
		by = "hottest " + by
	}
	return strings.TrimSuffix(by+": "+format.Join(parts...), ": ")
}

// next returns what to try: flags to change, or what else may help; empty if nothing is known to.
func next(c *results.Cell, missed bool) string {
	const other = "another design: lockbench list"
	p, l, line := c.Plan(), c.Limit(), queue(c)
	switch {
	case c.Violated() && p.TTL > 0 && p.Hold >= p.TTL && !p.Renew:
		return "-renew, or -ttl above the hold of " + format.Exact(p.Hold)
	case c.Violated():
		return other
	case missed && l.By == results.ByRate:
		return view.Lighter(c) + ", or " + other
	case line == "":
	case l.By == results.ByLock, l.By == results.ByKey && l.Moving > l.Held:
		return line
	case l.By == results.ByServerCPU && c.Cost.Tries >= 1.5: // one of each process is enough
		return line
	}
	switch l.By {
	case results.ByKey:
		switch {
		case l.Hottest:
			return "shorter holds, or a flatter -key-dist"
		case p.Clients <= p.Keys && len(p.Classes) == 0: // a client holds one key at a time
			return fmt.Sprintf("-keys %d -clients %d", 2*p.Keys, 2*p.Keys)
		}
		return fmt.Sprintf("-keys %d", 2*p.Keys)
	case results.ByLock:
		return other
	case results.ByLease:
		return "a shorter -ttl"
	case results.ByServerCPU:
		if isRedis(c) && p.Topology == "" && p.Keys > 1 && l.Thread.Waited < 0.1 {
			return "-topology cluster"
		}
		return "a faster server, or one of its own (-addr)"
	case results.ByGenerator, results.ByMachine:
		kind := view.ServerKind(c)
		switch lockers := 2 * max(1, p.Lockers); {
		case kind == "in-process" || kind == "embedded":
			return view.Lighter(c) + ", or more processors"
		case c.Generator.OneCore() && lockers <= p.Clients:
			return fmt.Sprintf("-lockers %d", lockers)
		}
		return "lockbench on another machine than the server (-addr)"
	case results.ByConnections:
		return fmt.Sprintf("-conns %d", 2*c.Bound.Pool)
	case results.ByClients:
		return more(c, 4)
	case results.ByRate:
		if len(p.Classes) == 0 && p.Burst == 0 && !p.Rate.Changes() {
			return "-rate " + strconv.FormatFloat(2*p.Rate.First(), 'f', -1, 64)
		}
		return more(c, 2)
	}
	return ""
}

// more returns what makes the load of c so many times as heavy.
func more(c *results.Cell, times int) string {
	p := c.Plan()
	clients := times * max(1, p.Clients)
	switch keys := p.KeyDist.Needs(clients); {
	case len(p.Classes) > 0:
		return "more load of its classes"
	case p.Rate.Changes():
		return "a higher -rate"
	case p.Keys < keys:
		return fmt.Sprintf("-clients %d -keys %d", clients, keys)
	}
	return fmt.Sprintf("-clients %d", clients)
}

// queue returns the flags of the line within lockbench that c could have and has not; empty if it has all, or nobody
// waits. It takes a design whose releases wake waiters: all on Redis but those that queue on the server.
func queue(c *results.Cell) string {
	p, flags := c.Plan(), ""
	switch {
	case view.TriesOnce(p):
		return ""
	case p.Wait == "queue":
	case c.First().Traits.Wakes, isRedis(c) && p.Wait != "library" && p.Wait != "native" && p.Lock != "fair":
		flags = "-wait queue "
	default:
		return ""
	}
	if p.Handover != "swap" && p.Topology != "redlock" && slices.Contains([]string{"set-nx", "fenced"}, p.Lock) {
		flags += "-handover swap"
	}
	return strings.TrimSpace(flags)
}

func isRedis(c *results.Cell) bool {
	return slices.Contains([]string{"redis", "valkey", "miniredis"}, c.First().Server.Name)
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
