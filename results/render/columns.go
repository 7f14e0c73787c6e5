package render

// The columns of a table of cells: the axes in which cells can differ, and the figures. Every format draws from
// these two lists.

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
)

// axis is one thing in which cells can differ. Axes that agree in all cells are stated once above the table; the
// others are its leading columns.
type axis struct {
	title string
	value func(c *results.Cell) string // "" if it does not apply
	right bool                         // aligned right
	some  bool                         // applies to some cells only: that it does not to others is no difference
	wide  bool                         // too long for a column: a difference goes into the notes of the row

	// server says that it is a fact about the server. Where drivers of several services stand in one table, each service
	// has its own, and what follows from the driver is said once for each below the table; see fold.
	server bool
}

var axes = []axis{
	{title: "driver", value: func(c *results.Cell) string { return plan(c).Driver }},
	{title: "lock", value: func(c *results.Cell) string { return plan(c).Lock }},
	{title: "wait", value: func(c *results.Cell) string { return plan(c).Wait }},
	{title: "topology", value: func(c *results.Cell) string { return topology(plan(c)) }},
	{title: "node timeout", right: true, some: true, value: ifSet(func(p *results.Plan) time.Duration { return p.NodeTimeout })},
	{title: "release", value: func(c *results.Cell) string { return plan(c).Release }},
	{title: "renew", value: func(c *results.Cell) string {
		if plan(c).Renew {
			return "on"
		}
		return ""
	}},
	{title: "re-entry", right: true, value: func(c *results.Cell) string {
		if plan(c).Reentry <= 1 {
			return ""
		}
		return Thousands(int64(plan(c).Reentry))
	}},
	{title: "clients", right: true, value: func(c *results.Cell) string { return Thousands(int64(plan(c).Clients)) }},
	{title: "keys", right: true, value: func(c *results.Cell) string { return Thousands(int64(plan(c).Keys)) }},
	{title: "hold", right: true, value: func(c *results.Cell) string { return asked(plan(c).Hold) }},
	{title: "think", right: true, value: ifSet(func(p *results.Plan) time.Duration { return p.Think })},
	{title: "ttl", right: true, value: ifSet(func(p *results.Plan) time.Duration { return p.TTL })},
	{title: "timeout", right: true, value: ifSet(func(p *results.Plan) time.Duration { return p.Timeout })},
	{title: "poll", right: true, some: true, value: ifSet(func(p *results.Plan) time.Duration { return p.Poll })},
	{title: "backoff min", right: true, some: true, value: ifSet(func(p *results.Plan) time.Duration { return p.BackoffMin })},
	{title: "backoff max", right: true, some: true, value: ifSet(func(p *results.Plan) time.Duration { return p.BackoffMax })},
	{title: "handover", some: true, value: func(c *results.Cell) string { return plan(c).Handover }},
	{title: "handover max", right: true, some: true, value: ifAny(func(p *results.Plan) int { return p.HandoverMax })},
	{title: "lockers", right: true, value: ifAny(func(p *results.Plan) int { return p.Lockers })},
	{title: "conns", right: true, value: ifAny(func(p *results.Plan) int { return p.Conns })},
	{title: "pipelining", value: func(c *results.Cell) string { return plan(c).Pipelining }},
	{title: "flush delay", right: true, value: ifSet(func(p *results.Plan) time.Duration { return p.FlushDelay })},
	{title: "params", some: true, value: func(c *results.Cell) string { return plan(c).Params }},
	{title: "io timeout", right: true, value: ifSet(func(p *results.Plan) time.Duration { return p.IOTimeout })},
	{title: "duration", right: true, value: ifSet(func(p *results.Plan) time.Duration { return p.Duration })},
	{title: "warm-up", right: true, value: ifSet(func(p *results.Plan) time.Duration { return p.Warmup })},
	{title: "trials", right: true, value: func(c *results.Cell) string { return strconv.Itoa(len(c.Trials)) }},
	{title: "oracle", wide: true, value: func(c *results.Cell) string {
		if plan(c).Oracle {
			return ""
		}
		return "off"
	}},
	{title: "kind", value: func(c *results.Cell) string { return serverKind(c) }},
	{title: "durability", some: true, value: func(c *results.Cell) string { return plan(c).Durability }},
	{title: "server", some: true, server: true, value: ofServer(func(s results.Server) string { return strings.TrimSpace(s.Name + " " + s.Version) })},
	{title: "mode", some: true, wide: true, server: true, value: ofServer(func(s results.Server) string { return s.Mode })},
	{title: "persistence", some: true, server: true, value: ofServer(func(s results.Server) string { return s.Persistence })},
	{title: "replicas", wide: true, server: true, value: func(c *results.Cell) string {
		if n := c.First().Server.Replicas; n > 0 {
			return strconv.Itoa(n)
		}
		return ""
	}},
	{title: "network", some: true, wide: true, server: true, value: ofServer(func(s results.Server) string { return s.Network })},
	{title: "address", wide: true, server: true, value: func(c *results.Cell) string {
		if serverKind(c) != "external" {
			return "" // made up for the run
		}
		return c.First().Server.Addr
	}},
	{title: "claims", value: func(c *results.Cell) string { return letters(c.First().Traits) }},
	{title: "machine", wide: true, value: func(c *results.Cell) string { return machine(c.First().Env) }},
	{title: "lockbench", wide: true, value: func(c *results.Cell) string { return c.First().Env.Lockbench }},
	{title: "libraries", wide: true, value: func(c *results.Cell) string { return libraries(c.First().Env) }},
}

