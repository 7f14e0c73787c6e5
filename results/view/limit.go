package view

// What limits the throughput of a cell, in words, and what to try next.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

// Limiting is one of the things that can limit a throughput.
type Limiting struct {
	By    results.LimitedBy
	Means string // a clause

	figures func(*results.Cell, results.Limit) string // the figures that say so
	next    func(*results.Cell, results.Limit) string // what to try; nil: nothing is known to help
}

// Limits are what can limit a throughput, in the order of legends.
var Limits = []Limiting{
	{results.ByKey, "keys were held, or changed hands, for most of the time", figuresOfKeys, nextOfKey},
	{results.ByLock, "keys stood free though clients waited for them", figuresOfKeys, nextOfLock},
	{results.ByLease, "clients waited for keys whose holders had died, until their leases ended", figuresOfLease, nextOfLease},
	{results.ByServerCPU, "the server had no processor time left", figuresOfServer, nextOfServer},
	{results.ByGenerator, "lockbench or its machine was busy, so that it is not the lock's limit", figuresOfGenerator, nextOfGenerator},
	{results.ByMachine, "lockbench and the server used up the cores that they share, so that it is not the lock's limit", figuresOfMachine, nextOfGenerator},
	{results.ByConnections, "requests waited for one of a pool", figuresOfConnections, nextOfConnections},
	{results.ByClients, "there were too few to keep the keys busy", figuresOfClients, nextOfClients},
	{results.ByRate, "the clients kept up with all arrivals", figuresOfRate, nextOfRate},
	{results.ByErrors, "requests that failed took the clients' time, or arrivals with them", figuresOfErrors, nextOfErrors},
	{results.ByUnknown, "the records do not tell", figuresOfUnknown, nil},
}

// LimitLegend says what the limits of cells mean, each once.
func LimitLegend(cells []*results.Cell) string {
	var parts []string
	for _, l := range Limits {
		if slices.ContainsFunc(cells, func(c *results.Cell) bool { return c.Limit().By == l.By }) {
			parts = append(parts, format.Glue(string(l.By)+" –")+" "+l.Means)
		}
	}
	return strings.Join(parts, "; ")
}

// Limit returns what limits the throughput of c as a sentence that begins with its short name (results.LimitedBy), with the
// figures that say so; empty if several clients held a key at once.
func Limit(c *results.Cell) string {
	l := c.Limit()
	if l.By == "" {
		return ""
	}
	return string(l.By) + ": " + limitingOf(l.By).figures(c, l)
}

// Next returns what to try next, given what limits c and whether it missed a threshold: a flag to change, and why; empty if nothing
// is known to help.
func Next(c *results.Cell, missed bool) string {
	if c.Violated() {
		if p := c.Plan(); p.TTL > 0 && p.Hold >= p.TTL && !p.Renew {
			return fmt.Sprintf("-renew, or a longer -ttl than %s: holds outlast the lease", format.Exact(p.TTL))
		}
		if len(c.Safety.Ended) > 0 {
			return "shorter holds, or a longer limit of the server's on its sessions: holders lost theirs"
		}
		return "another design (lockbench list): whatever this one's speed, it does not exclude"
	}
	l := c.Limit()
	if missed && l.By == results.ByRate {
		advice := format.Or(lighter(c)) + ", or another design"
		if c.Plan().Burst == 0 {
			advice += ": lockbench plan finds the highest rate that meets an objective (-slo)"
		}
		return advice
	}
	if next := limitingOf(l.By).next; next != nil {
		return next(c, l)
	}
	return ""
}

func limitingOf(by results.LimitedBy) Limiting {
	if i := slices.IndexFunc(Limits, func(l Limiting) bool { return l.By == by }); i >= 0 {
		return Limits[i]
	}
	return Limiting{}
}

func figuresOfRate(c *results.Cell, _ results.Limit) string {
	text := "the clients kept up with all arrivals"
	if n := c.Counts; n.Contended > 0 {
		text += fmt.Sprintf(", %s of which were refused", format.Percent(float64(n.Contended)/float64(n.Acquired+n.Contended+n.TimedOut)))
	}
	return text
}

