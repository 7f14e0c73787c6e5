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
	l, n, g, env := c.Limit(), c.Counts, c.Generator, c.First().Env
	part := func(what string, of float64, least float64) string {
		if of < least || of == 0 {
			return ""
		}
		return what + " " + format.Percent(of)
	}
	held, moving, dead := part("held", l.Held, 0), part("moving", l.Moving, 0), part("dead", l.Dead, 0.005)
	wanted, idle := part("free while wanted", l.Waited, 0), part("free", l.Idle, 0.05)
	release, slower := "", ""
	if l.Slower >= 2 {
		slower = format.Three(l.Slower) + " times as long as idle"
	}
	if l.Moving > 0 {
		release = strings.TrimSuffix("a release took "+format.Duration(c.Latency[results.Release].Mean)+", "+slower, ", ")
	}
	var parts []string
	switch l.By {
	case results.ByKey:
		parts = ofTime(held, moving, dead, wanted, idle, release)
	case results.ByLock:
		parts = ofTime(wanted, idle, held, moving, dead, release)
	case results.ByLease:
		parts = []string{dead + " of the time", part("clients waited for that", l.Blocked, 0)}
	case results.ByServerCPU:
		used := fmt.Sprintf("%s of %s cores", format.Three(l.ServerCores), format.Three(l.CoresOf))
		if l.CoresOf == 0 {
			used = part("its thread ran", l.Thread.Ran, 0)
		}
		parts = []string{used, part("waited for a core", l.Thread.Waited, starving), strings.TrimPrefix("requests "+slower, "requests ")}
	case results.ByGenerator, results.ByMachine:
		parts = []string{fmt.Sprintf("%d cores", env.CPUs), "lockbench " + format.Three(g.CPU), "server " + format.Three(max(0, l.ServerCores)), slower}
		if g.Saturated && l.By == results.ByGenerator {
			parts = []string{g.Why}
		}
	case results.ByConnections:
		parts = []string{format.Three(c.Requests()) + " requests at a time", format.Plural(c.Bound.Pool, "connection")}
	case results.ByClients:
		parts = []string{part("arrivals that found all busy", c.Backlogged(), 0), part("in requests", l.Requests, 0), part("holding", l.Holding, 0),
			part("waiting", l.Waiting, 0), wanted, idle}
	case results.ByRate:
		parts = []string{"all arrivals were served", part("refused", float64(n.Contended)/float64(max(1, n.Acquired+n.Contended+n.TimedOut)), 0)}
	case results.ByErrors:
		parts = []string{format.Labelled("failed", n.Failed()), format.Labelled("keys left locked", n.StuckKeys), part("lost", l.Lost, 0),
			part("clients' time", max(l.Failing, l.Stuck), 0)}
	case results.ByUnknown:
		parts = []string{part("clients waited", l.Waiting, 0), slower}
	default:
		return ""
	}
	by := string(l.By)
	if l.Hottest {
		by += ", the hottest"
	}
	return strings.TrimSuffix(by+": "+format.Join(parts...), ": ")
}

// ofTime says of the first share that is known what it is a share of.
func ofTime(shares ...string) []string {
	for i, text := range shares {
		if text != "" {
			shares[i] += " of the time"
			break
		}
	}
	return shares
}

// starving is the share of the time from which a server that waits for a core is short of it.
const starving = 0.1

// next returns what to try: flags to change, or what else may help; empty if nothing is known to.
func next(c *results.Cell, missed bool) string {
	p, l, redis := c.Plan(), c.Limit(), isRedis(c)
	line := queue(c)
	const other = "another design: lockbench list"
	switch {
	case c.Violated() && p.TTL > 0 && p.Hold >= p.TTL && !p.Renew:
		return "-renew, or -ttl above the hold of " + format.Exact(p.Hold)
	case c.Violated() && len(c.Safety.Ended) > 0:
		return "shorter holds, or longer sessions on the server"
	case c.Violated():
		return other
	case missed && l.By == results.ByRate:
		return view.Lighter(c) + ", or " + other
	}
	switch l.By {
	case results.ByKey:
		switch {
		case l.Moving > l.Held && line != "":
			return line
		case l.Hottest:
			return "shorter holds, or a flatter -key-dist"
		case p.Clients <= p.Keys && len(p.Classes) == 0: // a client holds one key at a time
			return fmt.Sprintf("-keys %d -clients %d", 2*p.Keys, 2*p.Keys)
		}
		return fmt.Sprintf("-keys %d", 2*p.Keys)
	case results.ByLock:
		if line != "" {
			return line
		}
		return other
	case results.ByLease:
		if !p.Renew && c.First().Traits.Renews {
			return "a shorter -ttl with -renew"
		}
		return "a shorter -ttl"
	case results.ByServerCPU:
		switch {
		case c.Cost.Tries >= 1.5 && line != "":
			return line
		case l.Thread.Waited >= starving:
			return "a server with a core of its own (-addr)"
		case redis && p.Topology == "" && p.Keys > 1:
			return "-topology cluster"
		}
		return "a faster server (-addr)"
	case results.ByGenerator, results.ByMachine:
		return lighterGenerator(c)
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

// lighterGenerator returns what leaves lockbench more time.
func lighterGenerator(c *results.Cell) string {
	p, g := c.Plan(), c.Generator
	least := 10 * c.Latency[results.Release].Mean // batches delay what comes due while they wait for answers
	batches := isRedis(c) && p.Topology == "" && p.Lock != "library" && !c.Limit().Contended && g.Outside == 0 &&
		!slices.Contains([]string{"block", "native"}, p.Wait)
	for _, of := range p.Groups() {
		batches = batches && !of.Open() && (of.Hold == 0 || of.Hold >= least) && (of.Think == 0 || of.Think >= least)
	}
	switch kind := view.ServerKind(c); {
	case kind == "in-process" || kind == "embedded":
		return view.Lighter(c) + ", or more processors"
	case g.OneCore() && 2*max(1, p.Lockers) <= p.Clients:
		return fmt.Sprintf("-lockers %d", 2*max(1, p.Lockers))
	case p.Pipelining == "batch" && g.Delayed:
		return "-pipelining auto"
	case batches && p.Pipelining != "batch":
		return "-pipelining batch"
	}
	return "lockbench on another machine than the server (-addr)"
}

// queue returns the flags of the line within lockbench that c could have and has not; empty if it has all, or nobody waits. It takes a
// design whose releases wake waiters: all on Redis but those that queue on the server.
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