func plan(c *results.Cell) *results.Plan { return &c.First().Plan }

func ifSet(get func(*results.Plan) time.Duration) func(*results.Cell) string {
	return func(c *results.Cell) string {
		if d := get(plan(c)); d != 0 {
			return asked(d)
		}
		return ""
	}
}

// topology is how the servers belong together and how many they are, as "redlock 5": what it does not name is the
// user's own.
func topology(p *results.Plan) string {
	switch {
	case p.Topology == "replicated" && p.Replicas > 0:
		return fmt.Sprintf("replicated %d/%d", p.Acks, p.Replicas)
	case p.Topology == "replicated":
		return fmt.Sprintf("replicated %d", p.Acks)
	case p.Nodes+p.Replicas > 0:
		return fmt.Sprintf("%s %d", p.Topology, p.Nodes+p.Replicas)
	}
	return p.Topology
}

func ifAny(get func(*results.Plan) int) func(*results.Cell) string {
	return func(c *results.Cell) string {
		if n := get(plan(c)); n != 0 {
			return Thousands(int64(n))
		}
		return ""
	}
}

// ofServer is what a record says of its server; it does not apply where there is none.
func ofServer(get func(results.Server) string) func(*results.Cell) string {
	return func(c *results.Cell) string {
		if serverKind(c) == "in-process" {
			return ""
		}
		return cmp.Or(get(c.First().Server), "unknown")
	}
}

// serverKind is what was measured, or what was asked for if the record does not say.
func serverKind(c *results.Cell) string {
	if kind := c.First().Server.Kind; kind != "" {
		return kind
	}
	return plan(c).Server
}

// machine describes where the load was made, and with what.
func machine(e results.Env) string {
	cpu := Many(int64(e.CPUs), "CPU")
	if e.CPU != "" {
		cpu = fmt.Sprintf("%d × %s", e.CPUs, e.CPU)
	}
	if e.GOMAXPROCS != e.CPUs {
		cpu += fmt.Sprintf(" (GOMAXPROCS %d)", e.GOMAXPROCS)
	}
	return list(cpu, strings.TrimSpace(e.OS+"/"+e.Arch+" "+e.Kernel), e.Go)
}

func libraries(e results.Env) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(e.Libraries)) {
		all = append(all, strings.TrimPrefix(name, "github.com/")+" "+e.Libraries[name])
	}
	return strings.Join(all, ", ")
}

// traitNames are the traits. Those that are guarantees have a letter that stands for them in a column; the others
// are abilities, which make no two designs unlike.
var traitNames = []struct {
	letter, name string
	has          func(results.Traits) bool
}{
	{"x", "exclusive", func(t results.Traits) bool { return t.Exclusive }},
	{"o", "owned", func(t results.Traits) bool { return t.Owned }},
	{"e", "expires", func(t results.Traits) bool { return t.Expires }},
	{"s", "session-bound", func(t results.Traits) bool { return t.Session }},
	{"f", "fenced", func(t results.Traits) bool { return t.Fenced }},
	{"q", "fair", func(t results.Traits) bool { return t.Fair }},
	{"r", "reentrant", func(t results.Traits) bool { return t.Reentrant }},
	{"", "renews", func(t results.Traits) bool { return t.Renews }},
	{"", "wakes", func(t results.Traits) bool { return t.Wakes }},
	{"", "waits", func(t results.Traits) bool { return t.Waits }},
}

func letters(t results.Traits) string {
	s := ""
	for _, trait := range traitNames {
		if trait.has(t) {
			s += trait.letter
		}
	}
	return s
}