func nextOfRate(c *results.Cell, _ results.Limit) string {
	switch p := c.Plan(); {
	case len(p.Classes) > 0:
		return "raise the rates of its classes until arrivals have to wait: that is the capacity"
	case p.Burst > 0:
		return moreClients(p, 2) + ": see whether as many again can come at once"
	case !p.Rate.Changes():
		return fmt.Sprintf("-rate %s: see whether the clients keep up with twice the rate as well", strconv.FormatFloat(2*p.Rate.First(), 'f', -1, 64))
	}
	return "raise -rate until arrivals have to wait: that is the capacity"
}

func figuresOfErrors(c *results.Cell, l results.Limit) string {
	failed := format.Plural(c.Counts.Failed(), "request") + " failed"
	if l.Stuck > l.Failing {
		return fmt.Sprintf("requests that failed left %s locked, and clients asked for those for %s of their time",
			format.Plural(c.Counts.StuckKeys, "key"), format.Percent(l.Stuck))
	}
	if l.Failing > 0 {
		return fmt.Sprintf("%s; they and the pauses after them took %s of the clients' time", failed, format.Percent(l.Failing))
	}
	return fmt.Sprintf("%s, and %s of the acquisitions with them", failed, format.Percent(l.Lost))
}

func nextOfErrors(*results.Cell, results.Limit) string {
	return "see the errors: the figures are those of the requests that were left"
}

func figuresOfServer(c *results.Cell, l results.Limit) string {
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
	if l.CoresOf == 0 { // its CPU time is not known, as that of one that was restarted
		text = fmt.Sprintf("the server's thread ran for %s of the time", format.Percent(l.Thread.Ran))
	}
	if starved(l) {
		text += fmt.Sprintf(", and waited for a core for %s of the time, since something else had it", format.Percent(l.Thread.Waited))
	}
	if l.Slower >= 2 {
		text += fmt.Sprintf("; requests took %s times as long as without load", format.Three(l.Slower))
	}
	return text
}

// starved reports whether the server waited for a core for long enough to matter.
func starved(l results.Limit) bool { return l.Thread.Waited >= 0.1 }

func cores(n float64) string { return format.Three(n) + " cores" }

func nextOfServer(c *results.Cell, l results.Limit) string {
	if line := queue(c); c.Cost.Tries >= 1.5 && line != "" {
		return fmt.Sprintf("%s: a lock took %s tries, and one of each process is enough", line, format.Three(c.Cost.Tries))
	}
	switch p, redis := c.Plan(), isRedis(c.First().Server); {
	case starved(l):
		return "end what else uses the server's core, or give the server a machine of its own (-addr)"
	case redis && p.Topology == "" && p.Keys > 1:
		return "-topology cluster: the keys of several nodes have several cores"
	case redis && l.CoresOf <= 1:
		return "a server with a faster processor (-addr): it executes on one core"
	}
	return "a server with more processors, or a machine of its own (-addr)"
}

func figuresOfGenerator(c *results.Cell, l results.Limit) string {
	if c.Generator.Saturated {
		return c.Generator.Why
	}
	return fmt.Sprintf("requests took %s times as long as without load, and the machine was %s busy, lockbench with %s of the %d",
		format.Three(l.Slower), format.Percent(c.Generator.Machine), format.Three(c.Generator.CPU), c.First().Env.CPUs)
}

func figuresOfMachine(c *results.Cell, l results.Limit) string {
	return fmt.Sprintf("shared with the server: of its %d cores the server used %s and lockbench %s",
		c.First().Env.CPUs, format.Three(l.ServerCores), format.Three(c.Generator.CPU))
}

func nextOfGenerator(c *results.Cell, l results.Limit) string {
	if k := c.First().Server.Kind; k == "in-process" || k == "embedded" {
		return format.Or(append(lighter(c), "a machine with more processors")) + ": the lock runs within lockbench"
	}
	p := c.Plan()
	if n := 2 * max(1, p.Lockers); c.Generator.OneCore() && n <= p.Clients {
		return fmt.Sprintf("-lockers %d: as many processes share the clients; a -null driver (lockbench list) shows what its language "+
			"and the pipes to it cost", n)
	}
	if p.Pipelining == "batch" && c.Generator.Delayed {
		return "-pipelining auto: a goroutine for each client sends what is due at once"
	}
	awake := p.Wait != "block" && p.Wait != "native" && c.Generator.Outside == 0 // a client's own goroutine does not sleep in a request
	if isRedis(c.First().Server) && p.Topology == "" && p.Lock != "library" && awake && p.Pipelining != "batch" && sameInBatches(c, l) {
		return "-pipelining batch: clients carried in batches cost lockbench a third of its CPU time"
	}
	return "run lockbench on another machine than the server (-addr)"
}

// sameInBatches reports whether a load is the same if its clients are carried in batches. What becomes due while a worker waits for
// answers is late by up to a request's time, for which a release stands: the ends of holds and pauses, another try, arrivals.
func sameInBatches(c *results.Cell, l results.Limit) bool {
	const times = 10
	least := times * c.Latency[results.Release].Mean
	differs := func(g spec.Class) bool {
		return g.Open() || g.Hold > 0 && g.Hold < least || g.Think > 0 && g.Think < least
	}
	return !l.Contended && !slices.ContainsFunc(c.Plan().Groups(), differs)
}

func figuresOfConnections(c *results.Cell, _ results.Limit) string {
	return fmt.Sprintf("%s requests at a time were under way or waited for one of %s",
		format.Three(c.Requests()), format.Plural(c.Bound.Pool, "connection"))
}

func nextOfConnections(c *results.Cell, _ results.Limit) string {
	return fmt.Sprintf("-conns %d: requests waited for a connection, not for the server", 2*c.Bound.Pool)
}

// keyWords name the keys whose time l knows, with the verbs that go with them.
func keyWords(c *results.Cell, l results.Limit) (keys, were string) {
	switch {
	case l.Hottest:
		return "the hottest key", "was"
	case c.Plan().Keys == 1:
		return "the key", "was"
	}
	return "keys", "were"
}

// figuresOfKeys says how keys spent their time, the larger part first.
func figuresOfKeys(c *results.Cell, l results.Limit) string {
	keys, were := keyWords(c, l)
	ofTime := " of the time" // said once
	lasted := func(what string, share float64, detail string) string {
		text := fmt.Sprintf("%s for %s%s%s", what, format.Percent(share), ofTime, detail)
		ofTime = ""
		return text
	}
	free := func() (parts []string) {
		stood := "stood free"
		if l.Waited > 0 {
			parts, stood = append(parts, lasted(stood, l.Waited, " while clients waited")), ""
		}
		if l.Idle >= 0.05 {
			parts = append(parts, strings.TrimSpace(lasted(stood, l.Idle, " with nobody waiting")))
		}
		return parts
	}
	var parts []string
	if l.By == results.ByLock {
		parts = free()
	}
	if l.Held > 0 {
		parts = append(parts, lasted(were+" held", l.Held, ""))
	}
	if l.Moving > 0 {
		took := "a release took " + format.Duration(c.Latency[results.Release].Mean)
		if l.Slower >= 2 {
			took += fmt.Sprintf(", %s times as long as without load", format.Three(l.Slower))
		}
		parts = append(parts, lasted("changed hands", l.Moving, " ("+took+")"))
	}
	if l.Dead >= 0.005 {
		parts = append(parts, lasted("stayed locked by dead holders", l.Dead, ""))
	}
	if l.By != results.ByLock {
		parts = append(parts, free()...)
	}
	return keys + " " + format.And(parts)
}

func nextOfKey(c *results.Cell, l results.Limit) string {
	if line := queue(c); l.Moving > l.Held && line != "" {
		return line + ": clients of one process then pass a key on among themselves"
	}
	if l.Hottest {
		return "shorter holds, or a load that is spread more evenly (-key-dist): more keys leave the hottest as it is"
	}
	p := c.Plan()
	flags := fmt.Sprintf("-keys %d", 2*p.Keys)
	if p.Clients <= p.Keys && len(p.Classes) == 0 { // a client holds one key at a time
		flags += fmt.Sprintf(" -clients %d", 2*p.Keys)
	}
	if l.Held > l.Moving {
		flags += ", or shorter holds"
	}
	return flags + ": a key cannot be busy for more than all the time"
}