func traitWords(t results.Traits) string {
	var words []string
	for _, trait := range traitNames {
		if trait.has(t) {
			words = append(words, trait.name)
		}
	}
	if words == nil {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

// unit says how a figure is written; the value itself is always in the base unit.
type unit int

const (
	perSecond unit = iota // a rate
	duration              // nanoseconds
	ratio                 // 0 to 1, two digits
	share                 // 0 to 1, as a percentage
	perLock               // any amount for one granted lock
	whole                 // a count
)

func (u unit) format(v float64) string {
	switch {
	case math.IsNaN(v):
		return none
	case u == duration:
		return measured(time.Duration(v))
	case u == whole:
		return Thousands(int64(v))
	case u == share:
		return percent(v)
	case u == ratio:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return three(v)
}

// column is one figure of a cell.
type column struct {
	group, title string
	unit         unit
	// drop tells in which order columns go when a table is too wide: the highest first, 0 never.
	drop  int
	value func(c *results.Cell) float64 // NaN if it is not known
	only  func(c *results.Cell) bool    // nil, or: shown if it holds for any cell
}

func (c column) head() string { return c.group + "\n" + c.title }

// columns are all figures, in their order on the page. What goes first is what a lock costs, then the maximum, which
// says least of all quantiles, the share of the ideal bound that was reached, and the hand-off; then the spread of the trials, and whether all clients get their
// share. What stays to the end is how fast the lock is, how long a client waits, and whether it is one at all.
var columns = []column{
	{"", "locks/s", perSecond, 0, func(c *results.Cell) float64 { return c.Rate.Median }, nil},
	{"locks/s", "min", perSecond, 4, func(c *results.Cell) float64 { return c.Rate.Min }, severalTrials},
	{"locks/s", "max", perSecond, 5, func(c *results.Cell) float64 { return c.Rate.Max }, severalTrials},
	{"of", "bound", share, 7, efficiency, nil},
	{"acquire", "p50", duration, 1, func(c *results.Cell) float64 { return quantile(c, results.Acquire, p50) }, nil},
	{"acquire", "p99", duration, 2, func(c *results.Cell) float64 { return quantile(c, results.Acquire, p99) }, nil},
	{"acquire", "max", duration, 8, func(c *results.Cell) float64 { return quantile(c, results.Acquire, highest) }, nil},
	{"all nodes", "p50", duration, 13, func(c *results.Cell) float64 { return quantile(c, results.AcquireAll, p50) }, voted},
	{"hand-off", "p50", duration, 6, func(c *results.Cell) float64 { return quantile(c, results.Handoff, p50) }, nil},
	{"", "Jain", ratio, 3, func(c *results.Cell) float64 { return ifGranted(c, c.Fairness.Jain) }, nil},
	{"round trips", "/lock", perLock, 9, func(c *results.Cell) float64 { return ifTrafficked(c, c.Cost.RoundTrips) }, trafficked},
	{"commands", "/lock", perLock, 10, func(c *results.Cell) float64 { return known(c.Cost.Commands) }, nil},
	{"server", "µs/lock", perLock, 11, func(c *results.Cell) float64 { return known(c.Cost.ServerCPUUs) }, nil},
	{"client", "µs/lock", perLock, 12, func(c *results.Cell) float64 { return known(c.Cost.ClientCPUUs) }, nil},
	{"", "viol.", whole, 0, violations, nil},
}

func efficiency(c *results.Cell) float64 {
	if c.Bound.LocksPerS <= 0 {
		return math.NaN()
	}
	return c.Bound.Efficiency
}

// voted tells whether several nodes grant a lock together.
func voted(c *results.Cell) bool { return c.Latency[results.AcquireAll].Count > 0 }

// trafficked tells whether the driver counts what goes between it and the server.
func trafficked(c *results.Cell) bool { return c.Cost.Trafficked() }

func ifTrafficked(c *results.Cell, v float64) float64 {
	if !trafficked(c) {
		return math.NaN()
	}
	return known(v)
}

func severalTrials(c *results.Cell) bool { return len(c.Trials) > 1 }

func p50(l results.Latency) time.Duration     { return l.P50 }
func p99(l results.Latency) time.Duration     { return l.P99 }
func highest(l results.Latency) time.Duration { return l.Max }

func quantile(c *results.Cell, m results.Metric, pick func(results.Latency) time.Duration) float64 {
	l := c.Latency[m]
	if l.Count == 0 {
		return math.NaN()
	}
	return float64(pick(l))
}

// known turns the negative values that mean "not known" into NaN.
func known(v float64) float64 {
	if v < 0 {
		return math.NaN()
	}
	return v
}

// ifGranted is v, or NaN where no lock was granted and v has no meaning.
func ifGranted(c *results.Cell, v float64) float64 {
	if c.Counts.Acquired == 0 {
		return math.NaN()
	}
	return v
}

func violations(c *results.Cell) float64 {
	if !c.Safety.Checked {
		return math.NaN()
	}
	return float64(c.Safety.Violations)
}