func nextOfLock(c *results.Cell, _ results.Limit) string {
	why := "keys stood free although clients waited"
	if gap := c.Latency[results.Handoff]; gap.Quantile(0.5) > 0 {
		why = fmt.Sprintf("half of the hand-offs, from the release sent to the next grant, took longer than %s", format.Duration(gap.P50))
	}
	if line := queue(c); line != "" {
		return line + ": " + why
	}
	return "another design (lockbench list): " + why
}

func figuresOfLease(c *results.Cell, l results.Limit) string {
	keys, were := keyWords(c, l)
	return fmt.Sprintf("%s %s locked by dead holders for %s of the time, and clients waited for that for about %s of theirs",
		keys, were, format.Percent(l.Dead), format.Percent(l.Blocked))
}

func nextOfLease(c *results.Cell, _ results.Limit) string {
	flags := "a shorter -ttl"
	if !c.Plan().Renew && c.First().Traits.Renews {
		flags += " with -renew"
	}
	return flags + ": the key of a dead holder stays locked until its lease ends"
}

func figuresOfClients(c *results.Cell, l results.Limit) string {
	if c.Open() && c.Queued() {
		return fmt.Sprintf("%s of the arrivals found all %s busy, which waited for locks for %s of that time",
			format.Percent(c.Backlogged()), format.Plural(c.Plan().Clients, "client"), format.Percent(l.Waiting))
	}
	parts := []string{fmt.Sprintf("spent %s of the time in requests", format.Percent(l.Requests)), "held locks for " + format.Percent(l.Holding)}
	if other := 1 - l.Requests - l.Holding - l.Waiting; other >= 0.05 {
		parts = append(parts, "thought or paused for "+format.Percent(other))
	}
	text := format.Plural(c.Plan().Clients, "client") + " " + format.And(append(parts, "waited for "+format.Percent(l.Waiting)))
	if l.Known {
		text += "; keys were free for " + format.Percent(l.Waited+l.Idle)
	}
	return text
}

func nextOfClients(c *results.Cell, l results.Limit) string {
	why := ": keys had room for more"
	if l.CoresOf > 0 {
		why = ": keys and server had room for more"
	}
	p := c.Plan()
	if len(p.Classes) > 0 {
		return "raise the clients of its classes" + why
	}
	return moreClients(p, 4) + why
}

// moreClients returns the flags that multiply the clients of p.
func moreClients(p *spec.Plan, times int) string {
	clients := times * max(1, p.Clients)
	if n := p.KeyDist.Needs(clients); p.Keys < n {
		return fmt.Sprintf("-clients %d -keys %d", clients, n)
	}
	return fmt.Sprintf("-clients %d", clients)
}

// lighter returns what makes the load of c lighter, given what makes it.
func lighter(c *results.Cell) []string {
	switch p := c.Plan(); {
	case len(p.Classes) > 0:
		return []string{"less load of its classes"}
	case p.Burst > 0:
		return []string{"fewer clients"} // all of them come at once
	case p.Open():
		return []string{"a lower -rate"}
	}
	return []string{"fewer clients", "a -rate"}
}

// Lighter says what makes the load of c lighter.
func Lighter(c *results.Cell) string { return format.Or(lighter(c)) }

func figuresOfUnknown(c *results.Cell, l results.Limit) string {
	switch {
	case l.Contended:
		why := "of skewed keys the record does not say how busy the hottest was"
		if c.Plan().Shared {
			why = "other runs held the keys too"
		} else if !c.First().Traits.Exclusive {
			why = "a key may have several holders at once"
		}
		return fmt.Sprintf("clients waited for locks, or were refused, for %s of their time; %s", format.Percent(l.Waiting), why)
	case l.Slower > 0:
		return fmt.Sprintf("requests took %s times as long as without load, and nobody knows how many processors the server has",
			format.Three(l.Slower))
	}
	return "nothing was granted, or the record lacks holds and releases"
}

// queue returns the flags of the line within lockbench that c could have and has not; empty if it has all, or nobody waits. It takes a design
// whose releases wake waiters: all on Redis but the one that queues on the server. Plain designs can hand over as well.
func queue(c *results.Cell) string {
	p, flags := c.Plan(), []string{}
	redis := isRedis(c.First().Server) && p.Wait != "library" && p.Wait != "native"
	switch {
	case TriesOnce(p):
		return ""
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
